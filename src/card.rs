//! The model card of a kernel: a template, the author's or this program's, filled with facts of
//! build.toml, of the Python package and of the built variants. Writes no file.

use camino::Utf8Path;
use miette::Diagnostic;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use thiserror::Error;
use tree_sitter::{Node, Parser};

use crate::artifact::check::find_variants;
use crate::artifact::metadata::METADATA;
use crate::file::{MAX_TEXT, help_for_io, read_at_most, sha256_of};
use crate::kernel::Kernel;

/// The template in the kernel's folder.
pub const TEMPLATE: &str = "CARD.md";

/// The template of kernels that have none, and of new ones.
pub const OWN_TEMPLATE: &str = include_str!("../templates/card/CARD.md");

/// The reason why there is no card.
#[derive(Debug, Diagnostic, Error)]
pub enum CardError {
    #[error("the repository of the kernel is unknown")]
    #[diagnostic(
        code(card::repository),
        help("write it to build.toml: `[general.hub] repo-id = \"ORGANISATION/NAME\"`")
    )]
    NoRepository,

    #[error("CARD.md cannot be filled: {why}")]
    #[diagnostic(
        code(card::template),
        help(
            "it is a template of Jinja: the names are name, module, repo_id, version, license, functions, layers, \
             has_benchmark, upstream, source and variants"
        )
    )]
    Template { why: String },

    #[error("failed to {action}")]
    #[diagnostic(code(card::io), help("{}", help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl CardError {
    /// 1 if the user's files are wrong, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoRepository | Self::Template { .. } => 1,
            Self::Io { .. } => 3,
        }
    }

    fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

/// The facts that a template may name. The names are those of upstream, with more.
#[derive(Serialize)]
struct CardFacts<'a> {
    name: &'a str,
    module: String,
    repo_id: &'a str,
    version: u64,
    license: String,
    functions: Vec<String>,
    layers: Vec<String>,
    has_benchmark: bool,
    upstream: Option<String>,
    source: Option<String>,
    variants: Vec<CardVariant>,
}

#[derive(Serialize)]
struct CardVariant {
    name: String,
    files: usize,
    /// The size of all files, such as `1.2 MB`.
    size: String,
    /// The sha256 of metadata.json, in hexadecimal digits.
    sha256: String,
}

/// The filled card of a kernel.
///
/// # Errors
/// `CardError`
pub fn fill_card(kernel: &Kernel) -> Result<String, CardError> {
    let root = &kernel.root;
    let path = root.join(TEMPLATE);
    let template = match path.exists() {
        true => read(&path)?,
        false => OWN_TEMPLATE.to_owned(),
    };
    let package = root
        .join(kernel.framework.packages())
        .join(kernel.name.python_name());
    let mut functions = match package.join("__init__.py") {
        init if init.is_file() => exported_names(&read(&init)?),
        _ => Vec::new(),
    };
    let has_layers = functions.iter().any(|name| name == "layers");
    functions.retain(|name| name != "layers");
    let layers = ["layers/__init__.py", "layers.py"].map(|file| package.join(file));
    let layers = match layers.iter().find(|file| file.is_file() && has_layers) {
        Some(file) => classes(&read(file)?),
        None => Vec::new(),
    };
    let facts = CardFacts {
        name: kernel.name.as_str(),
        module: kernel.name.python_name(),
        repo_id: kernel
            .hub
            .repo_id
            .as_deref()
            .ok_or(CardError::NoRepository)?,
        version: kernel.version,
        license: kernel.license.to_lowercase(),
        functions,
        layers,
        has_benchmark: root.join("benchmarks/benchmark.py").is_file(),
        upstream: kernel.upstream.as_ref().map(ToString::to_string),
        source: kernel.source.as_ref().map(ToString::to_string),
        variants: variants(root)?,
    };
    render(&template, &facts)
}

fn render(template: &str, facts: &CardFacts<'_>) -> Result<String, CardError> {
    let failed = |error: minijinja::Error| CardError::Template {
        why: error.to_string(),
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.map_err(failed)?);
    let filled = environment.render_str(template, Value::from(Serde(facts)));
    filled.map_err(failed)
}

