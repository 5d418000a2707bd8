//! Folders of built kernels as repositories of the Hub: branches, tags and commits. Files are
//! hashed once, and again when they change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use sha1::{Digest, Sha1};
use walkdir::{DirEntry, WalkDir};

use super::content::{ContentHash, ContentIdentity};
use super::error::MirrorError;
use crate::artifact::metadata::METADATA;
use crate::file::{MAX_TEXT, read_at_most};
use crate::hex;
use crate::hub::api::HubRepository;
use crate::terminal::note;
use crate::version::Version;

/// The time for which a folder counts as unchanged after it was looked at.
const FRESH: Duration = Duration::from_secs(1);

/// The branch that clients take without a revision. It has the newest version.
pub const MAIN: &str = "main";

/// The model card beside the variants, and its name on the Hub.
const CARD: (&str, &str) = ("CARD.md", "README.md");

/// The reason for a link that leads to something outside of the folder.
const LEADS_OUT: &str = "a link that leads out";

/// A folder of kernels: `OWNER/NAME/build/VARIANT`, or one kernel's, with `build/VARIANT`.
#[derive(Debug)]
pub struct MirrorFolder {
    root: Utf8PathBuf,
    /// The name of the kernel, if there is only one.
    only: Option<HubRepository>,
    kernels: Mutex<BTreeMap<String, Arc<Mutex<WatchedKernel>>>>,
}

/// A kernel as it was when its folder was last looked at.
#[derive(Debug, Default)]
struct WatchedKernel {
    looked: Option<Instant>,
    kernel: Arc<MirrorKernel>,
    known: BTreeMap<ContentIdentity, ContentHash>,
    /// The reasons why files are not served.
    refused: Vec<String>,
}

/// A repository.
#[derive(Debug, Default)]
pub struct MirrorKernel {
    /// Branches and tags, in the order of their names.
    pub refs: Vec<MirrorRef>,
    pub commits: BTreeMap<String, MirrorCommit>,
}

/// A branch or a tag.
#[derive(Debug)]
pub struct MirrorRef {
    pub name: String,
    pub is_tag: bool,
    pub commit: String,
}

/// The files of a commit, by their paths.
pub type MirrorCommit = BTreeMap<String, MirrorFile>;

/// A file of a commit.
#[derive(Clone, Debug)]
pub struct MirrorFile {
    /// Its path on this machine, without links.
    pub place: Utf8PathBuf,
    pub identity: ContentIdentity,
    pub hash: ContentHash,
}

/// The part of metadata.json that decides about the branch.
#[derive(Deserialize)]
struct VersionOfBuild {
    version: Option<u64>,
}

impl MirrorKernel {
    /// The id of the commit that a branch, a tag or an id names.
    pub fn commit_of(&self, revision: &str) -> Option<&str> {
        let (branch, tag) = (
            revision.strip_prefix("refs/heads/"),
            revision.strip_prefix("refs/tags/"),
        );
        let is_named = |own: &&MirrorRef| match own.is_tag {
            true => own.name == tag.unwrap_or(revision),
            false => own.name == branch.unwrap_or(revision),
        };
        match self.refs.iter().find(is_named) {
            Some(found) => Some(&found.commit),
            None => {
                let (id, _) = self.commits.get_key_value(revision)?;
                Some(id)
            }
        }
    }
}

impl MirrorFolder {
    /// Whether a folder is that of one kernel, with its builds.
    pub fn is_kernel(folder: &Utf8Path) -> bool {
        !variants_of(&folder.join("build"), &mut Vec::new()).is_empty()
    }

    /// Opens a folder of kernels; with `only`, the folder of this kernel.
    ///
    /// # Errors
    /// `MirrorError::Io`
    pub fn open(folder: &Utf8Path, only: Option<HubRepository>) -> Result<Self, MirrorError> {
        let root = folder
            .canonicalize_utf8()
            .map_err(|source| MirrorError::Io {
                action: format!("open {folder}"),
                source,
            })?;
        Ok(Self {
            root,
            only,
            kernels: Mutex::default(),
        })
    }

    /// Hashes the files of all kernels; returns the kernels by name.
    ///
    /// # Errors
    /// `MirrorError::Empty`
    pub fn read_all(&self) -> Result<BTreeMap<String, Arc<MirrorKernel>>, MirrorError> {
        let names = match &self.only {
            Some(only) => vec![only.id.clone()],
            None => {
                let owners = folders_in(&self.root);
                let names = owners.iter().flat_map(|owner| {
                    let kernels = folders_in(&self.root.join(owner));
                    kernels
                        .into_iter()
                        .map(move |name| format!("{owner}/{name}"))
                });
                names.collect()
            }
        };
        let kernels = names
            .into_iter()
            .filter_map(|name| self.find(&name).map(|kernel| (name, kernel)));
        let kernels: BTreeMap<_, _> = kernels.collect();
        match kernels.is_empty() {
            false => Ok(kernels),
            true => Err(MirrorError::Empty {
                folder: self.root.clone(),
            }),
        }
    }

