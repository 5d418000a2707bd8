//! Locks by name, as files of the download cache: one for each file that is fetched, for each run,
//! and for apt's lists of each architecture. Threads of one program need another lock besides,
//! since a message says that a run waits for one of these.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::{PinError, cache};

/// A lock that is held until it is dropped, or until this program and the programs that it started
/// have ended. A killed run's apt or pip continues to write until it ends.
#[derive(Debug)]
pub struct FileLock {
    path: Utf8PathBuf,
    /// Whether another run had the lock first, and so may have fetched the file.
    pub waited: bool,
    _file: File,
}

impl FileLock {
    /// Takes the lock of a file that is fetched, by its sha256. `waiting` is called if another run
    /// has it.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn wait(sha256: &str, waiting: impl Fn()) -> Result<Self, PinError> {
        Self::wait_for_file(&path_of(sha256)?, waiting)
    }

    /// Takes the lock at a path. `waiting` is called if another run has it.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn wait_for_file(path: &Utf8Path, waiting: impl Fn()) -> Result<Self, PinError> {
        let mut waited = false;
        loop {
            let file = File::create(path).map_err(PinError::io("create", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if !waited {
                        waiting();
                    }
                    waited = true;
                    file.lock().map_err(PinError::io("lock", path))?;
                }
                Err(TryLockError::Error(error)) => return Err(PinError::io("lock", path)(error)),
            }
            if let Some(locked) = held(file, path, waited)? {
                return Ok(locked);
            }
        }
    }

    /// Takes the lock of a file that is fetched, if it is free.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn try_now(sha256: &str) -> Result<Option<Self>, PinError> {
        Self::try_file(&path_of(sha256)?)
    }

    /// Takes the lock at a path, if it is free.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn try_file(path: &Utf8Path) -> Result<Option<Self>, PinError> {
        let file = File::create(path).map_err(PinError::io("create", path))?;
        match file.try_lock() {
            Ok(()) => held(file, path, false),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(PinError::io("lock", path)(error)),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A waiting run notices that the file is gone, and makes a new one.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A locked file as a lock; `None` if the run that had it before has removed it, so that no other
/// run would find it.
fn held(file: File, path: &Utf8Path, waited: bool) -> Result<Option<FileLock>, PinError> {
    let own = file.metadata().map_err(PinError::io("read", path))?;
    let is_there = std::fs::metadata(path)
        .is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino()));
    if !is_there {
        return Ok(None);
    }
    // NB: programs that this one starts hold the lock, too.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())
        .map_err(|error| PinError::io("lock", path)(error.into()))?;
    Ok(Some(FileLock {
        path: path.to_owned(),
        waited,
        _file: file,
    }))
}

/// Whether a run has the lock of a file that is fetched, or was killed while it had.
pub fn exists(sha256: &str) -> bool {
    cache::dir().join("locks").join(sha256).exists()
}

/// The name of the lock of a tree, whose archives have locks by their own sha256.
pub fn tree_lock(sha256: &str) -> String {
    format!("{sha256}-tree")
}

fn path_of(sha256: &str) -> Result<Utf8PathBuf, PinError> {
    let dir = cache::dir().join("locks");
    std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
    Ok(dir.join(sha256))
}
