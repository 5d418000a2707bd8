//! The framework of a checked kernel: how it is bound to Python.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Backend, Bounds, Capability, Language, RocmArch, source};
use crate::version::Version;

/// How a kernel is bound to Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framework {
    /// A C++ extension of PyTorch.
    Torch(Torch),
    /// Python only.
    TorchNoarch(TorchNoarch),
    /// A library behind TVM's foreign function interface.
    TvmFfi(TvmFfi),
}

/// The checked `[torch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torch {
    /// Sources of the binding and headers, in the order written.
    pub src: Vec<Utf8PathBuf>,
    /// Extensions of the Python files to install, without dots.
    pub pyext: Vec<String>,
    /// Include directories; `.` is the kernel's directory.
    pub include: Vec<Utf8PathBuf>,
    /// Torch releases to build for.
    pub bounds: Bounds,
    /// The torch release whose stable ABI is used, for the backends that use it.
    pub stable_abi: BTreeMap<Backend, Version>,
    /// Flags for the C++ sources of the binding.
    pub cxx_flags: Vec<String>,
    /// Whether the binding's units get lean headers of torch.
    pub lean_headers: bool,
}

/// The checked `[torch-noarch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorchNoarch {
    /// Extensions of the Python files to install, without dots.
    pub pyext: Vec<String>,
    /// NVIDIA capabilities that the metadata names, sorted, without repetition.
    pub cuda_capabilities: Vec<Capability>,
    /// AMD architectures that the metadata names, sorted, without repetition.
    pub rocm_archs: Vec<RocmArch>,
}

/// The checked `[tvm-ffi]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TvmFfi {
    /// Sources of the binding and headers, in the order written.
    pub src: Vec<Utf8PathBuf>,
    /// Extensions of the Python files to install, without dots.
    pub pyext: Vec<String>,
    /// Include directories; `.` is the kernel's directory.
    pub include: Vec<Utf8PathBuf>,
    /// Flags for the C++ sources of the binding.
    pub cxx_flags: Vec<String>,
}

impl Framework {
    /// The checked `[torch]`, if the kernel has one.
    pub fn torch(&self) -> Option<&Torch> {
        match self {
            Framework::Torch(torch) => Some(torch),
            Framework::TorchNoarch(_) | Framework::TvmFfi(_) => None,
        }
    }

    /// The name of the framework's section in build.toml.
    pub fn name(&self) -> &'static str {
        match self {
            Framework::Torch(_) => "torch",
            Framework::TorchNoarch(_) => "torch-noarch",
            Framework::TvmFfi(_) => "tvm-ffi",
        }
    }

    /// The folder of the kernel that holds its Python package.
    pub fn packages(&self) -> &'static str {
        match self {
            Framework::Torch(_) | Framework::TorchNoarch(_) => "torch-ext",
            Framework::TvmFfi(_) => "tvm-ffi-ext",
        }
    }

    /// Extensions of the Python files to install, without dots.
    pub fn pyext(&self) -> &[String] {
        match self {
            Framework::Torch(torch) => &torch.pyext,
            Framework::TorchNoarch(noarch) => &noarch.pyext,
            Framework::TvmFfi(tvm_ffi) => &tvm_ffi.pyext,
        }
    }

    /// Sources of the binding and headers.
    pub fn src(&self) -> &[Utf8PathBuf] {
        match self {
            Framework::Torch(torch) => &torch.src,
            Framework::TorchNoarch(_) => &[],
            Framework::TvmFfi(tvm_ffi) => &tvm_ffi.src,
        }
    }

    /// Include directories of the binding.
    pub fn include(&self) -> &[Utf8PathBuf] {
        match self {
            Framework::Torch(torch) => &torch.include,
            Framework::TorchNoarch(_) => &[],
            Framework::TvmFfi(tvm_ffi) => &tvm_ffi.include,
        }
    }

    /// Flags for the C++ sources of the binding.
    pub fn cxx_flags(&self) -> &[String] {
        match self {
            Framework::Torch(torch) => &torch.cxx_flags,
            Framework::TorchNoarch(_) => &[],
            Framework::TvmFfi(tvm_ffi) => &tvm_ffi.cxx_flags,
        }
    }

    /// The files of the binding that are compiled, with their languages.
    pub fn units(&self) -> impl Iterator<Item = (&Utf8Path, Language)> {
        source::units(self.src())
    }
}
