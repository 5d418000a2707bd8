//! Brings missing pins into the store: several at a time, each into the download cache first, so
//! that a killed run loses at most the files in flight.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::carry::CarriedFolder;
use super::http::RECEIVED;
use super::locks::{self, FileLock};
use super::run::FetchRun;
use super::sources::ArchiveSources;
use super::space::megabytes;
use super::{Archive, ArchiveKind, Pin, PinError, Tree, cache, family_pins, tree};
use crate::nix::Nix;

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

/// The bytes that fetching some pins downloads, without the bytes that an earlier run left in the
/// cache.
pub fn download_size(missing: &[PlacedPin], options: &FetchOptions) -> u64 {
    missing
        .iter()
        .filter(|missing| !options.has(&missing.pin))
        .map(|missing| to_download(&missing.pin))
        .sum()
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
    let cache = download_size(missing, options) + unpacked;
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
            let size = megabytes(missing.pin.download_size().unwrap_or_default());
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

fn to_download(pin: &Pin) -> u64 {
    let cached = |archive: &Archive| cache::path(archive).exists();
    match pin {
        Pin::Archive(archive) if cached(archive) => 0,
        Pin::Archive(archive) => {
            let partial = std::fs::metadata(cache::partial_path(archive));
            let size = archive.size.unwrap_or_default();
            size.saturating_sub(partial.map_or(0, |metadata| metadata.len()))
        }
        Pin::Tree(tree) if tree.sources.iter().all(|source| cached(&source.archive)) => 0,
        Pin::Tree(_) => pin.download_size().unwrap_or_default(),
    }
}

/// Fetches pins into the store and returns how many bytes came over the network. Every pin is
/// tried, whatever happens to the others.
///
/// # Errors
/// An error for each pin that could not be fetched.
pub fn fetch(
    nix: &Nix,
    missing: &[PlacedPin],
    options: &FetchOptions,
) -> Result<u64, Vec<PinError>> {
    if missing.is_empty() {
        return Ok(0);
    }
    let bar = ProgressBar::with_draw_target(
        Some(download_size(missing, options)),
        ProgressDrawTarget::stderr(),
    );
    if let Ok(style) =
        ProgressStyle::with_template("{bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left")
    {
        bar.set_style(style);
    }
    let archives: Vec<&Archive> = missing
        .iter()
        .flat_map(|item| item.pin.archives())
        .collect();
    let run = FetchRun::open(&bar, &archives).map_err(|error| vec![error])?;

    let tasks = Mutex::new(tasks(missing, options));
    let errors = Mutex::new(Vec::new());
    let running = Mutex::new(WORKERS);
    let before = RECEIVED.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (tasks, errors, running, run) = (&tasks, &errors, &running, &run);
            scope.spawn(move || {
                while let Some(task) = lock(tasks).pop_front() {
                    let dir = run.staging.join(worker.to_string());
                    lock(errors).extend(perform(nix, &task, &run.sources, &dir));
                }
                *lock(running) -= 1;
            });
        }
        while *lock(&running) > 0 {
            let received = RECEIVED.load(Ordering::Relaxed) - before;
            bar.set_position(received + run.sources.incoming_bytes());
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    bar.finish_and_clear();
    let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if errors.is_empty() {
        Ok(RECEIVED.load(Ordering::Relaxed) - before)
    } else {
        Err(errors)
    }
}

/// The work of one worker at a time.
enum FetchTask<'a> {
    Carried(&'a CarriedFolder, &'a PlacedPin),
    Debs(Vec<(&'a Archive, &'a PlacedPin)>),
    Archive(&'a Archive, &'a PlacedPin),
    Tree(&'a Tree, &'a PlacedPin),
}

/// The tasks of a fetch, the longest downloads first.
fn tasks<'a>(missing: &'a [PlacedPin], options: &'a FetchOptions) -> VecDeque<FetchTask<'a>> {
    let mut debs = Vec::new();
    let mut others = Vec::new();
    for item in missing {
        let size = item.pin.download_size().unwrap_or_default();
        if let Some(folder) = options.from.as_ref().filter(|folder| folder.has(&item.pin)) {
            others.push((size, FetchTask::Carried(folder, item)));
            continue;
        }
        match &item.pin {
            Pin::Archive(archive) if archive.kind == ArchiveKind::Deb => debs.push((archive, item)),
            Pin::Archive(archive) => others.push((size, FetchTask::Archive(archive, item))),
            Pin::Tree(tree) => others.push((size, FetchTask::Tree(tree, item))),
        }
    }
    if !debs.is_empty() {
        let sizes = debs.iter().filter_map(|(archive, _)| archive.size);
        others.push((sizes.sum(), FetchTask::Debs(debs)));
    }
    others.sort_by_key(|(size, _)| Reverse(*size));
    others.into_iter().map(|(_, task)| task).collect()
}

