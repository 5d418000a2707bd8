//! Nix text from templates. A template's `{{ value }}` becomes a Nix literal of that value,
//! whatever it holds. A Nix template cannot print a value in any other way.

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::EmitError;

/// The text of a template, formatted, and checked by rnix.
pub(super) fn render(
    target: &'static str,
    template: &str,
    context: &impl Serialize,
) -> Result<String, EmitError> {
    let failed = |source| EmitError::Render { target, source };
    let invalid = |why: String| EmitError::Invalid { target, why };
    let rendered = environment()
        .render_named_str("template.nix.j2", template, Value::from(Serde(context)))
        .map_err(failed)?;
    let formatted = nixfmt_rs::format(&rendered)
        .map_err(|error| invalid(nixfmt_rs::format_error(&rendered, None, &error)))?;
    match rnix::Root::parse(&formatted).errors().first() {
        Some(error) => Err(invalid(error.to_string())),
        None => Ok(formatted),
    }
}

/// NB: minijinja fixes escaping when a template is added, so everything is set before that.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("nix".into()));
    environment.set_formatter(|output: &mut Output<'_>, _: &mut State<'_, '_>, value| {
        Ok(output.write_str(&literal(value)?)?)
    });
    environment
}

/// A value as a Nix expression: a literal, or a list or an attribute set of expressions.
fn literal(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    push(value, &mut text)?;
    Ok(text)
}

/// Appends the expression of a value.
fn push(value: &Value, text: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq => {
            text.push('[');
            for part in value.try_iter()? {
                // Each part has its own line, which the formatter keeps: one more part is one more
                // line.
                text.push('\n');
                push(&part, text)?;
            }
            text.push_str(" ]");
        }
        ValueKind::Map => {
            text.push_str("{ ");
            let object = value.as_object();
            let pairs = object.and_then(|object| object.try_iter_pairs());
            for (name, part) in pairs.into_iter().flatten() {
                text.push_str(&attribute(name.as_str().unwrap_or_default()));
                text.push_str(" = ");
                push(&part, text)?;
                text.push_str("; ");
            }
            text.push('}');
        }
        _ => text.push_str(&scalar(value)?),
    }
    Ok(())
}

/// A value without parts, as a Nix literal.
fn scalar(value: &Value) -> Result<String, Error> {
    Ok(match value.kind() {
        ValueKind::String => string(value.as_str().unwrap_or_default()),
        ValueKind::Bool => value.is_true().to_string(),
        ValueKind::None => "null".to_owned(),
        // NB: a negative number has parentheses, since a minus in a list is an operator.
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

/// The name of an attribute: bare if Nix reads it as a name, or else quoted.
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

/// A string literal. Special characters are `"`, `\`, and `$` before `{`; a carriage return would
/// be lost.
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
        assert_eq!(printed(["a", "b"]), "[\n\"a\"\n\"b\" ]");
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
