//! Operators that a kernel's Python files register with torch: they must be in the build's own
//! namespace. Reads the files and runs none of them: only literal names count, not computed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use tree_sitter::{Node, Parser};
use walkdir::WalkDir;

use super::check::Check;
use super::{Framework, KernelName};
use crate::problem::{Place, Problem, SourceFile, code};

/// Functions of torch.library that define an operator, with the parameter that names it.
const DEFINE: [(&str, &str); 3] = [
    ("custom_op", "name"),
    ("define", "qualname"),
    ("triton_op", "name"),
];

/// Functions of torch.library that add to an operator, which another package may own.
const REGISTER: [(&str, &str); 8] = [
    ("impl", "qualname"),
    ("register_autocast", "op"),
    ("register_autograd", "op"),
    ("register_fake", "op"),
    ("register_kernel", "op"),
    ("register_torch_dispatch", "op"),
    ("register_vmap", "op"),
    ("impl_abstract", "qualname"),
];

/// An operator or a namespace that a file names as text.
#[derive(Debug, PartialEq, Eq)]
struct Registration {
    what: RegistrationKind,
    /// The function of torch.library.
    function: &'static str,
    namespace: String,
    /// The operator; empty for a library, which has many.
    operator: String,
    /// The text, with its quotes.
    span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegistrationKind {
    /// A call that makes an operator known to torch, or opens a namespace for operators.
    Defines,
    /// A call that adds to a known operator.
    Registers,
}

/// Reports operators of fixed namespaces: as errors, or as warnings if the build.toml is of an
/// older edition.
pub(super) fn check(check: &mut Check<'_>, name: &KernelName, framework: &Framework, is_old: bool) {
    let package = check
        .root
        .join(framework.packages())
        .join(name.python_name());
    let mut found = Vec::new();
    for path in python_files(&package) {
        // A file that cannot be read is reported where it is packaged.
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let registrations = registrations(&text);
        if !registrations.is_empty() {
            let file = SourceFile {
                name: path.into_string(),
                text: text.into(),
            };
            found.push((Arc::new(file), registrations));
        }
    }
    let all = found.iter().flat_map(|(_, registrations)| registrations);
    let own: BTreeSet<String> = all
        .filter(|registration| registration.what == RegistrationKind::Defines)
        .map(|registration| registration.namespace.clone())
        .collect();
    let prefix = match framework {
        Framework::Torch(_) | Framework::TorchNoarch(_) => "add_op_namespace_prefix",
        Framework::TvmFfi(_) => "torch_add_op_namespace_prefix",
    };
    for (file, registrations) in found {
        for registration in registrations {
            if own.contains(&registration.namespace) {
                check.report(problem(&registration, &file, prefix, is_old));
            }
        }
    }
}

fn problem(
    registration: &Registration,
    file: &Arc<SourceFile>,
    prefix: &str,
    is_old: bool,
) -> Problem {
    let Registration {
        function,
        namespace,
        operator,
        ..
    } = registration;
    let place = Place {
        key: String::new(),
        span: registration.span.clone(),
    };
    let message = match operator.as_str() {
        "" => format!(
            "the namespace `{namespace}` is fixed: only one build of the kernel can have it in a process"
        ),
        name => format!(
            "the namespace of `{namespace}::{name}` is fixed: only one build of the kernel can have it in a process"
        ),
    };
    let help = match operator.as_str() {
        "" => format!(
            "define each operator with `torch.library.define({prefix}(\"name\"), …)`; `from ._ops import {prefix}`"
        ),
        name => format!(
            "write `{function}({prefix}(\"{name}\"), …)`, with `from ._ops import {prefix}`"
        ),
    };
    let problem = match is_old {
        true => Problem::warning(code::PYTHON_NAMESPACE, &place, message),
        false => Problem::error(code::PYTHON_NAMESPACE, &place, message),
    };
    problem.in_file(file).label("fixed").help(help)
}

fn python_files(package: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = WalkDir::new(package).sort_by_file_name().into_iter();
    let files = entries
        .flatten()
        .filter(|entry| entry.file_type().is_file());
    let paths = files.filter_map(|entry| Utf8PathBuf::try_from(entry.into_path()).ok());
    paths
        .filter(|path| path.extension() == Some("py"))
        .collect()
}

/// Every call of torch.library in a Python file that names a namespace as text. A file with syntax
/// errors is read as far as it parses.
fn registrations(text: &str) -> Vec<Registration> {
    // Most files have no such call, and a search for a word is faster than a parser.
    if !text.contains("library") {
        return Vec::new();
    }
    let mut parser = Parser::new();
    let language = tree_sitter_python::LANGUAGE.into();
    let tree = match parser.set_language(&language) {
        Ok(()) => parser.parse(text, None),
        Err(_) => None,
    };
    let Some(tree) = tree else {
        return Vec::new();
    };
    let nodes = all_nodes(tree.root_node());
    let mut names = BTreeMap::new();
    for node in &nodes {
        imports(*node, text, &mut names);
    }
    let calls = nodes.iter().filter(|node| node.kind() == "call");
    calls
        .filter_map(|call| registration(*call, text, &names))
        .collect()
}

/// All nodes of a tree, in the order of the text. NB: not by recursion, whose depth a file would
/// decide.
fn all_nodes(root: Node<'_>) -> Vec<Node<'_>> {
    let mut nodes = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        nodes.push(node);
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        open.extend(children.into_iter().rev());
    }
    nodes
}

/// The local names that an import statement makes, with the names that they stand for.
fn imports(statement: Node<'_>, text: &str, names: &mut BTreeMap<String, String>) {
    let words = |node: Node<'_>| text[node.byte_range()].to_owned();
    let module = match statement.kind() {
        "import_statement" => None,
        "import_from_statement" => statement.child_by_field_name("module_name").map(words),
        _ => return,
    };
    let mut cursor = statement.walk();
    for item in statement.children_by_field_name("name", &mut cursor) {
        let (name, alias) = match item.kind() {
            "aliased_import" => (
                item.child_by_field_name("name").map(words),
                item.child_by_field_name("alias").map(words),
            ),
            _ => (Some(words(item)), None),
        };
        let Some(name) = name else { continue };
        match (&module, alias) {
            (Some(module), alias) => {
                names.insert(
                    alias.unwrap_or_else(|| name.clone()),
                    format!("{module}.{name}"),
                );
            }
            (None, Some(alias)) => {
                names.insert(alias, name);
            }
            // `import torch.library` makes `torch` known.
            (None, None) => {
                let first = name.split('.').next().unwrap_or_default().to_owned();
                names.insert(first.clone(), first);
            }
        }
    }
}

fn registration(
    call: Node<'_>,
    text: &str,
    names: &BTreeMap<String, String>,
) -> Option<Registration> {
    let callee =
        text[call.child_by_field_name("function")?.byte_range()].replace(char::is_whitespace, "");
    let (first, rest) = match callee.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (callee.as_str(), None),
    };
    let mut full = names.get(first)?.clone();
    if let Some(rest) = rest {
        full = format!("{full}.{rest}");
    }
    let function = full.strip_prefix("torch.library.")?;
    let arguments = call.child_by_field_name("arguments")?;
    if function == "Library" {
        let (kind, _) = literal(argument(arguments, text, 1, "kind")?, text)?;
        let (namespace, span) = literal(argument(arguments, text, 0, "ns")?, text)?;
        return matches!(kind, "DEF" | "FRAGMENT").then(|| Registration {
            what: RegistrationKind::Defines,
            function: "Library",
            namespace: namespace.to_owned(),
            operator: String::new(),
            span,
        });
    }
    let known = |list: &'static [(&str, &str)]| list.iter().find(|(name, _)| *name == function);
    let (what, (function, parameter)) = match known(&DEFINE) {
        Some(found) => (RegistrationKind::Defines, found),
        None => (RegistrationKind::Registers, known(&REGISTER)?),
    };
    let (name, span) = literal(argument(arguments, text, 0, parameter)?, text)?;
    let (namespace, operator) = name.split_once("::")?;
    Some(Registration {
        what,
        function,
        namespace: namespace.to_owned(),
        operator: operator.to_owned(),
        span,
    })
}

