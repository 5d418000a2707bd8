//! Python files of a variant: whether the oldest Python can read them, and whether they import the
//! kernel by its own name, under which no client loads it. Runs none of them. NB:
//! nix/kernel/metadata.py has the same rules, with Python's own parser.

use std::collections::BTreeSet;

use tree_sitter::{Node, Parser};

use super::finding::{ArtifactFinding, ArtifactRule};

/// Statements that Python 3.9 does not know, with the release that added them.
const NEWER: [(&str, &str, &str); 3] = [
    ("match_statement", "`match`", "3.10"),
    ("type_alias_statement", "`type`", "3.12"),
    ("type_parameter", "a type parameter", "3.12"),
];

/// The findings of a Python file. `module`: the name of the kernel's Python package.
pub fn check_python(file: &str, text: &str, module: &str) -> BTreeSet<ArtifactFinding> {
    let mut findings = BTreeSet::new();
    let mut parser = Parser::new();
    let language = tree_sitter_python::LANGUAGE.into();
    let tree = match parser.set_language(&language) {
        Ok(()) => parser.parse(text, None),
        Err(_) => None,
    };
    let Some(tree) = tree else {
        return findings;
    };
    let mut add = |rule, node: Node<'_>, message: String, help| {
        let line = node.start_position().row + 1;
        findings.insert(ArtifactFinding::new(rule, file, message, help).at(line));
    };
    // NB: not by recursion, whose depth a file would decide.
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            let message = "no release of Python seems to read this".to_owned();
            let help = "check the file with `python3 -m py_compile`";
            add(ArtifactRule::Syntax, node, message, help);
            continue;
        }
        let newer = NEWER.iter().find(|(kind, ..)| *kind == node.kind());
        if let Some((_, words, release)) = newer {
            let message = format!("{words} needs Python {release}, and variants are for 3.9");
            let help = "write it as Python 3.9 allows, or leave it if no user has an older Python";
            add(ArtifactRule::Syntax, node, message, help);
        }
        for name in imported_modules(node, text) {
            if name.split('.').next() == Some(module) {
                let message =
                    format!("it imports `{name}`, and clients load the kernel under another name");
                let help = "import by a relative name: `from . import ...`";
                add(ArtifactRule::OwnName, node, message, help);
            }
        }
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor));
    }
    findings
}

/// The modules that a statement imports by absolute names.
fn imported_modules<'t>(statement: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let words = |node: Node<'_>| &text[node.byte_range()];
    match statement.kind() {
        "import_from_statement" => {
            let module = statement.child_by_field_name("module_name");
            let module = module.filter(|module| module.kind() == "dotted_name");
            module.map(words).into_iter().collect()
        }
        "import_statement" => {
            let mut cursor = statement.walk();
            let names = statement.children_by_field_name("name", &mut cursor);
            let names = names.map(|item| item.child_by_field_name("name").unwrap_or(item));
            names.map(words).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_syntax_and_own_imports_have_their_lines() {
        let found = |text: &str| -> Vec<(ArtifactRule, usize)> {
            let findings = check_python("a.py", text, "relu");
            let places = findings.iter();
            places
                .map(|own| (own.rule, own.line.unwrap_or_default()))
                .collect()
        };
        let good = "from __future__ import annotations\nimport relu_more, torch.relu\nfrom . import relu\n\
                    from .relu import x\nmatch = 1\nprint(match, f'{x!r:>{match}}')\nwith (a as b, c):\n    pass\n";
        assert_eq!(found(good), []);
        for (text, rule) in [
            ("import torch, relu.layers as own\n", ArtifactRule::OwnName),
            ("from relu._ops import ops\n", ArtifactRule::OwnName),
            ("def f():\n    import relu\n", ArtifactRule::OwnName),
            (
                "match x:\n    case 1:\n        pass\n",
                ArtifactRule::Syntax,
            ),
            ("def f[T](x: T): pass\n", ArtifactRule::Syntax),
            ("type A = int\n", ArtifactRule::Syntax),
            ("print 'x' if\n", ArtifactRule::Syntax),
        ] {
            let rules: BTreeSet<ArtifactRule> =
                found(text).into_iter().map(|(rule, _)| rule).collect();
            assert_eq!(rules, BTreeSet::from([rule]), "{text}");
        }
        assert_eq!(
            found("x = 1\nimport relu\n"),
            [(ArtifactRule::OwnName, 2)],
            "the line"
        );
    }
}
