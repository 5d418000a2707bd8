//! The toolchain table (toolchains.toml) as types.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use crate::kernel::{Backend, Capability};
use crate::version::Version;

/// One row: a torch release for one compute and system, and the toolchains that build for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Two components.
    #[serde(deserialize_with = "parsed")]
    pub torch: Version,
    #[serde(deserialize_with = "backend")]
    pub backend: Backend,
    /// Version of the compute toolkit; absent for backends that have none (cpu, metal).
    #[serde(default, deserialize_with = "parsed_option")]
    pub compute: Option<Version>,
    /// Nix's name of the system, e.g. `x86_64-linux`.
    pub system: String,
    /// Whether it belongs to what is built when nothing is asked for.
    pub bundle: bool,
    /// A key of `policy`.
    pub policy: String,
    pub toolchain: Toolchain,
}

/// Names of toolchains: families of pins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolchain {
    pub host: String,
    pub python: String,
    pub torch: String,
    #[serde(default)]
    pub cuda: Option<String>,
}

impl Toolchain {
    /// The pin families that a build with this toolchain needs.
    pub fn families(&self) -> Vec<String> {
        let mut families = vec![
            "seed".to_owned(),
            self.host.clone(),
            self.python.clone(),
            self.torch.clone(),
        ];
        if let Some(cuda) = &self.cuda {
            families.extend([cuda.clone(), format!("{cuda}-headers")]);
        }
        families
    }
}

/// What a torch release asks of those who compile against it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TorchFacts {
    /// C++ standard: 17, 20.
    pub cxx: u32,
    pub defines: Vec<String>,
    /// In addition, for CUDA variants.
    pub cuda_defines: Vec<String>,
}

/// GPU architectures of the CUDA toolkits from one release on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CudaFacts {
    #[serde(deserialize_with = "parsed")]
    pub from: Version,
    #[serde(deserialize_with = "parsed_list")]
    pub known: Vec<Capability>,
    #[serde(deserialize_with = "parsed_list")]
    pub default: Vec<Capability>,
}

/// The whole table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    torch: BTreeMap<String, TorchFacts>,
    policy: BTreeMap<String, BTreeMap<String, String>>,
    cuda: Vec<CudaFacts>,
}

impl Table {
    /// What the torch release of a row asks for; a test checks that every row has it.
    pub fn torch(&self, row: &Row) -> Option<&TorchFacts> {
        self.torch.get(row.torch.as_str())
    }

    /// Limits on the symbol versions that a library of a row may need, by family.
    pub fn policy(&self, row: &Row) -> Option<&BTreeMap<String, String>> {
        self.policy.get(&row.policy)
    }

    /// The architectures of a CUDA toolkit: those of the newest entry that is not newer than it.
    pub fn cuda(&self, toolkit: &Version) -> Option<&CudaFacts> {
        self.cuda
            .iter()
            .filter(|facts| &facts.from <= toolkit)
            .max_by(|a, b| a.from.cmp(&b.from))
    }
}

impl Table {
    /// Every capability that some toolkit compiles for, in order, without `+PTX`.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        self.cuda
            .iter()
            .flat_map(|facts| &facts.known)
            .copied()
            .collect()
    }

    /// The CUDA toolkits that compile for a capability, in words: "CUDA 12.8 and newer",
    /// "CUDA 12.6 to 12.9". Nothing if none does.
    pub fn toolkits_for(&self, capability: &Capability) -> Option<String> {
        let knows = |facts: &&CudaFacts| facts.known.iter().any(|k| k.sm() == capability.sm());
        let mut facts: Vec<&CudaFacts> = self.cuda.iter().collect();
        facts.sort_by(|a, b| a.from.cmp(&b.from));
        let first = facts.iter().copied().find(knows)?;
        let last = facts.iter().copied().rfind(knows)?;
        let newest = facts.last()?;
        Some(match (first.from == last.from, newest.from == last.from) {
            (_, true) => format!("CUDA {} and newer", first.from),
            (true, false) => format!("CUDA {}", first.from),
            (false, false) => format!("CUDA {} to {}", first.from, last.from),
        })
    }
}

/// The table of this program.
///
/// # Panics
/// Never for a released program: the file is part of it, and a test reads it.
pub fn table() -> &'static Table {
    static TABLE: std::sync::OnceLock<Table> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("toolchains.toml"))
            .expect("src/matrix/toolchains.toml is checked by a test")
    })
}

fn backend<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backend, D::Error> {
    let word = String::deserialize(deserializer)?;
    let found = Backend::ALL.iter().find(|backend| backend.as_str() == word);
    found
        .copied()
        .ok_or_else(|| serde::de::Error::custom(format!("no backend is called {word}")))
}

fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

fn parsed_option<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    parsed(deserializer).map(Some)
}

fn parsed_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| text.parse().map_err(serde::de::Error::custom))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn every_row_has_its_facts_and_its_pins() {
        let table = table();
        for row in &table.rows {
            assert!(
                table.torch(row).is_some(),
                "no [torch] facts for {}",
                row.torch
            );
            assert!(
                table.policy(row).is_some(),
                "no [policy] for {}",
                row.policy
            );
            if let Some(compute) = &row.compute {
                let facts = table.cuda(compute).expect("architectures of the toolkit");
                for capability in &facts.default {
                    assert!(
                        facts
                            .known
                            .iter()
                            .any(|known| known.sm() == capability.sm())
                    );
                }
            }
            crate::pins::pins_of(&row.system, &row.toolchain.families()).expect("pins of a row");
        }
    }
}
