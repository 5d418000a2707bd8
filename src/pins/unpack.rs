//! Takes members out of archives, and lays them out as the store holds them (modes: 755 below bin/,
//! else 644). Archives are read as streams: what an archive unpacks to never lies in memory.

use std::cell::Cell;
use std::fs::{File, Permissions};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use camino::Utf8Path;
use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use zip::ZipArchive;

use super::members::NamePatterns;
use super::{Archive, ArchiveKind, PinError, TakenMembers};

/// The most bytes of a tree whose size is not pinned.
const LARGEST_UNPINNED: u64 = 1 << 34;

/// The bytes that headers of members may have in a small `.tar.gz`.
const HEADERS: u64 = 1 << 26;

/// The bytes of the headers of one member of a tar file, with its long names.
const MEMBER_HEADERS: u64 = 1 << 17;

/// The memory in KiB that unpacking an `.xz` may take. `xz -8`, with more than any pinned package,
/// takes 33 MiB.
const XZ_MEMORY: u32 = 48 << 10;

/// The bytes that may still be unpacked for a tree: a small archive may hold a thousand times its
/// size.
#[derive(Clone, Copy)]
pub struct UnpackRoom {
    size: u64,
    left: u64,
}

impl UnpackRoom {
    /// The room for a tree of at most some bytes; for one whose size is not pinned, 16 GiB.
    pub fn new(size: Option<u64>) -> Self {
        let size = size.unwrap_or(LARGEST_UNPINNED);
        Self { size, left: size }
    }

    /// Takes the bytes of a member.
    fn take(&mut self, bytes: u64) -> std::io::Result<()> {
        let left = self.left.checked_sub(bytes);
        let size = self.size;
        self.left = left.ok_or_else(|| {
            std::io::Error::other(format!("it unpacks to more than the pinned {size} bytes"))
        })?;
        Ok(())
    }
}

/// Unpacks the wanted members of an archive into `dir`. Removes the file of a tarball.
///
/// # Errors
/// `PinError` for an archive that cannot be read, lacks the wanted members, or holds more than
/// there is room for.
pub fn unpack(
    archive: &Archive,
    file: &Utf8Path,
    take: &MemberSelection<'_>,
    dir: &Utf8Path,
    room: &mut UnpackRoom,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let opened = File::open(file).map_err(PinError::io("open", file))?;
    match archive.kind {
        ArchiveKind::Wheel => {
            let mut wheel = ZipArchive::new(opened).map_err(|error| failed(&error))?;
            pick_wheel(archive, &mut wheel, take, dir, room)
        }
        ArchiveKind::Deb => {
            let data = open_deb(opened).map_err(|error| failed(&error))?;
            pick_tar(archive, data, take, dir, room)
        }
        ArchiveKind::Tarball => {
            let unpacked = unpack_all(opened, dir, room).map_err(|error| PinError::Download {
                name: archive.file.clone(),
                why: format!("its server has something that cannot be unpacked: {error}"),
                help: "find out why before you use it".to_owned(),
            });
            std::fs::remove_file(file).map_err(PinError::io("remove", file))?;
            unpacked
        }
        ArchiveKind::Sdist => pick_tar(archive, GzDecoder::new(opened), take, dir, room),
        ArchiveKind::Rpm | ArchiveKind::File => Err(failed(
            &"trees are taken from wheels, source distributions and Debian packages only",
        )),
    }
}

