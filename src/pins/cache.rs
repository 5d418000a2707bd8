//! The folder of downloaded archives, shared by all kernels and stores:
//! `<cache>/archives/<sha256>/<file name>`. A file gets its name there after its hash was checked.

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::{Archive, PinError};
use crate::hex;

/// The user's cache folder of this program: `$KERNEL_BUILDER_CACHE`, else the XDG one.
pub fn dir() -> Utf8PathBuf {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.is_empty())
            .map(Utf8PathBuf::from)
    };
    variable("KERNEL_BUILDER_CACHE").unwrap_or_else(|| {
        variable("XDG_CACHE_HOME")
            .unwrap_or_else(|| {
                variable("HOME")
                    .unwrap_or_else(|| "/tmp".into())
                    .join(".cache")
            })
            .join("kernel-builder")
    })
}

/// The path of an archive that is downloaded.
pub fn path(archive: &Archive) -> Utf8PathBuf {
    dir()
        .join("archives")
        .join(&archive.sha256)
        .join(&archive.file)
}

/// The path of an archive's unfinished download; the names of its parts start with this.
pub fn partial_path(archive: &Archive) -> Utf8PathBuf {
    unfinished_folder().join(&archive.sha256)
}

/// The folder of unfinished downloads, by sha256 of the archive.
pub fn unfinished_folder() -> Utf8PathBuf {
    dir().join("partial")
}

/// Moves a downloaded file to its place, if it has the pinned content.
///
/// # Errors
/// `PinError::Hash` if it has other content; the file is then removed.
pub fn adopt(archive: &Archive, downloaded: &Utf8Path) -> Result<Utf8PathBuf, PinError> {
    let served = sha256_of_file(downloaded)?;
    if served != archive.sha256 {
        std::fs::remove_file(downloaded).map_err(PinError::io("remove", downloaded))?;
        return Err(PinError::Hash {
            file: archive.file.clone(),
            pinned: archive.sha256.clone(),
            served,
        });
    }
    let target = path(archive);
    if let Some(dir) = target.parent() {
        std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
    }
    std::fs::rename(downloaded, &target).map_err(PinError::io("move a download to", &target))?;
    Ok(target)
}

/// The sha256 of a file's content in hexadecimal digits.
pub fn sha256_of_file(path: &Utf8Path) -> Result<String, PinError> {
    let mut file = std::fs::File::open(path).map_err(PinError::io("open", path))?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut HashWriter(&mut hash)).map_err(PinError::io("read", path))?;
    Ok(hex(&hash.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
