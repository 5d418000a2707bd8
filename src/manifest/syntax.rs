//! Turns text into TOML and reports all syntax errors, not only the first.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::de::DeTable;

use crate::problem::{Place, Problem, Problems, code};

/// Text that is TOML, possibly with lines blanked out.
pub(super) struct ParsedText {
    /// The text, as long as the original.
    pub text: String,
    /// The lines that were blanked out.
    pub broken_lines: Vec<String>,
    /// Whether no line was blanked out.
    pub whole: bool,
}

/// Reports all syntax errors. The parser stops at some of them, so the lines with errors are
/// blanked out and the rest is parsed again, which keeps every offset. `None` if the remaining text
/// may not mean what its author wrote.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<ParsedText> {
    const ROUNDS: usize = 8;
    let mut bytes = text.as_bytes().to_vec();
    let mut broken_lines = Vec::new();
    let mut found: Vec<FoundError> = Vec::new();
    let mut lines = BTreeSet::new();
    let mut clean = None;
    for round in 0..ROUNDS {
        let current = String::from_utf8(bytes.clone()).ok()?;
        let (_, errors) = DeTable::parse_recoverable(&current);
        if errors.is_empty() {
            clean = Some(current);
            break;
        }
        for error in errors {
            let span = error.span().unwrap_or_default();
            if let Some(open) = unclosed_before(text, &span) {
                // The parser took everything below as part of the open value, so the errors there
                // prove nothing.
                let above = found.into_iter().filter(|f| f.line < open);
                above.for_each(|f| problems.push(f.problem));
                problems.push(unclosed(open));
                return None;
            }
            let line = line_around(text, span.start);
            // One mistake can upset the parser several times on a line; only the first error
            // counts.
            if lines.insert(line.start) {
                found.push(FoundError {
                    line: line.start,
                    round,
                    problem: syntax_error(text, span, error.message()),
                });
                broken_lines.push(text[line.clone()].to_owned());
            }
            bytes[line].fill(b' ');
        }
    }
    // Without its header, the keys of a table would be read as keys of the table above.
    let header_lost = broken_lines
        .iter()
        .any(|line| line.trim_start().starts_with('['));
    let trusted = clean.filter(|_| !header_lost);
    for FoundError { round, problem, .. } in found {
        // If blanking did not lead to valid text, the later rounds found only consequences.
        if trusted.is_some() || round == 0 {
            problems.push(problem);
        }
    }
    trusted.map(|text| ParsedText {
        text,
        whole: broken_lines.is_empty(),
        broken_lines,
    })
}

/// A syntax error, the start of its line and the round that found it.
struct FoundError {
    line: usize,
    round: usize,
    problem: Problem,
}

fn syntax_error(text: &str, span: Range<usize>, message: &str) -> Problem {
    let before = text.get(line_around(text, span.start).start..span.start);
    let help = if span.is_empty() {
        "see https://toml.io for the syntax"
    } else if before.is_some_and(|b| b.trim_matches(['[', ' ', '\t']).is_empty()) {
        "a key stands once in its table, and in quotes if it is not only letters, digits, - and _"
    } else {
        "text is written in double quotes; see https://toml.io for the syntax"
    };
    let place = Place {
        key: String::new(),
        span,
    };
    Problem::error(code::SYNTAX, &place, format!("invalid TOML: {message}"))
        .label("here")
        .help(help)
}

fn unclosed(open: usize) -> Problem {
    let place = Place {
        key: String::new(),
        span: open..open + 1,
    };
    Problem::error(
        code::SYNTAX,
        &place,
        "invalid TOML: a list or table is not closed",
    )
    .label("opened here")
    .help("add the closing bracket")
}

/// The offset of a bracket that was never closed. The parser notices only at the start of the next
/// statement, where it expects a comma, and gives no text to underline.
fn unclosed_before(text: &str, span: &Range<usize>) -> Option<usize> {
    let line = line_around(text, span.start);
    let at_start = text
        .get(line.start..span.start)
        .is_some_and(|before| before.trim().is_empty());
    let words = text[line.clone()].trim_start();
    let statement = value_of(words).is_some() || words.starts_with('[');
    if !(span.is_empty() && at_start && statement) {
        return None;
    }
    let mut end = line.start;
    while end > 0 {
        let line = line_around(text, end - 1);
        if let Some(value) = value_of(&text[line.clone()]) {
            let open = line.start + value;
            return text[open..].starts_with(['[', '{']).then_some(open);
        }
        end = line.start;
    }
    None
}

/// The offset of the value in a line of the form `key = value`.
fn value_of(line: &str) -> Option<usize> {
    let (key, value) = line.split_once('=')?;
    let part = |c: char| c.is_ascii_alphanumeric() || "-_.\"'".contains(c);
    let key_like = !key.trim().is_empty() && key.trim().chars().all(part);
    key_like.then(|| line.len() - value.trim_start().len())
}

/// Bytes of the line that holds `offset`, without its line end.
fn line_around(text: &str, offset: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let offset = offset.min(bytes.len());
    let is_end = |b: &u8| *b == b'\n';
    let start = bytes[..offset]
        .iter()
        .rposition(is_end)
        .map_or(0, |n| n + 1);
    let length = bytes[offset..].iter().position(is_end);
    start..length.map_or(bytes.len(), |n| offset + n)
}
