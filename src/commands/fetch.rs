//! `fetch`: brings what the toolchains of variants are made of into the store.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::prepare::{prepare, system};
use super::{CommandError, print};
use crate::library;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::pins::fetch::{Missing, download_size, fetch, missing};
use crate::pins::{cache, pins_of};

pub fn run(path: &Utf8Path, names: &[String]) -> Result<(), CommandError> {
    let prepared = prepare(path)?;
    let variants = prepared.select(names)?;
    let nix = Nix::find()?;
    let wanted = wanted(&nix, &variants)?;
    if wanted.is_empty() {
        return print("every file of the toolchains is in the store\n");
    }
    bring(&nix, &wanted)?;
    print(&format!("{} files are in the store\n", wanted.len()))
}

/// Pins of some variants that the store does not have.
pub fn wanted(nix: &Nix, variants: &[&Variant]) -> Result<Vec<Missing>, CommandError> {
    let library = library::unpack(&cache::dir()).map_err(|source| CommandError::Io {
        action: "unpack the Nix library into the cache".to_owned(),
        source,
    })?;
    let here = system();
    let mut by_system: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for variant in variants {
        // Python alone is packaged here, by the seed.
        let (system, families) = match &variant.row {
            Some(row) => (&*row.system, row.families()),
            None => (&*here, vec!["seed".to_owned()]),
        };
        by_system.entry(system).or_default().extend(families);
    }
    let mut wanted = Vec::new();
    for (system, families) in by_system {
        let families: Vec<String> = families.into_iter().collect();
        let result = pins_of(system, &families)
            .and_then(|pins| missing(nix, &library, system, &families, &pins));
        wanted.extend(result.map_err(|error| CommandError::Pins(vec![error]))?);
    }
    Ok(wanted)
}

/// Fetches, after saying how much.
pub fn bring(nix: &Nix, wanted: &[Missing]) -> Result<(), CommandError> {
    let megabytes = download_size(wanted) as f64 / 1e6;
    anstream::eprintln!(
        "fetching {} files, {megabytes:.0} MB to download",
        wanted.len()
    );
    fetch(nix, wanted).map_err(CommandError::Pins)
}
