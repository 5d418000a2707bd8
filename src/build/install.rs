//! Built variants in the user's folder: from the store to build/<variant>.

use std::collections::BTreeMap;

use camino::Utf8Path;
use walkdir::WalkDir;

use super::error::{EngineError, failed_to};
use super::survey::Graph;
use crate::file::UNFINISHED;
use crate::matrix::Variant;
use crate::nix::{Built, Nix};

/// A variant after a build.
#[derive(Debug)]
pub struct InstalledVariant<'a> {
    pub name: &'a str,
    pub origin: Origin,
    /// The time that its steps took now, one after the other.
    pub seconds: f64,
    /// The size of its folder.
    pub bytes: u64,
}

/// Where a variant came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A step of it was built now.
    Built,
    /// The store had it.
    Cached,
    /// A binary cache had it.
    Copied,
    /// It was not built: there is no folder.
    Failed,
}

/// Copies the variants that were built to their places below `output`.
///
/// # Errors
/// `EngineError`, of Nix or of the file system; a failed variant is part of the result.
pub fn install<'a>(
    nix: &Nix,
    variants: &[&'a Variant],
    graph: &Graph<'_>,
    built: &Built,
    output: &Utf8Path,
) -> Result<Vec<InstalledVariant<'a>>, EngineError> {
    let finished = built.finished.iter();
    let seconds: BTreeMap<&str, f64> = finished
        .map(|finished| (finished.derivation.as_str(), finished.seconds))
        .collect();
    let wanted = graph.wanted.iter();
    let failed = nix.unbuilt(wanted.map(|(_, own)| &own.derivation))?;
    let mut installed = Vec::new();
    for (variant, (_, wanted)) in variants.iter().zip(&graph.wanted) {
        if failed.contains(&wanted.derivation) {
            installed.push(InstalledVariant {
                name: &variant.name,
                origin: Origin::Failed,
                seconds: 0.0,
                bytes: 0,
            });
            continue;
        }
        let path = &graph.derivations[&wanted.derivation].output;
        let bytes = copy_out(nix, variant, path, output)?;
        let steps = graph.steps.all.iter();
        let steps = steps.filter(|step| step.variants.contains(&variant.name));
        let own: Vec<f64> = steps
            .filter_map(|step| seconds.get(step.derivation.as_str()).copied())
            .collect();
        let origin = match own.is_empty() {
            true if built.copied.contains_key(path) => Origin::Copied,
            true => Origin::Cached,
            false => Origin::Built,
        };
        installed.push(InstalledVariant {
            name: &variant.name,
            origin,
            // NB: `sum` of an empty list is -0.
            seconds: own.iter().fold(0.0, |sum, seconds| sum + seconds),
            bytes,
        });
    }
    Ok(installed)
}

/// Copies a built variant from the store to its place, and returns its size in bytes.
fn copy_out(
    nix: &Nix,
    variant: &Variant,
    path: &str,
    output: &Utf8Path,
) -> Result<u64, EngineError> {
    std::fs::create_dir_all(output).map_err(failed_to(format!("create {output}")))?;
    let target = output.join(&variant.name);
    // Beside its place, then renamed: a killed run leaves the old build or the new one.
    let staging = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(output)
        .map_err(failed_to(format!("create a folder in {output}")))?;
    let exported = Utf8Path::from_path(staging.path())
        .unwrap_or(output)
        .join("export");
    nix.export(path, &exported)?;
    make_writable(&exported).map_err(failed_to(format!("change the modes of {exported}")))?;
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(failed_to(format!("replace {target}")))?;
    }
    std::fs::rename(exported.join(&variant.name), &target)
        .map_err(failed_to(format!("create {target}")))?;
    Ok(WalkDir::new(&target)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum())
}

/// Checks that whatever lies at the places of some variants was made by a build: only that may be replaced.
///
/// # Errors
/// `EngineError::Foreign`, which names the folder.
pub fn check_replaceable(output: &Utf8Path, variants: &[&Variant]) -> Result<(), EngineError> {
    for variant in variants {
        let target = output.join(&variant.name);
        if target.exists() && !target.join("metadata.json").exists() {
            return Err(EngineError::Foreign { path: target });
        }
    }
    Ok(())
}

/// Lets the owner write: files of the store are read-only, a user's own are not.
fn make_writable(dir: &Utf8Path) -> std::io::Result<()> {
    for entry in WalkDir::new(dir) {
        let entry = entry?;
        let mut permissions = entry.metadata()?.permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode | 0o200);
        std::fs::set_permissions(entry.path(), permissions)?;
    }
    Ok(())
}
