//! Which headers a unit can see: so far all of its kernel. Not which it includes.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::{Namespace, PlanError};
use crate::kernel::{Framework, Kernel, Language, source};

/// Headers of a kernel, and whether one of them uses the op namespace.
pub struct Headers {
    listed: BTreeSet<Utf8PathBuf>,
    root: Utf8PathBuf,
    namespace: fn(&str) -> Namespace,
}

impl Headers {
    /// Files of `src` lists that are not compiled: any section may include those of any other.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn find(kernel: &Kernel) -> Result<Self, PlanError> {
        let sections = kernel.sections.iter().flat_map(|section| &section.src);
        let listed = sections
            .chain(kernel.framework.src())
            .filter(|path| Language::of(path).is_none())
            .cloned();
        Ok(Self {
            listed: listed.collect(),
            root: kernel.root.clone(),
            namespace: match kernel.framework {
                Framework::Torch(_) | Framework::TorchNoarch(_) => Namespace::of_torch,
                Framework::TvmFfi(_) => Namespace::of_tvm_ffi,
            },
        })
    }

    /// The listed headers, and those below the folders that a component searches.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn visible(&self, include: &[Utf8PathBuf]) -> Result<BTreeSet<Utf8PathBuf>, PlanError> {
        let mut visible = self.listed.clone();
        for dir in include {
            let walk = WalkDir::new(self.root.join(dir)).sort_by_file_name();
            for entry in walk.into_iter().filter_entry(|entry| self.is_source(entry)) {
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

    /// What a file does with the op namespace.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn namespace(&self, path: &Utf8Path) -> Result<Namespace, PlanError> {
        // A registration.h of the kernel's own takes the place of the build's.
        if path.file_name() == Some("registration.h") {
            return Ok(Namespace::Compiled);
        }
        let path = self.root.join(path);
        let bytes = std::fs::read(&path).map_err(|source| PlanError::Read { path, source })?;
        Ok((self.namespace)(&String::from_utf8_lossy(&bytes)))
    }

    /// Whether to look at an entry: not at what version control, builds and environments leave in the kernel's folder.
    fn is_source(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name().to_string_lossy();
        let below_root = entry.path().parent() == Some(self.root.as_std_path());
        let left_behind = ["build", "result", "venv"].contains(&&*name);
        entry.depth() == 0 || !(name.starts_with('.') || below_root && left_behind)
    }
}
