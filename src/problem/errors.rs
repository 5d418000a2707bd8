//! The codes of errors, which end a command: errors.md says what each means and what its cure is.
//! Errors themselves are defined beside the code that returns them.

use super::code::Code;

/// The code of every error, in the order of the alphabet.
pub fn error_codes() -> impl Iterator<Item = Code> {
    let sections = include_str!("errors.md").split("\n## ").skip(1);
    sections.filter_map(|section| {
        let (heading, explanation) = section.split_once("\n\n")?;
        let (id, title) = heading.split_once(": ")?;
        Some(Code {
            id,
            title,
            explanation,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The codes that errors have in the text of a source: `code(a::b)`.
    fn codes_in(text: &str) -> Vec<&str> {
        let rest = text.split("code(").skip(1);
        let written = rest.filter_map(|rest| rest.split_once(')').map(|(code, _)| code));
        let is_code = |code: &&str| {
            !code.is_empty()
                && code
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || "_:".contains(c))
        };
        written.filter(is_code).collect()
    }

    /// A code that is printed and not explained leaves its reader alone; one that is explained and
    /// never printed is a rest of an error that is gone.
    #[test]
    fn every_code_of_an_error_is_explained() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let mut printed = BTreeSet::new();
        for entry in walkdir::WalkDir::new(source) {
            let entry = entry.expect("an entry");
            if entry.path().extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(entry.path()).expect("text");
                printed.extend(codes_in(&text).into_iter().map(str::to_owned));
            }
        }
        // The example in the comment of this file.
        printed.remove("a::b");
        let codes: Vec<String> = error_codes().map(|code| code.id.to_owned()).collect();
        let explained: BTreeSet<String> = codes.iter().cloned().collect();
        let missing: Vec<_> = printed.difference(&explained).collect();
        assert!(
            missing.is_empty(),
            "not in src/problem/errors.md: {missing:?}"
        );
        let gone: Vec<_> = explained.difference(&printed).collect();
        assert!(gone.is_empty(), "no error has these any more: {gone:?}");
        assert!(printed.len() > 40, "{printed:?}");
        assert!(codes.is_sorted(), "{codes:?}");
    }

    /// Each explanation has the meaning and the cure, and fits into a terminal.
    #[test]
    fn every_explanation_has_a_cure() {
        for code in error_codes() {
            let text = code.explanation.trim_end();
            let paragraphs: Vec<&str> = text.split("\n\n").collect();
            assert_eq!(paragraphs.len(), 2, "{code}: meaning and cure");
            assert!(paragraphs.iter().all(|text| text.ends_with('.')), "{code}");
            assert!(
                !code.title.is_empty() && !code.title.ends_with('.'),
                "{code}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= 120),
                "{code}"
            );
        }
    }

    /// An error without a code has no explanation. Errors without one have problems with codes of
    /// their own, or pass on another error.
    #[test]
    fn every_printed_error_has_a_code_and_a_help() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let mut without = Vec::new();
        for entry in walkdir::WalkDir::new(source) {
            let entry = entry.expect("an entry");
            if entry.path().extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).expect("text");
            // NB: this file has the opening in pieces.
            let opening = ["#[diagnostic", "("].concat();
            for attribute in text.split(&opening).skip(1) {
                let attribute = attribute.split(")]").next().unwrap_or_default();
                let passes_on = ["transparent", "forward("]
                    .iter()
                    .any(|word| attribute.starts_with(word));
                let has_both = attribute.contains("code(") && attribute.contains("help(");
                if !passes_on && !has_both {
                    without.push(format!("{}: {attribute}", entry.path().display()));
                }
            }
        }
        assert!(without.is_empty(), "{without:#?}");
    }
}
