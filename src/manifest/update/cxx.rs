//! C++ text, read as far as an edit of registrations needs it: calls of macros, includes, and the
//! names that `#define` defines. The text is not preprocessed: a call that a conditional leaves out
//! counts as well. Comments and literals are skipped.

use std::collections::BTreeSet;
use std::ops::Range;

/// The calls, includes and defines of a text. All places are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CxxText {
    /// Calls of the wanted macros, outside of preprocessor directives.
    pub calls: Vec<MacroCall>,
    pub includes: Vec<IncludeDirective>,
    /// Every identifier outside of preprocessor directives.
    pub words: BTreeSet<String>,
    /// The names that `#define` defines.
    pub defined: BTreeSet<String>,
    /// The lines on which a `#define` of another macro names a wanted one, by their starts.
    pub wrappers: Vec<usize>,
    /// The start of the first line that may follow an include: after leading comments, `#pragma
    /// once` and the start of an include guard.
    pub body: usize,
}

/// A call such as `TORCH_LIBRARY(name, ops)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroCall {
    pub name: Range<usize>,
    /// Each argument, without the blanks around it.
    pub arguments: Vec<Range<usize>>,
}

/// An `#include` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludeDirective {
    /// The included name, with its quotes or angle brackets.
    pub file: String,
    /// The line, with its end.
    pub line: Range<usize>,
    /// Whether the include is inside a conditional that is not the file's include guard.
    pub conditional: bool,
}

impl CxxText {
    /// Reads a text for its calls of some macros.
    pub fn read(text: &str, macros: &[&str]) -> Self {
        let mut reader = CxxReader {
            text,
            at: 0,
            found: CxxText::default(),
            depth: 0,
            guard: GuardState::Unknown,
            seen_code: false,
        };
        reader.read(macros);
        reader.found
    }
}

/// The progress in reading an include guard: `#ifndef X` and `#define X` before everything else.
enum GuardState {
    Unknown,
    /// `#ifndef` of this name came first.
    Opened(String),
    Present,
    Absent,
}

struct CxxReader<'t> {
    text: &'t str,
    at: usize,
    found: CxxText,
    /// The number of conditionals around the current place.
    depth: usize,
    guard: GuardState,
    /// Whether the reader has passed text that is neither a comment nor part of the file's head.
    seen_code: bool,
}

impl<'t> CxxReader<'t> {
    fn read(&mut self, macros: &[&str]) {
        let mut line_start = true;
        while let Some(first) = self.text[self.at..].chars().next() {
            if first == '#' && line_start {
                self.read_directive(macros);
                continue;
            }
            if let Some(end) = literal_end(self.text, self.at) {
                let comment = self.text[self.at..].starts_with('/');
                self.at = end;
                if !comment {
                    self.note_code();
                    line_start = false;
                }
            } else if is_word_start(first) {
                line_start = false;
                self.note_code();
                self.read_word(macros);
            } else {
                self.at += first.len_utf8();
                match first {
                    '\n' => {
                        line_start = true;
                        if !self.seen_code && !matches!(self.guard, GuardState::Opened(_)) {
                            self.found.body = self.at;
                        }
                    }
                    _ if first.is_whitespace() => {}
                    _ => {
                        line_start = false;
                        self.note_code();
                        if first.is_ascii_digit() {
                            self.skip_number();
                        }
                    }
                }
            }
        }
    }

    fn note_code(&mut self) {
        self.seen_code = true;
        if matches!(self.guard, GuardState::Unknown | GuardState::Opened(_)) {
            self.guard = GuardState::Absent;
        }
    }

    /// Skips the rest of a number, in which a quote starts no character: `1'000`.
    fn skip_number(&mut self) {
        let rest = &self.text[self.at..];
        let part = |c: char| c.is_ascii_alphanumeric() || "_.'".contains(c);
        self.at += rest.find(|c| !part(c)).unwrap_or(rest.len());
    }

    /// Reads an identifier, and the call that it may start.
    fn read_word(&mut self, macros: &[&str]) {
        let start = self.at;
        let word = word_at(self.text, start);
        self.at += word.len();
        if ["R", "u8R", "uR", "UR", "LR"].contains(&word)
            && let Some(end) = raw_string(self.text, self.at)
        {
            self.at = end;
            return;
        }
        self.found.words.insert(word.to_owned());
        if macros.contains(&word)
            && let Some((arguments, end)) = arguments(self.text, self.at)
        {
            self.at = end;
            self.found.calls.push(MacroCall {
                name: start..start + word.len(),
                arguments,
            });
        }
    }

