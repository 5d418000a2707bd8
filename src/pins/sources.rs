//! The sources of archives that neither the store nor the cache has: the machine's package indexes,
//! then the URLs of the pins in order. A download goes on where an earlier run ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use zip::ZipArchive;

use super::apt::AptRun;
use super::error::IndexError;
use super::http::{FilePart, HttpClient, HttpFailure, count_received};
use super::locks::FileLock;
use super::pip::{PipIndexes, without_password};
use super::program::folder_size;
use super::progress::{FetchEvent, FetchProgress};
use super::ranges::{self, RemoteFile};
use super::run::take_from_ended;
use super::silence::SourceWatch;
use super::space::megabytes;
use super::{Archive, ArchiveKind, PinError, cache, pip};
use crate::terminal::print_event;

/// The help for failures without a more specific one.
const HELP: &str = "check the network; then run the command again: what was fetched is kept";

/// Where pip may still find a file that its index did not give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PipChance {
    Anywhere,
    /// Its indexes do not answer, and it also has folders or pages of files.
    Links,
    /// pip would fetch the same wrong file again, meet the same broken server without a limit, or
    /// does not work at all.
    None,
}

/// The sources of one run.
pub struct ArchiveSources {
    /// The folder in which apt and pip put their files.
    incoming: Utf8PathBuf,
    pip: OnceLock<Result<PipIndexes, PinError>>,
    urls: OnceLock<Result<HttpClient, IndexError>>,
    apt: AptRun,
    /// The errors of Debian packages that `debs` could not fetch, by sha256.
    absent_debs: Mutex<BTreeMap<String, PinError>>,
    /// The sources that answer, which all downloads share.
    pub watch: Arc<SourceWatch>,
    /// A lock for each archive by its sha256: an archive is downloaded once, however many pins need
    /// it.
    locks: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    pub progress: Arc<FetchProgress>,
}

