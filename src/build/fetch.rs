//! The pins that variants need, and fetching them into the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;

use super::error::{EngineError, failed_to, pin_failed};
use super::prepare::system;
use crate::families::FamilyError;
use crate::kernel::{Backend, HeaderArchive};
use crate::library;
use crate::matrix::{STEP_PYTHON, Variant};
use crate::nix::{Nix, name_of};
use crate::pins::fetch::{
    DownloadSize, FetchOptions, PlacedPin, check_offline, disk_size, download_size, fetch, missing,
    place,
};
use crate::pins::packages::PythonPackages;
use crate::pins::progress::FetchEvent;
use crate::pins::space::{self, megabytes};
use crate::pins::{Archive, MissingFiles, PinError, cache, crates, runtime};
use crate::steps::Steps;
use crate::terminal::{count, print_event, status};

/// The use of variants, which decides which pins they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Build,
    /// Loading and testing built variants, without a GPU.
    Check,
    /// Working on a variant in a shell.
    Shell,
}

/// The families of the program's container image (nix/image): its packages, and the Python that
/// makes it.
pub const IMAGE_FAMILIES: [&str; 2] = ["image", STEP_PYTHON];

/// Fetches the files that the program itself is built from (nix/tool) into the store: compilers and
/// crates; and those of further families. Returns the number of new files.
pub fn fetch_tool(
    nix: &Nix,
    options: &FetchOptions,
    further: &[&str],
) -> Result<usize, EngineError> {
    /// The content of nix/tool/toolchain.json.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ToolFamilies {
        host: String,
        rust: String,
    }
    let path = "nix/tool/toolchain.json";
    let text = library::text(path).unwrap_or_default();
    let toolchain: ToolFamilies = serde_json::from_str(&text).map_err(|error| {
        pin_failed(FamilyError {
            path: path.to_owned(),
            why: error.to_string(),
        })
    })?;
    let library = unpack_library()?;
    let system = system();
    let mut families = vec!["seed".to_owned(), toolchain.host, toolchain.rust];
    families.extend(further.iter().map(|&family| family.to_owned()));
    let wanted = place(nix, &library, &system, &families, &[])
        .and_then(|pins| missing(nix, &pins))
        .map_err(pin_failed)?;
    if !wanted.is_empty() {
        bring_pins(nix, &wanted, options)?;
    }
    let crates = crates::fetch(nix, &library, &system, options.offline).map_err(pin_failed)?;
    Ok(wanted.len() + crates)
}

/// The folder of the Nix library in the cache. Unpacks the library if it is not there. Checks it
/// once.
pub fn unpack_library() -> Result<Utf8PathBuf, EngineError> {
    static UNPACKED: OnceLock<Utf8PathBuf> = OnceLock::new();
    if let Some(library) = UNPACKED.get() {
        return Ok(library.clone());
    }
    let library = check_and_unpack()?;
    Ok(UNPACKED.get_or_init(|| library).clone())
}

fn check_and_unpack() -> Result<Utf8PathBuf, EngineError> {
    cache::check().map_err(pin_failed)?;
    library::unpack(&cache::dir()).map_err(failed_to("unpack the Nix library into the cache"))
}

/// The Python packages that the kernel in a folder pins itself; empty if it has no file of them.
pub fn kernel_packages(root: &Utf8Path) -> Result<PythonPackages, EngineError> {
    Ok(PythonPackages::read(root)?.unwrap_or_default())
}

/// The pins of some variants, each once. `packages` are the Python packages that the kernel pins.
pub fn pins_of_variants(
    nix: &Nix,
    variants: &[&Variant],
    purpose: Purpose,
    packages: &PythonPackages,
) -> Result<Vec<PlacedPin>, EngineError> {
    let library = unpack_library()?;
    let here = system();
    let mut by_system: BTreeMap<&str, (BTreeSet<String>, BTreeMap<String, Archive>)> =
        BTreeMap::new();
    for variant in variants {
        // NB: a variant of Python alone is packaged on this system, with the seed.
        let row = variant.row();
        let system = row.map_or(&*here, |row| &*row.system);
        let (of_system, archives) = by_system.entry(system).or_default();
        of_system.extend(variant.families());
        for (_, HeaderArchive { archive, .. }) in variant.header_archives() {
            archives.insert(archive.sha256.clone(), archive.clone());
        }
        if purpose != Purpose::Build {
            let gpu = purpose == Purpose::Shell && variant.backend == Backend::Cuda;
            of_system.extend(runtime::families(variant, system, gpu));
            let packaged = packages.archives(system).iter().cloned();
            let more = match gpu {
                true => Vec::new(),
                false => runtime::archives(variant, system).map_err(pin_failed)?,
            };
            let packaged = packaged.chain(more);
            archives.extend(packaged.map(|archive| (archive.sha256.clone(), archive)));
        }
    }
    // Several systems may use the same file.
    let mut pins = BTreeMap::new();
    for (system, (families, archives)) in by_system {
        let families: Vec<String> = families.into_iter().collect();
        let archives: Vec<Archive> = archives.into_values().collect();
        let placed = place(nix, &library, system, &families, &archives).map_err(pin_failed)?;
        pins.extend(
            placed
                .into_iter()
                .map(|placed| ((placed.pin.store_name(), placed.path.clone()), placed)),
        );
    }
    Ok(pins.into_values().collect())
}

