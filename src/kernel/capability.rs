//! NVIDIA GPU capabilities such as `9.0a+PTX`. The release table says which toolkit compiles for
//! which.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The GPUs that code of a capability is restricted to. The order is that of the written form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Runs on this capability and on later minor ones.
    Baseline,
    /// `a`: runs on exactly this capability.
    Architecture,
    /// `f`: runs on the family of this capability.
    Family,
}

impl Feature {
    fn suffix(self) -> &'static str {
        match self {
            Feature::Baseline => "",
            Feature::Architecture => "a",
            Feature::Family => "f",
        }
    }
}

/// A GPU capability; ordered by number, so 7.5 comes before 10.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The 9 of `9.0a`.
    pub major: u32,
    /// The 0 of `9.0a`.
    pub minor: u32,
    /// The `a` of `9.0a`.
    pub feature: Feature,
    /// Whether PTX is kept in addition, for later GPUs.
    pub ptx: bool,
}

/// The text does not have the form of a capability.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a GPU capability")]
pub struct InvalidCapability(pub String);

impl Capability {
    /// The number as compilers take it after `sm_` and `compute_`: `90a`.
    pub fn sm(&self) -> String {
        format!("{}{}{}", self.major, self.minor, self.feature.suffix())
    }
}

impl FromStr for Capability {
    type Err = InvalidCapability;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidCapability(text.to_owned());
        let (number, ptx) = match text.strip_suffix("+PTX") {
            Some(number) => (number, true),
            None => (text, false),
        };
        let (number, feature) = match number.strip_suffix('a') {
            Some(number) => (number, Feature::Architecture),
            None => match number.strip_suffix('f') {
                Some(number) => (number, Feature::Family),
                None => (number, Feature::Baseline),
            },
        };
        let (major, minor) = number.split_once('.').ok_or_else(invalid)?;
        let digits = |text: &str| match text.len() {
            1 | 2 if text == "0" || !text.starts_with('0') => text.parse().map_err(|_| invalid()),
            _ => Err(invalid()),
        };
        if minor.len() != 1 || !(major.bytes().chain(minor.bytes())).all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        Ok(Self {
            major: digits(major)?,
            minor: digits(minor)?,
            feature,
            ptx,
        })
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ptx = if self.ptx { "+PTX" } else { "" };
        let suffix = self.feature.suffix();
        write!(f, "{}.{}{suffix}{ptx}", self.major, self.minor)
    }
}

impl fmt::Debug for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capability({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(text: &str) -> Capability {
        text.parse().expect("a capability")
    }

    #[test]
    fn a_capability_survives_a_round_trip() {
        for text in ["5.0", "9.0a", "10.3f", "12.1+PTX", "9.0a+PTX", "99.0"] {
            assert_eq!(capability(text).to_string(), text);
        }
    }

    /// Sorting capabilities as text once put 10.0 before 7.5.
    #[test]
    fn order_is_by_number() {
        assert!(capability("7.5") < capability("10.0"));
        assert!(capability("9.0") < capability("9.0a"));
        assert!(capability("9.0") < capability("9.0+PTX"));
    }

    #[test]
    fn sm_has_no_dot_and_no_ptx() {
        assert_eq!(capability("9.0a+PTX").sm(), "90a");
        assert_eq!(capability("12.0f").sm(), "120f");
        assert!(capability("8.0+PTX").ptx);
    }

    #[test]
    fn other_text_is_rejected() {
        for text in [
            "banana", "", "9", "9.00", "90", "9.0b", "9.0 ", "9.0+ptx", "+PTX", "09.0", "+9.0",
            "0a.0", "9.0.0",
        ] {
            assert!(text.parse::<Capability>().is_err(), "{text}");
        }
    }
}
