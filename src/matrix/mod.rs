//! The matrix: which variants of a kernel are built, and why the others are not. Not what is compiled for each; that is
//! the plan.

pub mod table;

use std::fmt;

use crate::kernel::{Backend, Kernel, SectionBackend};
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
        }
    }
}

/// Variants of a kernel in the order of the table, and those left out.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub variants: Vec<Variant>,
    pub excluded: Vec<Excluded>,
}

/// Applies a kernel's bounds to a table.
pub fn matrix(kernel: &Kernel, table: &Table) -> Matrix {
    let mut matrix = Matrix {
        variants: Vec::new(),
        excluded: Vec::new(),
    };
    for row in &table.rows {
        let stable_abi = kernel.torch().stable_abi.get(&row.backend).cloned();
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
    if !kernel.torch().bounds.contains(&row.torch) {
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
    let fits = |other: &&Row| {
        kernel.torch().bounds.contains(&other.torch) && (other.bundle || !row.bundle)
    };
    let newest = table
        .rows
        .iter()
        .filter(same)
        .filter(fits)
        .map(|other| &other.torch)
        .max()?;
    (newest > &row.torch).then(|| Why::StableAbi(newest.clone()))
}

/// The oldest toolkit that compiles any CUDA section; nothing if some section takes every toolkit.
fn cuda_minver(kernel: &Kernel) -> Option<Version> {
    let minvers = kernel
        .sections
        .iter()
        .filter_map(|section| match &section.backend {
            SectionBackend::Cuda { minver, .. } => Some(minver.clone()),
            SectionBackend::Cpu => None,
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