/// Unpacks a `.tar.gz` without its first folder, with links and executable files, as Nix's fetchers
/// do. NB: the archive's hash is not known. `tar` refuses members that lead out of the folder, also
/// by links.
fn unpack_all(file: File, dir: &Utf8Path, room: &mut UnpackRoom) -> std::io::Result<()> {
    let whole = tempfile::tempdir_in(dir)?;
    // Each member has a header and is filled up: many empty members need bytes, too.
    let longest = room.left.saturating_mul(4).saturating_add(HEADERS);
    each_member(GzDecoder::new(file).take(longest), |member| {
        room.take(member.size())?;
        let is_inside = member.unpack_in(whole.path())?;
        if is_inside && member.header().entry_type().is_dir() {
            allow_members(whole.path(), &member.path()?)?;
        }
        Ok(())
    })?;
    for first in whole.path().read_dir()? {
        for entry in first?.path().read_dir()? {
            let entry = entry?;
            std::fs::rename(entry.path(), dir.as_std_path().join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Lets the owner write to an unpacked folder, whose members come after it. A folder of the store
/// has no mode of its own.
fn allow_members(root: &Path, name: &Path) -> std::io::Result<()> {
    let parts = name.components();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_)));
    let folder = root.join(parts.collect::<PathBuf>());
    // NB: a link of that name may lead out of the tree.
    match folder.symlink_metadata()?.is_dir() {
        true => std::fs::set_permissions(folder, Permissions::from_mode(0o755)),
        false => Ok(()),
    }
}

/// Takes the wanted members of a wheel into `dir`.
///
/// # Errors
/// `PinError` for a wheel that cannot be read, lacks the members, or holds more than there is room
/// for.
pub fn pick_wheel(
    archive: &Archive,
    wheel: &mut ZipArchive<impl Read + Seek>,
    take: &MemberSelection<'_>,
    dir: &Utf8Path,
    room: &mut UnpackRoom,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let mut found = 0;
    for index in 0..wheel.len() {
        let entry = wheel.by_index_data(index).map_err(|error| failed(&error))?;
        let name = entry.name().map_err(|error| failed(&error))?.into_owned();
        // NB: only wanted members may be opened: a remote wheel's other members are not downloaded.
        if let Some(target) = take.target(&name)
            && entry.is_file()
        {
            let mut member = wheel.by_index(index).map_err(|error| failed(&error))?;
            write(&dir.join(target), &mut member, room).map_err(|error| failed(&error))?;
            found += 1;
        }
    }
    check_found(archive, found)
}

fn pick_tar(
    archive: &Archive,
    data: impl Read,
    take: &MemberSelection<'_>,
    dir: &Utf8Path,
    room: &mut UnpackRoom,
) -> Result<(), PinError> {
    let mut found = 0;
    let picked = each_member(data, |member| {
        let path = member.path()?;
        let name = path.to_string_lossy().trim_start_matches("./").to_owned();
        if let Some(target) = take.target(&name)
            && member.header().entry_type().is_file()
        {
            write(&dir.join(target), member, room)?;
            found += 1;
        }
        Ok(())
    });
    picked.map_err(|error| defect(archive, &error))?;
    check_found(archive, found)
}

fn check_found(archive: &Archive, found: usize) -> Result<(), PinError> {
    if found == 0 {
        return Err(defect(archive, &"it holds none of the wanted members"));
    }
    Ok(())
}

fn defect(archive: &Archive, why: &dyn std::fmt::Display) -> PinError {
    PinError::Unpack {
        file: archive.file.clone(),
        why: why.to_string(),
        help: "the file matches its pin, so this is a defect of kernel-builder: please report it",
    }
}

/// The members that a tree takes from an archive.
pub struct MemberSelection<'a> {
    take: &'a [TakenMembers],
    patterns: NamePatterns,
}

impl<'a> MemberSelection<'a> {
    /// The members of an archive that some patterns match.
    ///
    /// # Errors
    /// `PinError` for a pattern that is none.
    pub fn new(archive: &Archive, take: &'a [TakenMembers]) -> Result<Self, PinError> {
        let globs = take.iter().map(|take| take.glob.as_str());
        let patterns = NamePatterns::new(globs).map_err(|error| defect(archive, &error))?;
        Ok(Self { take, patterns })
    }

    /// The path of a member in the tree; `None` if it is not wanted.
    pub fn target<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        // A name comes from an archive, so it may try to lead out of the tree.
        let inside = !name.starts_with('/') && name.split('/').all(|part| part != "..");
        let take = self.take.get(self.patterns.first_match(name)?)?;
        let stripped = || name.splitn(take.strip + 1, '/').nth(take.strip);
        take.to.as_deref().or_else(stripped).filter(|_| inside)
    }
}

