//! Facts of toolchains.toml about releases: torch, CUDA toolkits and ROCm.

use serde::Deserialize;

use super::table::{TableError, parsed, parsed_list};
use crate::kernel::{Capability, RocmArch};
use crate::version::Version;

/// The requirements of a torch release for code that is compiled against it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TorchFacts {
    /// C++ standard: 17, 20.
    pub cxx: u32,
    pub defines: Vec<String>,
    /// Further macros for CUDA variants.
    pub cuda_defines: Vec<String>,
}

/// The compiler of a CUDA toolkit's device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaCompiler {
    /// The nvcc of the toolkit.
    Nvcc,
    /// A clang, by its pin family, with the rest of the toolkit.
    Clang(String),
}

/// A CUDA toolkit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudaFacts {
    #[serde(deserialize_with = "parsed")]
    pub toolkit: Version,
    #[serde(deserialize_with = "parsed")]
    pub compiler: CudaCompiler,
    /// The architectures that both the toolkit and its compiler know.
    #[serde(deserialize_with = "parsed_list")]
    pub known: Vec<Capability>,
    /// The architectures of kernels that name none.
    #[serde(deserialize_with = "parsed_list")]
    pub default: Vec<Capability>,
}

impl std::str::FromStr for CudaCompiler {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "nvcc" => Ok(Self::Nvcc),
            _ if text.starts_with("clang-") => Ok(Self::Clang(text.to_owned())),
            _ => Err(TableError::CudaCompiler(text.to_owned())),
        }
    }
}

/// The GPU architectures of a release of ROCm and of later ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RocmFacts {
    #[serde(deserialize_with = "parsed")]
    pub from: Version,
    #[serde(deserialize_with = "parsed_list")]
    pub known: Vec<RocmArch>,
    #[serde(deserialize_with = "parsed_list")]
    pub default: Vec<RocmArch>,
}
