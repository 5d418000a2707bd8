//! The derivations of some variants, reduced to the facts that identify their steps. They are small
//! enough to be saved for the next run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::StepKind;
use crate::nix::derivation::Derivation;

/// One derivation of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivationNode {
    /// Derivations that it needs, in order.
    pub needs: Vec<String>,
    /// The path that it makes.
    pub output: String,
    /// Whether the path follows from its content: a file that is fetched.
    pub is_fixed: bool,
    /// The reason why it cannot be built; `None` unless it stands for a pin that does not exist.
    pub unavailable: Option<String>,
    /// The kind of its step; `None` if it neither compiles nor collects objects.
    pub compilation: Option<StepKind>,
    /// The id of the build; `None` if it is no package.
    pub build_id: Option<String>,
    /// Whether it is the environment of a step: a folder with all its tools.
    pub is_environment: bool,
}

impl From<Derivation> for DerivationNode {
    fn from(derivation: Derivation) -> Self {
        Self {
            // nix/pins.nix gives the reason.
            unavailable: text_attribute(&derivation.attributes, "unavailable"),
            compilation: compilation_kind(&derivation.attributes),
            build_id: text_attribute(&derivation.attributes, "namespace"),
            is_environment: derivation.attributes.contains_key("environmentOf"),
            is_fixed: derivation.fixed,
            needs: derivation.needs,
            output: derivation.output,
        }
    }
}

fn text_attribute(attributes: &Map<String, Value>, name: &str) -> Option<String> {
    attributes.get(name)?.as_str().map(str::to_owned)
}

/// The kind of the step that nix/kernel/compile.nix or nix/kernel/objects.nix makes with a
/// derivation.
fn compilation_kind(attributes: &Map<String, Value>) -> Option<StepKind> {
    if let Some(driver) = text_attribute(attributes, "objectsOf") {
        return Some(StepKind::Objects { driver });
    }
    let source = text_attribute(attributes, "source")?;
    if attributes.contains_key("devices") {
        return Some(StepKind::Join { source });
    }
    Some(StepKind::Unit {
        source,
        part: Some(text_attribute(attributes, "part")?).filter(|part| part != "whole"),
        driver: text_attribute(attributes, "driver")?,
    })
}

/// Derivations by path, with all that they need.
pub type DerivationGraph = BTreeMap<String, DerivationNode>;

/// A node in saved form. It names other nodes by their number in the order of paths, since a graph
/// has many edges.
#[derive(Deserialize, Serialize)]
struct SavedNode {
    path: String,
    needs: Vec<usize>,
    output: String,
    is_fixed: bool,
    unavailable: Option<String>,
    compilation: Option<StepKind>,
    build_id: Option<String>,
    is_environment: bool,
}

/// A graph in saved form.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
pub struct SavedGraph(Vec<SavedNode>);

impl From<&DerivationGraph> for SavedGraph {
    fn from(graph: &DerivationGraph) -> Self {
        let numbers = graph.keys().enumerate();
        let numbers: BTreeMap<&String, usize> =
            numbers.map(|(number, path)| (path, number)).collect();
        let node = |(path, node): (&String, &DerivationNode)| {
            let node = node.clone();
            let needs = node.needs.iter();
            SavedNode {
                path: path.clone(),
                needs: needs
                    .filter_map(|path| numbers.get(path).copied())
                    .collect(),
                output: node.output,
                is_fixed: node.is_fixed,
                unavailable: node.unavailable,
                compilation: node.compilation,
                build_id: node.build_id,
                is_environment: node.is_environment,
            }
        };
        Self(graph.iter().map(node).collect())
    }
}

impl SavedGraph {
    /// The graph; `None` if a node needs one that does not exist.
    pub fn restore(self) -> Option<DerivationGraph> {
        let paths: Vec<String> = self.0.iter().map(|node| node.path.clone()).collect();
        let nodes = self.0.into_iter().map(|node| {
            let needs = node.needs.iter();
            let needs: Option<_> = needs.map(|number| paths.get(*number).cloned()).collect();
            let restored = DerivationNode {
                needs: needs?,
                output: node.output,
                is_fixed: node.is_fixed,
                unavailable: node.unavailable,
                compilation: node.compilation,
                build_id: node.build_id,
                is_environment: node.is_environment,
            };
            Some((node.path, restored))
        });
        nodes.collect()
    }
}
