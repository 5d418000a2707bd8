//! Patterns of names of members of archives and of projects. `*` stands for any run of characters
//! but `/`, `**` for any folders.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns that are compiled once for many names.
#[derive(Debug)]
pub struct NamePatterns(GlobSet);

impl NamePatterns {
    /// Compiles some patterns.
    ///
    /// # Errors
    /// `globset::Error` for a text that is no pattern.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
        }
        Ok(Self(set.build()?))
    }

    /// The index of the first pattern that matches a whole name.
    pub fn first_match(&self, name: &str) -> Option<usize> {
        self.0.matches(name).into_iter().min()
    }

    /// Whether a pattern matches a whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::NamePatterns;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePatterns::new([pattern])
            .expect("a pattern")
            .matches(name)
    }

    #[test]
    fn stars_do_not_cross_folders() {
        let headers = "nvidia/*/include/*.h";
        assert!(matches(headers, "nvidia/cu13/include/cublas.h"));
        assert!(!matches(headers, "nvidia/cu13/include/thrust/cublas.h"));
        assert!(!matches(headers, "nvidia/cu13/include/cublas.hpp"));
        assert!(matches("bin/bash-static", "bin/bash-static"));
        assert!(matches("nvidia-*", "nvidia-cublas"));
    }

    #[test]
    fn double_stars_cross_folders() {
        assert!(matches("**", "LICENSE"));
        assert!(matches("**", "include/deep/a.h"));
        assert!(matches(
            "torch/include/**",
            "torch/include/ATen/core/Tensor.h"
        ));
        assert!(matches("torch/include/**", "torch/include/a.h"));
        assert!(matches("torch/**/*.h", "torch/include/a.h"));
        assert!(!matches("torch/**/*.h", "torch/include/a.cuh"));
        assert!(!matches("torch/include/**", "torch/lib/libc10.so"));
    }
}
