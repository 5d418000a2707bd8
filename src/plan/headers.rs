//! A digest of the names of the files in which compilers look for headers.

use std::collections::BTreeSet;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use super::HeaderListing;
use crate::hex;
use crate::kernel::{Language, source};
use crate::scan::headers::entries_below;
use crate::scan::{ScanError, Search};

impl HeaderListing {
    /// The listing of the folders that some searches look in.
    ///
    /// # Errors
    /// `ScanError` if the file system fails.
    pub fn from_searches(root: &Utf8Path, searches: &[Search]) -> Result<Self, ScanError> {
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
            for entry in entries_below(root, folder) {
                let entry = entry.map_err(|error| ScanError::Read {
                    path: root.join(folder),
                    source: error.into(),
                })?;
                let path = Utf8Path::from_path(entry.path()).ok_or_else(|| ScanError::Path {
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

/// Whether a compiler may include a file: one with the extension of a header or of a source, or
/// without any, like headers of C++.
fn may_be_included(path: &Utf8Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !name.contains('.') || source::is_header(path) || Language::of_file(path).is_some()
}
