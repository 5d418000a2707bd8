//! The costs of toolchains: bytes to download and to store, and the seconds of unpacking them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::units::{bytes_in_words, seconds_in_words};
use crate::families::{FamilyError, Pin, family_pins, find_family};
use crate::matrix::{Matrix, Variant};
use crate::steps::history::{BuildHistory, ToolchainCost};

/// The toolchains of one system.
#[derive(Serialize)]
pub struct ToolchainTable {
    system: String,
    rows: Vec<ToolchainRow>,
    /// Families of unknown size that this machine has not unpacked: those of vendors.
    unsized_families: Vec<String>,
    /// All families together; a file that two families have counts once.
    total: ToolchainRow,
}

/// A family of pins, with the steps that unpack it.
#[derive(Serialize)]
struct ToolchainRow {
    family: String,
    /// The number of variants that need it.
    variants: usize,
    download: String,
    store: String,
    /// Bytes of the results of its steps; `None` if this machine has not unpacked it.
    unpacked: Option<String>,
    seconds: Option<String>,
}

/// The words for a size that no pin tells.
const UNKNOWN: &str = "unknown";

/// Tables for the systems of some variants. Only the system of the last build has steps.
///
/// # Errors
/// `FamilyError` for a defect of this program.
pub fn tables(matrix: &Matrix, history: &BuildHistory) -> Result<Vec<ToolchainTable>, FamilyError> {
    let mut systems: Vec<&str> = Vec::new();
    for row in matrix.rows() {
        if !systems.contains(&&*row.system) {
            systems.push(&row.system);
        }
    }
    let built_on = history.last.as_ref().map(|last| &*last.system);
    let none = BTreeMap::new();
    let tables = systems.into_iter().map(|system| {
        let is_here = built_on == Some(system);
        let costs = if is_here { &history.toolchains } else { &none };
        table(matrix, system, costs)
    });
    tables.collect()
}

fn table(
    matrix: &Matrix,
    system: &str,
    costs: &BTreeMap<String, ToolchainCost>,
) -> Result<ToolchainTable, FamilyError> {
    let mut users: BTreeMap<String, usize> = BTreeMap::new();
    let is_of = |variant: &&Variant| variant.row().is_some_and(|row| row.system == system);
    let variants: Vec<&Variant> = matrix.variants.iter().filter(is_of).collect();
    for family in variants.iter().flat_map(|variant| variant.families()) {
        *users.entry(family).or_default() += 1;
    }
    let mut left: BTreeSet<&str> = costs.keys().map(String::as_str).collect();
    let mut rows = Vec::new();
    // NB: a step belongs to the longest name of a family that its own name begins with, and names
    // with the same beginning are in order of their length.
    for (family, number) in users.iter().rev() {
        // The machine itself may provide a family that has no file (xcode).
        let pins = match find_family(system, family)? {
            Some(_) => family_pins(system, std::slice::from_ref(family))?,
            None => BTreeMap::new(),
        };
        let is_own = |step: &&str| is_step_of(step, family);
        let own: Vec<&str> = left.iter().copied().filter(is_own).collect();
        left.retain(|step| !own.contains(step));
        let row = row(family, *number, pins.values(), costs, own);
        rows.push((download_size(pins.values()), row));
    }
    rows.sort_by_key(|(download, _)| std::cmp::Reverse(*download));
    let rows = rows.into_iter().map(|(_, row)| row);
    let (unsized_rows, mut rows): (Vec<ToolchainRow>, Vec<ToolchainRow>) =
        rows.partition(|row| row.download == UNKNOWN && row.unpacked.is_none());
    if !left.is_empty() {
        let others = left.into_iter().collect();
        rows.push(row("others", variants.len(), [].iter(), costs, others));
    }
    let mut all_pins: BTreeMap<String, Pin> = BTreeMap::new();
    for family in users.keys() {
        if find_family(system, family)?.is_some() {
            all_pins.extend(family_pins(system, std::slice::from_ref(family))?);
        }
    }
    let steps = costs.keys().map(String::as_str).collect();
    Ok(ToolchainTable {
        system: system.to_owned(),
        rows,
        unsized_families: unsized_rows.into_iter().map(|row| row.family).collect(),
        total: row("all", variants.len(), all_pins.values(), costs, steps),
    })
}

/// Whether a step unpacks a family. Recipes name their steps after the family: `gcc-12`,
/// `gcc-12-sysroot` (nix/toolchains).
fn is_step_of(step: &str, family: &str) -> bool {
    let rest = step.strip_prefix(family);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn row<'a>(
    family: &str,
    variants: usize,
    pins: impl Iterator<Item = &'a Pin> + Clone,
    costs: &BTreeMap<String, ToolchainCost>,
    steps: Vec<&str>,
) -> ToolchainRow {
    let costs = || steps.iter().filter_map(|step| costs.get(*step));
    let seconds: Vec<f64> = costs().filter_map(|cost| cost.seconds).collect();
    let is_sized = |pin: &Pin| pin.download_size().is_some();
    let words = |bytes: u64| match (pins.clone().all(is_sized), pins.clone().any(is_sized)) {
        (true, true) => bytes_in_words(bytes),
        (false, true) => format!("more than {}", bytes_in_words(bytes)),
        (true, false) => "none".to_owned(),
        (false, false) => UNKNOWN.to_owned(),
    };
    ToolchainRow {
        family: family.to_owned(),
        variants,
        download: words(download_size(pins.clone())),
        store: words(pins.clone().map(Pin::store_size).sum()),
        unpacked: (!steps.is_empty()).then(|| bytes_in_words(costs().map(|cost| cost.bytes).sum())),
        seconds: (!seconds.is_empty())
            .then(|| seconds_in_words(seconds.iter().fold(0.0, |sum, seconds| sum + seconds))),
    }
}

/// The known bytes to download of some pins.
fn download_size<'a>(pins: impl Iterator<Item = &'a Pin>) -> u64 {
    pins.filter_map(Pin::download_size).sum()
}
