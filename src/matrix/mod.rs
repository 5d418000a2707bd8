//! The matrix: which variants of a kernel are built, and why the others are not. The plan says what
//! is compiled for each.

pub mod clang;
mod cxx_abi;
mod exclusion;
mod facts;
pub mod header_library;
mod name;
pub mod nvcc;
pub mod openmp;
mod rules;
pub mod select;
pub mod table;
mod toolchain;
mod variant;

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{Backend, Framework, Kernel};
use crate::manifest::Edition;
use crate::terminal::count;
use crate::version::Version;

pub use self::cxx_abi::CxxAbi;
pub use self::exclusion::{Excluded, Exclusion};
pub use self::header_library::{HeaderLibrary, header_libraries, other_releases};
use self::header_library::{header_archives, header_families};
use self::rules::exclusion;
pub use self::select::{UnknownVariant, select};
pub use self::table::{FrameworkRelease, Profile, Row, Table, table};
pub use self::toolchain::{FrameworkToolchain, STEP_PYTHON, Toolchain};
pub use self::variant::{Compilation, Rank, Variant, VariantKind, better_backends};

/// Variants of a kernel in the order of the table, Python alone first, and the excluded variants.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub variants: Vec<Variant>,
    pub excluded: Vec<Excluded>,
    /// Backends that the kernel compiles for and that no row of the table has.
    pub without_toolchain: Vec<Backend>,
}

impl Matrix {
    /// The reasons why variants are missing that the author may expect, one line each. Variants
    /// that the author excluded are among them only if there is no other reason.
    pub fn reasons(&self) -> Vec<String> {
        let backends = self.without_toolchain.iter();
        let mut reasons: Vec<String> = backends
            .map(|backend| format!("there is no toolchain for {backend} yet"))
            .collect();
        let (unasked, limited): (Vec<_>, Vec<_>) = self
            .excluded
            .iter()
            .partition(|excluded| matches!(excluded.why, Exclusion::Backend(_)));
        let words = |excluded: &&Excluded| excluded.reason();
        reasons.extend(limited.iter().map(words));
        if reasons.is_empty() {
            reasons.extend(unasked.iter().map(words));
        }
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// The same matrix, with reasons that name the keys of an edition of build.toml.
    pub fn with_keys_of(mut self, edition: Edition) -> Self {
        for excluded in &mut self.excluded {
            excluded.edition = edition;
        }
        self
    }

    /// The bundled variants of a system, which are built by default.
    pub fn bundled<'a, 's>(
        &'a self,
        system: &'s str,
    ) -> impl Iterator<Item = &'a Variant> + use<'a, 's> {
        let variants = self.variants.iter();
        variants.filter(move |variant| variant.bundle && variant.builds_on(system))
    }

    /// The numbers of variants as commands print them: "31 variants, 5 by default on x86_64-linux".
    pub fn numbers(&self, system: &str) -> String {
        let all = count(self.variants.len(), "variant");
        match (self.variants.len(), self.bundled(system).count()) {
            (0, _) => all,
            (_, 0) => format!("{all}, none by default on {system}"),
            (_, number) => format!("{all}, {number} by default on {system}"),
        }
    }

    /// The rows that the variants are compiled for.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.variants.iter().filter_map(Variant::row)
    }

    /// Whether bounds of build.toml exclude a variant that could be built.
    pub fn is_limited(&self) -> bool {
        self.excluded.iter().any(|excluded| excluded.why.is_bound())
    }
}

