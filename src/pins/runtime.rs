//! Which pins the Python that runs a built variant needs (nix/python): for checks and shells, not for builds.

use std::collections::{BTreeMap, BTreeSet};

use crate::library;
use crate::matrix::{Variant, table};

/// The names of the Python and the torch of variants without toolchains of their own, from nix/python/toolchain.json.
pub fn common() -> (String, String) {
    let mut roles = roles();
    let mut name = |role: &str| roles.remove(role).unwrap_or_default();
    (name("python"), name("torch"))
}

/// The systems that have a pinned Python of a name such as `python-3.11`, with what every kernel needs.
pub fn systems(python: &str) -> BTreeSet<String> {
    let systems = table().rows.iter().map(|row| row.system.clone());
    let pinned = |system: &String| {
        library::text(&format!("nix/pins/{system}/{python}-packages.json")).is_some()
    };
    systems.filter(pinned).collect()
}

fn roles() -> BTreeMap<String, String> {
    library::text("nix/python/toolchain.json")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// The families of a variant's Python, as far as they are pinned for `system`; those for a GPU only if it is to run on
/// one. A variant without toolchains of its own takes those of nix/python/toolchain.json.
pub fn families(variant: &Variant, system: &str, gpu: bool) -> Vec<String> {
    // NB: nix/python/default.nix has the same rule.
    let common = roles();
    let name = |role: &str| {
        let own = variant.row.as_ref().and_then(|row| row.toolchain.get(role));
        own.or_else(|| common.get(role))
            .cloned()
            .unwrap_or_default()
    };
    let (python, torch) = (name("python"), name("torch"));
    let mut families = vec![
        name("host"),
        format!("{python}-runtime"),
        format!("{python}-packages"),
        format!("{torch}-runtime"),
    ];
    if gpu {
        families.push(format!("{torch}-nvidia"));
    }
    families.retain(|family| library::text(&format!("nix/pins/{system}/{family}.json")).is_some());
    families
}