    /// Reads a directive to the end of its last line; a backslash continues a line.
    fn read_directive(&mut self, macros: &[&str]) {
        let start = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1);
        let mut body = String::new();
        self.at += 1;
        while let Some(next) = self.text[self.at..].chars().next() {
            let rest = &self.text[self.at..];
            let continued = ["\\\n", "\\\r\n"]
                .iter()
                .find(|end| rest.starts_with(**end));
            if let Some(end) = continued {
                self.at += end.len();
                body.push(' ');
            } else if next == '\n' {
                self.at += 1;
                break;
            } else if rest.starts_with("//") || rest.starts_with("/*") {
                self.at = literal_end(self.text, self.at).unwrap_or(self.text.len());
                body.push(' ');
            } else {
                self.at += next.len_utf8();
                body.push(next);
            }
        }
        let body = body.trim();
        let keyword = word_at(body, 0);
        let rest = body[keyword.len()..].trim_start();
        self.follow_guard(keyword, rest);
        match keyword {
            "if" | "ifdef" | "ifndef" => self.depth += 1,
            "endif" => self.depth = self.depth.saturating_sub(1),
            "include" => {
                let guard = usize::from(matches!(self.guard, GuardState::Present));
                self.found.includes.push(IncludeDirective {
                    file: rest.trim_end().to_owned(),
                    line: start..self.at,
                    conditional: self.depth > guard,
                });
            }
            "define" => {
                let name = word_at(rest, 0);
                self.found.defined.insert(name.to_owned());
                let rest = rest[name.len()..].to_owned();
                let mut words = rest.split(|c: char| !is_word_part(c));
                if !macros.contains(&name) && words.any(|word| macros.contains(&word)) {
                    self.found.wrappers.push(start);
                }
            }
            _ => {}
        }
        match (&self.guard, keyword) {
            _ if self.seen_code => {}
            (GuardState::Opened(_), _) => {}
            (GuardState::Unknown, "pragma") | (GuardState::Present, "define") => {
                self.found.body = self.at
            }
            _ => self.seen_code = true,
        }
    }

    fn follow_guard(&mut self, keyword: &str, rest: &str) {
        let name = word_at(rest, 0);
        self.guard = match (
            std::mem::replace(&mut self.guard, GuardState::Absent),
            keyword,
        ) {
            (GuardState::Unknown, "ifndef") => GuardState::Opened(name.to_owned()),
            (GuardState::Unknown, "pragma") if rest == "once" => GuardState::Unknown,
            (GuardState::Opened(opened), "define") if opened == name => GuardState::Present,
            (GuardState::Present, _) => GuardState::Present,
            _ => GuardState::Absent,
        };
    }
}

