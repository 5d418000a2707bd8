//! build/ of a kernel: a variant's folder there is the old build or the new one at any time, and
//! nothing else stays of a run that was killed.

use std::fs::File;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::file::{UNFINISHED, replace_folder};

/// The folder, which other runs may use at the same time.
pub struct OutputFolder {
    pub path: Utf8PathBuf,
    /// A lock of the folder itself. It is shared: whoever has it alone may remove what killed runs
    /// left there.
    _lock: File,
}

impl OutputFolder {
    /// Opens the folder, or creates it. Removes what killed runs left there, unless another run
    /// uses the folder.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn open(path: &Utf8Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let lock = File::open(path)?;
        if lock.try_lock().is_ok() {
            for entry in path.read_dir_utf8()? {
                let entry = entry?;
                if entry.file_name().starts_with(UNFINISHED) && entry.file_type()?.is_dir() {
                    std::fs::remove_dir_all(entry.path())?;
                }
            }
        }
        lock.lock_shared()?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// A new folder for a build that is not whole yet.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn staging(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.path)
    }

    /// Puts a whole build into the place of a variant. The build that was there is where the new
    /// one was, in the folder of `staging`.
    ///
    /// # Errors
    /// The errors of the file system; the place then has the old build, or none if it had none.
    pub fn put(&self, new: &Utf8Path, variant: &str) -> std::io::Result<()> {
        replace_folder(new, &self.path.join(variant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_exchanged_and_leftovers_swept_by_the_only_run() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let path = dir.join("build");
        let output = OutputFolder::open(&path).expect("opened");
        let write = |folder: &Utf8Path, text: &str| {
            std::fs::create_dir_all(folder).expect("created");
            std::fs::write(folder.join("file"), text).expect("written");
        };
        let read = |folder: &Utf8Path| std::fs::read_to_string(folder.join("file")).expect("read");
        for text in ["one", "two"] {
            let staging = output.staging().expect("a folder");
            let new = Utf8Path::from_path(staging.path())
                .expect("UTF-8")
                .join("new");
            write(&new, text);
            output.put(&new, "variant").expect("put");
            assert_eq!(read(&path.join("variant")), text);
            assert_eq!(new.exists(), text == "two", "the old build is in staging");
        }
        let left = output.staging().expect("a folder").keep();
        write(&path.join("own"), "mine");
        drop(OutputFolder::open(&path).expect("opened"));
        assert!(left.exists(), "another run uses the folder");
        drop(output);
        drop(OutputFolder::open(&path).expect("opened"));
        assert!(!left.exists());
        assert_eq!(read(&path.join("own")), "mine");
    }
}
