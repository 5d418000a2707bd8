//! The toolchain of a row by the names of its parts. The archives behind a name are pins.

use serde::{Deserialize, Serialize};

/// The family of the Python that packages every variant on Linux. NB: `stepPython` of
/// nix/system-recipes.nix is the same.
pub const STEP_PYTHON: &str = "python-3.11-interpreter";

/// The parts of a toolchain. Each name is a family of pins (nix/pins) and names a recipe
/// (nix/toolchains); Nix reads the parts under these keys (`toolchain` in nix/system-recipes.nix).
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Toolchain {
    /// The clang that compiles CUDA sources, e.g. `clang-22`; `None` where nvcc does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clang: Option<String>,
    /// The CUDA toolkit, e.g. `cuda-13.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// The compiler of C and C++, with its linker and the system's libraries, e.g. `gcc-12` or
    /// `xcode`.
    pub host: String,
    /// The Python that runs build steps written in Python, e.g. `python-3.11-interpreter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Intel's compiler of SYCL with its libraries, e.g. `oneapi-2025.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oneapi: Option<String>,
    /// The Python whose headers bindings include, e.g. `python-3.11`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// AMD's compiler with its libraries, e.g. `rocm-7.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rocm: Option<String>,
    /// The headers and libraries of torch, e.g. `torch-2.11.0`; `None` in a toolchain for tvm-ffi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The headers and libraries of tvm-ffi, e.g. `tvm-ffi-0.1.9`; `None` in a toolchain for torch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tvm_ffi: Option<String>,
}

impl Toolchain {
    /// The parts for a unit that includes no header of torch, tvm-ffi or Python.
    pub fn without_framework(&self) -> Self {
        Self {
            python: None,
            torch: None,
            tvm_ffi: None,
            ..self.clone()
        }
    }

    /// The parts that [`Toolchain::without_framework`] leaves out.
    pub fn of_framework(&self) -> FrameworkToolchain {
        FrameworkToolchain {
            python: self.python.clone(),
            torch: self.torch.clone(),
            tvm_ffi: self.tvm_ffi.clone(),
        }
    }

    /// The families of pins of the toolchain, in the order of its keys.
    pub(super) fn families(&self) -> Vec<String> {
        let optional = [
            &self.interpreter,
            &self.oneapi,
            &self.python,
            &self.rocm,
            &self.torch,
            &self.tvm_ffi,
        ];
        let compilers = [&self.clang, &self.cuda].into_iter().flatten();
        compilers
            .chain([&self.host])
            .chain(optional.into_iter().flatten())
            .cloned()
            .collect()
    }
}

/// The parts of a toolchain that belong to torch or tvm-ffi, under the keys of [`Toolchain`].
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub struct FrameworkToolchain {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tvm_ffi: Option<String>,
}
