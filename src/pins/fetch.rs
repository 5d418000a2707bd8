//! Brings missing pins into the store: several at a time, each into the download cache first, so that a killed run
//! loses at most the files in flight.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use walkdir::WalkDir;

use super::{Archive, Kind, Pin, PinError, apt, cache, pip, tree};
use crate::nix::Nix;

/// Downloads at a time. NB: more does not help one index and is unfriendly to it.
const WORKERS: usize = 4;

/// Below the cache: downloads that can go on, by sha256.
const PARTIAL: &str = "partial";

/// A pin that is not in the store, with the path that it will have there.
#[derive(Clone, Debug)]
pub struct Missing {
    pub pin: Pin,
    pub path: String,
}

/// Those of some pins that are not in the store. `library` is where the Nix library lies.
///
/// # Errors
/// Nix's.
pub fn missing(
    nix: &Nix,
    library: &Utf8Path,
    system: &str,
    families: &[String],
    pins: &BTreeMap<String, Pin>,
) -> Result<Vec<Missing>, PinError> {
    let arguments = [("system", system), ("families", &families.join(" "))];
    let answer = nix.evaluate(&library.join("nix/cli-pins.nix"), "paths", &arguments)?;
    let paths: BTreeMap<&String, &str> = answer
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, path)| Some((name, path.as_str()?)))
        .collect();
    let wanted: Vec<String> = paths.values().map(|path| (*path).to_owned()).collect();
    let invalid = nix.invalid(&wanted)?;
    Ok(pins
        .iter()
        .filter_map(|(name, pin)| {
            Some(Missing {
                pin: pin.clone(),
                path: (*paths.get(name)?).to_owned(),
            })
        })
        .filter(|missing| invalid.contains(&missing.path))
        .collect())
}

/// Bytes that fetching some pins downloads, less what an earlier run left in the cache.
pub fn download_size(missing: &[Missing]) -> u64 {
    missing
        .iter()
        .map(|missing| to_download(&missing.pin))
        .sum()
}

fn to_download(pin: &Pin) -> u64 {
    let cached = |archive: &Archive| cache::path(archive).exists();
    match pin {
        Pin::Archive(archive) if cached(archive) => 0,
        Pin::Archive(archive) => {
            let partial = std::fs::metadata(cache::dir().join(PARTIAL).join(&archive.sha256));
            archive
                .size
                .saturating_sub(partial.map_or(0, |metadata| metadata.len()))
        }
        Pin::Tree(tree) if tree.sources.iter().all(|source| cached(&source.archive)) => 0,
        Pin::Tree(tree) => tree.size,
    }
}

/// Fetches pins into the store. Every pin is tried, whatever happens to the others.
///
/// # Errors
/// One for each pin that could not be had.
pub fn fetch(nix: &Nix, missing: &[Missing]) -> Result<(), Vec<PinError>> {
    if missing.is_empty() {
        return Ok(());
    }
    let staging = Staging::open().map_err(|error| vec![error])?;
    let bar =
        ProgressBar::with_draw_target(Some(download_size(missing)), ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("{bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left")
    {
        bar.set_style(style);
    }

    let tasks = Mutex::new(tasks(missing));
    let errors = Mutex::new(Vec::new());
    let running = Mutex::new(WORKERS);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (tasks, errors, running, staging) = (&tasks, &errors, &running, &staging);
            scope.spawn(move || {
                while let Some(task) = lock(tasks).pop_front() {
                    let dir = staging.dir.join(worker.to_string());
                    if let Err(error) = perform(nix, &task, &dir) {
                        lock(errors).push(error);
                    }
                }
                *lock(running) -= 1;
            });
        }
        while *lock(&running) > 0 {
            let before = download_size(missing);
            let total = bar.length().unwrap_or_default();
            bar.set_position(total.saturating_sub(before) + staging.bytes());
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    bar.finish_and_clear();
    let errors = errors
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// One run of a downloading program.
enum Task<'a> {
    /// All Debian packages at once: apt opens its lists only once.
    Debs(Vec<(&'a Archive, &'a Missing)>),
    Wheel(&'a Archive, &'a Missing),
    Tree(&'a super::Tree, &'a Missing),
}

/// The longest downloads first.
fn tasks(missing: &[Missing]) -> VecDeque<Task<'_>> {
    let mut debs = Vec::new();
    let mut others = Vec::new();
    for item in missing {
        match &item.pin {
            Pin::Archive(archive) if archive.kind == Kind::Deb => debs.push((archive, item)),
            Pin::Archive(archive) => others.push((archive.size, Task::Wheel(archive, item))),
            Pin::Tree(tree) => others.push((tree.size, Task::Tree(tree, item))),
        }
    }
    if !debs.is_empty() {
        others.push((
            debs.iter().map(|(archive, _)| archive.size).sum(),
            Task::Debs(debs),
        ));
    }
    others.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    others.into_iter().map(|(_, task)| task).collect()
}