    /// Whether an owner has kernels here.
    pub fn has_owner(&self, owner: &str) -> bool {
        match &self.only {
            Some(only) => only.id.split('/').next() == Some(owner),
            None => {
                let is_name = format!("{owner}/name").parse::<HubRepository>().is_ok();
                is_name && self.inside(&self.root.join(owner)).is_some()
            }
        }
    }

    /// The kernel of a name, as its folder was at most a second ago. `None` if there is no kernel.
    pub fn find(&self, name: &str) -> Option<Arc<MirrorKernel>> {
        self.look(name, FRESH)
    }

    /// The kernel of a name, as its folder is now.
    pub fn find_now(&self, name: &str) -> Option<Arc<MirrorKernel>> {
        self.look(name, Duration::ZERO)
    }

    fn look(&self, name: &str, fresh: Duration) -> Option<Arc<MirrorKernel>> {
        let folder = match &self.only {
            Some(only) if only.id == name => self.root.clone(),
            Some(_) => return None,
            None => {
                let repository: HubRepository = name.parse().ok()?;
                self.inside(&self.root.join(repository.id))?
            }
        };
        let mut kernels = lock(&self.kernels);
        let watched = Arc::clone(kernels.entry(name.to_owned()).or_default());
        drop(kernels);
        let mut watched = lock(&watched);
        if watched
            .looked
            .is_none_or(|looked| looked.elapsed() >= fresh)
        {
            let mut scan = Scan {
                folder: self,
                known: std::mem::take(&mut watched.known),
                seen: BTreeMap::new(),
                refused: Vec::new(),
            };
            watched.kernel = Arc::new(scan.kernel(&folder));
            watched.known = scan.seen;
            if watched.refused != scan.refused {
                scan.refused.iter().for_each(note);
                watched.refused = scan.refused;
            }
            watched.looked = Some(Instant::now());
        }
        let kernel = Arc::clone(&watched.kernel);
        (!kernel.refs.is_empty()).then_some(kernel)
    }

    /// The path without links, if it leads to something in this folder.
    fn inside(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let real = path.canonicalize_utf8().ok()?;
        real.starts_with(&self.root).then_some(real)
    }
}

/// One look at the folder of a kernel.
struct Scan<'f> {
    folder: &'f MirrorFolder,
    known: BTreeMap<ContentIdentity, ContentHash>,
    /// The hashes that are still of use.
    seen: BTreeMap<ContentIdentity, ContentHash>,
    refused: Vec<String>,
}

