//! The sources of archives that neither the store nor the cache has: the machine's package indexes,
//! then the URLs of the pins in order. A download goes on where an earlier run ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use indicatif::ProgressBar;
use walkdir::WalkDir;
use zip::ZipArchive;

use super::error::IndexError;
use super::http::{FilePart, HttpClient, HttpFailure, RECEIVED};
use super::locks::FileLock;
use super::pip::{PipIndexes, without_password};
use super::ranges::{self, RemoteFile};
use super::run::take_from_ended;
use super::{Archive, ArchiveKind, PinError, apt, cache, pip};

/// The help for failures without a more specific one.
const HELP: &str = "check the network; then run the command again: what was fetched is kept";

/// A fault of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceFault {
    /// The source has another file than the pinned one.
    Foreign,
    /// The source gives no answer, however often it is asked.
    Silent,
}

/// The sources of one run.
pub struct ArchiveSources {
    /// The folder in which apt and pip put their files.
    incoming: Utf8PathBuf,
    pip: OnceLock<Result<PipIndexes, PinError>>,
    urls: OnceLock<Result<HttpClient, IndexError>>,
    /// The servers that did not answer to many tries. They are not asked again for other files.
    silent: Mutex<BTreeSet<String>>,
    /// A lock for each archive by its sha256: an archive is downloaded once, however many pins need
    /// it.
    locks: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    bar: ProgressBar,
}

