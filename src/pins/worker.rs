//! The threads of a fetch: each takes tasks, downloads into a folder of its own, and adds to the
//! store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use camino::{Utf8Path, Utf8PathBuf};

use super::carry::CarriedFolder;
use super::fetch::{FetchOptions, PlacedPin, remove_unfinished};
use super::http::received_by_thread;
use super::sources::ArchiveSources;
use super::{Archive, ArchiveKind, Pin, PinError, Tree, cache, locks, tree};
use crate::nix::Nix;

/// The work of one worker at a time.
pub(super) enum FetchTask<'a> {
    Carried(&'a CarriedFolder, &'a PlacedPin),
    Debs(Vec<(&'a Archive, &'a PlacedPin)>),
    Archive(&'a Archive, &'a PlacedPin),
    Tree(&'a Tree, &'a PlacedPin),
}

/// The tasks of a fetch, the longest downloads first.
pub(super) fn tasks<'a>(
    missing: &'a [PlacedPin],
    options: &'a FetchOptions,
) -> VecDeque<FetchTask<'a>> {
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

/// One of the threads of a fetch, with a folder of its own.
pub(super) struct FetchWorker<'a> {
    pub(super) nix: &'a Nix,
    pub(super) sources: &'a ArchiveSources,
    /// The announced sizes of downloads by store path; `None` for an unknown size.
    pub(super) sizes: &'a BTreeMap<&'a str, Option<u64>>,
    pub(super) dir: Utf8PathBuf,
}

impl FetchWorker<'_> {
    /// Does a task; returns its errors with the store names of the files.
    pub(super) fn perform(&self, task: &FetchTask<'_>) -> Vec<(String, PinError)> {
        let results: Vec<(&PlacedPin, Result<(), PinError>)> = match task {
            FetchTask::Carried(folder, missing) => {
                vec![(*missing, self.add_carried(folder, missing))]
            }
            FetchTask::Debs(debs) => {
                let (archives, missing): (Vec<_>, Vec<_>) = debs.iter().copied().unzip();
                let fetched = self.measure(&missing, || self.sources.debs(&archives));
                let add = |&(archive, missing): &(&Archive, &'_ PlacedPin)| match &fetched {
                    Ok(()) => self.add_fetched(archive, missing),
                    Err(error) => Err(error.for_file(&archive.file)),
                };
                debs.iter().map(|deb| (deb.1, add(deb))).collect()
            }
            FetchTask::Archive(archive, missing) => {
                let download = || self.fetch_archive(archive);
                let fetched = self.measure(&[*missing], download);
                vec![(
                    *missing,
                    fetched.and_then(|()| self.add_fetched(archive, missing)),
                )]
            }
            FetchTask::Tree(tree, missing) => vec![(*missing, self.add_tree(tree, missing))],
        };
        let mut errors = Vec::new();
        for (missing, result) in results {
            let name = missing.pin.store_name();
            match result {
                Ok(()) => self.sources.progress.count_added(&name),
                Err(error) => errors.push((name, error)),
            }
        }
        errors
    }

    /// Shows a download of some pins as progress.
    fn measure<T>(
        &self,
        missing: &[&PlacedPin],
        download: impl FnOnce() -> Result<T, PinError>,
    ) -> Result<T, PinError> {
        let sizes = missing
            .iter()
            .map(|missing| self.sizes[missing.path.as_str()]);
        let sizes: Vec<Option<u64>> = sizes.collect();
        let progress = &self.sources.progress;
        progress.begin(&sizes);
        let before = received_by_thread();
        let result = download();
        match result {
            Ok(_) => progress.end_download(&sizes, received_by_thread() - before),
            Err(_) => progress.fail_download(),
        }
        result
    }

    fn fetch_archive(&self, archive: &Archive) -> Result<(), PinError> {
        let sources = self.sources;
        let fetch = || sources.archive(archive).map(drop);
        sources.with_archive_lock(archive, fetch)
    }

    fn add_carried(&self, folder: &CarriedFolder, missing: &PlacedPin) -> Result<(), PinError> {
        empty(&self.dir)?;
        let _adding = self.sources.progress.adding(&missing.pin.store_name());
        folder.add(self.nix, missing, &self.dir)
    }

    /// Adds an archive to the store. It may be in the cache already.
    fn add_fetched(&self, archive: &Archive, missing: &PlacedPin) -> Result<(), PinError> {
        empty(&self.dir)?;
        self.fetch_archive(archive)?;
        let _adding = self.sources.progress.adding(&missing.pin.store_name());
        add_archive(self.nix, archive, missing, &self.dir)
    }

    /// Adds a tree to the store: from parts of its archives, else from whole ones.
    fn add_tree(&self, tree: &Tree, missing: &PlacedPin) -> Result<(), PinError> {
        let (nix, sources, dir) = (self.nix, self.sources, &self.dir);
        // NB: the hash alone must not name the lock: an archive may have the same hash
        // ([`ArchiveKind::Tarball`]).
        let lock = sources.lock(&locks::tree_lock(&tree.sha256), &tree.name)?;
        let path = std::slice::from_ref(&missing.path);
        if lock.waited && nix.invalid_paths(path)?.is_empty() {
            return Ok(());
        }
        let mut right = false;
        for from in [tree::MemberAccess::Parts, tree::MemberAccess::Wholes] {
            let built = dir.join(&tree.name);
            empty(dir)?;
            std::fs::create_dir(&built).map_err(PinError::io("create", &built))?;
            let build = || tree::build(&tree.sources, tree.size, from, sources, &built);
            match from {
                tree::MemberAccess::Parts => self.measure(&[missing], build)?,
                tree::MemberAccess::Wholes => self.measure(&[], build)?,
            }
            let _adding = sources.progress.adding(&tree.name);
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
}

pub(super) fn empty(dir: &Utf8Path) -> Result<(), PinError> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(PinError::io("empty", dir))?;
    }
    std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))
}

/// Removes the parts of an archive that were downloaded for a tree.
pub(super) fn remove_parts(archive: &Archive) -> Result<(), PinError> {
    remove_unfinished(|name| {
        name.strip_prefix(&*archive.sha256)
            .is_some_and(|rest| !rest.is_empty())
    })
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
