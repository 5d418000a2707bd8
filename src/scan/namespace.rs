//! The use that the text of a file makes of the op namespace. The namespace changes with every file
//! of the kernel, so a unit that does not need it is not compiled again when another file changes.

use serde::Serialize;

/// The way in which a unit registers operators, in ascending order of how much of the namespace it
/// needs.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Namespace {
    /// The unit registers no operators, or only under a name of the author's (operators.rs).
    None,
    /// The unit registers through the macros of registration.h alone: the link defines the
    /// namespace.
    Linked,
    /// The unit registers in another way: `TORCH_EXTENSION_NAME` or `TVM_FFI_EXTENSION_NAME` must
    /// be defined.
    Compiled,
}

/// The macro that is the namespace of a build.
pub(super) const NAME: &str = "TORCH_EXTENSION_NAME";

/// The macros of registration.h that do not need the name.
const LINKED: [&str; 3] = [
    "TORCH_LIBRARY_EXPAND",
    "TORCH_LIBRARY_IMPL_EXPAND",
    "REGISTER_EXTENSION",
];

impl Namespace {
    /// Reads a source or a header of a `[tvm-ffi]` kernel. Its functions have names of their own,
    /// so most files do not need the namespace.
    pub fn in_tvm_ffi_file(text: &str) -> Self {
        if without_comments(text).contains("TVM_FFI_EXTENSION_NAME") {
            Self::Compiled
        } else {
            Self::None
        }
    }

    /// Reads a source or a header of a `[torch]` kernel.
    pub fn in_torch_file(text: &str) -> Self {
        let text = &without_comments(text);
        let mut found = if text.contains("registration.h") {
            Self::Linked
        } else {
            Self::None
        };
        for (at, _) in text.match_indices(NAME) {
            found = found.max(if is_argument(&text[..at]) {
                Self::Linked
            } else {
                Self::Compiled
            });
        }
        // A macro with another name registers under that name, which the link does not define.
        for name in LINKED {
            for (at, _) in text.match_indices(name) {
                let argument = text[at + name.len()..]
                    .trim_start()
                    .strip_prefix('(')
                    .map(str::trim_start);
                if word_before(&text[..at]).is_empty()
                    && argument.is_none_or(|rest| !rest.starts_with(NAME))
                {
                    found = Self::Compiled;
                }
            }
        }
        found
    }
}

/// Whether a text ends in `MACRO(`, for one of the macros above.
fn is_argument(before: &str) -> bool {
    let Some(macro_name) = before.trim_end().strip_suffix('(') else {
        return false;
    };
    LINKED.contains(&word_before(macro_name.trim_end()))
}

/// The identifier that a text ends in.
pub(super) fn word_before(text: &str) -> &str {
    let start = text
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    &text[start..]
}

/// C or C++ text with blanks for comments, as long as the original. Raw strings are read as plain
/// ones: a mistake there ends in a compiler's error, not in a wrong build.
fn without_comments(text: &str) -> String {
    blanked(text, false)
}

/// The text with blanks for comments and for string and character literals.
pub(super) fn without_comments_and_literals(text: &str) -> String {
    blanked(text, true)
}

fn blanked(text: &str, literals: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_blank) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            (comment.find("*/").map_or(rest.len(), |end| end + 4), true)
        } else if first == '"' || first == '\'' {
            (literal_length(rest, first), literals)
        } else {
            (first.len_utf8(), false)
        };
        let (part, after) = rest.split_at(length);
        if is_blank {
            // Blanks keep the places and the lines of the text.
            kept.extend(
                part.bytes()
                    .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
            );
        } else {
            kept.push_str(part);
        }
        rest = after;
    }
    kept
}

/// Bytes of the string or character literal at the start of a text, to the end of its line at most.
fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' if !escaped => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + character.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Namespace::{self, Compiled, Linked, None};

    #[test]
    fn only_the_macros_do_without_the_name() {
        let cases = [
            ("int x;", None),
            ("// TORCH_EXTENSION_NAME\nint x; /* registration.h */", None),
            (
                "const char *url = \"a://b\"; TORCH_EXTENSION_NAME",
                Compiled,
            ),
            ("char quote = '\"'; // TORCH_EXTENSION_NAME", None),
            ("#include \"registration.h\"", Linked),
            ("TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}", Linked),
            (
                "TORCH_LIBRARY_IMPL_EXPAND (\n  TORCH_EXTENSION_NAME, CUDA, ops) {}",
                Linked,
            ),
            ("REGISTER_EXTENSION(TORCH_EXTENSION_NAME)", Linked),
            ("TORCH_LIBRARY_EXPAND(mine, ops) {}", Compiled),
            (
                "REGISTER_EXTENSION(TORCH_EXTENSION_NAME)\nstd::string(STRINGIFY(TORCH_EXTENSION_NAME))",
                Compiled,
            ),
            ("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)", Compiled),
            ("TORCH_LIBRARY(TORCH_EXTENSION_NAME, m)", Compiled),
            (
                "#define REGISTER REGISTER_EXTENSION\nREGISTER(TORCH_EXTENSION_NAME)",
                Compiled,
            ),
            // The macros of the stable ABI take the name as a literal.
            (
                "STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}",
                Compiled,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Namespace::in_torch_file(text), expected, "{text}");
        }
        for (text, expected) in [
            ("// TVM_FFI_EXTENSION_NAME", None),
            ("TVM_FFI_EXTENSION_NAME", Compiled),
            ("TVM_FFI_DLL_EXPORT_TYPED_FUNC(relu, relu)", None),
        ] {
            assert_eq!(Namespace::in_tvm_ffi_file(text), expected, "{text}");
        }
    }
}
