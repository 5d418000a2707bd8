//! Why a variant of the table is not built for a kernel: the rule, and the key of build.toml that it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Matrix;
use crate::kernel::{Backend, Capability, KnownDependency};
use crate::version::Version;

/// A variant that the table has and the kernel's build.toml excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    pub name: String,
    pub backend: Backend,
    /// Nix's name of the system that it would be for.
    pub system: String,
    pub why: Why,
}

/// The rule that excluded a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// `general.backends` does not list the backend.
    Backend(Backend),
    /// Older than `torch.minver`.
    TorchMinver { torch: Version, minver: Version },
    /// Newer than `torch.maxver`.
    TorchMaxver { torch: Version, maxver: Version },
    /// Older than `general.cuda.minver`.
    CudaMinver { cuda: Version, minver: Version },
    /// Newer than `general.cuda.maxver`.
    CudaMaxver { cuda: Version, maxver: Version },
    /// Another torch serves the same compute through the stable ABI.
    StableAbi { built_with: Version },
    /// Older than the stable ABI that the kernel uses.
    OlderThanStableAbi { torch: Version, abi: Version },
    /// Every section of the backend asks for a newer toolkit; `section` asks for the oldest.
    SectionMinver { section: String, minver: Version },
    /// The toolkit compiles none of the GPU architectures that a section asks for.
    Capabilities {
        section: String,
        cuda: Version,
        asked: String,
    },
    /// A section has flags for nvcc, and clang, which compiles this toolkit, has nothing for some of them.
    CudaFlags {
        section: String,
        cuda: Version,
        flags: String,
    },
    /// A section compiles CUTLASS for one architecture alone, and the clang that compiles this toolkit is too old for it.
    GridConstants {
        section: String,
        cuda: Version,
        dependency: KnownDependency,
        capability: Capability,
    },
    /// A key asks for OpenMP, and the compiler of these files makes it for a runtime that is not there.
    OpenMp { key: String, reason: String },
    /// ROCm compiles none of the GPU architectures that a section asks for.
    RocmArchs {
        section: String,
        rocm: Version,
        asked: String,
    },
    /// A section depends on a library without pins.
    Dependency {
        section: String,
        dependency: KnownDependency,
        /// Why it has none, in words.
        unpinned: String,
    },
}

impl Matrix {
    /// The variants that are left out although their author may expect them, and why, in one line. A backend that `general.backends` does not
    /// list, a bound and a release that the stable ABI serves are no surprise, unless a bound leaves nothing of a backend.
    pub fn left_out(&self) -> Option<String> {
        let mut causes: BTreeMap<(Backend, String), BTreeSet<&str>> = BTreeMap::new();
        for excluded in &self.excluded {
            let backend = excluded.backend;
            let left = self.variants.iter().any(|own| own.backend == backend);
            if let Some(cause) = excluded.why.surprise(left) {
                let names = causes.entry((backend, cause)).or_default();
                names.insert(&excluded.name);
            }
        }
        let without = self.without_toolchain.iter();
        let without = without.map(|backend| format!("{backend}: there is no toolchain for it yet"));
        let groups = causes.iter().map(|((backend, cause), names)| {
            let number = names.len();
            let s = if number == 1 { "" } else { "s" };
            format!("{number} {backend} variant{s}: {cause}")
        });
        let all: Vec<String> = without.chain(groups).collect();
        (!all.is_empty()).then(|| {
            format!(
                "left out: {}; `kernel-builder list-variants --all --why` lists them",
                all.join("; ")
            )
        })
    }
}

impl Why {
    /// In words that do not depend on the variant, why the author may be surprised by it. `left` says whether any variant
    /// of the backend is built.
    fn surprise(&self, left: bool) -> Option<String> {
        let key = self.key();
        match self {
            Why::Backend(_) => None,
            Why::Dependency { .. } => Some(self.to_string()),
            Why::CudaFlags { flags, .. } => Some(format!(
                "{key} has {flags}, and clang, which compiles older toolkits, has nothing for that"
            )),
            _ if left => None,
            _ => Some(format!("{key} leaves none")),
        }
    }

    /// The key of build.toml that the rule reads.
    pub fn key(&self) -> String {
        match self {
            Why::Backend(_) => "general.backends".to_owned(),
            Why::TorchMinver { .. } => "torch.minver".to_owned(),
            Why::TorchMaxver { .. } => "torch.maxver".to_owned(),
            Why::CudaMinver { .. } => "general.cuda.minver".to_owned(),
            Why::CudaMaxver { .. } => "general.cuda.maxver".to_owned(),
            Why::StableAbi { .. } | Why::OlderThanStableAbi { .. } => "torch.stable-abi".to_owned(),
            Why::SectionMinver { section, .. } => format!("kernel.{section}.cuda-minver"),
            Why::Capabilities { section, .. } => format!("kernel.{section}.cuda-capabilities"),
            Why::CudaFlags { section, .. } => format!("kernel.{section}.cuda-flags"),
            Why::GridConstants { section, .. } => format!("kernel.{section}.cuda-capabilities"),
            Why::OpenMp { key, .. } => key.clone(),
            Why::RocmArchs { section, .. } => format!("kernel.{section}.rocm-archs"),
            Why::Dependency { section, .. } => format!("kernel.{section}.depends"),
        }
    }

    /// Whether it follows from bounds, so that other bounds would build the variant.
    pub fn is_bound(&self) -> bool {
        !matches!(
            self,
            Why::Backend(_) | Why::Dependency { .. } | Why::OpenMp { .. }
        )
    }
}

/// After "not built: ". The key is named where the reader has to look for it.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key();
        match self {
            Why::Backend(backend) => write!(f, "{key} does not list {}", backend.as_str()),
            Why::TorchMinver { torch, minver } => {
                write!(f, "torch {torch} is older than {key} ({minver})")
            }
            Why::TorchMaxver { torch, maxver } => {
                write!(f, "torch {torch} is newer than {key} ({maxver})")
            }
            Why::CudaMinver { cuda, minver } => {
                write!(f, "CUDA {cuda} is older than {key} ({minver})")
            }
            Why::CudaMaxver { cuda, maxver } => {
                write!(f, "CUDA {cuda} is newer than {key} ({maxver})")
            }
            Why::StableAbi { built_with } => {
                write!(
                    f,
                    "{key}: one library serves every torch; it is built with torch {built_with}"
                )
            }
            Why::OlderThanStableAbi { torch, abi } => {
                write!(f, "torch {torch} is older than {key} ({abi})")
            }
            Why::SectionMinver { minver, .. } => write!(
                f,
                "every CUDA section asks for a newer toolkit; the oldest is {key} ({minver})"
            ),
            Why::Capabilities { cuda, asked, .. } => {
                write!(f, "CUDA {cuda} compiles nothing of {key} ({asked})")
            }
            Why::CudaFlags { cuda, flags, .. } => write!(
                f,
                "{key} has {flags}, and clang, which compiles CUDA {cuda}, has nothing for that"
            ),
            Why::GridConstants {
                cuda,
                dependency,
                capability,
                ..
            } => write!(
                f,
                "{key} has {capability}, and the clang that compiles CUDA {cuda} is too old for {dependency} on it"
            ),
            Why::OpenMp { reason, .. } => write!(f, "{key} asks for OpenMP: {reason}"),
            Why::RocmArchs { rocm, asked, .. } => {
                write!(f, "ROCm {rocm} compiles nothing of {key} ({asked})")
            }
            Why::Dependency {
                dependency,
                unpinned,
                ..
            } => write!(f, "{key} has {dependency}, which has no pins: {unpinned}"),
        }
    }
}
