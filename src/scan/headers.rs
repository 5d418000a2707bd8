//! The headers of a kernel, whichever file includes them.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::ScanError;
use crate::kernel::{Kernel, Language, source};

/// Headers of a kernel.
pub struct Headers {
    listed: BTreeSet<Utf8PathBuf>,
    root: Utf8PathBuf,
}

impl Headers {
    /// Finds the files of `src` lists that are not compiled. A section may include headers that
    /// another section lists.
    pub fn find(kernel: &Kernel) -> Self {
        let sections = kernel.sections.iter().flat_map(|section| &section.src);
        let listed = sections
            .chain(kernel.framework.src())
            .filter(|path| Language::of_file(path).is_none())
            .cloned();
        Self {
            listed: listed.collect(),
            root: kernel.root.clone(),
        }
    }

    /// The listed headers, and the headers below the folders that a component searches. A unit
    /// whose includes cannot be read may reach each of them.
    ///
    /// # Errors
    /// The errors of the file system, and of a header that is a link.
    pub fn visible(&self, include: &[Utf8PathBuf]) -> Result<BTreeSet<Utf8PathBuf>, ScanError> {
        let mut visible = self.listed.clone();
        for dir in include {
            for entry in entries_below(&self.root, dir) {
                let entry = entry.map_err(|error| ScanError::Read {
                    path: self.root.join(dir),
                    source: error.into(),
                })?;
                let path = Utf8Path::from_path(entry.path()).ok_or_else(|| ScanError::Path {
                    path: entry.path().display().to_string(),
                })?;
                let Ok(relative) = path.strip_prefix(&self.root) else {
                    continue;
                };
                // A unit gets copies of its headers: a link in a copy would lead to no file, or to
                // a file of this machine.
                if entry.file_type().is_symlink() {
                    if source::is_header(path) || path.is_dir() {
                        return Err(ScanError::Link {
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

/// The entries below a folder, in order. The kernel's own folder is read without the entries that
/// version control, builds and environments make in it.
pub fn entries_below(
    root: &Utf8Path,
    dir: &Utf8Path,
) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
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
