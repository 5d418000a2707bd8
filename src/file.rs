//! Writing files whole or not at all: beside their place, then renamed. Knows nothing of their
//! content.

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// The start of the name of every unfinished file and folder.
pub const UNFINISHED: &str = ".kernel-builder-";

/// The most bytes of a text that people or programs write: a source, a generated file.
pub const MAX_TEXT: u64 = 64 << 20;

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// The errors of the file system, and an error for a larger file and for what is no file: reading a
/// pipe might wait forever, and reading a device never end.
pub fn read_at_most(path: &Utf8Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a file",
        ));
    }
    if metadata.len() > limit {
        let message = format!("it is larger than {} kB", limit / 1000);
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, message));
    }
    std::fs::read(path)
}

/// The cure of an error of the file system, by its kind.
pub fn help_for_io(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "check that the path exists",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "check the permissions there: the user that runs this command needs to read or to write"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space there",
        _ => "these are the words of the operating system: check the path and its disk",
    }
}

/// Replaces a file, or creates it, for everybody to read.
///
/// # Errors
/// The errors of the file system; the old file then stays as it was.
pub fn replace_file(path: &Utf8Path, content: &[u8]) -> std::io::Result<()> {
    // Temporary files are private; a file in its place is like any other.
    let file = write_beside(path, content, Permissions::from_mode(0o644))?;
    rename_into_place(file, path)
}

/// Replaces a file, or creates it, for its owner alone.
///
/// # Errors
/// The errors of the file system; the old file then stays as it was.
pub fn replace_private_file(path: &Utf8Path, content: &[u8]) -> std::io::Result<()> {
    let file = write_beside(path, content, Permissions::from_mode(0o600))?;
    rename_into_place(file, path)
}

/// Writes a file beside its place. It is removed unless `rename_into_place` gets it.
///
/// # Errors
/// The errors of the file system.
pub fn write_beside(
    path: &Utf8Path,
    content: &[u8],
    permissions: Permissions,
) -> std::io::Result<NamedTempFile> {
    let mut file = create_beside(path)?;
    file.write_all(content)?;
    file.as_file().set_permissions(permissions)?;
    Ok(file)
}

/// Creates an empty file beside its place, for its owner alone. It is removed unless
/// `rename_into_place` gets it.
///
/// # Errors
/// The errors of the file system.
pub fn create_beside(path: &Utf8Path) -> std::io::Result<NamedTempFile> {
    let parent = path.parent().filter(|folder| !folder.as_str().is_empty());
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(parent.unwrap_or(Utf8Path::new(".")))
}

/// The sha256 of a file, in hexadecimal digits.
///
/// # Errors
/// The errors of the file system.
pub fn sha256_of(path: &Utf8Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    read_pieces(path, |piece| hash.update(piece))?;
    Ok(crate::hex(&hash.finalize()))
}

/// Reads a file in pieces, so that a large one needs little memory.
///
/// # Errors
/// The errors of the file system.
pub fn read_pieces(path: &Utf8Path, mut each: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            length => each(&buffer[..length]),
        }
    }
}

/// Renames a file that lies beside its place.
///
/// # Errors
/// The errors of the file system.
pub fn rename_into_place(file: NamedTempFile, path: &Utf8Path) -> std::io::Result<()> {
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Puts a folder into the place of another one, or where none is. The folder that was there is then
/// at `new`, or at `new` with `.old` at its end.
///
/// # Errors
/// The errors of the file system; the place then has the old folder, or none if it had none.
pub fn replace_folder(new: &Utf8Path, place: &Utf8Path) -> std::io::Result<()> {
    if !place.exists() {
        return std::fs::rename(new, place);
    }
    let (from, to) = (new.as_str(), place.as_str());
    match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
        // A file system that cannot exchange names, as on some networks.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let old = Utf8PathBuf::from(format!("{new}.old"));
            std::fs::rename(place, &old)?;
            std::fs::rename(new, place).inspect_err(|_| {
                // NB: the first error is the one to report.
                let _ = std::fs::rename(&old, place);
            })
        }
        result => Ok(result?),
    }
}

/// The folder at or above a path in which any user of the machine may put another folder into the
/// path's place; `None` if there is none. A folder such as /tmp, where everybody may create and
/// only owners may rename, is one unless this user or root owns the next folder of the path.
pub fn open_to_others(path: &Utf8Path) -> Option<&Utf8Path> {
    const OTHERS_MAY_WRITE: u32 = 0o002;
    const OWNERS_RENAME: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    let mut next_is_own = false;
    path.ancestors().find(|folder| {
        let Ok(metadata) = folder.metadata() else {
            // It will be created by this user.
            next_is_own = true;
            return false;
        };
        let is_open = metadata.mode() & OTHERS_MAY_WRITE != 0
            && !(metadata.mode() & OWNERS_RENAME != 0 && next_is_own);
        next_is_own = [0, own].contains(&metadata.uid());
        is_open
    })
}

/// A text that changes when the file at a path is replaced or written: the file's real path, its
/// size and its time. It does not depend on the content.
pub fn identity(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let metadata = real.metadata().ok();
    let facts = metadata.map(|own| (own.len(), own.mtime(), own.mtime_nsec(), own.ino()));
    format!("{} {facts:?}", real.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_one_that_all_may_write_to_is_open() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let (shared, cache) = (dir.join("shared"), dir.join("shared/cache/library"));
        std::fs::create_dir(&shared).expect("a folder");
        let set = |mode| std::fs::set_permissions(&shared, Permissions::from_mode(mode));
        for (mode, is_open) in [
            (0o755, false),
            (0o777, true),
            (0o1777, false),
            (0o775, false),
        ] {
            set(mode).expect("a mode");
            let expected = is_open.then_some(shared.as_path());
            assert_eq!(open_to_others(&cache), expected, "{mode:o}");
        }
        set(0o1777).expect("a mode");
        assert_eq!(open_to_others(&shared), Some(shared.as_path()));
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let path = dir.join("a");
        for content in ["one", "two"] {
            replace_file(&path, content.as_bytes()).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("read"), content);
        }
        let mode = path.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        drop(write_beside(&path, b"three", Permissions::from_mode(0o600)).expect("written"));
        let names = dir.read_dir_utf8().expect("a folder");
        assert_eq!(names.count(), 1);
        assert!(replace_file(&dir.join("no/such/folder"), b"").is_err());
    }
}
