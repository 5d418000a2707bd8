//! Writing files whole or not at all: beside their place, then renamed. Knows nothing of their
//! content.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use camino::Utf8Path;
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
    let parent = path.parent().filter(|folder| !folder.as_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(parent.unwrap_or(Utf8Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().set_permissions(permissions)?;
    Ok(file)
}

/// Renames a file that lies beside its place.
///
/// # Errors
/// The errors of the file system.
pub fn rename_into_place(file: NamedTempFile, path: &Utf8Path) -> std::io::Result<()> {
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
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