impl ArchiveSources {
    /// The sources of a run; `incoming` is a folder of this run alone.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn open(incoming: &Utf8Path, progress: Arc<FetchProgress>) -> Result<Self, PinError> {
        for dir in [incoming.join("apt"), incoming.join("pip")] {
            std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        }
        Ok(Self {
            incoming: incoming.to_owned(),
            pip: OnceLock::new(),
            urls: OnceLock::new(),
            apt: AptRun::default(),
            absent_debs: Mutex::new(BTreeMap::new()),
            watch: Arc::default(),
            locks: Mutex::new(BTreeMap::new()),
            progress,
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
            self.progress
                .print(&format!("waiting for another fetch of {name}"));
            print_event(&FetchEvent::Waiting { name });
        })
    }

    /// The bytes that apt and pip have fetched and that are not in the cache yet.
    pub fn incoming_bytes(&self) -> u64 {
        folder_size(&self.incoming)
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
                let (indexed, chance) = self.ask_index(archive);
                match indexed {
                    Ok(path) => return Ok(path),
                    Err(error) => tried.push(("pip's index".to_owned(), error)),
                }
                // pip would build a source distribution.
                if chance != PipChance::None && archive.kind == ArchiveKind::Wheel {
                    match self.ask_pip(archive, chance) {
                        Ok(path) => return Ok(path),
                        // The silence of the index is the reason.
                        Err(_) if chance == PipChance::Links => {}
                        Err(error) => tried.push(("pip".to_owned(), error)),
                    }
                }
            }
            ArchiveKind::Deb => match self.ask_apt_once(archive)? {
                None => return Ok(cached),
                Some(error) => tried.push(("apt".to_owned(), error)),
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

    /// Fetches Debian packages into the cache, all at once: apt opens its lists only once.
    /// `archive` has the errors of packages that did not come.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn debs(&self, archives: &[&Archive]) -> Result<(), PinError> {
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
            let failed = self.ask_apt(&absent)?.into_iter();
            let failed = failed.map(|(archive, error)| (archive.sha256.clone(), error));
            self.absent_debs().extend(failed);
        }
        Ok(())
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
        let (client, partial) = (&indexes.client, cache::partial_path(archive));
        let remote = RemoteFile::new(client, url.clone(), size, &partial);
        ranges::open(remote, wanted).map_err(|error| match client.given_up(&url) {
            Some(why) => HttpFailure::Silent(why).into(),
            None => IndexError::Wheel(error.to_string()),
        })
    }

    /// Prints that more must be downloaded than was promised.
    pub fn note_whole(&self, archive: &Archive, why: &IndexError) {
        let size = archive.size.unwrap_or_default();
        self.progress.extend(size);
        self.progress.print(&format!(
            "parts of {} could not be had ({why}): downloading all of it, {}",
            archive.file,
            megabytes(size)
        ));
    }

    /// Fetches from pip's index without pip, which cannot continue a download.
    fn ask_index(&self, archive: &Archive) -> (Result<Utf8PathBuf, PinError>, PipChance) {
        let indexes = match self.indexes() {
            Ok(indexes) => indexes,
            Err(error) => return (Err(error.for_file(&archive.file)), PipChance::None),
        };
        match indexes.find(archive) {
            Ok(url) => self.ask(&indexes.client, archive, &url),
            Err(IndexError::Http(HttpFailure::Silent(why))) => {
                let chance = match indexes.has_links() {
                    true => PipChance::Links,
                    false => PipChance::None,
                };
                (Err(silent(archive, why)), chance)
            }
            Err(error) => {
                let chance = match error {
                    IndexError::NotListed(_) => PipChance::Anywhere,
                    IndexError::Unusable(_) if indexes.has_links() => PipChance::Links,
                    _ => PipChance::None,
                };
                (Err(download(archive, error.to_string())), chance)
            }
        }
    }

    fn ask_pip(&self, archive: &Archive, chance: PipChance) -> Result<Utf8PathBuf, PinError> {
        let dir = self.incoming.join("pip").join(&archive.sha256);
        std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        let question = self.watch.ask_program(pip::SOURCE);
        let question = question.map_err(|why| silent(archive, why))?;
        let asks_indexes = chance == PipChance::Anywhere;
        pip::download(archive, &dir, asks_indexes, &question).inspect_err(|error| {
            question.failed(&error.why());
        })?;
        let path = self.adopt_incoming(archive, &dir.join(&archive.file))?;
        let _ = std::fs::remove_dir_all(&dir);
        Ok(path)
    }

    /// The error of a Debian package; `None` after the package has come into the cache. `debs` may
    /// have asked for it already.
    fn ask_apt_once(&self, archive: &Archive) -> Result<Option<PinError>, PinError> {
        if let Some(error) = self.absent_debs().remove(&archive.sha256) {
            return Ok(Some(error));
        }
        let failed = self.ask_apt(&[archive])?;
        Ok(failed.into_iter().next().map(|(_, error)| error))
    }

    fn absent_debs(&self) -> MutexGuard<'_, BTreeMap<String, PinError>> {
        let absent = self.absent_debs.lock();
        absent.unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches Debian packages into the cache. Returns the packages that did not come, each with an
    /// error.
    fn ask_apt<'a>(
        &self,
        archives: &[&'a Archive],
    ) -> Result<Vec<(&'a Archive, PinError)>, PinError> {
        let dir = self.incoming.join("apt");
        let mut failed = self.apt.download(archives, &dir, &self.watch);
        for archive in archives {
            let file = dir.join(&archive.file);
            if file.exists() {
                let failure = failed
                    .iter()
                    .position(|(deb, _)| deb.sha256 == archive.sha256);
                match (self.adopt_incoming(archive, &file), failure) {
                    (Ok(_), None) => {}
                    (Ok(_), Some(failure)) => drop(failed.remove(failure)),
                    // apt leaves the begin of a file that it could not download.
                    (Err(PinError::Hash { .. }), Some(_)) => {}
                    (Err(error @ PinError::Hash { .. }), None) => failed.push((archive, error)),
                    (Err(error), _) => return Err(error),
                }
            }
        }
        Ok(failed)
    }

    fn ask_url(&self, archive: &Archive, url: &str) -> Result<Utf8PathBuf, PinError> {
        let new = || HttpClient::new(None, None, Arc::clone(&self.watch));
        match self.urls.get_or_init(new) {
            Ok(client) => self.ask(client, archive, url).0,
            Err(error) => Err(download(archive, error.to_string())),
        }
    }

    /// Fetches from one URL.
    fn ask(
        &self,
        client: &HttpClient,
        archive: &Archive,
        url: &str,
    ) -> (Result<Utf8PathBuf, PinError>, PipChance) {
        let partial = cache::partial_path(archive);
        // An unfinished download may come from another source: if the whole file is wrong, it is
        // downloaded again from the start.
        let mut resumed = partial.exists();
        loop {
            match client.download(url, FilePart::Whole(archive.size), &partial) {
                Ok(()) if archive.kind == ArchiveKind::Tarball => {
                    return (Ok(partial), PipChance::None);
                }
                Ok(()) => match cache::adopt(archive, &partial) {
                    Err(PinError::Hash { .. }) if resumed => resumed = false,
                    Err(error) => {
                        let chance = match error {
                            PinError::Hash { .. } => PipChance::None,
                            _ => PipChance::Anywhere,
                        };
                        return (Err(error), chance);
                    }
                    Ok(path) => return (Ok(path), PipChance::None),
                },
                Err(HttpFailure::Silent(why)) => {
                    return (Err(silent(archive, why)), PipChance::None);
                }
                Err(failure) => {
                    let chance = match failure.is_for_pip() {
                        true => PipChance::Anywhere,
                        false => PipChance::None,
                    };
                    return (Err(download(archive, failure.to_string())), chance);
                }
            }
        }
    }

    fn adopt_incoming(&self, archive: &Archive, file: &Utf8Path) -> Result<Utf8PathBuf, PinError> {
        let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        let path = cache::adopt(archive, file)?;
        count_received(size);
        Ok(path)
    }

    fn indexes(&self) -> Result<&PipIndexes, &PinError> {
        let read = || PipIndexes::configured(Arc::clone(&self.watch));
        self.pip.get_or_init(read).as_ref()
    }
}

fn download(archive: &Archive, why: String) -> PinError {
    PinError::Download {
        name: archive.file.clone(),
        why,
        help: HELP.to_owned(),
    }
}

/// The error of a file whose source is given up.
fn silent(archive: &Archive, why: String) -> PinError {
    PinError::Silent {
        name: archive.file.clone(),
        why,
    }
}

/// One error with the words of all sources.
fn failed(file: &str, mut tried: Vec<(String, PinError)>) -> PinError {
    if tried.len() == 1 {
        return tried.remove(0).1;
    }
    let silent = tried.iter().map(|(_, error)| match error {
        PinError::Silent { why, .. } => Some(why.as_str()),
        _ => None,
    });
    let silent: Option<Vec<&str>> = silent.collect();
    if let Some(mut sources) = silent.filter(|sources| !sources.is_empty()) {
        sources.dedup();
        return PinError::Silent {
            name: file.to_owned(),
            why: sources.join("; "),
        };
    }
    let lines: Vec<String> = tried
        .iter()
        .map(|(source, error)| match error {
            // These words name the source.
            PinError::Silent { why, .. } => format!("\n  {why}"),
            error => format!("\n  {source}: {}", error.why()),
        })
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
