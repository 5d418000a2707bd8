//! Names of variants, which the client finds a build by (kernels.variants of the PyPI client has the same grammar).

use super::{Abi, Row};
use crate::kernel::Backend;
use crate::version::Version;

/// The name of a compiled variant: `torch211-cxx11-cu130-x86_64-linux`, `torch211-metal-aarch64-darwin`,
/// `torch-stable-abi29-cpu-x86_64-linux`, `tvm-ffi01-cu130-x86_64-linux`.
pub fn of(row: &Row, abi: &Abi) -> String {
    let compute = compute(row);
    let system = &row.system;
    match abi {
        Abi::StableTorch(version) => {
            format!("torch-stable-abi{}-{compute}-{system}", flat(version))
        }
        Abi::TvmFfi => format!("tvm-ffi{}-{compute}-{system}", flat_of(&row.tvm_ffi)),
        Abi::Torch if system.ends_with("-linux") => {
            let torch = flat_of(&row.torch);
            format!("torch{torch}-{}-{compute}-{system}", row.cxx_abi)
        }
        Abi::Torch => format!("torch{}-{compute}-{system}", flat_of(&row.torch)),
        Abi::Noarch => noarch(row.backend),
    }
}

/// The name of Python alone. NB: the client looks for `torch-npu` on machines with CANN.
pub fn noarch(backend: Backend) -> String {
    match backend {
        Backend::Cann => "torch-npu".to_owned(),
        backend => format!("torch-{}", backend.as_str()),
    }
}

/// `cpu`, `metal`, `cu130`, `rocm72`, `xpu20253`.
pub fn compute(row: &Row) -> String {
    match &row.compute {
        Some(version) => of_compute(row.backend, version),
        None => row.backend.as_str().to_owned(),
    }
}

/// A backend's toolkit: `cu130`, `rocm72`.
pub fn of_compute(backend: Backend, version: &Version) -> String {
    match backend {
        Backend::Cuda => format!("cu{}", flat(version)),
        backend => format!("{}{}", backend.as_str(), flat(version)),
    }
}

/// Major and minor without the dot.
fn flat(version: &Version) -> String {
    let at = |index: usize| version.components().get(index).copied().unwrap_or(0);
    format!("{}{}", at(0), at(1))
}

fn flat_of(version: &Option<Version>) -> String {
    version.as_ref().map(flat).unwrap_or_default()
}
