//! Version numbers such as `2.9` or `13.0`. Only numbers and dots: no pre-releases, no ranges.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use thiserror::Error;

/// Numbers separated by dots.
///
/// Shown exactly as written, compared with trailing zeros ignored: `13.0` equals `13`.
/// NB: never print a normalised form. Turning `13.0` into `13` once made a reader that compares
/// text drop every CUDA 13.0 variant.
#[derive(Clone)]
pub struct Version {
    text: String,
    components: Vec<u64>,
}

/// The reason why a text is not a [`Version`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The text is empty or has only blanks.
    #[error("the version is empty")]
    Empty,
    /// A component is not a number, or too large for one.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A component such as `09`, which tools disagree about.
    #[error("`{0}` has a leading zero")]
    LeadingZero(String),
}

impl Version {
    /// The version as written, without surrounding blanks.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// All components as written, trailing zeros included.
    pub fn components(&self) -> &[u64] {
        &self.components
    }

    /// The first two components; a component that is not written counts as 0.
    pub fn major_minor(&self) -> (u64, u64) {
        let at = |index: usize| self.components.get(index).copied().unwrap_or(0);
        (at(0), at(1))
    }

    /// The minor release of the version: `2.11` for `2.11.0`.
    pub fn minor_release(&self) -> Version {
        let components: Vec<u64> = self.components.iter().take(2).copied().collect();
        let texts: Vec<String> = components.iter().map(u64::to_string).collect();
        Version {
            text: texts.join("."),
            components,
        }
    }

    fn significant(&self) -> &[u64] {
        let zeros = self.components.iter().rev().take_while(|c| **c == 0);
        &self.components[..self.components.len() - zeros.count()]
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        let components = text.split('.').map(component).collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.to_owned(),
            components,
        })
    }
}

fn component(text: &str) -> Result<u64, VersionError> {
    // `u64::from_str` alone would let a leading `+` through.
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(VersionError::NotANumber(text.to_owned()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(VersionError::LeadingZero(text.to_owned()));
    }
    text.parse()
        .map_err(|_| VersionError::NotANumber(text.to_owned()))
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.significant() == other.significant()
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a valid version")
    }

    #[test]
    fn keeps_the_text_as_written() {
        for text in ["13.0", "2.10", "0", "2.9.0"] {
            assert_eq!(version(text).to_string(), text);
        }
        assert_eq!(version(" 2.9 ").as_str(), "2.9");
        assert_eq!(version("13.0").components(), [13, 0]);
    }

    #[test]
    fn major_and_minor_are_told_apart() {
        for (text, numbers, release) in [
            ("2.11.0", (2, 11), "2.11"),
            ("13.0", (13, 0), "13.0"),
            ("20", (20, 0), "20"),
        ] {
            assert_eq!(version(text).major_minor(), numbers);
            assert_eq!(version(text).minor_release().as_str(), release);
            assert_eq!(
                version(text).minor_release(),
                release.parse().expect("a version")
            );
        }
    }

    #[test]
    fn compares_numbers_and_ignores_trailing_zeros() {
        assert_eq!(version("13.0"), version("13"));
        assert_eq!(version("0.0"), version("0"));
        assert!(version("2.9") < version("2.10"));
        assert!(version("2.9") < version("2.9.1"));
        assert!(version("12.9") < version("13"));
    }

    #[test]
    fn rejects_anything_else() {
        let error = |text: &str| text.parse::<Version>().expect_err("not a version");
        assert_eq!(error("  "), VersionError::Empty);
        for text in [
            "2.x",
            "2.",
            ".2",
            "v2",
            "+2",
            "-1",
            "2 .9",
            "99999999999999999999",
        ] {
            assert!(matches!(error(text), VersionError::NotANumber(_)), "{text}");
        }
        assert_eq!(error("2.09"), VersionError::LeadingZero("09".to_owned()));
    }
}
