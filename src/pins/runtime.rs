//! The pins of the Python that runs a built variant (nix/python), for checks and shells. Builds do
//! not need them.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::families::{Archive, FamilyError, find_family};
use crate::kernel::Backend;
use crate::library;
use crate::matrix::{Variant, table};

/// The pinned archives that checks of a variant need on a system besides its families: Triton,
/// which comes with torch on GPUs. The other archives of Triton's family are for machines that have
/// a GPU.
///
/// # Errors
/// A file of nix/pins that cannot be read: a defect of this program.
pub fn archives(variant: &Variant, system: &str) -> Result<Vec<Archive>, FamilyError> {
    // NB: nix/python/default.nix has the same list.
    let with_triton = [Backend::Cuda, Backend::Rocm, Backend::Xpu];
    let torch = toolchain(variant).torch;
    if !with_triton.contains(&variant.backend) {
        return Ok(Vec::new());
    }
    let family = find_family(system, &format!("{torch}-nvidia"))?;
    let archives = family.into_iter().flat_map(|family| family.archives);
    Ok(archives
        .filter(|archive| archive.name == "triton")
        .collect())
}

/// The toolchain of the Python that runs a variant: its row's, else the one of
/// nix/python/toolchain.json.
fn toolchain(variant: &Variant) -> RuntimeToolchain {
    let common = common_toolchain();
    match variant.row().map(|row| &row.toolchain) {
        Some(own) => RuntimeToolchain {
            host: own.host.clone(),
            python: own.python.clone().unwrap_or(common.python),
            torch: own.torch.clone().unwrap_or(common.torch),
        },
        None => common,
    }
}

/// The names of the toolchain with which Python and torch run a variant.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeToolchain {
    pub host: String,
    pub python: String,
    pub torch: String,
}

/// The toolchain of nix/python/toolchain.json, which variants of Python alone run with.
pub fn common_toolchain() -> RuntimeToolchain {
    library::text("nix/python/toolchain.json")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// The systems for which the packages of every kernel are pinned for a Python such as
/// `python-3.11`.
pub fn systems(python: &str) -> BTreeSet<String> {
    let systems = table().rows.iter().map(|row| row.system.clone());
    let pinned = |system: &String| {
        library::text(&format!("nix/pins/{system}/{python}-packages.json")).is_some()
    };
    systems.filter(pinned).collect()
}

/// The families of a variant's Python, as far as they are pinned for `system`; families for a GPU
/// only if `gpu` is set. A variant without toolchains of its own takes those of
/// nix/python/toolchain.json.
pub fn families(variant: &Variant, system: &str, gpu: bool) -> Vec<String> {
    // NB: nix/python/default.nix has the same rule.
    let RuntimeToolchain {
        host,
        python,
        torch,
    } = toolchain(variant);
    let mut families = vec![
        host,
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
