//! Op namespaces that the text of a kernel's files names. The build's own namespace is
//! `TORCH_EXTENSION_NAME`, which differs in each build. Some authors choose a name that is the same
//! in every build; then `_ops.py` looks for operators there.
//!
//! Such a name is an identifier, so it may be a macro: it counts only if no file and no flag
//! defines a macro of that name.
//! NB: lines with the macros below are among the lines that build.nix has a digest of
//! (includes.rs).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use camino::Utf8Path;

use super::namespace::{NAME, without_comments_and_literals, word_before};
use crate::kernel::Kernel;
use crate::problem::{Place, Problem, Problems, code};

/// Macros of torch and of registration.h that define operators. They expand their first argument
/// before it becomes a name.
const DEFINING: [&str; 6] = [
    "STABLE_TORCH_LIBRARY",
    "STABLE_TORCH_LIBRARY_EXPAND",
    "STABLE_TORCH_LIBRARY_FRAGMENT",
    "TORCH_LIBRARY",
    "TORCH_LIBRARY_EXPAND",
    "TORCH_LIBRARY_FRAGMENT",
];

/// Part of the name of each of these macros.
pub(super) const MARK: &str = "TORCH_LIBRARY";

/// The namespaces in which operators are defined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operators {
    /// Whether there are operators under the build's own namespace.
    own: bool,
    /// Whether there are operators under a namespace that the text does not tell.
    unknown: bool,
    /// Namespaces that are the same in every build.
    fixed: BTreeMap<String, Definition>,
}

/// The first place that defines operators of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    /// A path in the kernel's folder.
    file: String,
    /// The bytes of the name.
    span: Range<usize>,
    /// Whether the macro is one of the stable ABI.
    stable: bool,
}

impl Operators {
    /// The operators that the text of a file (path in the kernel's folder) defines.
    pub fn defined_in(file: &Utf8Path, text: &str) -> Self {
        let mut operators = Self::default();
        if !text.contains(MARK) {
            return operators;
        }
        let text = &without_comments_and_literals(text);
        for (at, _) in text.match_indices(MARK) {
            let start = at - word_before(&text[..at]).len();
            let name = word_at(&text[start..]);
            if !DEFINING.contains(&name) {
                continue;
            }
            if let Some(defined) = defined_by_line_of(text, start) {
                // A registration.h in the kernel has the same macros as the build's.
                operators.unknown |= !DEFINING.contains(&defined);
                continue;
            }
            operators.add(file, text, start..start + name.len());
        }
        operators
    }

    /// Adds the namespace that the macro at `used` takes as its argument.
    fn add(&mut self, file: &Utf8Path, text: &str, used: Range<usize>) {
        let after = text[used.end..].trim_start();
        let Some(argument) = after.strip_prefix('(').map(str::trim_start) else {
            return;
        };
        let start = text.len() - argument.len();
        let name = word_at(argument);
        let is_alone = argument[name.len()..].trim_start().starts_with(',');
        // The digest does not cover other lines.
        let is_on_line = !text[used.end..start].contains('\n');
        if name == NAME && is_alone {
            self.own = true;
        } else if name.is_empty() || !is_alone || !is_on_line {
            self.unknown = true;
        } else {
            let definition = Definition {
                file: file.to_string(),
                span: start..start + name.len(),
                stable: text[used].starts_with("STABLE_"),
            };
            self.fixed.entry(name.to_owned()).or_insert(definition);
        }
    }

    /// Adds the operators of another file of the same library.
    pub fn merge(&mut self, other: &Self) {
        self.own |= other.own;
        self.unknown |= other.unknown;
        for (name, definition) in &other.fixed {
            let first = self.fixed.entry(name.clone());
            first.or_insert_with(|| definition.clone());
        }
    }

    /// Drops names that are macros, whose namespaces are then unknown.
    pub fn expand(&mut self, is_macro: impl Fn(&str) -> bool) {
        let before = self.fixed.len();
        self.fixed.retain(|name, _| !is_macro(name));
        self.unknown |= self.fixed.len() < before;
    }

    /// The one namespace that all operators are in, if it is not the build's own.
    pub fn namespace(&self) -> Option<&str> {
        match self.fixed.keys().next() {
            Some(name) if self.fixed.len() == 1 && !self.own && !self.unknown => Some(name),
            _ => None,
        }
    }

    /// A problem for each name that is the same in every build.
    fn warnings(&self) -> impl Iterator<Item = (&str, Problem)> {
        let elsewhere = self.namespace().is_none();
        self.fixed.iter().map(move |(name, definition)| {
            let place = Place {
                key: String::new(),
                span: definition.span.clone(),
            };
            let stable = if definition.stable { "STABLE_" } else { "" };
            let mut help = format!(
                "write `{stable}TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops)`, and for implementations \
                 `{stable}TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops)`, of `registration.h`; \
                 `kernel-builder update-build --sources` does so"
            );
            if elsewhere {
                help += &format!("; `ops` of `_ops.py` has no operators of `{name}`");
            }
            let problem = Problem::warning(
                code::FIXED_NAMESPACE,
                &place,
                format!("every version of the kernel registers `{name}`, so a process can load but one"),
            );
            (definition.file.as_str(), problem.label("the same in every build").help(help))
        })
    }
}

