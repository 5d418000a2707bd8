//! The release of the project cuda-toolkit that a torch runs with. Wheels of torch name it from
//! 2.11 on; older wheels name the CUDA runtime, which determines the release.

use std::collections::BTreeSet;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::super::error::IndexError;
use super::index::IndexReader;
use super::spec::CUDA_TOOLKIT;
use super::{RefreshError, lookup, metadata, wheel};

/// The oldest release of cuda-toolkit for a CUDA (major and minor) that pins a version of its
/// runtime; `None` if no index has one.
///
/// # Errors
/// `RefreshError::Unanswered` with the pages that could not be read.
pub fn find_with_runtime(
    index: &IndexReader,
    cuda: &str,
    runtime: &(String, String),
) -> Result<Option<String>, RefreshError> {
    let (project, version) = runtime;
    let unanswered = |error: IndexError| RefreshError::Unanswered(vec![error.to_string()]);
    let Ok(version) = Version::from_str(version) else {
        return Ok(None);
    };
    let pages = index.pages(&[CUDA_TOOLKIT.to_owned()].into());
    let Ok(files) = lookup::files(&pages, CUDA_TOOLKIT) else {
        return Ok(None);
    };
    let of_cuda = lookup::specifiers(CUDA_TOOLKIT, &format!("=={cuda}.*")).map_err(unanswered)?;
    let releases: BTreeSet<Version> = wheel::versions(files)
        .filter(|release| of_cuda.contains(release))
        .collect();
    for release in releases {
        let exact =
            lookup::specifiers(CUDA_TOOLKIT, &format!("=={release}")).map_err(unanswered)?;
        let Some(wheel) = wheel::newest(files, Some(&exact), "", "py3") else {
            continue;
        };
        let members = index.read(&wheel.listed.url, &["*.dist-info/METADATA"]);
        let members = members.map_err(unanswered)?;
        let pinned = members.values().next().and_then(|text| {
            let pinned = metadata::requirements(text);
            VersionSpecifiers::from_str(pinned.get(project)?).ok()
        });
        if pinned.is_some_and(|pinned| pinned.contains(&version)) {
            return Ok(Some(release.to_string()));
        }
    }
    Ok(None)
}