fn perform(nix: &Nix, task: &Task<'_>, dir: &Utf8Path) -> Result<(), PinError> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(PinError::io("empty", dir))?;
    }
    std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
    match task {
        Task::Debs(debs) => {
            let absent: Vec<&Archive> = debs
                .iter()
                .map(|(archive, _)| *archive)
                .filter(|archive| !cache::path(archive).exists())
                .collect();
            if !absent.is_empty() {
                apt::download(&absent, dir)?;
                for archive in absent {
                    cache::adopt(archive, &dir.join(&archive.file))?;
                }
            }
            debs.iter()
                .try_for_each(|(archive, missing)| add_archive(nix, archive, missing, dir))
        }
        Task::Wheel(archive, missing) => {
            if !cache::path(archive).exists() {
                download_wheel(archive, dir)?;
            }
            add_archive(nix, archive, missing, dir)
        }
        Task::Tree(tree, missing) => {
            let built = dir.join(&tree.name);
            let whole = dir.join("archives");
            for dir in [&built, &whole] {
                std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
            }
            tree::build(&tree.sources, &built, &whole)?;
            let added = nix.add_fixed(&built, true)?;
            if added != missing.path {
                let why = "its members are not the pinned ones".to_owned();
                let help = "an index served another file than the pinned one: fetch again with another index".to_owned();
                return Err(PinError::Download {
                    name: tree.name.clone(),
                    why,
                    help,
                });
            }
            Ok(())
        }
    }
}

/// Downloads a wheel to the cache: by ranges, so that a killed run goes on where it ended, else through pip.
fn download_wheel(archive: &Archive, dir: &Utf8Path) -> Result<(), PinError> {
    let partial = cache::dir().join(PARTIAL).join(&archive.sha256);
    if pip::resume(archive, &partial).is_ok() && cache::adopt(archive, &partial).is_ok() {
        return Ok(());
    }
    pip::download(archive, dir)?;
    cache::adopt(archive, &dir.join(&archive.file))?;
    // What ranges left is of no use any more.
    let _ = std::fs::remove_file(&partial);
    Ok(())
}

/// Adds a cached archive to the store under the name that the pin has there.
fn add_archive(
    nix: &Nix,
    archive: &Archive,
    missing: &Missing,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let cached = cache::path(archive);
    let named = dir.join(missing.pin.store_name());
    std::fs::hard_link(&cached, &named).map_err(PinError::io("link", &named))?;
    let added = nix.add_fixed(&named, false)?;
    if added == missing.path {
        return Ok(());
    }
    // The cache checks what it takes, so the file was changed there: it must not stay.
    std::fs::remove_file(&cached).map_err(PinError::io("remove", &cached))?;
    let why = format!("the copy in the download cache was changed ({cached}); it is removed");
    Err(PinError::Download {
        name: archive.file.clone(),
        why,
        help: "run the command again".to_owned(),
    })
}

/// The folder of unfinished downloads, held by one run at a time.
struct Staging {
    dir: Utf8PathBuf,
    _lock: std::fs::File,
}

impl Staging {
    /// Waits for another run to end, then clears what an earlier, killed one left, less downloads that can go on.
    fn open() -> Result<Self, PinError> {
        let cache = cache::dir();
        std::fs::create_dir_all(&cache).map_err(PinError::io("create", &cache))?;
        let path = cache.join("fetch.lock");
        let lock = std::fs::File::create(&path).map_err(PinError::io("create", &path))?;
        if lock.try_lock().is_err() {
            anstream::eprintln!("waiting for another fetch to end");
            lock.lock().map_err(PinError::io("lock", &path))?;
        }
        let dir = cache.join("staging");
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(PinError::io("empty", &dir))?;
        }
        let partial = cache.join(PARTIAL);
        for dir in [&dir, &partial] {
            std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
        }
        Ok(Self { dir, _lock: lock })
    }

    /// Bytes of unfinished downloads.
    fn bytes(&self) -> u64 {
        // Files that hold more than one name are in the cache already.
        let own = |metadata: &std::fs::Metadata| {
            metadata.is_file() && std::os::unix::fs::MetadataExt::nlink(metadata) == 1
        };
        WalkDir::new(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .filter(own)
            .map(|metadata| metadata.len())
            .sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
