//! The fixed part of metadata.json, which the client reads before it loads a kernel. The build adds
//! the id, the provenance and the digest.

use std::collections::BTreeSet;

use super::{BackendMetadata, Component, DeviceArch, HeaderDepend, KernelDepend, Metadata, device};
use crate::kernel::{Backend, Framework, Kernel};
use crate::manifest::v5::KernelPin;

pub(super) fn metadata(
    kernel: &Kernel,
    backend: Backend,
    components: &[Component],
    header_depends: BTreeSet<HeaderDepend>,
) -> Metadata {
    let kernel_depends: Vec<KernelDepend> = kernel
        .kernel_depends
        .on_backend(backend)
        .map(|dependency| {
            let (version, revision) = match &dependency.pin {
                KernelPin::Version(version) => (Some(*version), None),
                KernelPin::Revision(revision) => (None, Some(revision.clone())),
            };
            KernelDepend {
                repo_id: dependency.repo_id.clone(),
                version,
                revision,
            }
        })
        .collect();
    Metadata {
        name: kernel.name.as_str().to_owned(),
        version: kernel.version,
        license: kernel.license.clone(),
        upstream: kernel.upstream.as_ref().map(ToString::to_string),
        source: kernel.source.as_ref().map(ToString::to_string),
        python_depends: python_depends(kernel, backend),
        // Clients before 0.17 do not know dependencies on kernels.
        kernels_minver: if kernel_depends.is_empty() {
            "0.14.0"
        } else {
            "0.17.0"
        },
        kernel_depends,
        header_depends: header_depends.into_iter().collect(),
        lean_headers: components
            .iter()
            .flat_map(|component| &component.units)
            .any(|group| !group.lean_headers)
            .then_some(false),
        backend: BackendMetadata {
            r#type: backend.as_str(),
            archs: archs(kernel, backend, components),
        },
    }
}

/// The packages that build.toml lists, and the package that _ops.py imports to load a library.
fn python_depends(kernel: &Kernel, backend: Backend) -> Vec<String> {
    let listed = kernel.python_depends.on_backend(backend);
    let mut names: Vec<String> = listed
        .map(|dependency| dependency.name.to_string())
        .collect();
    let tvm_ffi = "tvm-ffi";
    if matches!(kernel.framework, Framework::TvmFfi(_)) && names.iter().all(|name| name != tvm_ffi)
    {
        names.push(tvm_ffi.to_owned());
    }
    names
}

/// Architectures of the compiled device code, or those that build.toml names for Python that
/// compiles at run time.
fn archs(kernel: &Kernel, backend: Backend, components: &[Component]) -> Vec<String> {
    let mut archs: Vec<DeviceArch> = components
        .iter()
        .flat_map(|component| &component.archs)
        .copied()
        .collect();
    if let Framework::TorchNoarch(noarch) = &kernel.framework {
        match backend {
            Backend::Cuda => archs.extend(device::cuda(&noarch.cuda_capabilities)),
            Backend::Rocm => archs.extend(device::rocm(&noarch.rocm_archs)),
            _ => {}
        }
    }
    archs.sort();
    archs.dedup();
    archs.iter().map(ToString::to_string).collect()
}
