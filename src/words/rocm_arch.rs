//! AMD GPU architectures such as `gfx90a`. The release table says which toolkit compiles for which.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Every architecture that may be written, in ascending order.
pub const KNOWN: &[&str] = &[
    "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1030", "gfx1100",
    "gfx1101", "gfx1102", "gfx1151", "gfx1200", "gfx1201",
];

/// A known GPU architecture; ordered by number, so gfx942 comes before gfx1030.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RocmArch(usize);

/// The text is not a known architecture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a known AMD GPU architecture")]
pub struct UnknownArch(pub String);

impl RocmArch {
    /// The name that compilers take.
    pub fn as_str(self) -> &'static str {
        KNOWN[self.0]
    }
}

impl FromStr for RocmArch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let index = KNOWN.iter().position(|known| *known == text);
        index.map(Self).ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

impl fmt::Display for RocmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RocmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RocmArch({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_numbers() {
        let number = |text: &&str| u32::from_str_radix(&text[3..], 16).expect("a number");
        assert!(KNOWN.is_sorted_by_key(number));
        for text in KNOWN {
            assert_eq!(text.parse::<RocmArch>().map(RocmArch::as_str), Ok(*text));
        }
        for text in ["", "potato", "gfx", "gfx90A", "gfx90a:xnack+", "942"] {
            assert!(text.parse::<RocmArch>().is_err(), "{text}");
        }
    }
}