impl Scan<'_> {
    /// Reads `build`, and `v1/build`, `v1.2.3/build` beside it.
    fn kernel(&mut self, folder: &Utf8Path) -> MirrorKernel {
        let mut revisions: BTreeMap<(Option<Version>, String), MirrorCommit> = BTreeMap::new();
        let versions = folders_in(folder).into_iter().filter_map(|name| {
            let version: Version = name.strip_prefix('v')?.parse().ok()?;
            Some((name, version))
        });
        for (name, version) in versions {
            let build = folder.join(&name).join("build");
            for variant in variants_of(&build, &mut self.refused) {
                let files = revisions.entry((Some(version.clone()), name.clone()));
                self.add_variant(&build, &variant, files.or_default());
            }
        }
        let build = folder.join("build");
        for variant in variants_of(&build, &mut self.refused) {
            let version = read_version(&build.join(&variant));
            let name = version.map_or(MAIN.to_owned(), |version| format!("v{version}"));
            let version = version.and_then(|version| version.to_string().parse().ok());
            let files = revisions.entry((version, name));
            self.add_variant(&build, &variant, files.or_default());
        }
        let mut kernel = MirrorKernel::default();
        // NB: without a version of its own, main is that of the newest version, the last one here.
        let newest = revisions.keys().last().map(|(_, name)| name.clone());
        for ((_, name), files) in revisions {
            let commit = commit_id(&files);
            let mut add = |name: String| {
                kernel.refs.push(MirrorRef {
                    is_tag: name.contains('.'),
                    commit: commit.clone(),
                    name,
                });
            };
            if Some(&name) == newest.as_ref() {
                add(MAIN.to_owned());
            }
            if name != MAIN {
                add(name);
            } else if newest.as_deref() != Some(MAIN) {
                let why =
                    format_args!("some variants have no version in {METADATA}, and others do");
                self.refused.push(refusal(&build, why));
            }
            kernel.commits.insert(commit.clone(), files);
        }
        kernel.refs.sort_by(|a, b| a.name.cmp(&b.name));
        kernel
    }

    /// Adds the files of a variant, its signature, and the model card.
    fn add_variant(&mut self, build: &Utf8Path, variant: &str, files: &mut MirrorCommit) {
        let folder = build.join(variant);
        let outer = self.folder;
        if outer.inside(&folder).is_none() {
            return self.refused.push(refusal(folder, LEADS_OUT));
        }
        let mut refused = Vec::new();
        let walk = WalkDir::new(&folder).follow_links(true).sort_by_file_name();
        let is_served = |entry: &DirEntry| {
            let is_inside = !entry.path_is_symlink()
                || Utf8Path::from_path(entry.path())
                    .is_some_and(|path| outer.inside(path).is_some());
            if !is_inside {
                refused.push(refusal(entry.path().display(), LEADS_OUT));
            }
            is_inside && entry.file_name() != "__pycache__"
        };
        for entry in walk.into_iter().filter_entry(is_served) {
            match entry.map(|entry| Utf8PathBuf::try_from(entry.into_path())) {
                Ok(Ok(path)) if path.is_dir() || path.extension() == Some("pyc") => {}
                Ok(Ok(path)) => self.add_file(&path, build, "build/", files),
                Ok(Err(error)) => {
                    let path = error.as_path().display();
                    self.refused.push(refusal(path, "its name is not UTF-8"));
                }
                Err(error) => self.refused.push(refusal(&folder, error)),
            }
        }
        self.refused.extend(refused);
        let signature = build.join(format!("{variant}.minisig"));
        if signature.is_file() {
            self.add_file(&signature, build, "build/", files);
        }
        let card = build.join(CARD.0);
        if card.is_file() {
            self.add_file(&card, build, "", files);
            if let Some(card) = files.remove(CARD.0) {
                files.insert(CARD.1.to_owned(), card);
            }
        }
    }

    /// Adds a file, by its path from a folder.
    fn add_file(&mut self, path: &Utf8Path, from: &Utf8Path, at: &str, files: &mut MirrorCommit) {
        let Some(place) = self.folder.inside(path) else {
            return self.refused.push(refusal(path, LEADS_OUT));
        };
        match self.read(place) {
            Ok(file) => {
                let path = path.strip_prefix(from).unwrap_or(path);
                files.insert(format!("{at}{path}"), file);
            }
            Err(error) => self.refused.push(refusal(path, error)),
        }
    }

    fn read(&mut self, place: Utf8PathBuf) -> std::io::Result<MirrorFile> {
        let metadata = place.metadata()?;
        if !metadata.is_file() {
            return Err(std::io::Error::other("a pipe or a device"));
        }
        let identity = ContentIdentity::new(&metadata);
        let known = self.seen.get(&identity).or(self.known.get(&identity));
        let hash = match known {
            Some(hash) => hash.clone(),
            None => ContentHash::read(&place, &identity)?,
        };
        self.seen.insert(identity.clone(), hash.clone());
        Ok(MirrorFile {
            place,
            identity,
            hash,
        })
    }
}

/// The words for a file that is not served.
fn refusal(path: impl std::fmt::Display, why: impl std::fmt::Display) -> String {
    format!("not served: {path}: {why}")
}

/// A commit of the same files has the same id, wherever it is served.
fn commit_id(files: &MirrorCommit) -> String {
    let mut hash = Sha1::new();
    for (path, file) in files {
        hash.update(format!("{path}\0{}\0", file.hash.blob));
    }
    hex(&hash.finalize())
}

/// The names of the folders in a folder, in order, without hidden ones.
fn folders_in(folder: &Utf8Path) -> Vec<String> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().to_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// The names of the variants in a folder of builds.
fn variants_of(build: &Utf8Path, refused: &mut Vec<String>) -> Vec<String> {
    let mut names = folders_in(build);
    names.retain(|name| {
        let has_metadata = build.join(name).join(METADATA).is_file();
        if !has_metadata {
            let folder = build.join(name);
            refused.push(refusal(folder, format_args!("without {METADATA}")));
        }
        has_metadata
    });
    names
}

/// The version of a variant; `None` for a kernel of 2025, which has none.
fn read_version(variant: &Utf8Path) -> Option<u64> {
    let text = read_at_most(&variant.join(METADATA), MAX_TEXT).ok()?;
    let metadata: VersionOfBuild = serde_json::from_slice(&text).ok()?;
    metadata.version
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
