//! The matrix: which variants of a kernel are built, and why the others are not. Not what is compiled for each; that is
//! the plan.

pub mod clang;
pub mod client;
mod cxx_abi;
pub mod header_library;
mod name;
pub mod openmp;
mod rules;
pub mod select;
pub mod table;
mod why;

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{Backend, Framework, HeaderArchive, Kernel};
use crate::pins::{Unpinned, unpinned};
use crate::version::Version;

pub use self::client::Machine;
pub use self::cxx_abi::CxxAbi;
pub use self::header_library::{HeaderLibrary, header_libraries, other_releases};
use self::header_library::{header_archives, header_families};
use self::rules::exclusion;
pub use self::select::{UnknownVariant, select};
pub use self::table::{Profile, Row, Table, table};
pub use self::why::{Excluded, Why};

/// One build of a kernel, under the name that `kernels.get_kernel` looks for.
#[derive(Clone, Debug)]
pub struct Variant {
    pub name: String,
    pub backend: Backend,
    pub abi: Abi,
    /// Whether it belongs to what is built when nothing is asked for: a bundled row of the table, or the best for its
    /// backend on a system where the kernel has none of these.
    pub bundle: bool,
    /// The toolchains that compile it; nothing for Python alone, which every system builds alike.
    pub row: Option<Row>,
    /// Pin families of the headers that its sections name in `depends`.
    pub header_families: BTreeSet<String>,
    /// Archives of headers that build.toml describes and its sections name, by their name there.
    pub header_archives: BTreeMap<String, HeaderArchive>,
}

impl Variant {
    /// The pin families that a build of it needs, on its row's system; those of the seed for Python alone.
    pub fn families(&self) -> Vec<String> {
        let of_row = self.row.as_ref().map(Row::families);
        let mut families = of_row.unwrap_or_else(|| vec!["seed".to_owned()]);
        families.extend(self.header_families.iter().cloned());
        families
    }

    /// Whether a system (Nix's name of it) builds it.
    pub fn builds_on(&self, system: &str) -> bool {
        self.row.as_ref().is_none_or(|row| row.system == system)
    }

    /// The toolchain of its row that nobody has pinned, so that it cannot be built.
    pub fn unpinned(&self) -> Option<Unpinned> {
        let row = self.row.as_ref()?;
        unpinned(&row.system, &row.families())
    }
}

/// What must be the same, or compatible, in the process that loads a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abi {
    /// The C++ ABI of the row's torch release.
    Torch,
    /// torch's stable ABI, from this release on.
    StableTorch(Version),
    /// tvm-ffi's, of the row's tvm-ffi release.
    TvmFfi,
    /// Nothing is compiled.
    Noarch,
}

/// Variants of a kernel in the order of the table, Python alone first, and those left out.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub variants: Vec<Variant>,
    pub excluded: Vec<Excluded>,
    /// Backends that the kernel compiles for and that no row of the table is for.
    pub without_toolchain: Vec<Backend>,
}

impl Matrix {
    /// Why variants are missing that the author may expect, one reason each: what is merely not
    /// asked for is among them only if there is no other reason.
    pub fn reasons(&self) -> Vec<String> {
        let backends = self.without_toolchain.iter();
        let mut reasons: Vec<String> = backends
            .map(|backend| format!("there is no toolchain for {backend} yet"))
            .collect();
        let (unasked, limited): (Vec<_>, Vec<_>) = self
            .excluded
            .iter()
            .partition(|excluded| matches!(excluded.why, Why::Backend(_)));
        let words = |excluded: &&Excluded| excluded.why.to_string();
        reasons.extend(limited.iter().map(words));
        if reasons.is_empty() {
            reasons.extend(unasked.iter().map(words));
        }
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// The variants that a system builds when nothing is asked for.
    pub fn bundled<'a, 's>(
        &'a self,
        system: &'s str,
    ) -> impl Iterator<Item = &'a Variant> + use<'a, 's> {
        let variants = self.variants.iter();
        variants.filter(move |variant| variant.bundle && variant.builds_on(system))
    }

    /// Whether bounds of build.toml leave out something that could be built.
    pub fn is_limited(&self) -> bool {
        self.excluded.iter().any(|excluded| excluded.why.is_bound())
    }
}