/// The problems of the operators of some libraries, by file of a kernel's folder.
pub fn warnings<'a>(
    root: &Utf8Path,
    libraries: impl Iterator<Item = &'a Operators>,
) -> Vec<Problems> {
    let mut files: BTreeMap<&str, Problems> = BTreeMap::new();
    for (file, problem) in libraries.flat_map(Operators::warnings) {
        let problems = files.entry(file).or_insert_with(|| {
            let path = root.join(file);
            // NB: the text must be the one in which the places were found. A file that has vanished
            // since is shown empty.
            let bytes = std::fs::read(&path).unwrap_or_default();
            Problems::new(path.as_str(), String::from_utf8_lossy(&bytes).into_owned())
        });
        problems.push(problem);
    }
    files.into_values().collect()
}

/// Whether a source or listed header of a kernel names a namespace that may be the same in every
/// build. Quick: it reads the files without their includes.
pub fn may_warn(kernel: &Kernel) -> bool {
    let sections = kernel.sections.iter().flat_map(|section| &section.src);
    let mut files = kernel.framework.src().iter().chain(sections);
    kernel.framework.torch().is_some()
        && files.any(|file| {
            let bytes = std::fs::read(kernel.root.join(file)).unwrap_or_default();
            !Operators::defined_in(file, &String::from_utf8_lossy(&bytes))
                .fixed
                .is_empty()
        })
}

/// Names of the macros that a text defines.
pub fn macros(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter_map(defined_macro);
    lines.map(str::to_owned).collect()
}

/// The macro that a line defines.
fn defined_macro(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?;
    let rest = directive.trim_start().strip_prefix("define")?;
    let name = word_at(rest.trim_start());
    (rest.starts_with([' ', '\t']) && !name.is_empty()).then_some(name)
}

/// The macro that the line of a place defines; a backslash continues a line.
fn defined_by_line_of(text: &str, at: usize) -> Option<&str> {
    let mut start = at;
    loop {
        start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let before = text[..start].trim_end_matches(['\n', '\r']);
        if start == 0 || !before.ends_with('\\') {
            return defined_macro(&text[start..]);
        }
        start = before.len();
    }
}

/// The identifier that a text begins with.
fn word_at(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operators(text: &str) -> Operators {
        Operators::defined_in(Utf8Path::new("a.cpp"), text)
    }

    #[test]
    fn the_namespace_of_the_author_is_found() {
        for text in [
            "TORCH_LIBRARY(img2gray, ops) {}\nTORCH_LIBRARY_IMPL(img2gray, CUDA, ops) {}",
            "  TORCH_LIBRARY_FRAGMENT ( img2gray, ops) {}",
            "STABLE_TORCH_LIBRARY(img2gray, ops) {}",
            "TORCH_LIBRARY_EXPAND(img2gray /* why */, ops) {}\nTORCH_LIBRARY_FRAGMENT(img2gray, more) {}",
            "#define TORCH_LIBRARY_EXPAND(NAME, M) \\\n  TORCH_LIBRARY(NAME, M)\nTORCH_LIBRARY_EXPAND(img2gray, ops) {}",
        ] {
            assert_eq!(operators(text).namespace(), Some("img2gray"), "{text}");
        }
        let text = "/* ü */ TORCH_LIBRARY(mine, m) {}";
        let definition = &operators(text).fixed["mine"];
        assert_eq!(&text[definition.span.clone()], "mine");
    }

    #[test]
    fn uncertain_namespaces_are_left_alone() {
        for text in [
            "int x;",
            "// TORCH_LIBRARY(img2gray, ops)\nconst char *x = \"TORCH_LIBRARY(img2gray, ops)\";",
            "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}",
            "TORCH_LIBRARY_IMPL(aten, CUDA, m) {}",
            // If there are both, `_ops.py` looks in the build's own namespace.
            "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}\nTORCH_LIBRARY_FRAGMENT(extra, ops) {}",
            "TORCH_LIBRARY(first, ops) {}\nTORCH_LIBRARY(second, ops) {}",
            // The argument of the macro does not matter.
            "#define OPS(name) TORCH_LIBRARY(name, ops)\nOPS(img2gray) {}",
            "TORCH_LIBRARY(CONCAT(img2, gray), ops) {}",
            "TORCH_LIBRARY(\n    img2gray, ops) {}",
        ] {
            assert_eq!(operators(text).namespace(), None, "{text}");
        }
        let mut found = operators("TORCH_LIBRARY(LIBRARY, ops) {}");
        let macros = macros("# define LIBRARY img2gray\n#defined OTHER\n");
        found.expand(|name| macros.contains(name));
        assert_eq!(found.namespace(), None);
    }
}
