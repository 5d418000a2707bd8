//! The matrix as grids: a table of releases and computes for each system, and one of the variants
//! of Python alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cell::{CellState, VariantStates};
use super::details::id_of_details;
use super::left_out::LeftOutGroup;
use super::units::bytes_in_words;
use crate::kernel::{Backend, Kernel};
use crate::matrix::{
    CxxAbi, FrameworkRelease, Matrix, Row, better_backends, stable_abi, table, variant_name,
};
use crate::version::Version;

/// A grid of variants.
#[derive(Serialize)]
pub struct Grid {
    /// Nix's name of the system; "every system" for Python alone.
    system: String,
    backends: Vec<BackendColumns>,
    computes: Vec<String>,
    rows: Vec<GridRow>,
}

/// The columns of a backend.
#[derive(Serialize)]
struct BackendColumns {
    backend: &'static str,
    number: usize,
}

#[derive(Serialize)]
struct GridRow {
    release: String,
    /// A cell for each compute; `None` if the release table has no such variant.
    cells: Vec<Option<GridCell>>,
}

#[derive(Clone, Serialize)]
struct GridCell {
    /// The name of the variant.
    name: String,
    state: CellState,
    words: &'static str,
    /// The size of a built variant, or that it failed; may be empty.
    label: String,
    is_default: bool,
    /// The id of the element with its details.
    details: String,
}

/// The column of a variant. Columns are in the order of the fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ColumnKey<'a> {
    /// The CPU comes first, then the best backend.
    is_gpu: bool,
    better_backends: usize,
    backend: Backend,
    compute: Option<&'a Version>,
}

/// The row of a variant. Rows are in the order of the fields: the newest release comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseKey<'a> {
    is_tvm_ffi: bool,
    /// The stable ABI, if the variant has it.
    stable_abi: Reverse<Option<&'a Version>>,
    release: Reverse<Option<&'a Version>>,
    cxx_abi: Reverse<Option<CxxAbi>>,
}

impl<'a> ReleaseKey<'a> {
    fn new(kernel: &'a Kernel, row: &'a Row) -> Self {
        let stable_abi = stable_abi(kernel, row);
        // One library of the stable ABI serves many releases.
        let alone = stable_abi.is_none();
        Self {
            is_tvm_ffi: row.torch().is_none(),
            stable_abi: Reverse(stable_abi),
            release: Reverse(alone.then(|| row.release.version())),
            cxx_abi: Reverse(row.cxx_abi().filter(|_| alone)),
        }
    }
}

/// The words for the release of a row.
fn release_words(kernel: &Kernel, row: &Row) -> String {
    match (&row.release, stable_abi(kernel, row)) {
        (FrameworkRelease::Torch { .. }, Some(abi)) => format!("stable ABI of torch {abi}"),
        (FrameworkRelease::Torch { version, cxx_abi }, None) => match cxx_abi {
            CxxAbi::Cxx11 => format!("torch {version}"),
            CxxAbi::Cxx98 => format!("torch {version} {cxx_abi}"),
        },
        (FrameworkRelease::TvmFfi(version), _) => format!("tvm-ffi {version}"),
    }
}

/// The grids of a kernel. Backends that a system has no variant of have no columns.
pub fn grids(
    kernel: &Kernel,
    matrix: &Matrix,
    states: &VariantStates<'_>,
    left_out: &[LeftOutGroup],
) -> Vec<Grid> {
    let cells = cells(matrix, states, left_out);
    let mut systems: Vec<&str> = Vec::new();
    for row in matrix.rows() {
        if !systems.contains(&&*row.system) {
            systems.push(&row.system);
        }
    }
    let mut grids: Vec<Grid> = python_grid(matrix, &cells).into_iter().collect();
    grids.extend(systems.into_iter().map(|system| {
        let backends: BTreeSet<Backend> = matrix
            .rows()
            .filter(|row| row.system == system)
            .map(|row| row.backend)
            .collect();
        let rows = table().rows.iter();
        let rows = rows.filter(|row| row.system == system && backends.contains(&row.backend));
        system_grid(kernel, system, rows, &cells)
    }));
    grids
}

