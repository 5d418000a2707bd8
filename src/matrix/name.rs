//! Names of variants, which the client finds a build by (kernels.variants of the PyPI client has
//! the same grammar).

use super::{FrameworkRelease, Row};
use crate::kernel::Backend;
use crate::version::Version;

/// The name of a compiled variant: `torch211-cxx11-cu130-x86_64-linux`,
/// `torch211-metal-aarch64-darwin`, `torch-stable-abi29-cpu-x86_64-linux`,
/// `tvm-ffi01-cu130-x86_64-linux`.
pub fn compiled(row: &Row, stable_abi: Option<&Version>) -> String {
    let compute = compute(row.backend, row.compute.as_ref());
    let system = &row.system;
    let framework = match (&row.release, stable_abi) {
        (FrameworkRelease::Torch { .. }, Some(abi)) => format!("torch-stable-abi{}", digits(abi)),
        (FrameworkRelease::Torch { version, cxx_abi }, None) if system.ends_with("-linux") => {
            format!("torch{}-{cxx_abi}", digits(version))
        }
        (FrameworkRelease::Torch { version, .. }, None) => format!("torch{}", digits(version)),
        (FrameworkRelease::TvmFfi(version), _) => format!("tvm-ffi{}", digits(version)),
    };
    format!("{framework}-{compute}-{system}")
}

/// The name of Python alone. NB: the client looks for `torch-npu` on machines with CANN.
pub fn python_only(backend: Backend) -> String {
    match backend {
        Backend::Cann => "torch-npu".to_owned(),
        backend => format!("torch-{}", backend.as_str()),
    }
}

/// A backend with its toolkit, if it has one: `cpu`, `metal`, `cu130`, `rocm72`, `xpu20253`.
pub fn compute(backend: Backend, toolkit: Option<&Version>) -> String {
    match (backend, toolkit) {
        (Backend::Cuda, Some(toolkit)) => format!("cu{}", digits(toolkit)),
        (backend, Some(toolkit)) => format!("{}{}", backend.as_str(), digits(toolkit)),
        (backend, None) => backend.as_str().to_owned(),
    }
}

/// Major and minor without the dot.
fn digits(version: &Version) -> String {
    let (major, minor) = version.major_minor();
    format!("{major}{minor}")
}
