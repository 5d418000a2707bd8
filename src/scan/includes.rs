//! Reads which other files a file includes, over all branches of conditionals. It is no
//! preprocessor; search.rs finds where the included files are.
//!
//! Each line that [`lines`] returns is read by itself, and no other line is read. So a digest of
//! these lines tells whether the result still holds. Other modules that read sources read the same
//! lines.
//! NB: nix/kernel/includes.sh computes the same digest before it lets a compiler see a file;
//! tests/include_lines.rs compares the two.

use sha2::{Digest, Sha256};

use super::operators;
use crate::hex;

/// An include, or a `__has_include`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Include {
    /// `"name"`, which is looked for in the folder of the file first.
    Quoted(String),
    /// `<name>`
    Angle(String),
    /// A name that only the preprocessor knows, or an unusual search.
    Computed,
}

/// Parts of words that select a line: words of includes without a directive, of macros that hold or
/// take an op namespace, and of macros that come with a framework.
const WORDS: [&str; 7] = [
    "__has_include",
    ".incbin",
    "_EXTENSION",
    "_EXPAND",
    operators::MARK,
    "USE_",
    "Py_LIMITED_API",
];

/// The lines of a file that the plan depends on, with continued lines joined: lines with `#` (or
/// `%:`) and after it a word of a directive, and lines with one of [`WORDS`].
fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    for part in bytes.split(|byte| *byte == b'\n') {
        // Compilers continue a line even if blanks follow the backslash.
        match part.trim_ascii_end().strip_suffix(b"\\") {
            Some(continued) => line.extend_from_slice(continued),
            None => {
                line.extend_from_slice(part);
                lines.push(std::mem::take(&mut line));
            }
        }
    }
    lines.push(line);
    lines.retain(|line| is_selected(line));
    lines
}

fn is_selected(line: &[u8]) -> bool {
    let find = |line: &[u8], word: &str| {
        let mut windows = line.windows(word.len());
        windows.position(|window| window == word.as_bytes())
    };
    let directive = ["#", "%:"].iter().filter_map(|mark| find(line, mark)).min();
    let has = |at: usize, word: &str| find(&line[at..], word).is_some();
    directive.is_some_and(|at| {
        ["include", "import", "embed"]
            .iter()
            .any(|word| has(at, word))
    }) || WORDS.iter().any(|word| has(0, word))
}

/// The digest of the lines that the plan depends on: 16 hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    for line in lines(bytes) {
        hash.update(line.trim_ascii_end());
        hash.update("\n");
    }
    hex(&hash.finalize())[..16].to_owned()
}

/// The includes of a file and the names that `__has_include` asks for, in order. Includes in block
/// comments are among them, because other lines say where a comment begins and ends.
pub fn includes(bytes: &[u8]) -> Vec<Include> {
    let mut found = Vec::new();
    for line in lines(bytes) {
        read(&String::from_utf8_lossy(&line), &mut found);
    }
    found
}

fn read(line: &str, found: &mut Vec<Include>) {
    if line.contains(".incbin") {
        found.push(Include::Computed);
    }
    let line = without_comments(line);
    let line = line.trim_start();
    let Some(directive) = line.strip_prefix('#').or_else(|| line.strip_prefix("%:")) else {
        return;
    };
    let directive = directive.trim_start();
    let end = directive
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(directive.len());
    let (word, rest) = directive.split_at(end);
    match word {
        "include" | "import" => push(name(rest), found),
        // The compiler starts the search after the folder in which it found the file.
        "include_next" | "embed" => found.push(Include::Computed),
        _ => {
            for (at, asked) in rest.match_indices("__has_include") {
                let rest = &rest[at + asked.len()..];
                let (next, rest) = match rest.strip_prefix("_next") {
                    Some(rest) => (true, rest),
                    None => (false, rest),
                };
                match rest.trim_start().strip_prefix('(') {
                    Some(rest) if !next => push(name(rest), found),
                    // `#ifdef __has_include` names no file, but a macro may.
                    None if word != "define" => {}
                    _ => found.push(Include::Computed),
                }
            }
        }
    }
}

/// Adds an include. A name with `..` inside counts as computed, since it needs folders that hold no
/// header of the unit.
fn push(include: Include, found: &mut Vec<Include>) {
    if let Include::Quoted(name) | Include::Angle(name) = &include {
        let mut inside = name
            .split('/')
            .skip_while(|part| [".", ".."].contains(part));
        if inside.any(|part| part == "..") {
            found.push(Include::Computed);
        }
    }
    found.push(include);
}

