//! `fetch`: brings what the toolchains of variants are made of into the store.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::prepare::{prepare, system};
use super::{CommandError, count, print, shell};
use crate::kernel::{Backend, HeaderArchive};
use crate::library;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::pins::carry::{self, Folder};
use crate::pins::fetch::{
    Options, Placed, check_offline, disk_size, download_size, fetch, missing, place, tidy,
};
use crate::pins::packages::Packages;
use crate::pins::space::{self, megabytes};
use crate::pins::{Archive, PinError, cache, crates, runtime};

/// What is to be done with variants, which decides what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Build,
    /// Load and test what was built, without a GPU.
    Check,
    /// Work on it in a shell.
    Shell,
}

/// What `--json` prints. Sizes are bytes.
#[derive(Serialize)]
struct Report<'a> {
    /// Files that were in the store already.
    present: usize,
    /// Store names of files that were brought.
    fetched: Vec<String>,
    downloaded: u64,
    /// What `--to` did.
    written: Option<Written<'a>>,
}

#[derive(Serialize)]
struct Written<'a> {
    folder: &'a Utf8Path,
    files: usize,
    /// Those that were not there already.
    new: usize,
}

pub fn run(
    path: &Utf8Path,
    names: &[String],
    purpose: Purpose,
    offline: bool,
    from: Option<&Utf8Path>,
    to: Option<&Utf8Path>,
    json: bool,
) -> Result<(), CommandError> {
    let prepared = prepare(path)?;
    let variants = match (purpose, names) {
        (Purpose::Shell, []) => vec![shell::choose(&prepared)?],
        _ => prepared.select_pinned(names)?,
    };
    let failed = |error| CommandError::Pins(vec![error]);
    let options = Options {
        offline,
        from: from.map(Folder::open).transpose().map_err(failed)?,
    };
    let mut nix = Nix::find()?;
    if offline {
        nix.stay_offline();
    }
    let packages = packages(&prepared.kernel.root)?;
    let pins = pins(&nix, &variants, purpose, &packages)?;
    let wanted = missing(&nix, &pins).map_err(failed)?;
    let downloaded = if wanted.is_empty() {
        0
    } else {
        bring(&nix, &wanted, &options)?
    };
    tidy(&pins).map_err(failed)?;
    if purpose == Purpose::Shell {
        // A shell of a flake has the program in it.
        fetch_tool(&nix, &options)?;
    }
    let written = match to {
        Some(folder) => {
            space::check(&[(folder, carry::size(folder, &pins))]).map_err(CommandError::Pins)?;
            Some(Written {
                folder,
                files: pins.len(),
                new: carry::write(&nix, &pins, folder).map_err(failed)?,
            })
        }
        None => None,
    };

    let report = Report {
        present: pins.len() - wanted.len(),
        fetched: wanted
            .iter()
            .map(|placed| placed.pin.store_name())
            .collect(),
        downloaded,
        written,
    };
    if json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        return print(&(text + "\n"));
    }
    let mut text = match report.fetched.len() {
        0 => "every file of the toolchains is in the store\n".to_owned(),
        files => format!(
            "{} in the store, {} downloaded\n",
            count(files, "new file"),
            megabytes(downloaded)
        ),
    };
    if let Some(Written { folder, files, new }) = report.written {
        text += &format!("{} in {folder}, {new} of them new\n", count(files, "file"));
    }
    print(&text)
}

/// What the program itself is built from, in Nix (nix/tool): compilers and crates.
pub fn tool(offline: bool, from: Option<&Utf8Path>) -> Result<(), CommandError> {
    let from = from.map(Folder::open).transpose();
    let options = Options {
        offline,
        from: from.map_err(|error| CommandError::Pins(vec![error]))?,
    };
    let mut nix = Nix::find()?;
    if offline {
        nix.stay_offline();
    }
    match fetch_tool(&nix, &options)? {
        0 => print("everything that kernel-builder is built from is in the store\n"),
        files => print(&format!("{} in the store\n", count(files, "new file"))),
    }
}

