//! Brings missing pins into the store: several at a time, each into the download cache first, so
//! that a killed run loses at most the files in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::carry::CarriedFolder;
use super::http::received;
use super::locks::{self, FileLock};
use super::progress::{FetchEvent, FetchProgress};
use super::ranges;
use super::run::{FetchRun, remove_ended_runs};
use super::silence::SourceNotice;
use super::space::megabytes;
use super::worker::{FetchWorker, tasks};
use super::{Archive, ArchiveKind, MissingFiles, Pin, PinError, apt, cache, family_pins};
use crate::nix::Nix;
use crate::terminal::{new_bars, print_event};

/// Downloads at a time. NB: more does not help one index and is unfriendly to it.
const WORKERS: usize = 4;

/// A pin, with the path that it has in the store.
#[derive(Clone, Debug)]
pub struct PlacedPin {
    pub pin: Pin,
    pub path: String,
}

/// The sources that a fetch may use.
#[derive(Debug, Default)]
pub struct FetchOptions {
    /// Uses no network.
    pub offline: bool,
    /// A folder whose files are taken instead of downloads.
    pub from: Option<CarriedFolder>,
}

/// The download of a fetch, as far as it is known before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownloadSize {
    /// The bytes of all files of known size.
    pub bytes: u64,
    /// The number of files whose size is not known.
    pub unknown: usize,
    /// Whether apt's package lists come besides, whose size is not known.
    pub has_lists: bool,
}

/// The pins of some families of a system, and archives that no family has, with their paths.
/// `library` is where the Nix library lies.
///
/// # Errors
/// The errors of Nix, and of reading the families.
pub fn place(
    nix: &Nix,
    library: &Utf8Path,
    system: &str,
    families: &[String],
    archives: &[Archive],
) -> Result<Vec<PlacedPin>, PinError> {
    let mut pins = family_pins(system, families)?;
    let own = archives.iter().cloned().map(Pin::Archive);
    pins.extend(own.map(|pin| (pin.store_name(), pin)));
    let described: Vec<_> = archives
        .iter()
        .map(
            |Archive {
                 file, sha256, urls, ..
             }| { serde_json::json!({ "file": file, "sha256": sha256, "urls": urls }) },
        )
        .collect();
    let arguments = [
        ("system", system),
        ("families", &families.join(" ")),
        ("archives", &serde_json::Value::from(described).to_string()),
    ];
    let answer = nix.evaluate(&library.join("nix/cli-pins.nix"), "paths", &arguments)?;
    let path = |name: &str| answer[name].as_str().map(str::to_owned);
    Ok(pins
        .into_iter()
        .filter_map(|(name, pin)| {
            Some(PlacedPin {
                pin,
                path: path(&name)?,
            })
        })
        .collect())
}

/// The pins that are not in the store, of a list.
///
/// # Errors
/// The errors of Nix.
pub fn missing(nix: &Nix, pins: &[PlacedPin]) -> Result<Vec<PlacedPin>, PinError> {
    let paths: Vec<String> = pins.iter().map(|placed| placed.path.clone()).collect();
    let invalid = nix.invalid_paths(&paths)?;
    let missing = pins.iter().filter(|placed| invalid.contains(&placed.path));
    Ok(missing.cloned().collect())
}

/// The download of some pins, without the bytes that an earlier run left in the cache.
pub fn download_size(missing: &[PlacedPin], options: &FetchOptions) -> DownloadSize {
    let sizes = sizes(missing, options);
    let is_apts = |missing: &&PlacedPin| {
        let archives = missing.pin.archives();
        let mut debs = archives
            .iter()
            .filter(|archive| archive.kind == ArchiveKind::Deb);
        debs.any(|deb| !cache::path(deb).exists() && !apt::has_lists_for(deb))
    };
    let mut asked = missing.iter().filter(|missing| !options.has(&missing.pin));
    DownloadSize {
        bytes: sizes.iter().flatten().sum(),
        unknown: sizes.iter().filter(|size| size.is_none()).count(),
        has_lists: asked.any(|missing| is_apts(&missing)),
    }
}

/// The bytes to download of each pin; `None` for an unknown size.
fn sizes(missing: &[PlacedPin], options: &FetchOptions) -> Vec<Option<u64>> {
    let size = |missing: &PlacedPin| match options.has(&missing.pin) {
        true => Some(0),
        false => to_download(&missing.pin),
    };
    missing.iter().map(size).collect()
}

impl FetchOptions {
    fn has(&self, pin: &Pin) -> bool {
        self.from.as_ref().is_some_and(|folder| folder.has(pin))
    }
}

/// The bytes that fetching some pins adds to disks, by folder.
pub fn disk_size(
    nix: &Nix,
    missing: &[PlacedPin],
    options: &FetchOptions,
) -> Vec<(Utf8PathBuf, u64)> {
    let trees = missing
        .iter()
        .filter(|missing| matches!(missing.pin, Pin::Tree(_)));
    let unpacked: u64 = trees.map(|missing| missing.pin.store_size()).sum();
    let cache = download_size(missing, options).bytes + unpacked;
    let store = missing.iter().map(|missing| missing.pin.store_size()).sum();
    let mut sizes = vec![(cache::dir(), cache)];
    sizes.extend(nix.store_folder().map(|folder| (folder, store)));
    sizes
}

/// Refuses to go on without a network if files are missing.
///
/// # Errors
/// `PinError::Offline` with a list.
pub fn check_offline(missing: &[PlacedPin], options: &FetchOptions) -> Result<(), PinError> {
    let cached = |archive: &&Archive| cache::path(archive).exists();
    let list: Vec<String> = missing
        .iter()
        .filter(|missing| !options.has(&missing.pin) && !missing.pin.archives().iter().all(cached))
        .map(|missing| {
            let size = missing.pin.download_size();
            let size = size.map_or("unknown size".to_owned(), megabytes);
            format!("\n  {} ({size})", missing.pin.store_name())
        })
        .collect();
    if options.offline && !list.is_empty() {
        return Err(PinError::Offline {
            list: list.concat(),
        });
    }
    Ok(())
}