/// A line with a blank for each comment. The line may begin inside of a comment, which then ends at
/// `*/`.
fn without_comments(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((code, comment)) = rest.split_once("/*") {
        // These two characters are part of a name or of another comment.
        if code.contains("//") {
            break;
        }
        let Some((_, after)) = comment.split_once("*/") else {
            break;
        };
        kept += code;
        kept.push(' ');
        rest = after;
    }
    kept += rest;
    match kept.rsplit_once("*/") {
        Some((_, after)) => after.to_owned(),
        None => kept,
    }
}

/// The name at the start of a text.
fn name(text: &str) -> Include {
    let text = text.trim_start();
    let until = |end| text[1..].split_once(end).map(|(name, _)| name.to_owned());
    match text.chars().next() {
        Some('"') => until('"').map(Include::Quoted),
        Some('<') => until('>').map(Include::Angle),
        _ => None,
    }
    .unwrap_or(Include::Computed)
}

#[cfg(test)]
mod tests {
    use super::Include::Computed;
    use super::*;

    fn angle(name: &str) -> Include {
        Include::Angle(name.to_owned())
    }

    fn quoted(name: &str) -> Include {
        Include::Quoted(name.to_owned())
    }

    #[test]
    fn includes_are_found_as_compilers_find_them() {
        let cases = [
            ("#include <torch/all.h>\n", vec![angle("torch/all.h")]),
            ("  #  include\t\"a.h\" // why", vec![quoted("a.h")]),
            (
                "#include\"a.h\"\r\n#include<b>\r\n",
                vec![quoted("a.h"), angle("b")],
            ),
            ("%:include \"a.h\"", vec![quoted("a.h")]),
            ("#import \"a.h\"", vec![quoted("a.h")]),
            ("#inc\\\nlude \\\r\n  \"a.h\"", vec![quoted("a.h")]),
            ("#include \\ \t\n\"a.h\"", vec![quoted("a.h")]),
            ("/* x */ #include \"a.h\"", vec![quoted("a.h")]),
            ("x */ #include \"a.h\" /* y", vec![quoted("a.h")]),
            ("#/**/include /* x */ \"a.h\"", vec![quoted("a.h")]),
            ("// #include \"a.h\"\n * #include \"b.h\"", vec![]),
            ("// a \\\n#include \"a.h\"", vec![]),
            // The end of a block comment is not looked for.
            ("/*\n#include \"b.h\"\n*/", vec![quoted("b.h")]),
            (
                "const char *x = \"/*\";\n#include \"a.h\"",
                vec![quoted("a.h")],
            ),
            ("#if 0\n#include \"a.h\"\n#endif", vec![quoted("a.h")]),
            ("#include HEADER", vec![Computed]),
            ("#include \"a.h", vec![Computed]),
            ("#include_next <a.h>", vec![Computed]),
            ("#embed \"a.bin\"", vec![Computed]),
            ("asm(\".incbin \\\"a.bin\\\"\");", vec![Computed]),
            ("#include \"../a.h\"", vec![quoted("../a.h")]),
            ("#include \"b/../a.h\"", vec![Computed, quoted("b/../a.h")]),
            (
                "#if defined(X) && __has_include(<a.h>) || __has_include ( \"b.h\" )",
                vec![angle("a.h"), quoted("b.h")],
            ),
            ("#if __has_include(HEADER)", vec![Computed]),
            ("#if __has_include_next(<a.h>)", vec![Computed]),
            ("#define HAS __has_include", vec![Computed]),
            ("#define HAS(x) __has_include(x)", vec![Computed]),
            (
                "#ifdef __has_include\n#define include x\n#pragma include",
                vec![],
            ),
            ("int included;\n#define X \"#include\"", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(includes(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_digest_changes_with_possible_includes_alone() {
        let before = digest(b"#include \"a.h\"\r\nint x; // includes\n");
        for same in [
            "int y;\n#include \"a.h\"\nint x;",
            "#inc\\\nlude \"a.h\"",
            "/*\n#include \"a.h\"\n*/",
        ] {
            assert_eq!(digest(same.as_bytes()), before, "{same}");
        }
        for other in [
            "",
            "#include \"b.h\"",
            "#include \"a.h\"\n#include \"b.h\"",
            "#include \"a.h\"\n#if __has_include(<b.h>)",
        ] {
            assert_ne!(digest(other.as_bytes()), before, "{other}");
        }
    }
}