/// The pins that steps of some variants need and the store lacks.
///
/// # Errors
/// `EngineError`, of pins or of Nix.
pub fn absent_pins(
    nix: &Nix,
    variants: &[&Variant],
    steps: &Steps,
) -> Result<Vec<PlacedPin>, EngineError> {
    if steps.to_fetch.is_empty() {
        return Ok(Vec::new());
    }
    let pins = pins_of_variants(nix, variants, Purpose::Build, &PythonPackages::default())?;
    let mut absent = missing(nix, &pins).map_err(pin_failed)?;
    absent.retain(|placed| steps.to_fetch.contains(&placed.pin.store_name()));
    Ok(absent)
}

/// The sizes of a download and of its files in the store, in words. Vendors do not give the size of
/// every file.
pub fn sizes_in_words(wanted: &[PlacedPin], options: &FetchOptions) -> String {
    let DownloadSize {
        bytes,
        unknown,
        has_lists,
    } = download_size(wanted, options);
    let mut parts = Vec::new();
    if bytes > 0 || unknown == 0 {
        parts.push(megabytes(bytes));
    }
    if unknown > 0 {
        parts.push(format!("{} of unknown size", count(unknown, "file")));
    }
    if has_lists {
        parts.push("apt's package lists".to_owned());
    }
    let store = megabytes(wanted.iter().map(|placed| placed.pin.store_size()).sum());
    let is_sized = |placed: &PlacedPin| placed.pin.download_size().is_some();
    let at_least = match wanted.iter().all(is_sized) {
        true => "",
        false => "at least ",
    };
    format!(
        "{} to download, {at_least}{store} in the store",
        parts.join(" and ")
    )
}

/// Fetches pins, after printing their sizes and checking that there is space. Returns the number of
/// downloaded bytes.
pub fn bring_pins(
    nix: &Nix,
    wanted: &[PlacedPin],
    options: &FetchOptions,
) -> Result<u64, EngineError> {
    let result = try_to_bring(nix, wanted, options);
    if let Err(EngineError::Pins(reasons)) = &result {
        for MissingFiles { error, names } in reasons {
            let text = |words: Option<Box<dyn Display + '_>>| words.map(|words| words.to_string());
            print_event(&FetchEvent::FetchFailed {
                code: text(error.code()).unwrap_or_default(),
                message: error.to_string(),
                help: text(error.help()).unwrap_or_default(),
                files: names,
            });
        }
    }
    result
}

fn try_to_bring(
    nix: &Nix,
    wanted: &[PlacedPin],
    options: &FetchOptions,
) -> Result<u64, EngineError> {
    check_offline(wanted, options).map_err(pin_failed)?;
    status(format_args!(
        "fetching {}: {}",
        count(wanted.len(), "file"),
        sizes_in_words(wanted, options)
    ));
    let sizes = disk_size(nix, wanted, options);
    let sizes: Vec<(&Utf8Path, u64)> = sizes
        .iter()
        .map(|(folder, bytes)| (folder.as_path(), *bytes))
        .collect();
    check_space(&sizes)?;
    fetch(nix, wanted, options).map_err(EngineError::Pins)
}

/// Checks that every file system has room for its new files.
///
/// # Errors
/// `EngineError::Pins`
pub fn check_space(needs: &[(&Utf8Path, u64)]) -> Result<(), EngineError> {
    let lacking = |errors: Vec<PinError>| errors.into_iter().map(MissingFiles::from).collect();
    space::check(needs).map_err(|errors| EngineError::Pins(lacking(errors)))
}

/// Fetches the pins that derivations to be built need. `pins` returns all pins of their variants.
/// Returns whether a file was fetched.
///
/// # Errors
/// `EngineError`, of pins or of Nix.
pub fn fetch_needed(
    nix: &Nix,
    to_build: &[String],
    pins: impl FnOnce() -> Result<Vec<PlacedPin>, EngineError>,
    options: &FetchOptions,
) -> Result<bool, EngineError> {
    if to_build.is_empty() {
        return Ok(false);
    }
    let needed: BTreeSet<&str> = to_build
        .iter()
        .map(|derivation| name_of(derivation))
        .collect();
    let mut absent = missing(nix, &pins()?).map_err(pin_failed)?;
    absent.retain(|placed| needed.contains(placed.pin.store_name().as_str()));
    if absent.is_empty() {
        return Ok(false);
    }
    bring_pins(nix, &absent, options)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::{ArchiveKind, Pin};

    fn placed(size: Option<u64>) -> PlacedPin {
        let file = "a-1.0.tar".to_owned();
        PlacedPin {
            path: format!("/nix/store/{}-{file}", "0".repeat(32)),
            pin: Pin::Archive(Archive {
                kind: ArchiveKind::File,
                name: "a".to_owned(),
                version: "1.0".to_owned(),
                file,
                sha256: "0".repeat(64),
                size,
                urls: Vec::new(),
            }),
        }
    }

    /// "57 files to fetch: 0 MB" is no size.
    #[test]
    fn unknown_sizes_are_said_to_be_so() {
        let words = |sizes: &[Option<u64>]| {
            let wanted: Vec<PlacedPin> = sizes.iter().copied().map(placed).collect();
            sizes_in_words(&wanted, &FetchOptions::default())
        };
        assert_eq!(
            words(&[Some(3_000_000)]),
            "3.0 MB to download, 3.0 MB in the store"
        );
        assert_eq!(
            words(&[Some(3_000_000), None]),
            "3.0 MB and 1 file of unknown size to download, at least 3.0 MB in the store"
        );
        assert_eq!(
            words(&[None, None]),
            "2 files of unknown size to download, at least 0 MB in the store"
        );
    }
}
