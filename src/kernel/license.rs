//! The check of `general.license`: a word or an expression that SPDX or the Hub knows.

use spdx::{Expression, ParseMode, identifiers};

use super::check::Check;
use crate::manifest::Spanned;
use crate::problem::{Problem, code, suggest};

/// Licence ids of the Hub that SPDX does not have.
const HUB: &[&str] = &[
    "agpl",
    "apple-amlr",
    "apple-ascl",
    "bigcode-openrail-m",
    "bigscience-bloom-rail-1.0",
    "bigscience-openrail-m",
    "bsd",
    "cc",
    "creativeml-openrail-m",
    "deepfloyd-if-license",
    "fair-noncommercial-research-license",
    "gemma",
    "gfdl",
    "gpl",
    "h-research",
    "intel-research",
    "lgpl",
    "lgpl-lr",
    "llama2",
    "llama3",
    "llama3.1",
    "llama3.2",
    "llama3.3",
    "llama4",
    "open-mdw",
    "openrail",
    "openrail++",
    "other",
    "pddl",
    "unknown",
];

impl Check<'_> {
    /// Reports a licence that is empty; warns of one that neither SPDX nor the Hub knows.
    pub fn license(&mut self, license: &Spanned<String>) {
        let text = license.value.trim();
        if text.is_empty() {
            self.report(
                Problem::error(code::LICENSE_EMPTY, &license.place, "the license is empty")
                    .label("empty")
                    .help("name the license, for example \"Apache-2.0\""),
            );
        } else if !is_known(text) {
            let names = identifiers::LICENSES.iter().map(|license| license.name);
            let names: Vec<&str> = names.chain(HUB.iter().copied()).collect();
            let near = match suggest::nearest(text, &names) {
                Some(near) => format!("did you mean \"{near}\"? "),
                None => String::new(),
            };
            self.report(
                Problem::warning(
                    code::LICENSE_ODD,
                    &license.place,
                    "neither SPDX nor the Hub knows this license",
                )
                .label("not a known license")
                .help(format!(
                    "{near}use an identifier such as \"Apache-2.0\", an expression such as \"MIT OR Apache-2.0\", or \"other\""
                )),
            );
        }
    }
}

/// Whether a text is an id of the Hub or an SPDX expression, and not too long to read. Ids count in
/// any case: the Hub writes SPDX ids in lower case.
fn is_known(text: &str) -> bool {
    const LONGEST: usize = 1000;
    if text.len() > LONGEST {
        return false;
    }
    if HUB.iter().any(|id| id.eq_ignore_ascii_case(text)) {
        return true;
    }
    Expression::parse_mode(&spdx_case(text), MODE).is_ok()
}

/// A licence as an SPDX expression in its canonical form; `None` for an id that the Hub alone has.
pub fn spdx_expression(text: &str) -> Option<String> {
    if !is_known(text) {
        return None;
    }
    let text = spdx_case(text);
    let canonical = Expression::canonicalize(&text).ok()?.unwrap_or(text);
    Expression::parse(&canonical).ok()?;
    Some(canonical)
}

const MODE: ParseMode = ParseMode {
    allow_slash_as_or_operator: true,
    allow_imprecise_license_names: false,
    allow_postfix_plus_on_gpl: true,
    allow_deprecated: true,
    allow_unknown: false,
};

/// The text with every SPDX id in the case of the list.
fn spdx_case(text: &str) -> String {
    let mut words = String::new();
    for part in text.split_inclusive([' ', '(', ')', '/', '+']) {
        let word = part.trim_end_matches([' ', '(', ')', '/', '+']);
        let same = |name: &&str| name.eq_ignore_ascii_case(word);
        let licenses = identifiers::LICENSES.iter().map(|license| license.name);
        let exceptions = identifiers::EXCEPTIONS
            .iter()
            .map(|exception| exception.name);
        let known = licenses.chain(exceptions).find(same);
        words.push_str(known.unwrap_or(word));
        words.push_str(&part[word.len()..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_spdx_and_of_the_hub_in_any_case() {
        for text in [
            "Apache-2.0",
            "apache-2.0",
            "MIT",
            "mit",
            "bsd-3-clause",
            "Apache-2.0 OR MIT",
            "(mit or apache-2.0) AND bsd-2-clause",
            "apache-2.0 WITH llvm-exception",
            "gpl-3.0",
            "GPL-2.0+",
            "MIT/Apache-2.0",
            "LicenseRef-own",
            "other",
            "openrail++",
            "Llama3.1",
            "unknown",
        ] {
            assert!(is_known(text), "{text}");
        }
        for (text, expected) in [
            ("apache-2.0", Some("Apache-2.0")),
            ("MIT/Apache-2.0", Some("MIT OR Apache-2.0")),
            ("mit or apache-2.0", Some("MIT OR Apache-2.0")),
            ("gpl-3.0", Some("GPL-3.0-only")),
            ("openrail++", None),
            ("see LICENSE", None),
        ] {
            assert_eq!(spdx_expression(text).as_deref(), expected, "{text}");
        }
        for text in [
            "Apache 2.0",
            "apache",
            "MIT OR",
            "see LICENSE",
            "proprietary",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }
}
