//! Builds trees: some members of archives, laid out as the store holds them (modes: 755 below bin/,
//! else 644).

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use flate2::read::GzDecoder;
use zip::ZipArchive;

use super::error::IndexError;
use super::http::HttpFailure;
use super::members::NamePatterns;
use super::sources::ArchiveSources;
use super::{Archive, ArchiveKind, PinError, TakenMembers, TreeSource, cache};

/// The way to get the members of a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberAccess {
    /// From parts of wheels, where the index serves parts.
    Parts,
    /// From whole archives, whose hashes are known.
    Wholes,
}

/// The most bytes of a tree whose size is not pinned.
const LARGEST_UNPINNED: u64 = 1 << 34;

/// The bytes that headers of members may have in a small `.tar.gz`.
const HEADERS: u64 = 1 << 26;

/// The bytes that may still be unpacked for a tree: a small archive may hold a thousand times its
/// size.
#[derive(Clone, Copy)]
struct Room {
    size: u64,
    left: u64,
}

impl Room {
    fn new(size: Option<u64>) -> Self {
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

/// Builds a tree in `dir`. Its files may have `size` bytes.
///
/// # Errors
/// Errors of downloads, and of archives that lack the wanted members or unpack to more.
pub fn build(
    wanted: &[TreeSource],
    size: Option<u64>,
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let mut room = Room::new(size);
    wanted.iter().try_for_each(|source| {
        let take = || take_from(source, from, sources, dir, &mut room);
        sources.with_archive_lock(&source.archive, take)
    })
}

fn take_from(
    source: &TreeSource,
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
    room: &mut Room,
) -> Result<(), PinError> {
    let TreeSource { archive, take } = source;
    let take = &Selection::new(archive, take)?;
    if from == MemberAccess::Parts
        && archive.kind == ArchiveKind::Wheel
        && !cache::path(archive).exists()
        && let Some(size) = archive.size
    {
        let mut rest = *room;
        let picked = sources
            .members(archive, size, |name| take.target(name).is_some())
            .and_then(|mut wheel| {
                let _adding = sources.progress.adding(&archive.file);
                pick_wheel(archive, &mut wheel, take, dir, &mut rest)
                    .map_err(|error| IndexError::Wheel(error.why()))
            });
        match picked {
            Ok(()) => {
                *room = rest;
                return Ok(());
            }
            // Without pip or its index, other sources may have the whole file.
            Err(IndexError::Configuration(_) | IndexError::Http(HttpFailure::Silent(_))) => {}
            // The whole file is always an alternative, since any index serves it.
            Err(error) => sources.note_whole(archive, &error),
        }
    }
    let file = sources.archive(archive)?;
    let _adding = sources.progress.adding(&archive.file);
    unpack(archive, &file, take, dir, room)
}

fn unpack(
    archive: &Archive,
    file: &Utf8Path,
    take: &Selection<'_>,
    dir: &Utf8Path,
    room: &mut Room,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let opened = File::open(file).map_err(PinError::io("open", file))?;
    match archive.kind {
        ArchiveKind::Wheel => {
            let mut wheel = ZipArchive::new(opened).map_err(|error| failed(&error))?;
            pick_wheel(archive, &mut wheel, take, dir, room)
        }
        ArchiveKind::Deb => {
            let data = deb_data(opened).map_err(|error| failed(&error))?;
            pick_tar(archive, &data[..], take, dir, room)
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
fn unpack_all(file: File, dir: &Utf8Path, room: &mut Room) -> std::io::Result<()> {
    let whole = tempfile::tempdir_in(dir)?;
    // Each member has a header and is filled up: many empty members need bytes, too.
    let longest = room.left.saturating_mul(4).saturating_add(HEADERS);
    let mut tar = tar::Archive::new(GzDecoder::new(file).take(longest));
    let mut folders = Vec::new();
    for entry in tar.entries()? {
        let mut entry = entry?;
        room.take(entry.size())?;
        if entry.header().entry_type().is_dir() {
            folders.push(entry);
        } else {
            entry.unpack_in(whole.path())?;
        }
    }
    // A folder that nobody may write to gets its mode after its members.
    folders.sort_by(|one, other| other.path_bytes().cmp(&one.path_bytes()));
    for mut folder in folders {
        folder.unpack_in(whole.path())?;
    }
    for first in whole.path().read_dir()? {
        for entry in first?.path().read_dir()? {
            let entry = entry?;
            std::fs::rename(entry.path(), dir.as_std_path().join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn pick_wheel(
    archive: &Archive,
    wheel: &mut ZipArchive<impl Read + Seek>,
    take: &Selection<'_>,
    dir: &Utf8Path,
    room: &mut Room,
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
    take: &Selection<'_>,
    dir: &Utf8Path,
    room: &mut Room,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let mut found = 0;
    let mut tar = tar::Archive::new(data);
    for entry in tar.entries().map_err(|error| failed(&error))? {
        let mut entry = entry.map_err(|error| failed(&error))?;
        let path = entry.path().map_err(|error| failed(&error))?;
        let name = path.to_string_lossy().trim_start_matches("./").to_owned();
        if let Some(target) = take.target(&name)
            && entry.header().entry_type().is_file()
        {
            write(&dir.join(target), &mut entry, room).map_err(|error| failed(&error))?;
            found += 1;
        }
    }
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
struct Selection<'a> {
    take: &'a [TakenMembers],
    patterns: NamePatterns,
}

impl<'a> Selection<'a> {
    fn new(archive: &Archive, take: &'a [TakenMembers]) -> Result<Self, PinError> {
        let globs = take.iter().map(|take| take.glob.as_str());
        let patterns = NamePatterns::new(globs).map_err(|error| defect(archive, &error))?;
        Ok(Self { take, patterns })
    }

    /// The path of a member in the tree; `None` if it is not wanted.
    fn target<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        // A name comes from an archive, so it may try to lead out of the tree.
        let inside = !name.starts_with('/') && name.split('/').all(|part| part != "..");
        let take = self.take.get(self.patterns.first_match(name)?)?;
        let stripped = || name.splitn(take.strip + 1, '/').nth(take.strip);
        take.to.as_deref().or_else(stripped).filter(|_| inside)
    }
}

/// The uncompressed data.tar of a Debian package.
fn deb_data(file: File) -> std::io::Result<Vec<u8>> {
    let mut package = ar::Archive::new(file);
    while let Some(entry) = package.next_entry() {
        let entry = entry?;
        if entry.header().identifier() == b"data.tar.xz" {
            let mut data = Vec::new();
            lzma_rs::xz_decompress(&mut std::io::BufReader::new(entry), &mut data)
                .map_err(|error| std::io::Error::other(format!("{error:?}")))?;
            return Ok(data);
        }
    }
    Err(std::io::Error::other("no data.tar.xz in it"))
}

/// Writes a member, of which no byte more than the room is read.
fn write(path: &Utf8Path, content: &mut dyn Read, room: &mut Room) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = File::create(path)?;
    let read = std::io::copy(&mut content.take(room.left + 1), &mut file)?;
    room.take(read)?;
    let program = path.parent().and_then(Utf8Path::file_name) == Some("bin");
    file.set_permissions(std::fs::Permissions::from_mode(if program {
        0o755
    } else {
        0o644
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{Archive, ArchiveKind, TakenMembers};
    use super::Selection;

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
        let selection = Selection::new(&archive, &take).expect("patterns");
        for (name, target) in cases {
            assert_eq!(selection.target(name), target, "{name}");
        }
    }
}
