//! The graph of steps in Graphviz's language.

use std::fmt::Write;

use super::{StepKind, StepState, Steps};

impl Steps {
    /// The graph as a `digraph`. An arrow leads from a step to each step that needs it.
    pub fn dot(&self) -> String {
        let mut text =
            "digraph build {\n  rankdir = LR;\n  node [fontname = \"sans-serif\"];\n".to_owned();
        for step in &self.all {
            let (shape, label) = match &step.kind {
                StepKind::Toolchain => ("box3d", step.name.clone()),
                StepKind::Unit { driver, .. } => ("note", format!("{}\n{driver}", step.name)),
                StepKind::Join { .. } | StepKind::Objects { .. } => ("note", step.name.clone()),
                StepKind::Library => ("component", step.name.clone()),
                StepKind::Package => ("folder", step.name.clone()),
            };
            let style = match step.state {
                StepState::Cached => "style = dashed",
                StepState::Build => "style = filled, fillcolor = lightyellow",
            };
            let (id, label) = (quoted(&step.derivation), quoted(&label));
            let _ = writeln!(text, "  {id} [label = {label}, shape = {shape}, {style}];");
        }
        for step in &self.all {
            for needed in &step.needs {
                let _ = writeln!(
                    text,
                    "  {} -> {};",
                    quoted(needed),
                    quoted(&step.derivation)
                );
            }
        }
        text + "}\n"
    }
}

/// A string in Graphviz's language, in which only quotes and backslashes are special.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_no_code() {
        assert_eq!(quoted("a\"];\\n.cu\nnvcc"), r#""a\"];\\n.cu\nnvcc""#);
    }
}
