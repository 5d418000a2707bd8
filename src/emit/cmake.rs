//! CMake text from templates. A template's `{{ value }}` becomes a quoted argument that is that
//! value, whatever it holds. Filters print a value in another way: `word` as it is, if it needs no
//! quotes, `below` as a path in the kernel's folder, `words` as words of a comment.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::EmitError;

/// The text of a template, with a newline at its end.
///
/// # Errors
/// `EmitError::Render` for a defect of this program.
pub fn render_cmake(
    target: &'static str,
    template: &str,
    context: &impl Serialize,
) -> Result<String, EmitError> {
    let text = environment()
        .render_named_str("template.cmake.j2", template, Value::from(Serde(context)))
        .map_err(|source| EmitError::Render { target, source })?;
    Ok(text + "\n")
}

/// NB: minijinja fixes escaping when a template is added, so everything is set before that.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("cmake".into()));
    environment.set_formatter(|output: &mut Output<'_>, _: &mut State<'_, '_>, value| {
        let text = value.to_string();
        let text = if value.is_safe() {
            text
        } else {
            argument(&text)
        };
        Ok(output.write_str(&text)?)
    });
    environment.add_filter("items", minijinja::filters::items);
    environment.add_filter("word", |text: String| match is_plain(&text) {
        true => Ok(Value::from_safe_string(text)),
        false => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("{text:?} is no word of CMake"),
        )),
    });
    environment.add_filter("below", |path: String| {
        let escaped = escape(&path);
        Value::from_safe_string(match escaped.as_str() {
            "." => "\"${KERNEL_DIR}\"".to_owned(),
            path => format!("\"${{KERNEL_DIR}}/{path}\""),
        })
    });
    environment.add_filter("words", |text: String| {
        Value::from_safe_string(text.replace(char::is_control, " "))
    });
    environment
}

/// A text as one quoted argument.
pub fn argument(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// The inside of a quoted argument. Special characters are `"`, `\` and `$`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '"' | '\\' | '$') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Whether a text is one argument, and the same, without quotes; it may be part of a variable's
/// name.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rendered(template: &str, value: &str) -> Result<String, EmitError> {
        render_cmake("a test", template, &BTreeMap::from([("value", value)]))
    }

    #[test]
    fn values_are_quoted_arguments() {
        let hostile = "a\\b\"c${d}$ENV{e};#[[f]]";
        assert_eq!(
            rendered("{{ value }}", hostile).expect("rendered"),
            "\"a\\\\b\\\"c\\${d}\\$ENV{e};#[[f]]\"\n"
        );
        let path = rendered("{{ value | below }}", "a b/$x.cu").expect("rendered");
        assert_eq!(path, "\"${KERNEL_DIR}/a b/\\$x.cu\"\n");
        let comment = rendered("# {{ value | words }}", "a\nexecute_process()");
        assert_eq!(comment.expect("rendered"), "# a execute_process()\n");
        assert_eq!(
            rendered("{{ value | word }}", "g++").expect("a word"),
            "g++\n"
        );
        assert!(rendered("{{ value | word }}", "a)").is_err());
    }
}
