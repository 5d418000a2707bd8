//! The reason why a variant of the table is not built for a kernel: the rule, and the key of
//! build.toml that the rule reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Matrix;
use crate::kernel::{Backend, Capability, KnownDependency};
use crate::manifest::Edition;
use crate::version::Version;

/// A variant that the table has and the kernel's build.toml excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    pub name: String,
    pub backend: Backend,
    /// Nix's name of the system of the variant.
    pub system: String,
    pub why: Exclusion,
    /// The edition of the kernel's build.toml, in whose keys the reason is given.
    pub edition: Edition,
}

impl Excluded {
    /// The key of build.toml that the rule reads.
    pub fn key(&self) -> String {
        self.edition.key(&self.why.key())
    }

    /// The reason in words, which name the key that the reader has to look for.
    pub fn reason(&self) -> String {
        self.why.words(self.edition)
    }
}

/// The rule that excluded a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// `general.backends` does not list the backend.
    Backend(Backend),
    /// The torch is older than `torch.minver`.
    TorchMinver { torch: Version, minver: Version },
    /// The torch is newer than `torch.maxver`.
    TorchMaxver { torch: Version, maxver: Version },
    /// The toolkit is older than `general.cuda.minver`.
    CudaMinver { cuda: Version, minver: Version },
    /// The toolkit is newer than `general.cuda.maxver`.
    CudaMaxver { cuda: Version, maxver: Version },
    /// Another torch serves the same compute through the stable ABI.
    StableAbi { built_with: Version },
    /// The torch is older than the stable ABI that the kernel uses.
    OlderThanStableAbi { torch: Version, abi: Version },
    /// Every section of the backend asks for a newer toolkit; `section` asks for the oldest.
    SectionMinver { section: String, minver: Version },
    /// The toolkit compiles none of the GPU architectures that a section asks for.
    Capabilities {
        section: String,
        cuda: Version,
        asked: String,
    },
    /// A section has flags for nvcc, and the clang that compiles this toolkit has no counterpart of
    /// some of them.
    CudaFlags {
        section: String,
        cuda: Version,
        flags: String,
    },
    /// A section compiles CUTLASS for one architecture alone, and the clang that compiles this
    /// toolkit is too old for it.
    GridConstants {
        section: String,
        cuda: Version,
        dependency: KnownDependency,
        capability: Capability,
    },
    /// A key asks for OpenMP, and the compiler of these files makes code for a runtime that is
    /// missing.
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
        /// The reason why the library has none, in words.
        unpinned: String,
    },
}

