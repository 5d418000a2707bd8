//! The variants that are left out of a kernel, by the rule and the key of build.toml that exclude
//! them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::matrix::Matrix;

/// Variants that are left out for one reason.
#[derive(Serialize)]
pub struct LeftOutGroup {
    /// The id of its element.
    pub id: String,
    /// The key of build.toml; `None` if no change of build.toml would build them.
    key: Option<String>,
    why: String,
    pub names: Vec<String>,
}

/// The groups of a matrix, in the order of their keys and reasons. Variants whose toolchains lack
/// pins are part of the matrix, and come last.
pub fn left_out(matrix: &Matrix) -> Vec<LeftOutGroup> {
    let mut groups: BTreeMap<(bool, Option<String>, String), Vec<String>> = BTreeMap::new();
    for excluded in &matrix.excluded {
        let reason = (false, Some(excluded.why.key()), excluded.why.to_string());
        let names = groups.entry(reason).or_default();
        if !names.contains(&excluded.name) {
            names.push(excluded.name.clone());
        }
    }
    for backend in &matrix.without_toolchain {
        let why = format!("there is no toolchain for {backend} yet");
        groups.entry((true, None, why)).or_default();
    }
    for variant in &matrix.variants {
        if let Some(unpinned) = variant.unpinned() {
            let why = format!("{} has no pins: {}", unpinned.family, unpinned.why);
            let names = groups.entry((true, None, why)).or_default();
            names.push(variant.name.clone());
        }
    }
    let groups = groups.into_iter().enumerate();
    let group = |(number, ((_, key, why), names))| LeftOutGroup {
        id: format!("x{number}"),
        key,
        why,
        names,
    };
    groups.map(group).collect()
}
