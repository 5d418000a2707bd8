//! What occurs more than once in a value that is printed as Nix: it is written once, under a name, so that a file for
//! thirty variants stays about as long as what differs between them.

use std::collections::HashMap;

use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::nix::literal;

/// Shorter ones stay where they are: a name would say less than what it stands for.
const SHORTEST: usize = 40;

/// Values under a name, by their own text.
#[derive(Debug, Default)]
pub struct Shared {
    names: HashMap<String, String>,
    /// `name = value;`, a line each; a value comes after those that it uses.
    pub bindings: String,
}

impl Shared {
    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether values of this kind can have a name.
    pub fn may_name(value: &Value) -> bool {
        matches!(value.kind(), ValueKind::Seq | ValueKind::Map)
    }

    /// The name of a value with this text, if it has one.
    pub fn name(&self, text: &str) -> Option<&str> {
        self.names.get(text).map(String::as_str)
    }

    /// Names what some values have in common. A value is called after the key that it is found under.
    ///
    /// # Errors
    /// A value that cannot be printed.
    pub fn find<'a>(roots: impl Iterator<Item = &'a Value>) -> Result<Self, Error> {
        let mut found = Found::default();
        for root in roots {
            found.visit_parts(root, "value")?;
        }
        let mut shared = Shared::default();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for text in &found.order {
            let value = &found.values[text];
            if value.uses < 2 {
                continue;
            }
            let mut short = String::new();
            literal(&value.value, &shared, &mut short)?;
            let count = counts.entry(value.key.clone()).or_default();
            *count += 1;
            let name = format!("{}{count}", value.key);
            shared.bindings += &format!("{name} = {short};\n");
            shared.names.insert(text.clone(), name);
        }
        Ok(shared)
    }
}

/// Every different value, each visited once.
#[derive(Default)]
struct Found {
    values: HashMap<String, Different>,
    /// Texts, parts before what they are part of.
    order: Vec<String>,
}

struct Different {
    value: Value,
    key: String,
    /// Places where it stands, of values that are different themselves.
    uses: usize,
}

impl Found {
    fn visit(&mut self, value: &Value, key: &str) -> Result<(), Error> {
        if !Shared::may_name(value) {
            return Ok(());
        }
        let mut text = String::new();
        literal(value, &Shared::default(), &mut text)?;
        if text.len() < SHORTEST {
            return Ok(());
        }
        if let Some(known) = self.values.get_mut(&text) {
            known.uses += 1;
            return Ok(());
        }
        self.visit_parts(value, key)?;
        let different = Different {
            value: value.clone(),
            key: key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"),
            uses: 1,
        };
        self.values.insert(text.clone(), different);
        self.order.push(text);
        Ok(())
    }

    fn visit_parts(&mut self, value: &Value, key: &str) -> Result<(), Error> {
        match value.kind() {
            ValueKind::Seq => {
                // One of the `components` is a component.
                let one = key.strip_suffix('s').unwrap_or(key);
                value
                    .try_iter()?
                    .try_for_each(|part| self.visit(&part, one))
            }
            ValueKind::Map => value.try_iter()?.try_for_each(|name| {
                let part = value.get_item(&name)?;
                self.visit(&part, name.as_str().unwrap_or(key))
            }),
            _ => Ok(()),
        }
    }
}
