//! Which pins the Python that runs a built variant needs (nix/python): for checks and shells, not for builds.

use std::collections::BTreeMap;

use crate::library;
use crate::matrix::Variant;

/// The families of a variant's Python, as far as they are pinned for `system`; those for a GPU only if it is to run on
/// one. A variant without toolchains of its own takes those of nix/python/toolchain.json.
pub fn families(variant: &Variant, system: &str, gpu: bool) -> Vec<String> {
    // NB: nix/python/default.nix has the same rule.
    let common: BTreeMap<String, String> = library::text("nix/python/toolchain.json")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
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