/// Does a task in a folder of its own; returns its errors.
fn perform(
    nix: &Nix,
    task: &FetchTask<'_>,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Vec<PinError> {
    let archive = |archive: &Archive, missing: &PlacedPin| {
        empty(dir)?;
        sources.with_archive_lock(archive, || sources.archive(archive))?;
        add_archive(nix, archive, missing, dir)
    };
    let results = match task {
        FetchTask::Carried(folder, missing) => {
            vec![empty(dir).and_then(|()| folder.add(nix, missing, dir))]
        }
        FetchTask::Debs(debs) => {
            sources.debs(&debs.iter().map(|(deb, _)| *deb).collect::<Vec<_>>());
            debs.iter()
                .map(|(deb, missing)| archive(deb, missing))
                .collect()
        }
        FetchTask::Archive(item, missing) => vec![archive(item, missing)],
        FetchTask::Tree(item, missing) => vec![add_tree(nix, item, missing, sources, dir)],
    };
    results.into_iter().filter_map(Result::err).collect()
}

pub(super) fn empty(dir: &Utf8Path) -> Result<(), PinError> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(PinError::io("empty", dir))?;
    }
    std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))
}

/// Adds a tree to the store: from parts of its archives, else from whole ones.
fn add_tree(
    nix: &Nix,
    tree: &Tree,
    missing: &PlacedPin,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    // NB: the hash alone must not name the lock: an archive may have the same hash
    // ([`ArchiveKind::Tarball`]).
    let lock = sources.lock(&format!("{}-tree", tree.sha256), &tree.name)?;
    let path = std::slice::from_ref(&missing.path);
    if lock.waited && nix.invalid_paths(path)?.is_empty() {
        return Ok(());
    }
    let mut right = false;
    for from in [tree::MemberAccess::Parts, tree::MemberAccess::Wholes] {
        let built = dir.join(&tree.name);
        empty(dir)?;
        std::fs::create_dir(&built).map_err(PinError::io("create", &built))?;
        tree::build(&tree.sources, from, sources, &built)?;
        right = nix.add_fixed(&built, true)? == missing.path;
        // The parts of archives are not needed any more, whether the tree is right or wrong.
        for source in &tree.sources {
            sources.with_archive_lock(&source.archive, || remove_parts(&source.archive))?;
        }
        if right {
            break;
        }
    }
    empty(dir)?;
    if right {
        return Ok(());
    }
    let unhashed = |source: &super::TreeSource| source.archive.kind == ArchiveKind::Tarball;
    let (why, help) = match tree.sources.iter().any(unhashed) {
        true => (
            "its server has something else than was pinned",
            "find out why before you use it",
        ),
        false => (
            "its archives match their pins, its members do not",
            "this is a defect of kernel-builder, please report it",
        ),
    };
    Err(PinError::Download {
        name: tree.name.clone(),
        why: why.to_owned(),
        help: help.to_owned(),
    })
}

/// Removes the parts of an archive that were downloaded for a tree.
pub(super) fn remove_parts(archive: &Archive) -> Result<(), PinError> {
    remove_unfinished(|name| {
        name.strip_prefix(&*archive.sha256)
            .is_some_and(|rest| !rest.is_empty())
    })
}

/// Removes the files of a run that was killed just after it had added these pins to the store.
/// Files of a pin that another run fetches now stay.
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
    }
    Ok(())
}

fn has_unfinished(which: impl Fn(&str) -> bool) -> bool {
    let entries = cache::unfinished_folder().read_dir_utf8();
    entries.is_ok_and(|entries| entries.flatten().any(|entry| which(entry.file_name())))
}

fn remove_unfinished(which: impl Fn(&str) -> bool) -> Result<(), PinError> {
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

/// Adds a cached archive to the store under the name that the pin has there.
fn add_archive(
    nix: &Nix,
    archive: &Archive,
    missing: &PlacedPin,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let cached = cache::path(archive);
    let named = dir.join(missing.pin.store_name());
    std::fs::hard_link(&cached, &named).map_err(PinError::io("link", &named))?;
    let added = nix.add_fixed(&named, false)?;
    if added == missing.path {
        return Ok(());
    }
    // The cache checks a file when it takes it, so this file was changed there and must not stay.
    std::fs::remove_file(&cached).map_err(PinError::io("remove", &cached))?;
    let why = format!("the copy in the download cache was changed ({cached}); it is removed");
    Err(PinError::Download {
        name: archive.file.clone(),
        why,
        help: "run the command again".to_owned(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
