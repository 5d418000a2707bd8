//! How words are read from build.toml, older ones too.

use super::dependency::Dependency;
use super::reader::Reader;
use super::value::{FromValue, Value, one_of};
use crate::problem::{Place, Problem, code};
use crate::words::{KnownDependency, Word};

impl<T: Word> FromValue for T {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let text = String::from_value(value, reader)?;
        let words: Vec<(&str, T)> = T::ALL.iter().map(|word| (word.word(), *word)).collect();
        one_of(&text, &value.place, reader, T::NOUN, &words)
    }
}

/// The name of `sycl_tla` before v4.
pub(super) const OLD_SYCL_TLA: &str = "cutlass_sycl";

/// The problem of a word that v4 renamed, in a file of edition 4 or 5.
pub(super) fn renamed_sycl_tla(place: &Place) -> Problem {
    let new = KnownDependency::SyclTla;
    let message = format!("the dependency `{OLD_SYCL_TLA}` is called `{new}` now");
    Problem::error(code::UNKNOWN_VALUE, place, message)
        .label("old name")
        .help(format!("write \"{new}\""))
}

/// A dependency in the words of the formats before v4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OldDependency(pub Dependency);

impl FromValue for OldDependency {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        match value.as_str() {
            // v4 renamed this word.
            Some(OLD_SYCL_TLA) => Some(Self(Dependency::Known(KnownDependency::SyclTla))),
            _ => Dependency::from_value(value, reader).map(Self),
        }
    }
}

impl From<OldDependency> for Dependency {
    fn from(old: OldDependency) -> Self {
        old.0
    }
}
