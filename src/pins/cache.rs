//! The folder of downloaded archives, shared by all kernels and stores:
//! `<cache>/archives/<sha256>/<file name>`. A file gets its name there after its hash was checked.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Archive, PinError};
use crate::file::{open_to_others, sha256_of};

/// The user's cache folder of this program: `$KERNEL_BUILDER_CACHE`, else the XDG one. `check`
/// refuses a folder that cannot be used.
pub fn dir() -> Utf8PathBuf {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.is_empty())
            .map(Utf8PathBuf::from)
    };
    // Without HOME, the home that the system has for this user.
    let home = || Utf8PathBuf::try_from(std::env::home_dir()?).ok();
    variable("KERNEL_BUILDER_CACHE").unwrap_or_else(|| {
        variable("XDG_CACHE_HOME")
            .unwrap_or_else(|| home().unwrap_or_default().join(".cache"))
            .join("kernel-builder")
    })
}

/// Checks that no other user of the machine can put files of theirs into the cache: its Nix code
/// runs with the rights of this user.
///
/// # Errors
/// `PinError::Cache`
pub fn check() -> Result<(), PinError> {
    let cache = dir();
    let why = match cache.as_str() {
        ".cache/kernel-builder" => "this user has no home".to_owned(),
        _ => {
            let absolute = camino::absolute_utf8(&cache).map_err(PinError::io("find", &cache))?;
            match open_to_others(&absolute.join("library")) {
                None => return Ok(()),
                Some(open) => format!("every user may write to {open}"),
            }
        }
    };
    Err(PinError::Cache { cache, why })
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
    sha256_of(path).map_err(PinError::io("read", path))
}