/// An argument of a call by its position or by its name.
fn argument<'t>(arguments: Node<'t>, text: &str, index: usize, name: &str) -> Option<Node<'t>> {
    let mut cursor = arguments.walk();
    let given: Vec<Node<'t>> = arguments
        .named_children(&mut cursor)
        .filter(|node| node.kind() != "comment")
        .collect();
    let is_keyword = |node: &&Node<'t>| node.kind() == "keyword_argument";
    let named = given.iter().filter(is_keyword).find(|node| {
        let key = node.child_by_field_name("name");
        key.is_some_and(|key| &text[key.byte_range()] == name)
    });
    match named {
        Some(node) => node.child_by_field_name("value"),
        None => given.get(index).filter(|node| !is_keyword(node)).copied(),
    }
}

/// The text of a plain string, and its range with the quotes. `None` for f-strings and computed
/// expressions.
fn literal<'a>(node: Node<'_>, text: &'a str) -> Option<(&'a str, Range<usize>)> {
    if node.kind() != "string" {
        return None;
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    let [start, content, end] = children[..] else {
        return None;
    };
    let kinds = [start.kind(), content.kind(), end.kind()];
    let is_plain = kinds == ["string_start", "string_content", "string_end"]
        && content.named_child_count() == 0
        && !text[start.byte_range()].contains(['f', 'F', 'b', 'B', 't', 'T']);
    is_plain.then(|| (&text[content.byte_range()], node.byte_range()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registrations of a file, in words.
    fn shown(text: &str) -> Vec<String> {
        let shown = registrations(text).into_iter().map(|found| {
            let Registration {
                what,
                function,
                namespace,
                operator,
                span,
            } = found;
            format!(
                "{what:?} {function} {namespace}::{operator} {}",
                &text[span]
            )
        });
        shown.collect()
    }

    #[test]
    fn calls_are_found_under_every_name_that_an_import_gives_them() {
        for text in [
            "import torch\n@torch.library.custom_op('a::b', mutates_args=())\ndef f(): ...",
            "import torch.library\ntorch.library.custom_op('a::b')",
            "import torch as t\nt . library.custom_op(\n  # a comment\n  'a::b')",
            "import torch.library as l\nl.custom_op('a::b')",
            "from torch import library\nlibrary.custom_op(name='a::b')",
            "from torch import library as l\nl.custom_op(mutates_args=(), name='a::b')",
            "try:\n  from torch.library import custom_op as op, define\nexcept ImportError: pass\nclass A:\n  @op('a::b')\n  def f(self): ...",
            // The rest of a broken file is still read.
            "import torch\ndef broken(:\n  pass\ntorch.library.custom_op('a::b')\n",
        ] {
            assert_eq!(shown(text), ["Defines custom_op a::b 'a::b'"], "{text}");
        }
    }

    #[test]
    fn every_kind_of_registration_is_known() {
        let text = r#"
from torch.library import *
import torch
L = torch.library.Library("ns", "DEF")
L = torch.library.Library(kind='FRAGMENT', ns='''ns''')
L = torch.library.Library("aten", "IMPL")
torch.library.triton_op(r"a::b", mutates_args={})
torch.library.define("a::b", "(Tensor x) -> Tensor")
torch.library.register_fake("aten::add")
torch.library.impl("a::b", "cpu")
"#;
        assert_eq!(
            shown(text),
            [
                "Defines Library ns:: \"ns\"",
                "Defines Library ns:: '''ns'''",
                "Defines triton_op a::b r\"a::b\"",
                "Defines define a::b \"a::b\"",
                "Registers register_fake aten::add \"aten::add\"",
                "Registers impl a::b \"a::b\"",
            ]
        );
    }

    #[test]
    fn computed_names_and_other_modules_are_not_judged() {
        let text = r#"
import torch
from ._ops import add_op_namespace_prefix
name = "a::b"
torch.library.custom_op(add_op_namespace_prefix("b"), mutates_args=())
torch.library.custom_op(name)
torch.library.custom_op(f"{ns}::b")
torch.library.custom_op(f"a::b")
torch.library.custom_op("a::" + "b")
torch.library.custom_op(*arguments)
torch.library.custom_op()
torch.library.Library(ns, "DEF")
torch.library.Library("a", kind)
mine.library.custom_op("a::b")
custom_op("a::b")
"""torch.library.custom_op('a::b')"""
# torch.library.custom_op('a::b')
"#;
        assert_eq!(shown(text), [""; 0]);
    }
}
