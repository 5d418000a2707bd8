//! Addresses of Git repositories. The text is checked; no repository is asked.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Schemes that Git can fetch from and that name a host.
pub const SCHEMES: &[&str] = &[
    "https",
    "http",
    "git",
    "ssh",
    "git+ssh",
    "git+https",
    "git+http",
];

/// A Git URL, or the `host:path` form of ssh; kept as written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitUrl(String);

/// The reason why a text is not a [`GitUrl`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitUrlError {
    /// A URL that Git cannot fetch from.
    #[error("`{0}` is not a scheme for Git")]
    Scheme(String),
    /// A URL without a host.
    #[error("it names no host")]
    NoHost,
    /// Neither a URL nor `host:path`.
    #[error("it is neither a URL nor `host:path`")]
    NotAUrl,
    /// Blanks and control characters cannot be part of a URL.
    #[error("it contains a blank or a control character")]
    Blank,
}

impl GitUrl {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GitUrl {
    type Err = GitUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(GitUrlError::Blank);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
                return Err(GitUrlError::Scheme(scheme.to_owned()));
            }
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            if host.is_empty() || host.starts_with(':') {
                return Err(GitUrlError::NoHost);
            }
            return Ok(Self(text.to_owned()));
        }
        match text.split_once(':') {
            Some((host, path))
                if !host.is_empty()
                    && !host.contains('/')
                    && !path.is_empty()
                    && !path.starts_with('/') =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(GitUrlError::NotAUrl),
        }
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitUrl({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_the_ssh_short_form() {
        for text in [
            "https://example.org/a/b.git",
            "ssh://git@example.org:22/a",
            "git+https://example.org/a",
            "git@example.org:a/b.git",
        ] {
            assert_eq!(
                text.parse::<GitUrl>().map(|u| u.to_string()).as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn anything_else_is_rejected() {
        let error = |text: &str| text.parse::<GitUrl>().expect_err(text);
        assert_eq!(
            error("ftp://example.org/a"),
            GitUrlError::Scheme("ftp".to_owned())
        );
        assert_eq!(
            error("file:///tmp/a"),
            GitUrlError::Scheme("file".to_owned())
        );
        assert_eq!(error("https:///a"), GitUrlError::NoHost);
        assert_eq!(error("https://git@/a"), GitUrlError::NoHost);
        for text in ["", "example", "example.org/a", ":a", "host:", "host:/a"] {
            assert_eq!(error(text), GitUrlError::NotAUrl, "{text}");
        }
        assert_eq!(error("https://example.org/a b"), GitUrlError::Blank);
    }
}
