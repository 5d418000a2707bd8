//! Nix's own words, shortened for a person. They are printed after this program's, and nothing is
//! decided by them.

use thiserror::Error;

/// The most lines of Nix that are printed.
const MAX_LINES: usize = 4;

/// The words in which Nix reports a failure, without its traces.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("Nix says: {0}")]
pub struct NixWords(String);

impl NixWords {
    /// Shortens the standard error of Nix to its last error: a trace stands before it in newer
    /// releases, and after it, with the place in a file, in older ones.
    pub fn shorten(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let message = |line: &&str| {
            line.strip_prefix("error:")
                .is_some_and(|rest| !rest.is_empty())
        };
        let kept: Vec<&str> = match lines.iter().rposition(message) {
            Some(first) => {
                let rest = lines[first..].iter().take_while(|line| !line.is_empty());
                rest.take(MAX_LINES).copied().collect()
            }
            None => {
                let lines = lines.into_iter().filter(|line| !line.is_empty());
                let lines: Vec<&str> = lines.collect();
                lines[lines.len().saturating_sub(MAX_LINES)..].to_vec()
            }
        };
        let text = kept.join("\n");
        Self(
            text.strip_prefix("error:")
                .unwrap_or(&text)
                .trim()
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_without_its_trace() {
        let older = "warning: a\nerror: build.nix is old: run it\n\n       at /nix/store/a.nix:31:7:\n\n           30| x\n";
        let newer = "error:\n       … while calling the 'throw' builtin\n         at /a.nix:1:2:\n\n       error: build.nix is old: run it\n";
        for text in [older, newer] {
            let words = NixWords::shorten(text);
            assert_eq!(words.to_string(), "Nix says: build.nix is old: run it");
        }
        let other = (1..20).map(|number| format!("{number}\n"));
        let words = NixWords::shorten(&other.collect::<String>());
        assert_eq!(words.to_string(), "Nix says: 16\n17\n18\n19");
    }
}