/// Applies a kernel's bounds to a table. A pure function of the two.
///
/// Where several rows make the same variant, the row of the first profile is taken (`Profile`'s
/// order). If no variant of a system is bundled, the best variant of each backend with pinned
/// toolchains is.
pub fn matrix(kernel: &Kernel, table: &Table) -> Matrix {
    let compiled: BTreeSet<Backend> = kernel
        .sections
        .iter()
        .map(|section| section.backend.backend())
        .collect();
    let mut matrix = Matrix {
        variants: kernel
            .backends
            .difference(&compiled)
            .map(|backend| python_only(*backend))
            .collect(),
        excluded: Vec::new(),
        without_toolchain: compiled
            .iter()
            .copied()
            .filter(|backend| table.rows.iter().all(|row| row.backend != *backend))
            .collect(),
    };
    if matches!(kernel.framework, Framework::TorchNoarch(_)) {
        return matrix;
    }

    // A backend without a section gets Python alone, whatever the row.
    let candidates = table.rows.iter().filter(|row| {
        let noarch = kernel.backends.contains(&row.backend) && !compiled.contains(&row.backend);
        has_framework(kernel, row) && !noarch
    });
    let decided: Vec<(String, &Row, Result<_, Exclusion>)> = candidates
        .map(|row| {
            let stable_abi = stable_abi(kernel, row);
            let result = match exclusion(kernel, table, row, stable_abi) {
                Some(why) => Err(why),
                None => Ok(Compilation {
                    row: row.clone(),
                    stable_abi: stable_abi.cloned(),
                    header_families: header_families(kernel, table, row),
                    header_archives: header_archives(kernel, row.backend),
                }),
            };
            (name::compiled(row, stable_abi), row, result)
        })
        .collect();
    let mut built: BTreeMap<&str, Profile> = BTreeMap::new();
    for (name, row, _) in decided.iter().filter(|(_, _, result)| result.is_ok()) {
        let first = built.entry(name).or_insert(row.profile);
        *first = row.profile.min(*first);
    }
    for (name, row, result) in &decided {
        match result {
            Ok(compilation) if built.get(name.as_str()) == Some(&row.profile) => {
                matrix.variants.push(Variant {
                    name: name.clone(),
                    backend: row.backend,
                    bundle: row.bundle,
                    kind: VariantKind::Compiled(Box::new(compilation.clone())),
                });
            }
            Err(why) if !built.contains_key(name.as_str()) => {
                let excluded = Excluded {
                    name: name.clone(),
                    backend: row.backend,
                    system: row.system.clone(),
                    why: why.clone(),
                    edition: Edition::V5,
                };
                if !matrix.excluded.contains(&excluded) {
                    matrix.excluded.push(excluded);
                }
            }
            _ => {}
        }
    }
    bundle_the_best(&mut matrix);
    matrix
}

/// Bundles the best variants of systems without bundled ones. Without it, a kernel for AMD GPUs
/// alone, or one for older releases of torch, would have no variant to build by default.
fn bundle_the_best(matrix: &mut Matrix) {
    let rows = matrix.variants.iter().filter_map(Variant::row);
    let systems: BTreeSet<String> = rows.map(|row| row.system.clone()).collect();
    for system in systems {
        if matrix.bundled(&system).next().is_some() {
            continue;
        }
        let mut best: BTreeMap<Backend, &mut Variant> = BTreeMap::new();
        for variant in matrix.variants.iter_mut() {
            if !variant.builds_on(&system) || variant.unpinned().is_some() {
                continue;
            }
            let known = best.get(&variant.backend);
            if known.is_none_or(|known| variant.rank() < known.rank()) {
                best.insert(variant.backend, variant);
            }
        }
        for variant in best.into_values() {
            variant.bundle = true;
        }
    }
}

/// The builds that development shells are for: the compiled variants of a kernel, and each torch
/// and compute that its Python-only variants may run with.
pub fn arch_variants(kernel: &Kernel, table: &Table) -> Vec<Variant> {
    let matrix = matrix(kernel, table);
    let (compiled, python_only): (Vec<Variant>, Vec<Variant>) = matrix
        .variants
        .into_iter()
        .partition(|variant| variant.compilation().is_some());
    let mut variants: Vec<Variant> = Vec::new();
    let mut rows: Vec<&Row> = table.rows.iter().collect();
    rows.sort_by_key(|row| row.profile);
    for row in rows.into_iter().filter(|row| row.torch().is_some()) {
        let shell = Variant::from_row(row);
        let runs_with = |variant: &Variant| variant.backend == row.backend;
        let known = variants.iter().any(|variant| variant.name == shell.name);
        if python_only.iter().any(runs_with) && !known {
            variants.push(shell);
        }
    }
    variants.extend(compiled);
    variants
}

/// The variant of Python alone for a backend.
fn python_only(backend: Backend) -> Variant {
    Variant {
        name: name::python_only(backend),
        backend,
        bundle: true,
        kind: VariantKind::PythonOnly,
    }
}

/// The name of the variant that a row makes for a kernel.
pub fn variant_name(kernel: &Kernel, row: &Row) -> String {
    name::compiled(row, stable_abi(kernel, row))
}

/// Whether a row has the kernel's framework.
fn has_framework(kernel: &Kernel, row: &Row) -> bool {
    match (&kernel.framework, &row.release) {
        (Framework::Torch(_), FrameworkRelease::Torch { .. }) => true,
        (Framework::TvmFfi(_), FrameworkRelease::TvmFfi(_)) => true,
        (Framework::Torch(_) | Framework::TvmFfi(_) | Framework::TorchNoarch(_), _) => false,
    }
}

/// The torch release whose stable ABI build.toml asks for on the row's backend; `None` if
/// build.toml asks for none.
pub fn stable_abi<'a>(kernel: &'a Kernel, row: &Row) -> Option<&'a Version> {
    kernel.framework.torch()?.stable_abi.get(&row.backend)
}