/// Applies a kernel's bounds to a table. A pure function of the two.
///
/// Where rows make the same variant, the first profile's is taken (`Profile`'s order). Where none of a system's variants is
/// bundled, the best of each backend is, of those whose toolchains are pinned.
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
            .map(|backend| noarch(*backend))
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

    // A backend without a section is Python alone, whatever the row.
    let candidates = table.rows.iter().filter(|row| {
        let noarch = kernel.backends.contains(&row.backend) && !compiled.contains(&row.backend);
        is_for(kernel, row) && !noarch
    });
    let decided: Vec<(String, &Row, Result<Abi, Why>)> = candidates
        .map(|row| {
            let abi = abi(kernel, row);
            let name = name::of(row, &abi);
            let result = match exclusion(kernel, table, row, &abi) {
                Some(why) => Err(why),
                None => Ok(abi),
            };
            (name, row, result)
        })
        .collect();
    let mut built: BTreeMap<&str, Profile> = BTreeMap::new();
    for (name, row, _) in decided.iter().filter(|(_, _, result)| result.is_ok()) {
        let first = built.entry(name).or_insert(row.profile);
        *first = row.profile.min(*first);
    }
    for (name, row, result) in &decided {
        match result {
            Ok(abi) if built.get(name.as_str()) == Some(&row.profile) => {
                matrix.variants.push(Variant {
                    name: name.clone(),
                    backend: row.backend,
                    abi: abi.clone(),
                    bundle: row.bundle,
                    row: Some((*row).clone()),
                    header_families: header_families(kernel, table, row),
                    header_archives: header_archives(kernel, row.backend),
                });
            }
            Err(why) if !built.contains_key(name.as_str()) => {
                let excluded = Excluded {
                    name: name.clone(),
                    backend: row.backend,
                    system: row.system.clone(),
                    why: why.clone(),
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

/// Otherwise a kernel for AMD GPUs alone, or one for older releases of torch, would be built for nothing by default.
fn bundle_the_best(matrix: &mut Matrix) {
    let rows = matrix.variants.iter().filter_map(|own| own.row.as_ref());
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
            if known.is_none_or(|known| preference(known) < preference(variant)) {
                best.insert(variant.backend, variant);
            }
        }
        for variant in best.into_values() {
            variant.bundle = true;
        }
    }
}

/// The greatest is the best: what any index serves, the newest release, the oldest toolkit, which runs with most drivers.
pub(crate) fn preference(variant: &Variant) -> impl Ord + use<> {
    let row = variant.row.as_ref();
    (
        std::cmp::Reverse(row.map(|row| row.profile)),
        row.and_then(|row| row.torch.clone()),
        row.and_then(|row| row.tvm_ffi.clone()),
        std::cmp::Reverse(row.and_then(|row| row.compute.clone())),
    )
}

/// The builds that development shells are for: the compiled variants of a kernel, and for backends that have Python alone
/// each torch and compute that it may run with.
pub fn arch_variants(kernel: &Kernel, table: &Table) -> Vec<Variant> {
    let matrix = matrix(kernel, table);
    let noarch: BTreeSet<Backend> = matrix
        .variants
        .iter()
        .filter(|variant| variant.abi == Abi::Noarch)
        .map(|variant| variant.backend)
        .collect();
    let mut variants: Vec<Variant> = Vec::new();
    let mut rows: Vec<&Row> = table.rows.iter().collect();
    rows.sort_by_key(|row| row.profile);
    for row in rows {
        let name = name::of(row, &Abi::Torch);
        let known = variants.iter().any(|variant| variant.name == name);
        if row.torch.is_some() && noarch.contains(&row.backend) && !known {
            variants.push(Variant {
                name,
                backend: row.backend,
                abi: Abi::Torch,
                bundle: row.bundle,
                row: Some(row.clone()),
                header_families: BTreeSet::new(),
                header_archives: BTreeMap::new(),
            });
        }
    }
    let compiled = matrix.variants.into_iter();
    variants.extend(compiled.filter(|variant| variant.abi != Abi::Noarch));
    variants
}

/// Python alone, for one backend.
fn noarch(backend: Backend) -> Variant {
    Variant {
        name: name::noarch(backend),
        backend,
        abi: Abi::Noarch,
        bundle: true,
        row: None,
        header_families: BTreeSet::new(),
        header_archives: BTreeMap::new(),
    }
}

/// Whether a row is of the kernel's framework.
fn is_for(kernel: &Kernel, row: &Row) -> bool {
    match kernel.framework {
        Framework::Torch(_) => row.torch.is_some(),
        Framework::TvmFfi(_) => row.tvm_ffi.is_some(),
        Framework::TorchNoarch(_) => false,
    }
}

fn abi(kernel: &Kernel, row: &Row) -> Abi {
    let stable = kernel
        .framework
        .torch()
        .and_then(|torch| torch.stable_abi.get(&row.backend));
    match (stable, &row.tvm_ffi) {
        (Some(version), _) => Abi::StableTorch(version.clone()),
        (None, Some(_)) => Abi::TvmFfi,
        (None, None) => Abi::Torch,
    }
}
