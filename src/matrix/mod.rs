//! The matrix: which variants of a kernel are built, and why the others are not. Not what is compiled for each; that is
//! the plan.

pub mod table;

use std::fmt;

use crate::kernel::{Backend, Dependency, Kernel, SectionBackend};
use crate::version::Version;

pub use self::table::{Row, Table, table};

/// One build of a kernel: a row of the table, under the name that `kernels.get_kernel` looks for.
#[derive(Clone, Debug)]
pub struct Variant {
    pub name: String,
    pub row: Row,
    /// The torch release whose stable ABI it uses, if it does.
    pub stable_abi: Option<Version>,
}

/// A variant that the table has and the kernel's build.toml excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    pub name: String,
    pub why: Why,
}

/// The rule that excluded a variant, with the key of build.toml that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// `general.backends` does not list the backend.
    Backend(Backend),
    /// Outside of `torch.minver`/`torch.maxver`.
    TorchBounds(Version),
    /// Outside of `general.cuda.minver`/`general.cuda.maxver`.
    CudaBounds(Version),
    /// A newer torch serves the same compute through the stable ABI.
    StableAbi(Version),
    /// Every section of the backend asks for a newer toolkit (`cuda-minver`).
    CudaMinver(Version),
    /// Older than the stable ABI that the kernel uses.
    OlderThanStableAbi(Version),
    /// No toolchain builds kernels of this framework yet.
    Framework(&'static str),
    /// A section depends on a library that no toolchain has yet.
    Dependency(String, Dependency),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Backend(backend) => {
                write!(f, "general.backends does not list {}", backend.as_str())
            }
            Why::TorchBounds(version) => write!(
                f,
                "torch {version} is outside of torch.minver and torch.maxver"
            ),
            Why::CudaBounds(version) => {
                write!(
                    f,
                    "CUDA {version} is outside of general.cuda.minver and general.cuda.maxver"
                )
            }
            Why::StableAbi(newest) => write!(
                f,
                "torch.stable-abi: one library for all torch, built with {newest}"
            ),
            Why::CudaMinver(version) => {
                write!(
                    f,
                    "every CUDA section has a cuda-minver, the lowest is {version}"
                )
            }
            Why::OlderThanStableAbi(version) => {
                write!(f, "torch is older than torch.stable-abi ({version})")
            }
            Why::Framework(name) => write!(f, "[{name}] kernels cannot be built yet"),
            Why::Dependency(section, dependency) => write!(
                f,
                "kernel.{section} depends on {dependency}, which no toolchain has yet"
            ),
        }
    }
}

/// Variants of a kernel in the order of the table, and those left out.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub variants: Vec<Variant>,
    pub excluded: Vec<Excluded>,
    /// Backends of the kernel that no row of the table is for.
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

    /// Whether bounds of build.toml leave out something that could be built.
    pub fn is_limited(&self) -> bool {
        let mut excluded = self.excluded.iter();
        excluded.any(|excluded| {
            !matches!(
                excluded.why,
                Why::Backend(_) | Why::Framework(_) | Why::Dependency(..)
            )
        })
    }
}

/// Applies a kernel's bounds to a table.
pub fn matrix(kernel: &Kernel, table: &Table) -> Matrix {
    let mut matrix = Matrix {
        variants: Vec::new(),
        excluded: Vec::new(),
        without_toolchain: kernel
            .backends
            .iter()
            .copied()
            .filter(|backend| table.rows.iter().all(|row| row.backend != *backend))
            .collect(),
    };
    for row in &table.rows {
        let torch = kernel.framework.torch();
        let stable_abi = torch.and_then(|torch| torch.stable_abi.get(&row.backend));
        let stable_abi = stable_abi.cloned();
        let name = name(row, stable_abi.as_ref());
        match exclusion(kernel, table, row, stable_abi.as_ref()) {
            Some(why) => matrix.excluded.push(Excluded { name, why }),
            None => matrix.variants.push(Variant {
                name,
                row: row.clone(),
                stable_abi,
            }),
        }
    }
    matrix
}

