//! Libraries of headers that sections name in `depends`: which release and which pins a name stands for. Not the
//! toolchains of a row, and not the libraries that are linked.

use serde::{Deserialize, Deserializer};

use super::table::{Profile, Row, parsed_option};
use crate::kernel::KnownDependency;
use crate::version::Version;

/// One `[[header-library]]` of toolchains.toml.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderLibrary {
    /// The word in `depends`.
    #[serde(deserialize_with = "word")]
    pub name: KnownDependency,
    /// The release whose headers are taken.
    pub version: String,
    /// The release that the word stands for elsewhere, where it is another one.
    #[serde(default)]
    pub elsewhere: Option<String>,
    /// The compute toolkit that this entry is for; `None`: every one.
    #[serde(default, deserialize_with = "parsed_option")]
    compute: Option<Version>,
    /// The profile of rows that this entry is for; `None`: both.
    #[serde(default)]
    profile: Option<Profile>,
    /// Its pins, and why it has none otherwise.
    #[serde(default)]
    family: Option<String>,
    #[serde(default)]
    unpinned: Option<String>,
}

impl HeaderLibrary {
    /// Whether a row takes it.
    pub(super) fn is_for(&self, name: KnownDependency, row: &Row) -> bool {
        self.name == name
            && (self.compute.is_none() || self.compute == row.compute)
            && self.profile.is_none_or(|profile| profile == row.profile)
    }

    /// The family of pins.
    ///
    /// # Errors
    /// In words, why there are no pins.
    pub fn family(&self) -> Result<&str, &str> {
        let unpinned = self.unpinned.as_deref().unwrap_or("nobody has pinned it");
        self.family.as_deref().ok_or(unpinned)
    }
}

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<KnownDependency, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut words = KnownDependency::ALL.iter();
    let found = words.find(|dependency| dependency.as_str() == text);
    found
        .copied()
        .ok_or_else(|| serde::de::Error::custom(format!("no dependency is called {text}")))
}
