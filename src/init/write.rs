//! Writes the files of a new kernel: all or none, and never over a file of the user's.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::InitError;
use crate::file::write_beside;

/// Writes files to a folder, which is created if it does not exist.
///
/// # Errors
/// `InitError::Exists` if a file is in the way, before anything is written; `InitError::Write`.
pub fn write_new(root: &Utf8Path, files: &BTreeMap<Utf8PathBuf, String>) -> Result<(), InitError> {
    let paths = files.keys().map(|path| root.join(path));
    let in_the_way: Vec<Utf8PathBuf> = paths
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    if !in_the_way.is_empty() {
        return Err(InitError::Exists(in_the_way));
    }
    for (path, text) in files {
        let path = root.join(path);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let file = write_beside(&path, text.as_bytes(), Permissions::from_mode(0o644))?;
            // NB: a file that came since the check above stays as it is.
            file.persist_noclobber(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| InitError::Write {
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
}
