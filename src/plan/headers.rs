//! Which headers a kernel has, whatever includes them.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use sha2::{Digest, Sha256};
use walkdir::{DirEntry, WalkDir};

use super::PlanError;
use super::search::Search;
use crate::hex;
use crate::kernel::{Kernel, Language, source};

/// Headers of a kernel.
pub struct Headers {
    listed: BTreeSet<Utf8PathBuf>,
    root: Utf8PathBuf,
}

impl Headers {
    /// Files of `src` lists that are not compiled: any section may include those of any other.
    pub fn find(kernel: &Kernel) -> Self {
        let sections = kernel.sections.iter().flat_map(|section| &section.src);
        let listed = sections
            .chain(kernel.framework.src())
            .filter(|path| Language::of(path).is_none())
            .cloned();
        Self {
            listed: listed.collect(),
            root: kernel.root.clone(),
        }
    }

    /// The listed headers, and those below the folders that a component searches: all that a unit could reach whose
    /// includes are not to be read.
    ///
    /// # Errors
    /// Those of the file system, and a header that is a link.
    pub fn visible(&self, include: &[Utf8PathBuf]) -> Result<BTreeSet<Utf8PathBuf>, PlanError> {
        let mut visible = self.listed.clone();
        for dir in include {
            for entry in below(&self.root, dir) {
                let entry = entry.map_err(|error| PlanError::Read {
                    path: self.root.join(dir),
                    source: error.into(),
                })?;
                let path = Utf8Path::from_path(entry.path()).ok_or_else(|| PlanError::Path {
                    path: entry.path().display().to_string(),
                })?;
                let Ok(relative) = path.strip_prefix(&self.root) else {
                    continue;
                };
                // A unit gets copies of its headers: a link would point at nothing, or at the machine.
                if entry.file_type().is_symlink() {
                    if source::is_header(path) || path.is_dir() {
                        return Err(PlanError::Link {
                            path: relative.to_owned(),
                        });
                    }
                } else if entry.file_type().is_file() && source::is_header(path) {
                    visible.insert(relative.to_owned());
                }
            }
        }
        Ok(visible)
    }
}

/// The names of files that compilers may come across when they look for headers. Another one among them may be found
/// before those that build.nix lists, although no include has changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Folders, sorted; none is below another.
    pub folders: Vec<String>,
    /// sha256 (hex) of the names. `listing` of nix/kernel/sources.nix computes the same.
    pub digest: String,
}

impl Listing {
    /// Of the folders that some searches look in.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn of(root: &Utf8Path, searches: &[Search]) -> Result<Self, PlanError> {
        let all: BTreeSet<&Utf8Path> = searches
            .iter()
            .flat_map(|search| {
                let beside = search
                    .digests
                    .keys()
                    .filter_map(|file| Utf8Path::new(file).parent());
                let include = search.include.iter().map(|dir| Utf8Path::new(dir.as_str()));
                include.chain(beside)
            })
            .map(|dir| if dir == "." { Utf8Path::new("") } else { dir })
            .collect();
        let is_below = |dir: &Utf8Path| dir.ancestors().skip(1).any(|above| all.contains(above));
        let folders: Vec<&Utf8Path> = all.iter().copied().filter(|dir| !is_below(dir)).collect();
        let mut names = Vec::new();
        for folder in &folders {
            for entry in below(root, folder) {
                let entry = entry.map_err(|error| PlanError::Read {
                    path: root.join(folder),
                    source: error.into(),
                })?;
                let path = Utf8Path::from_path(entry.path()).ok_or_else(|| PlanError::Path {
                    path: entry.path().display().to_string(),
                })?;
                if let (false, true, Ok(relative)) = (
                    entry.file_type().is_dir(),
                    may_be_included(path),
                    path.strip_prefix(root),
                ) {
                    names.push(relative.to_string());
                }
            }
        }
        Ok(Self {
            folders: folders
                .into_iter()
                .map(|dir| match dir.as_str() {
                    "" => ".".to_owned(),
                    dir => dir.to_owned(),
                })
                .collect(),
            digest: hex(&Sha256::digest(names.join("\n"))),
        })
    }
}

/// Whether a file has the name of a header or of a source, or one without an extension, as those of C++ have.
fn may_be_included(path: &Utf8Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !name.contains('.') || source::is_header(path) || Language::of(path).is_some()
}

/// What is below a folder, in order, less what version control, builds and environments leave in the kernel's.
fn below(root: &Utf8Path, dir: &Utf8Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
    let kernel = root.to_owned();
    let is_source = move |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let below_root = entry.path().parent() == Some(kernel.as_std_path());
        let left_behind = ["build", "result", "venv"].contains(&&*name);
        entry.depth() == 0 || !(name.starts_with('.') || below_root && left_behind)
    };
    let walk = WalkDir::new(root.join(dir)).sort_by_file_name();
    walk.into_iter().filter_entry(is_source)
}
