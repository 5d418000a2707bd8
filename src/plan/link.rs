//! The link of a variant: its driver, flags and libraries. Only Nix knows in which folders the
//! libraries lie.

use serde::Serialize;

use super::{Component, Driver, Link, device, flags};
use crate::kernel::Backend;
use crate::matrix::{Row, Table};

/// The part of a link that all kernels of a row share.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct RowLink {
    pub driver: Driver,
    /// File name extension of the library.
    pub extension: &'static str,
    /// Flags before the objects.
    pub flags: Vec<String>,
    /// Flags after the objects.
    pub libraries: Vec<String>,
}

/// Symbol families of an OpenMP runtime.
const OPENMP: [&str; 2] = ["GOMP", "OMP"];

impl RowLink {
    /// The link of a row. It has the libraries of torch that torch's CMake targets put on the link
    /// line, but not libtorch itself: in a wheel with CUDA, libtorch needs libtorch_cuda, which a
    /// CPU kernel must not need.
    ///
    /// A kernel without torch holds its own CUDA runtime, as with CMake: no other library of the
    /// process is sure to bring one.
    pub fn new(row: &Row) -> Self {
        let darwin = row.system.ends_with("-darwin");
        let torch = row.torch().is_some();
        let (framework, toolkit) = match (torch, row.backend) {
            (true, Backend::Cuda) => (
                &["c10", "torch_cpu", "c10_cuda", "torch_cuda"][..],
                "cudart",
            ),
            (true, Backend::Rocm) => (
                &["c10", "torch_cpu", "c10_hip", "torch_hip"][..],
                "amdhip64",
            ),
            // libsycl comes with the driver's -fsycl.
            (true, Backend::Xpu) => (&["c10", "torch_cpu", "c10_xpu", "torch_xpu"][..], ""),
            (true, _) => (&["c10", "torch_cpu"][..], ""),
            // NVIDIA's wheels of CUDA 12 have only the shared runtime, which torch or JAX for CUDA
            // 12 brings.
            (false, Backend::Cuda) if row.toolchain.clang.is_some() => (&["tvm_ffi"][..], "cudart"),
            (false, Backend::Cuda) => (&["tvm_ffi"][..], "cudart_static"),
            (false, Backend::Rocm) => (&["tvm_ffi"][..], "amdhip64"),
            (false, _) => (&["tvm_ffi"][..], ""),
        };
        let mut libraries: Vec<String> = framework.iter().map(|name| format!("-l{name}")).collect();
        if torch && !darwin {
            // NB: stubs stand for torch's libraries, so the linker cannot see which of them are
            // needed.
            libraries.insert(0, "-Wl,--no-as-needed".to_owned());
            libraries.push("-Wl,--as-needed".to_owned());
        }
        if !toolkit.is_empty() {
            libraries.push(format!("-l{toolkit}"));
        }
        Self {
            extension: match (torch, darwin) {
                (true, _) => "abi3.so",
                (false, false) => "so",
                (false, true) => "dylib",
            },
            driver: Driver::for_link(row),
            flags: flags::link(row),
            libraries,
        }
    }
}

/// The link of a variant with some components.
pub(super) fn link(row: &Row, table: &Table, components: &[Component]) -> Link {
    let RowLink {
        driver,
        extension,
        flags,
        libraries,
    } = RowLink::new(row);
    let (archs, more_archs) = device::linked_archs(components);
    let openmp = components.iter().any(|component| component.openmp);
    let mut policy = table.policy(row).cloned().unwrap_or_default();
    policy.retain(|family, _| openmp || !OPENMP.contains(&family.as_str()));
    Link {
        driver,
        extension,
        flags,
        libraries,
        archs,
        more_archs,
        openmp,
        policy,
    }
}
