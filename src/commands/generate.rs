//! `generate`: build.toml -> build.nix.

use camino::Utf8Path;

use super::prepare::{Prepared, prepare};
use super::{CommandError, count, print};
use crate::emit::{self, Written};

pub fn run(path: &Utf8Path, check: bool, output: Option<&Utf8Path>) -> Result<(), CommandError> {
    let prepared = prepare(path)?;
    if let Some(output) = output {
        // lib/genFlakeOutputs.nix has this program write into the store, where a result says enough.
        emit::write(output, &emit::nix::build_nix(&prepared.plan)?)?;
        return Ok(());
    }
    if check {
        let text = emit::nix::build_nix(&prepared.plan)?;
        let current = std::fs::read(prepared.kernel.root.join("build.nix")).unwrap_or_default();
        return if current == text.as_bytes() {
            print("build.nix is up to date\n")
        } else {
            Err(CommandError::Stale)
        };
    }
    let written = write(&prepared)?;
    let what = match written {
        Written::Created => "created",
        Written::Updated => "updated",
        Written::Unchanged => "unchanged",
    };
    let variants = prepared.plan.variants.len() + prepared.plan.noarch.len();
    print(&format!(
        "build.nix {what}: {}\n",
        count(variants, "variant")
    ))
}

/// Writes build.nix beside build.toml.
pub fn write(prepared: &Prepared) -> Result<Written, CommandError> {
    let text = emit::nix::build_nix(&prepared.plan)?;
    Ok(emit::write(&prepared.kernel.root.join("build.nix"), &text)?)
}
