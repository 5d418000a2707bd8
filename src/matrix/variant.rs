//! A variant: one thing that a kernel is built for. The plan says how it is built.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{CxxAbi, Profile, Row, STEP_PYTHON, name};
use crate::families::{UnpinnedFamily, unpinned};
use crate::kernel::{Backend, HeaderArchive};
use crate::version::Version;

/// Backends whose variants are better than those of others, the best first.
const BEST_BACKENDS: [Backend; 5] = [
    Backend::Cuda,
    Backend::Rocm,
    Backend::Xpu,
    Backend::Metal,
    Backend::Cpu,
];

/// One build of a kernel, under the name that `kernels.get_kernel` looks for.
#[derive(Clone, Debug)]
pub struct Variant {
    pub name: String,
    pub backend: Backend,
    /// Whether the variant is built by default: it is of a bundled row of the table, or the best of
    /// its backend on a system without bundled variants.
    pub bundle: bool,
    pub kind: VariantKind,
}

/// Whether a variant has native code.
#[derive(Clone, Debug)]
pub enum VariantKind {
    /// A compiled library with Python files.
    Compiled(Box<Compilation>),
    /// Python files alone, which every system builds alike.
    PythonOnly,
}

/// How the library of a variant is compiled.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The row of the release table that the library is compiled for.
    pub row: Row,
    /// The oldest torch release that the library works with through torch's stable ABI; `None` if
    /// it works with the release of its row alone.
    pub stable_abi: Option<Version>,
    /// Pin families of the headers that the sections name in `depends`.
    pub header_families: BTreeSet<String>,
    /// Archives of headers that build.toml describes and sections name, by their name in
    /// build.toml.
    pub header_archives: BTreeMap<String, HeaderArchive>,
}

impl Variant {
    /// The variant of a row for a kernel that uses neither a stable ABI nor libraries of headers.
    pub fn from_row(row: &Row) -> Self {
        Self {
            name: name::compiled(row, None),
            backend: row.backend,
            bundle: row.bundle,
            kind: VariantKind::Compiled(Box::new(Compilation {
                row: row.clone(),
                stable_abi: None,
                header_families: BTreeSet::new(),
                header_archives: BTreeMap::new(),
            })),
        }
    }

    /// The compilation of the variant's library; `None` for Python alone.
    pub fn compilation(&self) -> Option<&Compilation> {
        match &self.kind {
            VariantKind::Compiled(compilation) => Some(compilation),
            VariantKind::PythonOnly => None,
        }
    }

    /// The row that the variant is compiled for; `None` for Python alone.
    pub fn row(&self) -> Option<&Row> {
        self.compilation().map(|compilation| &compilation.row)
    }

    /// The archives of headers that build.toml describes and sections name, by their name in
    /// build.toml.
    pub fn header_archives(&self) -> impl Iterator<Item = (&String, &HeaderArchive)> {
        let compilation = self.compilation().into_iter();
        compilation.flat_map(|compilation| &compilation.header_archives)
    }

    /// The pin families that a build of the variant needs, on its row's system; the families of
    /// packaging for Python alone.
    pub fn families(&self) -> Vec<String> {
        match &self.kind {
            VariantKind::Compiled(compilation) => {
                let mut families = compilation.row.families();
                families.extend(compilation.header_families.iter().cloned());
                families
            }
            VariantKind::PythonOnly => vec!["seed".to_owned(), STEP_PYTHON.to_owned()],
        }
    }

    /// Whether a system (Nix's name of it) builds the variant.
    pub fn builds_on(&self, system: &str) -> bool {
        self.row().is_none_or(|row| row.system == system)
    }

    /// The toolchain of the variant's row that has no pins; `None` if the variant can be built.
    pub fn unpinned(&self) -> Option<UnpinnedFamily> {
        let row = self.row()?;
        unpinned(&row.system, &row.families())
    }

    /// The variant's place among those of its kernel: the smallest is the best.
    pub fn rank(&self) -> Rank<'_> {
        let row = self.row();
        Rank {
            unbundled: !self.bundle,
            better_backends: better_backends(self.backend),
            profile: row.map(|row| row.profile),
            release: Reverse(row.map(|row| row.release.version())),
            compute: row.and_then(|row| row.compute.as_ref()),
            cxx_abi: row.and_then(Row::cxx_abi),
        }
    }
}

/// The number of backends whose variants are better than those of a backend.
pub fn better_backends(backend: Backend) -> usize {
    let better = BEST_BACKENDS.iter();
    better.take_while(|better| **better != backend).count()
}

/// The place of a variant among those of its kernel, compared field by field: the smallest is the
/// best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank<'a> {
    /// Variants that are built by default come first.
    unbundled: bool,
    /// The number of backends that are better: GPUs come before the CPU.
    better_backends: usize,
    /// Archives that any package index serves come before vendors' own.
    profile: Option<Profile>,
    /// The newest torch or tvm-ffi comes first.
    release: Reverse<Option<&'a Version>>,
    /// The oldest toolkit comes first: it runs with the most drivers.
    compute: Option<&'a Version>,
    /// The older C++ ABI comes first: the wheels of torch 2.6 have it.
    cxx_abi: Option<CxxAbi>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{FrameworkRelease, table};

    fn compiled(backend: Backend, torch: &str, compute: Option<&str>, bundle: bool) -> Variant {
        let row = table().rows.first().expect("a row");
        Variant {
            name: format!("{backend} {torch} {}", compute.unwrap_or("-")),
            backend,
            bundle,
            kind: VariantKind::Compiled(Box::new(Compilation {
                row: Row {
                    release: FrameworkRelease::Torch {
                        version: torch.parse().expect("a version"),
                        cxx_abi: CxxAbi::Cxx11,
                    },
                    compute: compute.and_then(|text| text.parse().ok()),
                    ..row.clone()
                },
                stable_abi: None,
                header_families: BTreeSet::new(),
                header_archives: BTreeMap::new(),
            })),
        }
    }

    #[test]
    fn the_best_variant_comes_first() {
        let python_only = Variant {
            kind: VariantKind::PythonOnly,
            name: "python".to_owned(),
            ..compiled(Backend::Cann, "2.10", None, true)
        };
        let mut variants = [
            compiled(Backend::Cuda, "2.10", Some("12.8"), false),
            python_only,
            compiled(Backend::Cpu, "2.11", None, true),
            compiled(Backend::Metal, "2.11", None, true),
            compiled(Backend::Xpu, "2.11", Some("2025.3"), true),
            compiled(Backend::Rocm, "2.11", Some("7.2"), true),
            compiled(Backend::Cuda, "2.9", Some("12.6"), true),
            compiled(Backend::Cuda, "2.10", Some("13.0"), true),
            compiled(Backend::Cuda, "2.10", Some("12.8"), true),
        ];
        variants.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let names = variants.each_ref().map(|variant| variant.name.as_str());
        assert_eq!(
            names,
            [
                "cuda 2.10 12.8",
                "cuda 2.10 13.0",
                "cuda 2.9 12.6",
                "rocm 2.11 7.2",
                "xpu 2.11 2025.3",
                "metal 2.11 -",
                "cpu 2.11 -",
                "python",
                "cuda 2.10 12.8",
            ]
        );
        assert!(!variants[8].bundle);
    }
}