/// The cells by the name of their variant.
fn cells(
    matrix: &Matrix,
    states: &VariantStates<'_>,
    left_out: &[LeftOutGroup],
) -> BTreeMap<String, GridCell> {
    let mut cells = BTreeMap::new();
    for group in left_out {
        for name in &group.names {
            let cell = GridCell {
                name: name.clone(),
                state: CellState::LeftOut,
                words: CellState::LeftOut.words(),
                label: String::new(),
                is_default: false,
                details: group.id.clone(),
            };
            cells.insert(name.clone(), cell);
        }
    }
    for (number, variant) in matrix.variants.iter().enumerate() {
        let state = states.state(variant);
        let bytes = states.result(variant).map_or(0, |result| result.bytes);
        let cell = GridCell {
            name: variant.name.clone(),
            state,
            words: state.words(),
            label: cell_label(state, bytes),
            is_default: variant.bundle,
            details: id_of_details(number),
        };
        cells.insert(variant.name.clone(), cell);
    }
    cells
}

/// The visible words of a cell.
fn cell_label(state: CellState, bytes: u64) -> String {
    match (state, bytes) {
        (CellState::Failed, _) => state.words().to_owned(),
        (_, 0) => String::new(),
        (_, bytes) => bytes_in_words(bytes),
    }
}

/// The grid of a system. `rows` are the rows of the release table that it shows.
fn system_grid<'a>(
    kernel: &'a Kernel,
    system: &str,
    rows: impl Iterator<Item = &'a Row>,
    cells: &BTreeMap<String, GridCell>,
) -> Grid {
    let mut columns: BTreeMap<ColumnKey<'_>, String> = BTreeMap::new();
    let mut releases: BTreeMap<ReleaseKey<'_>, (String, BTreeMap<ColumnKey<'_>, GridCell>)> =
        BTreeMap::new();
    for row in rows {
        let Some(cell) = cells.get(&variant_name(kernel, row)) else {
            continue;
        };
        let column = ColumnKey {
            is_gpu: row.backend != Backend::Cpu,
            better_backends: better_backends(row.backend),
            backend: row.backend,
            compute: row.compute.as_ref(),
        };
        columns.insert(column, row.compute_name());
        let release = releases.entry(ReleaseKey::new(kernel, row));
        let (_, of_release) =
            release.or_insert_with(|| (release_words(kernel, row), BTreeMap::new()));
        of_release.insert(column, cell.clone());
    }
    let mut backends: Vec<BackendColumns> = Vec::new();
    for column in columns.keys() {
        let backend = column.backend.as_str();
        match backends.last_mut().filter(|last| last.backend == backend) {
            Some(last) => last.number += 1,
            None => backends.push(BackendColumns { backend, number: 1 }),
        }
    }
    let rows = releases.into_values().map(|(release, mut cells)| GridRow {
        release,
        cells: columns.keys().map(|column| cells.remove(column)).collect(),
    });
    Grid {
        system: system.to_owned(),
        backends,
        rows: rows.collect(),
        computes: columns.into_values().collect(),
    }
}

/// The grid of the variants of Python alone; `None` if there are none.
fn python_grid(matrix: &Matrix, cells: &BTreeMap<String, GridCell>) -> Option<Grid> {
    let variants = matrix.variants.iter();
    let variants: Vec<_> = variants.filter(|variant| variant.row().is_none()).collect();
    let computes: Vec<String> = variants
        .iter()
        .map(|variant| variant.backend.as_str().to_owned())
        .collect();
    let cells = variants.iter().map(|variant| cells.get(&variant.name));
    (!variants.is_empty()).then(|| Grid {
        system: "every system".to_owned(),
        backends: Vec::new(),
        computes,
        rows: vec![GridRow {
            release: "Python alone".to_owned(),
            cells: cells.map(Option::<&GridCell>::cloned).collect(),
        }],
    })
}
