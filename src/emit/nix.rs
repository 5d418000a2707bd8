//! Nix text. A template's `{{ value }}` becomes a Nix literal of that value, whatever it holds: there is no other way to
//! print into a Nix template.

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::EmitError;
use super::values::Values;
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
    let context = share(Value::from(Serde(context))).map_err(failed)?;
    let rendered = environment()
        .render_named_str("template.nix.j2", template, context)
        .map_err(failed)?;
    let formatted = nixfmt_rs::format(&rendered)
        .map_err(|error| invalid(nixfmt_rs::format_error(&rendered, None, &error)))?;
    match rnix::Root::parse(&formatted).errors().first() {
        Some(error) => Err(invalid(error.to_string())),
        None => Ok(formatted),
    }
}

/// A plan in which lists of variants and objects are lists of Nix texts, with names for what these have in common, and in
/// `shared` what the names stand for.
fn share(plan: Value) -> Result<Value, Error> {
    let mut values = Values::default();
    let mut list = |key| {
        let list = plan.get_attr(key)?;
        let values = list.try_iter()?.map(|value| values.add(&value, key));
        values.collect::<Result<Vec<_>, Error>>()
    };
    let [variants, noarch, objects] = [list("variants")?, list("noarch")?, list("objects")?];
    let shared = values.share();
    let texts = |list: Vec<usize>| -> Value {
        let texts = list.into_iter().map(|value| values.text(value));
        texts.map(Value::from_safe_string).collect()
    };
    Ok(minijinja::context! {
        shared => Value::from_safe_string(shared),
        objects => texts(objects),
        variants => texts(variants),
        noarch => texts(noarch),
        ..plan
    })
}

/// NB: escaping is fixed when a template is added, so everything is set before that.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("nix".into()));
    environment.set_formatter(|output: &mut Output<'_>, _: &mut State<'_, '_>, value| {
        match value.is_safe() {
            // Nix already.
            true => output.write_str(value.as_str().unwrap_or_default())?,
            false => output.write_str(&literal(value)?)?,
        }
        Ok(())
    });
    environment
}

/// A value as a Nix expression: a literal, a list or an attribute set of such.
fn literal(value: &Value) -> Result<String, Error> {
    let mut values = Values::default();
    let added = values.add(value, "")?;
    Ok(values.text(added))
}

/// A value without parts.
pub(super) fn scalar(value: &Value) -> Result<String, Error> {
    Ok(match value.kind() {
        ValueKind::String => string(value.as_str().unwrap_or_default()),
        ValueKind::Bool => value.is_true().to_string(),
        ValueKind::None => "null".to_owned(),
        // Parentheses: in a list, a minus would be an operator.
        ValueKind::Number if value.is_integer() => match value.to_string() {
            negative if negative.starts_with('-') => format!("({negative})"),
            number => number,
        },
        kind => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("cannot print {kind} as Nix"),
            ));
        }
    })
}

/// The name of an attribute: bare where Nix reads it as a name, else quoted.
pub(super) fn attribute(name: &str) -> String {
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
    const SPECIAL: [char; 6] = ['"', '\\', '\n', '\r', '\t', '$'];
    let mut text = String::with_capacity(content.len() + 2);
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
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: impl Serialize) -> String {
        literal(&Value::from(Serde(&value))).expect("printable")
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