/// A stream that fails after a number of bytes, which others may set again.
struct MeteredReader<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.left.get().checked_sub(count as u64);
        let too_long = || std::io::Error::other("the names of a member are too long");
        self.left.set(left.ok_or_else(too_long)?);
        Ok(count)
    }
}

/// Gives the members of a tar file to a function, in order. NB: the crate holds names of any length
/// in memory, so the bytes are counted that it reads before it knows a member.
fn each_member<R: Read>(
    data: R,
    mut act: impl FnMut(&mut tar::Entry<'_, MeteredReader<R>>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let left = Rc::new(Cell::new(MEMBER_HEADERS));
    let mut tar = tar::Archive::new(MeteredReader {
        inner: data,
        left: Rc::clone(&left),
    });
    for member in tar.entries()? {
        let mut member = member?;
        // The holes of a file may be larger than the disk.
        if member.header().entry_type().is_gnu_sparse() {
            return Err(std::io::Error::other("a file in it has holes"));
        }
        left.set(u64::MAX);
        act(&mut member)?;
        std::io::copy(&mut member, &mut std::io::sink())?;
        left.set(MEMBER_HEADERS);
    }
    Ok(())
}

/// The data.tar of a Debian package: a series of headers of 60 bytes, each with its file.
fn open_deb(mut file: File) -> std::io::Result<impl Read> {
    let malformed = || std::io::Error::other("it is no Debian package");
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    if magic != *b"!<arch>\n" {
        return Err(malformed());
    }
    loop {
        let mut header = [0; 60];
        let read = file.read_exact(&mut header);
        read.map_err(|_| std::io::Error::other("no data.tar.xz in it"))?;
        let text = |part: &[u8]| String::from_utf8_lossy(part).trim_end().to_owned();
        let size: u64 = text(&header[48..58]).parse().map_err(|_| malformed())?;
        if text(&header[..16]).trim_end_matches('/') == "data.tar.xz" {
            let data = BufReader::new(file.take(size));
            return Ok(XzReader::new_mem_limit(data, true, XZ_MEMORY));
        }
        // A file of an odd size is filled up.
        let next = i64::try_from(size.next_multiple_of(2)).map_err(|_| malformed())?;
        file.seek(SeekFrom::Current(next))?;
    }
}

/// Writes a member, of which no byte more than the room is read.
fn write(path: &Utf8Path, content: &mut dyn Read, room: &mut UnpackRoom) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = File::create(path)?;
    let read = std::io::copy(&mut content.take(room.left + 1), &mut file)?;
    room.take(read)?;
    let program = path.parent().and_then(Utf8Path::file_name) == Some("bin");
    file.set_permissions(Permissions::from_mode(if program { 0o755 } else { 0o644 }))
}

#[cfg(test)]
mod tests {
    use super::super::{Archive, ArchiveKind, TakenMembers};
    use super::MemberSelection;

    #[test]
    fn members_lose_leading_folders_and_stay_inside() {
        let take = [TakenMembers {
            glob: "*/third_party/include/**".to_owned(),
            to: None,
            strip: 2,
        }];
        let cases = [
            ("a-1.0/third_party/include/x/y.h", Some("include/x/y.h")),
            ("a-1.0/third_party/include/../../y.h", None),
            ("a-1.0/other/include/y.h", None),
        ];
        let archive = Archive {
            kind: ArchiveKind::Wheel,
            name: "a".to_owned(),
            version: "1.0".to_owned(),
            file: "a-1.0.whl".to_owned(),
            sha256: String::new(),
            size: None,
            urls: Vec::new(),
        };
        let selection = MemberSelection::new(&archive, &take).expect("patterns");
        for (name, target) in cases {
            assert_eq!(selection.target(name), target, "{name}");
        }
    }
}