fn exclusion(
    kernel: &Kernel,
    table: &Table,
    row: &Row,
    stable_abi: Option<&Version>,
) -> Option<Why> {
    if !kernel.backends.contains(&row.backend) {
        return Some(Why::Backend(row.backend));
    }
    let Some(torch) = kernel.framework.torch() else {
        return Some(Why::Framework(kernel.framework.name()));
    };
    if let Some(why) = missing_library(kernel, row.backend) {
        return Some(why);
    }
    if !torch.bounds.contains(&row.torch) {
        return Some(Why::TorchBounds(row.torch.clone()));
    }
    if let (Backend::Cuda, Some(compute)) = (row.backend, &row.compute)
        && !kernel.cuda.contains(compute)
    {
        return Some(Why::CudaBounds(compute.clone()));
    }
    if let (Backend::Cuda, Some(compute)) = (row.backend, &row.compute)
        && let Some(minver) = cuda_minver(kernel).filter(|minver| compute < minver)
    {
        return Some(Why::CudaMinver(minver));
    }
    let abi = stable_abi?;
    if &row.torch < abi {
        return Some(Why::OlderThanStableAbi(abi.clone()));
    }
    let same = |other: &&Row| {
        (&other.system, other.backend, &other.compute) == (&row.system, row.backend, &row.compute)
    };
    // A row that is not bundled must not take the place of one that is.
    let fits = |other: &&Row| torch.bounds.contains(&other.torch) && (other.bundle || !row.bundle);
    let newest = table
        .rows
        .iter()
        .filter(same)
        .filter(fits)
        .map(|other| &other.torch)
        .max()?;
    (newest > &row.torch).then(|| Why::StableAbi(newest.clone()))
}

/// The first library that a section of the backend depends on and that no toolchain has.
fn missing_library(kernel: &Kernel, backend: Backend) -> Option<Why> {
    let sections = kernel.sections.iter();
    let mut sections = sections.filter(|section| section.backend.backend() == backend);
    sections.find_map(|section| {
        let mut depends = section.depends.iter();
        let missing = depends.find(|dependency| **dependency != Dependency::Torch)?;
        Some(Why::Dependency(section.name.clone(), *missing))
    })
}

/// The oldest toolkit that compiles any CUDA section; nothing if some section takes every toolkit.
fn cuda_minver(kernel: &Kernel) -> Option<Version> {
    let minvers = kernel
        .sections
        .iter()
        .filter_map(|section| match &section.backend {
            SectionBackend::Cuda { minver, .. } => Some(minver.clone()),
            SectionBackend::Cpu
            | SectionBackend::Metal
            | SectionBackend::Rocm { .. }
            | SectionBackend::Xpu { .. } => None,
        });
    // `None` sorts first.
    minvers.min().flatten()
}

/// The name of a variant: `torch211-cxx11-cu130-x86_64-linux`, `torch211-metal-aarch64-darwin`,
/// `torch-stable-abi29-cpu-x86_64-linux`. Versions lose their dot and what follows the second component.
fn name(row: &Row, stable_abi: Option<&Version>) -> String {
    let compute = match (&row.compute, row.backend) {
        (Some(version), Backend::Cuda) => format!("cu{}", flat(version)),
        (Some(version), backend) => format!("{}{}", backend.as_str(), flat(version)),
        (None, backend) => backend.as_str().to_owned(),
    };
    let system = &row.system;
    match stable_abi {
        Some(abi) => format!("torch-stable-abi{}-{compute}-{system}", flat(abi)),
        // Only Linux ever had two C++ ABIs.
        None if system.ends_with("-linux") => {
            format!("torch{}-cxx11-{compute}-{system}", flat(&row.torch))
        }
        None => format!("torch{}-{compute}-{system}", flat(&row.torch)),
    }
}

fn flat(version: &Version) -> String {
    let at = |index: usize| version.components().get(index).copied().unwrap_or(0);
    format!("{}{}", at(0), at(1))
}
