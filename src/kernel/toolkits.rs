//! The CUDA toolkits that the checks of build.toml compare with. They come from the release table;
//! the caller of a check passes them.

use std::collections::BTreeSet;

use super::Capability;
use crate::version::Version;

/// A CUDA toolkit, and the GPUs that it compiles for.
#[derive(Clone, Debug)]
pub struct CudaToolkit {
    pub version: Version,
    /// Capabilities that the toolkit compiles for, without PTX.
    pub known: Vec<Capability>,
}

/// Some CUDA toolkits, the oldest first.
#[derive(Clone, Debug)]
pub struct CudaToolkits(Vec<CudaToolkit>);

/// Whether a list of capabilities has one, with or without PTX.
pub fn knows(known: &[Capability], capability: &Capability) -> bool {
    known.iter().any(|known| known.sm() == capability.sm())
}

impl CudaToolkits {
    /// Sorts toolkits.
    pub fn new(mut toolkits: Vec<CudaToolkit>) -> Self {
        toolkits.sort_by(|a, b| a.version.cmp(&b.version));
        Self(toolkits)
    }

    /// Whether there is a toolkit of this version.
    pub fn has(&self, version: &Version) -> bool {
        self.0.iter().any(|toolkit| &toolkit.version == version)
    }

    /// Every capability that at least one toolkit compiles for, in order, without `+PTX`.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let known = self.0.iter().flat_map(|toolkit| &toolkit.known);
        known.copied().collect()
    }

    /// The toolkits that compile for a capability, in words: "CUDA 12.8 and newer", "CUDA 12.6 to
    /// 12.9", "CUDA 12.6, 13.0". `None` if no toolkit does.
    pub fn compiling_for(&self, capability: &Capability) -> Option<String> {
        let compiles = |toolkit: &&CudaToolkit| knows(&toolkit.known, capability);
        let first = self.0.iter().position(|toolkit| compiles(&toolkit))?;
        let last = self.0.iter().rposition(|toolkit| compiles(&toolkit))?;
        let (oldest, newest) = (&self.0[first].version, &self.0[last].version);
        let all = self.0[first..=last]
            .iter()
            .all(|toolkit| compiles(&toolkit));
        Some(match (all, first == last, last + 1 == self.0.len()) {
            (true, _, true) => format!("CUDA {oldest} and newer"),
            (true, true, false) => format!("CUDA {oldest}"),
            (true, false, false) => format!("CUDA {oldest} to {newest}"),
            (false, ..) => {
                let compiling = self.0.iter().filter(compiles);
                let versions: Vec<String> = compiling
                    .map(|toolkit| toolkit.version.to_string())
                    .collect();
                format!("CUDA {}", versions.join(", "))
            }
        })
    }
}
