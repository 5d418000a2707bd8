//! Checks that the disks have room for the files of a fetch, before a download.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::PinError;

/// Checks that every file system has room for its new files. `needs` are folders, which need not
/// exist yet, with bytes.
///
/// # Errors
/// `PinError::Space` for each file system that lacks room.
pub fn check(needs: &[(&Utf8Path, u64)]) -> Result<(), Vec<PinError>> {
    let mut by_device: BTreeMap<u64, (Vec<&Utf8Path>, u64)> = BTreeMap::new();
    for &(folder, bytes) in needs {
        // A file system that does not tell its free space is no reason to fail.
        if let Some(device) = existing_ancestor(folder).and_then(|path| path.metadata().ok()) {
            let entry = by_device.entry(device.dev()).or_default();
            entry.0.push(folder);
            entry.1 += bytes;
        }
    }
    let mut errors = Vec::new();
    for (folders, needed) in by_device.into_values() {
        let Some(free) = folders.first().and_then(|folder| free_bytes(folder)) else {
            continue;
        };
        if free < needed {
            let folders: Vec<&str> = folders.iter().map(|folder| folder.as_str()).collect();
            errors.push(PinError::Space {
                folders: folders.join(" and "),
                needed: megabytes(needed),
                free: megabytes(free),
            });
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// A number of bytes in words: "12 MB", "0.3 MB".
pub fn megabytes(bytes: u64) -> String {
    let number = bytes as f64 / 1e6;
    if number == 0.0 || number >= 10.0 {
        format!("{number:.0} MB")
    } else {
        format!("{:.1} MB", number.max(0.1))
    }
}

/// The bytes that this user may still write below a folder, which need not exist yet.
pub fn free_bytes(folder: &Utf8Path) -> Option<u64> {
    let found = rustix::fs::statvfs(existing_ancestor(folder)?.as_str()).ok()?;
    Some(found.f_bavail * found.f_frsize)
}

/// The folder, or the nearest one above that exists.
fn existing_ancestor(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let folder = camino::absolute_utf8(folder).ok()?;
    folder
        .ancestors()
        .find(|path| path.exists())
        .map(Utf8Path::to_owned)
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::{check, megabytes};

    #[test]
    fn needs_of_one_file_system_are_added() {
        let here = Utf8Path::new("/tmp/not/there");
        assert!(check(&[(here, 1), (here, 1)]).is_ok());
        let errors = check(&[(here, u64::MAX / 2), (here, 1)]).expect_err("too much");
        assert_eq!(errors.len(), 1);
        let words = errors[0].to_string();
        assert!(
            words.contains("/tmp/not/there and /tmp/not/there"),
            "{words}"
        );
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(megabytes(0), "0 MB");
        assert_eq!(megabytes(1), "0.1 MB");
        assert_eq!(megabytes(2_340_000), "2.3 MB");
        assert_eq!(megabytes(78_900_000), "79 MB");
    }
}