fn read(path: &Utf8Path) -> Result<String, CardError> {
    let text = read_at_most(path, MAX_TEXT).map_err(CardError::io(format!("read {path}")))?;
    let text = String::from_utf8(text).map_err(std::io::Error::other);
    text.map_err(CardError::io(format!("read {path}")))
}

/// The built variants of a kernel; none if it was not built.
fn variants(root: &Utf8Path) -> Result<Vec<CardVariant>, CardError> {
    let failed = |path: &Utf8Path| CardError::io(format!("read {path}"));
    let folders = find_variants(root).map_err(failed(root))?;
    let variant = |folder: &camino::Utf8PathBuf| {
        let (mut files, mut bytes) = (0, 0);
        // NB: a result of Nix is a link itself.
        for entry in walkdir::WalkDir::new(folder).follow_root_links(true) {
            let entry = entry.map_err(|error| failed(folder)(error.into()))?;
            if entry.file_type().is_file() {
                let metadata = entry.metadata();
                bytes += metadata
                    .map_err(|error| failed(folder)(error.into()))?
                    .len();
                files += 1;
            }
        }
        let file = folder.join(METADATA);
        Ok(CardVariant {
            name: folder.file_name().unwrap_or_default().to_owned(),
            files,
            size: size_words(bytes),
            sha256: sha256_of(&file).map_err(failed(&file))?,
        })
    };
    folders.iter().map(variant).collect()
}

/// `812 kB`, `1.2 MB`.
fn size_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The names in `__all__` of a Python module, in their order.
fn exported_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    statements(text, |statement| {
        let Some(assignment) = statement.named_child(0) else {
            return;
        };
        let part = |name: &str| assignment.child_by_field_name(name);
        let (Some(left), Some(right)) = (part("left"), part("right")) else {
            return;
        };
        if assignment.kind() != "assignment" || &text[left.byte_range()] != "__all__" {
            return;
        }
        let mut cursor = right.walk();
        for value in right.named_children(&mut cursor) {
            let mut parts = value.walk();
            let mut parts = value.named_children(&mut parts);
            if let Some(content) = parts.find(|part| part.kind() == "string_content") {
                names.push(text[content.byte_range()].to_owned());
            }
        }
    });
    names
}

/// The names of the classes of a Python module.
fn classes(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    statements(text, |statement| {
        let definition = match statement.kind() {
            "decorated_definition" => statement.child_by_field_name("definition"),
            _ => Some(statement),
        };
        let class = definition.filter(|own| own.kind() == "class_definition");
        if let Some(name) = class.and_then(|own| own.child_by_field_name("name")) {
            names.push(text[name.byte_range()].to_owned());
        }
    });
    names
}

/// Calls a function for each statement of a Python module.
fn statements(text: &str, mut each: impl FnMut(Node<'_>)) {
    let mut parser = Parser::new();
    let language = tree_sitter_python::LANGUAGE.into();
    if parser.set_language(&language).is_err() {
        return;
    }
    let Some(tree) = parser.parse(text, None) else {
        return;
    };
    let root = tree.root_node();
    let mut cursor = root.walk();
    for statement in root.named_children(&mut cursor) {
        each(statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_python() {
        let text =
            "import torch\n__all__ = [\"relu\", 'layers', other]\n__all__ += []\nx = [\"no\"]\n";
        assert_eq!(exported_names(text), ["relu", "layers"]);
        let text =
            "class A(nn.Module):\n    class B: pass\n\n@final\nclass C: pass\ndef f(): pass\n";
        assert_eq!(classes(text), ["A", "C"]);
    }

    #[test]
    fn sizes_are_words() {
        for (bytes, words) in [
            (0, "0 kB"),
            (1, "1 kB"),
            (999_999, "1000 kB"),
            (1_260_000, "1.2 MB"),
        ] {
            assert_eq!(size_words(bytes), words);
        }
    }
}