impl ArchiveSources {
    /// The sources of a run; `incoming` is a folder of this run alone.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn open(incoming: &Utf8Path, bar: ProgressBar) -> Result<Self, PinError> {
        for dir in [incoming.join("apt"), incoming.join("pip")] {
            std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        }
        Ok(Self {
            incoming: incoming.to_owned(),
            pip: OnceLock::new(),
            urls: OnceLock::new(),
            silent: Mutex::new(BTreeSet::new()),
            locks: Mutex::new(BTreeMap::new()),
            bar,
        })
    }

    /// Does an action with an archive while no other worker or run downloads it.
    ///
    /// # Errors
    /// The errors of the action, and of the lock.
    pub fn with_archive_lock<T>(
        &self,
        archive: &Archive,
        action: impl FnOnce() -> Result<T, PinError>,
    ) -> Result<T, PinError> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(locks.entry(archive.sha256.clone()).or_default());
        drop(locks);
        let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _locked = self.lock(&archive.sha256, &archive.file)?;
        action()
    }

    /// Keeps other runs from a file until the lock is dropped. If another run fetches the file now,
    /// prints so and waits.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn lock(&self, sha256: &str, name: &str) -> Result<FileLock, PinError> {
        FileLock::wait(sha256, || {
            self.bar
                .suspend(|| anstream::eprintln!("waiting for another fetch of {name}"));
        })
    }

    /// The bytes that apt and pip have fetched and that are not in the cache yet.
    pub fn incoming_bytes(&self) -> u64 {
        let files = WalkDir::new(&self.incoming).into_iter().flatten();
        files
            .filter_map(|entry| entry.metadata().ok())
            .filter(std::fs::Metadata::is_file)
            .map(|metadata| metadata.len())
            .sum()
    }

    /// An archive in the cache, downloaded if it is not there; an [`ArchiveKind::Tarball`] in a
    /// file that the caller removes. Call it inside `with_archive_lock`.
    ///
    /// # Errors
    /// One error with the words of each source.
    pub fn archive(&self, archive: &Archive) -> Result<Utf8PathBuf, PinError> {
        let cached = cache::path(archive);
        if cached.exists() || take_from_ended(archive)? {
            return Ok(cached);
        }
        let mut tried = Vec::new();
        match archive.kind {
            ArchiveKind::Wheel | ArchiveKind::Sdist => {
                let (indexed, fault) = self.ask_index(archive);
                match indexed {
                    Ok(path) => return Ok(path),
                    Err(error) => tried.push(("pip's index".to_owned(), error)),
                }
                // pip would fetch the same file again, and would build a source distribution.
                if fault != Some(SourceFault::Foreign) && archive.kind == ArchiveKind::Wheel {
                    match self.ask_pip(archive) {
                        Ok(path) => return Ok(path),
                        Err(error) => tried.push(("pip".to_owned(), error)),
                    }
                }
            }
            ArchiveKind::Deb => match self.ask_apt(&[archive]) {
                Ok(()) => return Ok(cached),
                Err(error) => tried.push(("apt".to_owned(), error)),
            },
            ArchiveKind::Rpm | ArchiveKind::File | ArchiveKind::Tarball => {}
        }
        for url in &archive.urls {
            match self.ask_url(archive, url) {
                Ok(path) => return Ok(path),
                Err(error) => tried.push((without_password(url), error)),
            }
        }
        Err(failed(&archive.file, tried))
    }

    /// Fetches Debian packages into the cache, all at once: apt opens its lists only once. Packages
    /// that apt does not have are left to `archive`.
    pub fn debs(&self, archives: &[&Archive]) {
        // Files that another run fetches now are waited for one by one.
        let mut absent = Vec::new();
        let mut locks = Vec::new();
        for archive in archives {
            if !cache::path(archive).exists()
                && let Ok(Some(lock)) = FileLock::try_now(&archive.sha256)
                && matches!(take_from_ended(archive), Ok(false))
            {
                locks.push(lock);
                absent.push(*archive);
            }
        }
        if !absent.is_empty() {
            // A package that fails is tried again, and reported, by itself.
            let _ = self.ask_apt(&absent);
        }
    }

    /// A wheel of `size` bytes on its index, with the wanted members downloaded. Call it inside
    /// `with_archive_lock`.
    ///
    /// # Errors
    /// The reason why the whole wheel must be downloaded.
    pub fn members(
        &self,
        archive: &Archive,
        size: u64,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<ZipArchive<RemoteFile<'_>>, IndexError> {
        let indexes = self
            .indexes()
            .map_err(|error| IndexError::Configuration(error.why()))?;
        let url = indexes.find(archive)?;
        let remote = RemoteFile::new(&indexes.client, url, size, &cache::partial_path(archive));
        ranges::open(remote, wanted).map_err(|error| IndexError::Wheel(error.to_string()))
    }

    /// Prints that more must be downloaded than was promised.
    pub fn note_whole(&self, archive: &Archive, why: &IndexError) {
        let megabytes = archive.size.unwrap_or_default() as f64 / 1e6;
        self.bar.inc_length(archive.size.unwrap_or_default());
        self.bar.suspend(|| {
            anstream::eprintln!(
                "parts of {} could not be had ({why}): downloading all of it, {megabytes:.0} MB",
                archive.file
            );
        });
    }

    /// Fetches from pip's index without pip, which cannot continue a download. The fault says
    /// whether the index has another file of that name.
    fn ask_index(&self, archive: &Archive) -> (Result<Utf8PathBuf, PinError>, Option<SourceFault>) {
        let indexes = match self.indexes() {
            Ok(indexes) => indexes,
            Err(error) => return (Err(download(archive, error.why())), None),
        };
        match indexes.find(archive) {
            Ok(url) => self.ask(&indexes.client, archive, &url),
            Err(error) => (Err(download(archive, error.to_string())), None),
        }
    }

    fn ask_pip(&self, archive: &Archive) -> Result<Utf8PathBuf, PinError> {
        let dir = self.incoming.join("pip").join(&archive.sha256);
        std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        pip::download(archive, &dir)?;
        let path = self.adopt_incoming(archive, &dir.join(&archive.file))?;
        let _ = std::fs::remove_dir_all(&dir);
        Ok(path)
    }

    fn ask_apt(&self, archives: &[&Archive]) -> Result<(), PinError> {
        let dir = self.incoming.join("apt");
        let result = apt::download(archives, &dir);
        // Some files may have been downloaded although others failed.
        for archive in archives {
            let file = dir.join(&archive.file);
            if file.exists() {
                let adopted = self.adopt_incoming(archive, &file);
                if result.is_ok() {
                    adopted?;
                }
            }
        }
        result
    }

    fn ask_url(&self, archive: &Archive, url: &str) -> Result<Utf8PathBuf, PinError> {
        let client = self.urls.get_or_init(|| HttpClient::new(None, None));
        match client {
            Ok(client) => {
                let server = url.split('/').nth(2).unwrap_or_default();
                let silent = || self.silent.lock().unwrap_or_else(PoisonError::into_inner);
                if silent().contains(server) {
                    return Err(PinError::Unasked {
                        file: archive.file.clone(),
                        servers: vec![server.to_owned()],
                    });
                }
                let (result, fault) = self.ask(client, archive, url);
                match fault {
                    Some(SourceFault::Silent) => silent().insert(server.to_owned()),
                    _ => silent().remove(server),
                };
                result
            }
            Err(error) => Err(download(archive, error.to_string())),
        }
    }

    /// Fetches from one URL. The fault is kept for later requests to the same source.
    fn ask(
        &self,
        client: &HttpClient,
        archive: &Archive,
        url: &str,
    ) -> (Result<Utf8PathBuf, PinError>, Option<SourceFault>) {
        let partial = cache::partial_path(archive);
        // An unfinished download may come from another source: if the whole file is wrong, it is
        // downloaded again from the start.
        let mut resumed = partial.exists();
        loop {
            match client.download(url, FilePart::Whole(archive.size), &partial) {
                Ok(()) if archive.kind == ArchiveKind::Tarball => return (Ok(partial), None),
                Ok(()) => match cache::adopt(archive, &partial) {
                    Err(PinError::Hash { .. }) if resumed => resumed = false,
                    Err(error) => {
                        let foreign = matches!(error, PinError::Hash { .. });
                        return (Err(error), foreign.then_some(SourceFault::Foreign));
                    }
                    Ok(path) => return (Ok(path), None),
                },
                Err(failure) => {
                    let fault = match failure {
                        HttpFailure::Foreign(_) => Some(SourceFault::Foreign),
                        HttpFailure::Passing(_) => Some(SourceFault::Silent),
                        HttpFailure::Lasting(_) | HttpFailure::Missing(_) => None,
                    };
                    return (Err(download(archive, failure.to_string())), fault);
                }
            }
        }
    }

    fn adopt_incoming(&self, archive: &Archive, file: &Utf8Path) -> Result<Utf8PathBuf, PinError> {
        let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        let path = cache::adopt(archive, file)?;
        RECEIVED.fetch_add(size, std::sync::atomic::Ordering::Relaxed);
        Ok(path)
    }

    fn indexes(&self) -> Result<&PipIndexes, &PinError> {
        self.pip.get_or_init(PipIndexes::configured).as_ref()
    }
}

fn download(archive: &Archive, why: String) -> PinError {
    PinError::Download {
        name: archive.file.clone(),
        why,
        help: HELP.to_owned(),
    }
}

/// One error with the words of all sources.
fn failed(file: &str, mut tried: Vec<(String, PinError)>) -> PinError {
    if tried.len() == 1 {
        return tried.remove(0).1;
    }
    let unasked = tried.iter().map(|(_, error)| match error {
        PinError::Unasked { servers, .. } => Some(servers.concat()),
        _ => None,
    });
    let unasked: Option<Vec<String>> = unasked.collect();
    if let Some(servers) = unasked.filter(|servers| !servers.is_empty()) {
        let file = file.to_owned();
        return PinError::Unasked { file, servers };
    }
    let lines: Vec<String> = tried
        .iter()
        .map(|(source, error)| format!("\n  {source}: {}", error.why()))
        .collect();
    PinError::Download {
        name: file.to_owned(),
        why: if lines.is_empty() {
            "its pin names no source".to_owned()
        } else {
            format!("no source has it{}", lines.concat())
        },
        help: HELP.to_owned(),
    }
}