/// The end of the comment or the literal at a place; `None` if there is none.
fn literal_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        // A backslash continues the comment.
        let mut end = at;
        loop {
            let Some(length) = text[end..].find('\n') else {
                return Some(text.len());
            };
            end += length;
            if !text[at..end].trim_end_matches('\r').ends_with('\\') {
                return Some(end);
            }
            end += 1;
        }
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        return Some(comment.find("*/").map_or(text.len(), |end| at + end + 4));
    }
    let quote = rest.chars().next().filter(|c| "\"'".contains(*c))?;
    let mut escaped = false;
    for (offset, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = character == '\r',
            '\n' => return Some(at + offset),
            '\\' => escaped = true,
            _ if character == quote => return Some(at + offset + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The end of the raw string whose first quote is at a place: `"end(...)end"`.
fn raw_string(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix('"')?;
    let open = rest.find('(')?;
    let close = format!("){}\"", &rest[..open]);
    let end = rest[open..].find(&close)?;
    Some(at + 1 + open + end + close.len())
}

/// The arguments of a call and its end, if a parenthesis is next.
fn arguments(text: &str, at: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let mut at = at;
    let mut open: Option<usize> = None;
    let mut depth = 0;
    let mut found = Vec::new();
    while let Some(next) = text[at..].chars().next() {
        if let Some(end) = literal_end(text, at) {
            at = end;
            continue;
        }
        match (next, open) {
            ('(', None) => open = Some(at + 1),
            (_, None) if !next.is_whitespace() => return None,
            ('(', Some(_)) => depth += 1,
            (')', Some(start)) if depth == 0 => {
                found.push(trimmed(text, start..at));
                return Some((found, at + 1));
            }
            (')', Some(_)) => depth -= 1,
            (',', Some(start)) if depth == 0 => {
                found.push(trimmed(text, start..at));
                open = Some(at + 1);
            }
            _ => {}
        }
        at += next.len_utf8();
    }
    None
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let within = &text[range.clone()];
    let start = range.start + (within.len() - within.trim_start().len());
    start..start + within.trim().len()
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The identifier at a place, perhaps empty.
fn word_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let end = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::CxxText;

    const MACROS: [&str; 2] = ["REGISTER", "IMPL"];

    fn calls(text: &str) -> Vec<Vec<&str>> {
        let found = CxxText::read(text, &MACROS);
        let words = |call: &super::MacroCall| {
            let name = std::iter::once(call.name.clone());
            name.chain(call.arguments.clone())
                .map(|range| &text[range])
                .collect()
        };
        found.calls.iter().map(words).collect()
    }

    #[test]
    fn calls_are_found_in_code_alone() {
        for (text, expected) in [
            ("REGISTER(a, b) {}", vec![vec!["REGISTER", "a", "b"]]),
            (
                "IMPL /* x */ ( a ,\n  CUDA, f(x, y) )",
                vec![vec!["IMPL", "a", "CUDA", "f(x, y)"]],
            ),
            ("int REGISTER; REGISTER_OTHER(a)", vec![]),
            ("// REGISTER(a, b)\n/* IMPL(a) */", vec![]),
            (
                "// goes on \\\nREGISTER(a)\nIMPL(b)",
                vec![vec!["IMPL", "b"]],
            ),
            (
                "char *s = \"REGISTER(a) \\\" IMPL(b)\"; char c = '\"';",
                vec![],
            ),
            (
                "auto s = R\"x(REGISTER(a) \")\" IMPL(b))x\"; IMPL(c)",
                vec![vec!["IMPL", "c"]],
            ),
            (
                "int n = 1'000; IMPL(a) int m = 2'0;",
                vec![vec!["IMPL", "a"]],
            ),
            (
                "#define MINE REGISTER(a, \\\n  b)\nIMPL(c)",
                vec![vec!["IMPL", "c"]],
            ),
            ("#error don't\nIMPL(a)", vec![vec!["IMPL", "a"]]),
            (
                "#if X // (\nREGISTER(a)\n#else\nREGISTER(b)\n#endif",
                vec![vec!["REGISTER", "a"], vec!["REGISTER", "b"]],
            ),
            ("REGISTER(a, b", vec![]),
        ] {
            assert_eq!(calls(text), expected, "{text}");
        }
    }

    #[test]
    fn includes_know_whether_they_are_conditional() {
        let includes = |text: &str| -> Vec<(String, bool)> {
            let found = CxxText::read(text, &MACROS).includes;
            found.into_iter().map(|i| (i.file, i.conditional)).collect()
        };
        let one = |file: &str, conditional| (file.to_owned(), conditional);
        assert_eq!(
            includes("#include <a.h> // why\n#ifdef X\n# include \"b.h\"\n#endif\n"),
            [one("<a.h>", false), one("\"b.h\"", true)]
        );
        let guarded = "// Head.\n#ifndef A_H\n#define A_H\n#include <a.h>\n#if X\n#include <b.h>\n#endif\n#endif\n";
        assert_eq!(includes(guarded), [one("<a.h>", false), one("<b.h>", true)]);
        assert_eq!(
            includes("#ifndef X\n#include <a.h>\n#endif\n"),
            [one("<a.h>", true)]
        );
    }

    #[test]
    fn the_body_starts_after_the_head() {
        let body = |text: &str| text[CxxText::read(text, &MACROS).body..].to_owned();
        assert_eq!(
            body("// A.\n/* B. */\n\n#include <a.h>\n"),
            "#include <a.h>\n"
        );
        assert_eq!(body("#pragma once\n\nint x;\n"), "int x;\n");
        assert_eq!(
            body("#ifndef A\n#define A\nint x;\n#endif\n"),
            "int x;\n#endif\n"
        );
        assert_eq!(
            body("#ifdef A\nint x;\n#endif\n"),
            "#ifdef A\nint x;\n#endif\n"
        );
        assert_eq!(body("  int x;"), "  int x;");
    }

    #[test]
    fn macros_of_the_authors_that_register_are_found() {
        let found = CxxText::read("int x;\n#define MINE(a) IMPL(a)\n#define B 1\n", &MACROS);
        assert_eq!(found.wrappers, [7]);
        // A header that the author copied, which defines the wanted macros.
        let copied = CxxText::read("#define REGISTER(a) IMPL(a)\n", &MACROS);
        assert!(copied.wrappers.is_empty());
        assert_eq!(found.defined.into_iter().collect::<Vec<_>>(), ["B", "MINE"]);
    }
}
