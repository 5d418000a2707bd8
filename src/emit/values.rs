//! Values as Nix text. What occurs in several of them can be written once, under a name, so that a file for thirty variants
//! stays about as long as what differs between them.

use std::collections::HashMap;

use indexmap::IndexMap;
use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::nix::{attribute, scalar};

/// Shorter ones stay where they are: a name would say less than what it stands for.
const SHORTEST: usize = 40;

/// Different values, each kept once; parts stand before what they are part of.
#[derive(Debug, Default)]
pub struct Values {
    nodes: IndexMap<Node, Facts>,
}

/// A value of Nix by its text or its parts.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Node {
    Scalar(String),
    List(Vec<usize>),
    /// Names as Nix has them.
    Set(Vec<(String, usize)>),
}

#[derive(Debug, Default)]
struct Facts {
    /// The key that it was first found under.
    key: String,
    /// Bytes of its text.
    length: usize,
    /// Places where it stands, of values that are different themselves.
    uses: usize,
    name: Option<String>,
}

impl Values {
    /// Adds a value that stands under a key.
    ///
    /// # Errors
    /// A value that Nix does not have.
    pub fn add(&mut self, value: &Value, key: &str) -> Result<usize, Error> {
        let node = match value.kind() {
            ValueKind::Seq => {
                // One of the `components` is a component.
                let one = key.strip_suffix('s').unwrap_or(key);
                let parts = value.try_iter()?.map(|part| self.add(&part, one));
                Node::List(parts.collect::<Result<_, _>>()?)
            }
            ValueKind::Map => {
                let object = value.as_object();
                let pairs = object.and_then(|object| object.try_iter_pairs());
                let add = |(name, part): (Value, Value)| {
                    let name = name.as_str().unwrap_or_default();
                    Ok::<_, Error>((attribute(name), self.add(&part, name)?))
                };
                Node::Set(
                    pairs
                        .into_iter()
                        .flatten()
                        .map(add)
                        .collect::<Result<_, _>>()?,
                )
            }
            _ => Node::Scalar(scalar(value)?),
        };
        if let Some(known) = self.nodes.get_index_of(&node) {
            return Ok(known);
        }
        let mut facts = Facts {
            key: key.to_owned(),
            ..Facts::default()
        };
        // NB: with the blanks and signs that `push` writes.
        let mut count = |part: &usize| {
            let part = &mut self.nodes[*part];
            part.uses += 1;
            part.length
        };
        facts.length = match &node {
            Node::Scalar(text) => text.len(),
            Node::List(parts) => 3 + parts.iter().map(|part| count(part) + 1).sum::<usize>(),
            Node::Set(parts) => {
                let parts = parts.iter();
                3 + parts
                    .map(|(name, part)| name.len() + 5 + count(part))
                    .sum::<usize>()
            }
        };
        Ok(self.nodes.insert_full(node, facts).0)
    }

    /// Names what the values so far have in common after its keys, and returns `name = value;`, a line each.
    pub fn share(&mut self) -> String {
        let mut bindings = String::new();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for value in 0..self.nodes.len() {
            let facts = &self.nodes[value];
            let is_scalar = matches!(self.nodes.get_index(value), Some((Node::Scalar(_), _)));
            if is_scalar || facts.uses < 2 || facts.length < SHORTEST {
                continue;
            }
            let key = facts.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let count = counts.entry(key.clone()).or_default();
            *count += 1;
            let name = format!("{key}{count}");
            bindings += &format!("{name} = ");
            self.push(value, &mut bindings);
            bindings += ";\n";
            self.nodes[value].name = Some(name);
        }
        bindings
    }

    /// The text of a value, with names for what is shared of it.
    pub fn text(&self, value: usize) -> String {
        let mut text = String::new();
        self.push(value, &mut text);
        text
    }

    fn push(&self, value: usize, text: &mut String) {
        let part = |part: usize, text: &mut String| match &self.nodes[part].name {
            Some(name) => text.push_str(name),
            None => self.push(part, text),
        };
        match self.nodes.get_index(value) {
            Some((Node::Scalar(scalar), _)) => text.push_str(scalar),
            Some((Node::List(parts), _)) => {
                text.push_str("[ ");
                for item in parts {
                    part(*item, text);
                    text.push(' ');
                }
                text.push(']');
            }
            Some((Node::Set(parts), _)) => {
                text.push_str("{ ");
                for (name, item) in parts {
                    text.push_str(name);
                    text.push_str(" = ");
                    part(*item, text);
                    text.push_str("; ");
                }
                text.push('}');
            }
            None => {}
        }
    }
}
