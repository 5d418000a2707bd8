//! Nix text. A template's `{{ value }}` becomes a Nix literal of that value, whatever it holds: there is no other way to
//! print into a Nix template.

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::EmitError;
use super::share::Shared;
use crate::plan::Plan;

/// The build.nix of a plan: formatted, and parsed by rnix before anybody gets to see it.
///
/// # Errors
/// Only for defects of this program.
pub fn build_nix(plan: &Plan) -> Result<String, EmitError> {
    render(
        "build.nix",
        include_str!("../../templates/nix/build.nix.j2"),
        plan,
    )
}

/// NB: the template prints what variants have in common as `{{ shared }}`, before them.
fn render(
    target: &'static str,
    template: &str,
    context: &impl Serialize,
) -> Result<String, EmitError> {
    let failed = |source| EmitError::Render { target, source };
    let invalid = |why: String| EmitError::Invalid { target, why };
    let context = Value::from(Serde(context));
    let list = |key| Ok(context.get_attr(key)?.try_iter()?.collect::<Vec<_>>());
    let variants = list("variants").map_err(failed)?;
    let noarch = list("noarch").map_err(failed)?;
    let objects = list("objects").map_err(failed)?;
    let parts = variants.iter().chain(&noarch).chain(&objects);
    let shared = Shared::find(parts).map_err(failed)?;
    let context = minijinja::context! {
        shared => Value::from_safe_string(shared.bindings.clone()),
        ..context
    };
    let rendered = environment(shared)
        .render_named_str("template.nix.j2", template, context)
        .map_err(failed)?;
    let formatted = nixfmt_rs::format(&rendered)
        .map_err(|error| invalid(nixfmt_rs::format_error(&rendered, None, &error)))?;
    match rnix::Root::parse(&formatted).errors().first() {
        Some(error) => Err(invalid(error.to_string())),
        None => Ok(formatted),
    }
}

/// NB: escaping is fixed when a template is added, so everything is set before that.
fn environment(shared: Shared) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("nix".into()));
    environment.set_formatter(
        move |output: &mut Output<'_>, _: &mut State<'_, '_>, value| {
            let mut text = String::new();
            match value.is_safe() {
                // Nix already.
                true => text.push_str(value.as_str().unwrap_or_default()),
                false => literal(value, &shared, &mut text)?,
            }
            output.write_str(&text)?;
            Ok(())
        },
    );
    environment
}

/// Appends a value as a Nix expression: a literal, a list or an attribute set of such, with names for what is shared.
pub(super) fn literal(value: &Value, shared: &Shared, text: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String => push_string(value.as_str().unwrap_or_default(), text),
        ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::None => text.push_str("null"),
        // Parentheses: in a list, a minus would be an operator.
        ValueKind::Number if value.is_integer() => {
            let number = value.to_string();
            text.push_str(&if number.starts_with('-') {
                format!("({number})")
            } else {
                number
            });
        }
        ValueKind::Seq => {
            text.push_str("[ ");
            for item in value.try_iter()? {
                part(&item, shared, text)?;
                text.push(' ');
            }
            text.push(']');
        }
        ValueKind::Map => {
            text.push_str("{ ");
            for key in value.try_iter()? {
                text.push_str(&attribute(key.as_str().unwrap_or_default()));
                text.push_str(" = ");
                part(&value.get_item(&key)?, shared, text)?;
                text.push_str("; ");
            }
            text.push('}');
        }
        kind => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("cannot print {kind} as Nix"),
            ));
        }
    }
    Ok(())
}

/// Appends a part of a value: its name, if it has one.
fn part(value: &Value, shared: &Shared, text: &mut String) -> Result<(), Error> {
    if shared.is_empty() || !Shared::may_name(value) {
        return literal(value, shared, text);
    }
    let mut own = String::new();
    literal(value, &Shared::default(), &mut own)?;
    match shared.name(&own) {
        Some(name) => text.push_str(name),
        None => literal(value, shared, text)?,
    }
    Ok(())
}

/// The name of an attribute: bare where Nix reads it as a name, else quoted.
fn attribute(name: &str) -> String {
    const KEYWORDS: [&str; 9] = [
        "assert", "else", "if", "in", "inherit", "let", "or", "rec", "then",
    ];
    let mut characters = name.chars();
    let bare = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\''))
        && !KEYWORDS.contains(&name)
        && name != "with";
    if bare { name.to_owned() } else { string(name) }
}

/// A string literal. What is special in one: `"`, `\`, and `$` before `{`; a carriage return would be lost.
pub fn string(content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 2);
    push_string(content, &mut text);
    text
}

fn push_string(content: &str, text: &mut String) {
    const SPECIAL: [char; 6] = ['"', '\\', '\n', '\r', '\t', '$'];
    text.push('"');
    let mut rest = content;
    while let Some(at) = rest.find(SPECIAL) {
        let (plain, special) = rest.split_at(at);
        text.push_str(plain);
        let (character, after) = special.split_at(1);
        text.push_str(match character {
            "\"" => "\\\"",
            "\\" => "\\\\",
            "\n" => "\\n",
            "\r" => "\\r",
            "\t" => "\\t",
            _ if after.starts_with('{') => "\\$",
            _ => "$",
        });
        rest = after;
    }
    text.push_str(rest);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: impl Serialize) -> String {
        let mut text = String::new();
        literal(&Value::from(Serde(&value)), &Shared::default(), &mut text).expect("printable");
        text
    }

    #[test]
    fn values_are_nix_literals() {
        assert_eq!(printed(true), "true");
        assert_eq!(printed(None::<bool>), "null");
        assert_eq!(printed(["a", "b"]), "[ \"a\" \"b\" ]");
        assert_eq!(
            printed(std::collections::BTreeMap::from([("if", 1), ("type", -2)])),
            "{ \"if\" = 1; type = (-2); }"
        );
        assert_eq!(
            printed("${builtins.abort \"x\"}"),
            r#""\${builtins.abort \"x\"}""#
        );
    }
}
