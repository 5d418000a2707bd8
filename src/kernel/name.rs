//! Names of kernels.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A kernel's name: lower-case letters, digits and dashes; starts with a letter, does not end
/// with a dash, at least two characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelName(String);

/// The text cannot name a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` cannot be the name of a kernel")]
pub struct InvalidName(pub String);

impl KernelName {
    /// The name with dashes, as in build.toml.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the Python package: dashes become underscores.
    pub fn python_name(&self) -> String {
        self.0.replace('-', "_")
    }

    /// The nearest valid name, if only the case or the separators of `text` are wrong.
    pub fn similar(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase().replace(['_', ' ', '.'], "-");
        text.parse().ok()
    }
}

impl FromStr for KernelName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.as_bytes();
        let word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let valid = bytes.len() >= 2
            && bytes[0].is_ascii_lowercase()
            && bytes.iter().all(|b| word(b) || *b == b'-')
            && bytes.last().is_some_and(word);
        match valid {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidName(text.to_owned())),
        }
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelName({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names() {
        for text in ["relu", "my-kernel", "my--kernel", "a1", "img2gray"] {
            assert_eq!(
                text.parse::<KernelName>().map(|n| n.to_string()).as_deref(),
                Ok(text)
            );
        }
        let name: KernelName = "my-long-kernel".parse().expect("valid");
        assert_eq!(name.python_name(), "my_long_kernel");
    }

    #[test]
    fn invalid_names() {
        for text in [
            "",
            "a",
            "-a",
            "a-",
            "1a",
            "my_kernel",
            "Relu",
            "a b",
            "ä1",
            "a/b",
            "ab\n",
        ] {
            assert!(text.parse::<KernelName>().is_err(), "{text:?}");
        }
        assert_eq!(
            KernelName::similar("My_Kernel")
                .map(|n| n.to_string())
                .as_deref(),
            Some("my-kernel")
        );
        assert_eq!(KernelName::similar("../x"), None);
    }
}