impl Matrix {
    /// The excluded variants that their author may expect, and the reasons, in one line. A backend
    /// that `general.backends` does not list, a bound, and a release that the stable ABI serves are
    /// expected exclusions, unless a bound leaves a backend without variants.
    pub fn left_out(&self) -> Option<String> {
        let mut causes: BTreeMap<(Backend, String), BTreeSet<&str>> = BTreeMap::new();
        for excluded in &self.excluded {
            let backend = excluded.backend;
            let left = self.variants.iter().any(|own| own.backend == backend);
            if let Some(cause) = excluded.why.surprise(left, excluded.edition) {
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

impl Exclusion {
    /// The reason why an exclusion may surprise the author, in words that do not depend on the
    /// variant. `left` says whether any variant of the backend is built.
    fn surprise(&self, left: bool, edition: Edition) -> Option<String> {
        let key = edition.key(&self.key());
        match self {
            Exclusion::Backend(_) => None,
            Exclusion::Dependency { .. } => Some(self.words(edition)),
            Exclusion::CudaFlags { flags, .. } => Some(format!(
                "{key} has {flags}, and clang, which compiles older toolkits, has nothing for that"
            )),
            _ if left => None,
            _ => Some(format!("{key} leaves none")),
        }
    }

    /// The key of edition 5 that the rule reads.
    pub fn key(&self) -> String {
        match self {
            Exclusion::Backend(_) => "general.backends".to_owned(),
            Exclusion::TorchMinver { .. } => "torch.minver".to_owned(),
            Exclusion::TorchMaxver { .. } => "torch.maxver".to_owned(),
            Exclusion::CudaMinver { .. } => "general.cuda.minver".to_owned(),
            Exclusion::CudaMaxver { .. } => "general.cuda.maxver".to_owned(),
            Exclusion::StableAbi { .. } | Exclusion::OlderThanStableAbi { .. } => {
                "torch.stable-abi".to_owned()
            }
            Exclusion::SectionMinver { section, .. } => format!("kernel.{section}.cuda-minver"),
            Exclusion::Capabilities { section, .. } => {
                format!("kernel.{section}.cuda-capabilities")
            }
            Exclusion::CudaFlags { section, .. } => format!("kernel.{section}.cuda-flags"),
            Exclusion::GridConstants { section, .. } => {
                format!("kernel.{section}.cuda-capabilities")
            }
            Exclusion::OpenMp { key, .. } => key.clone(),
            Exclusion::RocmArchs { section, .. } => format!("kernel.{section}.rocm-archs"),
            Exclusion::Dependency { section, .. } => format!("kernel.{section}.depends"),
        }
    }

    /// Whether bounds exclude the variant, so that other bounds would build it.
    pub fn is_bound(&self) -> bool {
        !matches!(
            self,
            Exclusion::Backend(_) | Exclusion::Dependency { .. } | Exclusion::OpenMp { .. }
        )
    }

    /// The words after "not built: ", with the keys of an edition.
    fn words(&self, edition: Edition) -> String {
        let key = edition.key(&self.key());
        match self {
            // Older editions list no backends: each section names its own.
            Exclusion::Backend(backend) if key.contains('*') => {
                format!("no {key} is for {backend}")
            }
            Exclusion::Backend(backend) => format!("{key} does not list {backend}"),
            Exclusion::TorchMinver { torch, minver } => {
                format!("torch {torch} is older than {key} ({minver})")
            }
            Exclusion::TorchMaxver { torch, maxver } => {
                format!("torch {torch} is newer than {key} ({maxver})")
            }
            Exclusion::CudaMinver { cuda, minver } => {
                format!("CUDA {cuda} is older than {key} ({minver})")
            }
            Exclusion::CudaMaxver { cuda, maxver } => {
                format!("CUDA {cuda} is newer than {key} ({maxver})")
            }
            Exclusion::StableAbi { built_with } => {
                format!(
                    "{key}: one library serves every torch; it is built with torch {built_with}"
                )
            }
            Exclusion::OlderThanStableAbi { torch, abi } => {
                format!("torch {torch} is older than {key} ({abi})")
            }
            Exclusion::SectionMinver { minver, .. } => format!(
                "every CUDA section asks for a newer toolkit; the oldest is {key} ({minver})"
            ),
            Exclusion::Capabilities { cuda, asked, .. } => {
                format!("CUDA {cuda} compiles nothing of {key} ({asked})")
            }
            Exclusion::CudaFlags { cuda, flags, .. } => format!(
                "{key} has {flags}, and clang, which compiles CUDA {cuda}, has nothing for that"
            ),
            Exclusion::GridConstants {
                cuda,
                dependency,
                capability,
                ..
            } => format!(
                "{key} has {capability}, and the clang that compiles CUDA {cuda} is too old for {dependency} on it"
            ),
            Exclusion::OpenMp { reason, .. } => format!("{key} asks for OpenMP: {reason}"),
            Exclusion::RocmArchs { rocm, asked, .. } => {
                format!("ROCm {rocm} compiles nothing of {key} ({asked})")
            }
            Exclusion::Dependency {
                dependency,
                unpinned,
                ..
            } => format!("{key} has {dependency}, which has no pins: {unpinned}"),
        }
    }
}

/// The words for a kernel of edition 5.
impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(Edition::V5))
    }
}