/// The bytes to download of a pin; `None` for an unknown size.
fn to_download(pin: &Pin) -> Option<u64> {
    let cached = |archive: &Archive| cache::path(archive).exists();
    match pin {
        Pin::Archive(archive) if cached(archive) => Some(0),
        Pin::Archive(archive) => {
            let partial = std::fs::metadata(cache::partial_path(archive));
            let partial = partial.map_or(0, |metadata| metadata.len());
            archive.size.map(|size| size.saturating_sub(partial))
        }
        Pin::Tree(tree) => {
            let mut missing = tree.sources.iter().map(|source| &source.archive);
            let mut missing = missing
                .by_ref()
                .filter(|archive| !cached(archive))
                .peekable();
            if missing.peek().is_none() {
                return Some(0);
            }
            // The list of its members comes besides the members of a wheel.
            let lists = missing.filter(|archive| archive.kind == ArchiveKind::Wheel);
            let lists = lists.filter_map(|archive| archive.size);
            let lists: u64 = lists.map(|size| size.min(ranges::BLOCK)).sum();
            pin.download_size().map(|size| size + lists)
        }
    }
}

/// Fetches pins into the store and returns how many bytes came over the network. Every pin is
/// tried, whatever happens to the others.
///
/// # Errors
/// The reasons why pins could not be fetched, each once.
pub fn fetch(
    nix: &Nix,
    missing: &[PlacedPin],
    options: &FetchOptions,
) -> Result<u64, Vec<MissingFiles>> {
    if missing.is_empty() {
        return Ok(0);
    }
    let sizes = sizes(missing, options);
    let progress = Arc::new(FetchProgress::new(&sizes, new_bars()));
    let announced = download_size(missing, options);
    print_event(&FetchEvent::FetchStarted {
        files: missing.len(),
        download: announced.bytes,
        unknown_sizes: announced.unknown,
        store: missing.iter().map(|placed| placed.pin.store_size()).sum(),
    });
    let archives: Vec<&Archive> = missing
        .iter()
        .flat_map(|item| item.pin.archives())
        .collect();
    let run =
        FetchRun::open(Arc::clone(&progress), &archives).map_err(|error| vec![error.into()])?;

    let tasks = Mutex::new(tasks(missing, options));
    let errors = Mutex::new(Vec::new());
    let running = Mutex::new(WORKERS);
    let paths = missing.iter().map(|placed| placed.path.as_str());
    let by_path: BTreeMap<&str, Option<u64>> = paths.zip(sizes.iter().copied()).collect();
    let before = received();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (tasks, errors, running) = (&tasks, &errors, &running);
            let worker = FetchWorker {
                nix,
                sources: &run.sources,
                sizes: &by_path,
                dir: run.staging.join(worker.to_string()),
            };
            scope.spawn(move || {
                // NB: the queue is locked while a task is taken, not while it is done.
                let next = || lock(tasks).pop_front();
                while let Some(task) = next() {
                    let failed = worker.perform(&task);
                    lock(errors).extend(failed);
                }
                *lock(running) -= 1;
            });
        }
        while *lock(&running) > 0 {
            let watch = &run.sources.watch;
            for SourceNotice { source, why } in watch.notices() {
                progress.print(&format!("no answer from {source} ({why}): trying again"));
                let (source, why) = (&source, &why);
                print_event(&FetchEvent::Unanswered { source, why });
            }
            let received = received() - before + run.sources.incoming_bytes();
            progress.update(received, &watch.asked());
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    progress.finish();
    let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if errors.is_empty() {
        Ok(received() - before)
    } else {
        Err(MissingFiles::group(errors))
    }
}

/// Removes the files and the folder of a run that was killed just after it had added these pins to
/// the store. Files of a pin that another run fetches now stay.
///
/// # Errors
/// `PinError::Io`
pub fn tidy(pins: &[PlacedPin]) -> Result<(), PinError> {
    let archives = pins.iter().flat_map(|placed| placed.pin.archives());
    let mut hashes: BTreeSet<&str> = archives.map(|archive| archive.sha256.as_str()).collect();
    hashes.extend(pins.iter().map(|placed| placed.pin.sha256()));
    for sha256 in hashes {
        let of_hash = |name: &str| name.split('-').next() == Some(sha256);
        if (locks::exists(sha256) || has_unfinished(of_hash))
            && let Some(_lock) = FileLock::try_now(sha256)?
        {
            remove_unfinished(of_hash)?;
        }
        // A lock removes its file when it is dropped.
        let tree_lock = locks::tree_lock(sha256);
        if locks::exists(&tree_lock) {
            drop(FileLock::try_now(&tree_lock)?);
        }
    }
    remove_ended_runs()
}

fn has_unfinished(which: impl Fn(&str) -> bool) -> bool {
    let entries = cache::unfinished_folder().read_dir_utf8();
    entries.is_ok_and(|entries| entries.flatten().any(|entry| which(entry.file_name())))
}

pub(super) fn remove_unfinished(which: impl Fn(&str) -> bool) -> Result<(), PinError> {
    let dir = cache::unfinished_folder();
    let entries = match dir.read_dir_utf8() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        result => result.map_err(PinError::io("read", &dir))?,
    };
    for entry in entries.flatten().filter(|entry| which(entry.file_name())) {
        std::fs::remove_file(entry.path()).map_err(PinError::io("remove", entry.path()))?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
