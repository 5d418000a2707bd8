//! One run of a fetch: a folder of its own in the cache, for downloads of programs and for
//! unpacking. Several runs may be active at once. A run takes the files that a killed run had
//! finished.

use std::fs::File;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::locks::FileLock;
use super::progress::FetchProgress;
use super::sources::ArchiveSources;
use super::{Archive, PinError, cache};

/// A run, which ends when it is dropped.
pub(super) struct FetchRun {
    pub(super) sources: ArchiveSources,
    /// The folder in which workers unpack.
    pub(super) staging: Utf8PathBuf,
    folder: Utf8PathBuf,
    _lock: FileLock,
}

impl FetchRun {
    /// Begins a run that fetches some archives: takes the archives that killed runs had finished,
    /// and removes their other files.
    pub(super) fn open(
        progress: Arc<FetchProgress>,
        archives: &[&Archive],
    ) -> Result<Self, PinError> {
        let runs = folder();
        std::fs::create_dir_all(&runs).map_err(PinError::io("create", &runs))?;
        let (folder, lock, ended) = begin(&runs)?;
        for (ended, lock) in ended {
            for archive in archives {
                take_archive_of(&ended, archive)?;
            }
            std::fs::remove_dir_all(&ended).map_err(PinError::io("remove", &ended))?;
            drop(lock);
        }
        let staging = folder.join("staging");
        let unfinished = cache::unfinished_folder();
        for dir in [&staging, &unfinished] {
            std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
        }
        Ok(Self {
            sources: ArchiveSources::open(&incoming(&folder), progress)?,
            staging,
            folder,
            _lock: lock,
        })
    }
}

impl Drop for FetchRun {
    fn drop(&mut self) {
        // The next run removes files that could not be removed here.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs that have ended without removing their folder, with the locks that keep others from it.
type EndedRuns = Vec<(Utf8PathBuf, FileLock)>;

/// Makes a new folder below `runs` with its lock; returns both, and the runs that have ended.
fn begin(runs: &Utf8Path) -> Result<(Utf8PathBuf, FileLock, EndedRuns), PinError> {
    // NB: a folder whose lock is free belongs to a run that has ended, so no run may look while
    // another run makes its folder. Programs that are started do not hold this lock.
    let _gate = lock_gate(runs)?;
    let ended = ended_runs(runs)?;
    let new = tempfile::Builder::new().prefix("run-").tempdir_in(runs);
    let new = new
        .map_err(PinError::io("create a folder in", runs))?
        .keep();
    let folder = Utf8PathBuf::try_from(new)
        .map_err(|error| PinError::io("use", runs)(error.into_io_error()))?;
    match FileLock::try_file(&lock_of(&folder))? {
        Some(lock) => Ok((folder, lock, ended)),
        // The name of the folder is new, so its lock is free.
        None => Err(PinError::io("lock", &folder)(
            std::io::ErrorKind::WouldBlock.into(),
        )),
    }
}

/// Removes the folders of runs that have ended without it.
///
/// # Errors
/// `PinError::Io`
pub(super) fn remove_ended_runs() -> Result<(), PinError> {
    let runs = folder();
    if !runs.is_dir() {
        return Ok(());
    }
    let _gate = lock_gate(&runs)?;
    for (ended, _lock) in ended_runs(&runs)? {
        std::fs::remove_dir_all(&ended).map_err(PinError::io("remove", &ended))?;
    }
    Ok(())
}

fn lock_gate(runs: &Utf8Path) -> Result<File, PinError> {
    let path = runs.join("begin.lock");
    let gate = File::create(&path).map_err(PinError::io("create", &path))?;
    gate.lock().map_err(PinError::io("lock", &path))?;
    Ok(gate)
}

/// The caller holds the gate.
fn ended_runs(runs: &Utf8Path) -> Result<EndedRuns, PinError> {
    let mut ended = EndedRuns::new();
    let entries = runs.read_dir_utf8().map_err(PinError::io("read", runs))?;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        if let Some(lock) = FileLock::try_file(&lock_of(entry.path()))? {
            ended.push((entry.path().to_owned(), lock));
        }
    }
    Ok(ended)
}

/// Takes an archive that an ended run had downloaded. The caller holds the archive's lock, which
/// the programs of a killed run keep until they end.
///
/// # Errors
/// `PinError::Io`
pub(super) fn take_from_ended(archive: &Archive) -> Result<bool, PinError> {
    let Ok(entries) = folder().read_dir_utf8() else {
        return Ok(false);
    };
    for entry in entries.flatten() {
        if take_archive_of(entry.path(), archive)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn take_archive_of(run: &Utf8Path, archive: &Archive) -> Result<bool, PinError> {
    let incoming = incoming(run);
    let by_pip = incoming.join("pip").join(&archive.sha256);
    for dir in [incoming.join("apt"), by_pip] {
        let file = dir.join(&archive.file);
        if file.is_file() && cache::sha256_of_file(&file)? == archive.sha256 {
            cache::adopt(archive, &file)?;
            return Ok(true);
        }
    }
    Ok(false)
}

fn folder() -> Utf8PathBuf {
    cache::dir().join("runs")
}

/// The folder in which apt and pip put their files.
fn incoming(run: &Utf8Path) -> Utf8PathBuf {
    run.join("incoming")
}

fn lock_of(run: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{run}.lock"))
}