fn fetch_tool(nix: &Nix, options: &Options) -> Result<usize, CommandError> {
    /// nix/tool/toolchain.json
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Toolchain {
        host: String,
        rust: String,
    }
    let failed = |error| CommandError::Pins(vec![error]);
    let path = "nix/tool/toolchain.json";
    let text = library::text(path).unwrap_or_default();
    let toolchain: Toolchain = serde_json::from_str(&text).map_err(|error| {
        failed(PinError::Family {
            path: path.to_owned(),
            why: error.to_string(),
        })
    })?;
    let library = unpacked()?;
    let system = system();
    let families = ["seed".to_owned(), toolchain.host, toolchain.rust];
    let wanted = place(nix, &library, &system, &families, &[])
        .and_then(|pins| missing(nix, &pins))
        .map_err(failed)?;
    if !wanted.is_empty() {
        bring(nix, &wanted, options)?;
    }
    let crates = crates::fetch(nix, &library, &system, options.offline).map_err(failed)?;
    Ok(wanted.len() + crates)
}

/// The Nix library, in the cache.
pub fn unpacked() -> Result<Utf8PathBuf, CommandError> {
    library::unpack(&cache::dir()).map_err(|source| CommandError::Io {
        action: "unpack the Nix library into the cache".to_owned(),
        source,
    })
}

/// The Python packages that the kernel in a folder pins itself; none if it has no file of them.
pub fn packages(root: &Utf8Path) -> Result<Packages, CommandError> {
    Ok(Packages::read(root)?.unwrap_or_default())
}

/// The pins of some variants, each once; `packages` are the kernel's own.
pub fn pins(
    nix: &Nix,
    variants: &[&Variant],
    purpose: Purpose,
    packages: &Packages,
) -> Result<Vec<Placed>, CommandError> {
    let library = unpacked()?;
    let here = system();
    let mut by_system: BTreeMap<&str, (BTreeSet<String>, BTreeMap<String, Archive>)> =
        BTreeMap::new();
    for variant in variants {
        // Python alone is packaged here, by the seed.
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
            let own = packages.archives(system).iter().cloned();
            let more = match gpu {
                true => Vec::new(),
                false => runtime::archives(variant, system)
                    .map_err(|error| CommandError::Pins(vec![error]))?,
            };
            let own = own.chain(more);
            archives.extend(own.map(|archive| (archive.sha256.clone(), archive)));
        }
    }
    // Systems may share files.
    let mut pins = BTreeMap::new();
    for (system, (families, archives)) in by_system {
        let families: Vec<String> = families.into_iter().collect();
        let archives: Vec<Archive> = archives.into_values().collect();
        let placed = place(nix, &library, system, &families, &archives)
            .map_err(|error| CommandError::Pins(vec![error]))?;
        pins.extend(
            placed
                .into_iter()
                .map(|placed| ((placed.pin.store_name(), placed.path.clone()), placed)),
        );
    }
    Ok(pins.into_values().collect())
}

/// How much is to be downloaded and comes into the store, as far as vendors say how large their files are.
pub fn sizes_in_words(wanted: &[Placed], options: &Options) -> String {
    let sized = |placed: &&Placed| placed.pin.download_size().is_some();
    let unknown = wanted.len() - wanted.iter().filter(sized).count();
    let known = format!(
        "{} to download, {} in the store",
        megabytes(download_size(wanted, options)),
        megabytes(wanted.iter().map(|placed| placed.pin.store_size()).sum())
    );
    match unknown {
        0 => known,
        all if all == wanted.len() => "of unknown size".to_owned(),
        files => format!("{known}, and {} of unknown size", count(files, "file")),
    }
}

/// Fetches, after saying how much and checking that there is room; returns how many bytes were downloaded.
pub fn bring(nix: &Nix, wanted: &[Placed], options: &Options) -> Result<u64, CommandError> {
    check_offline(wanted, options).map_err(|error| CommandError::Pins(vec![error]))?;
    anstream::eprintln!(
        "fetching {}: {}",
        count(wanted.len(), "file"),
        sizes_in_words(wanted, options)
    );
    let sizes = disk_size(nix, wanted, options);
    let sizes: Vec<(&Utf8Path, u64)> = sizes
        .iter()
        .map(|(folder, bytes)| (folder.as_path(), *bytes))
        .collect();
    space::check(&sizes)
        .and_then(|()| fetch(nix, wanted, options))
        .map_err(CommandError::Pins)
}
