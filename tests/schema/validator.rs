//! Just enough of JSON Schema to check build.toml in tests: the keywords that our schema uses, and
//! an error for any other, so that none is passed over in silence. Not a general validator: those
//! bring fifty crates.

use regex_lite::Regex;
use serde_json::{Map, Value};

/// Whether `schema` allows `value`.
pub fn is_valid(schema: &Value, value: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return schema
            .as_bool()
            .expect("a schema is an object or a boolean");
    };
    schema.iter().all(|(word, rule)| match word.as_str() {
        "$schema" | "title" | "description" | "x-taplo" => true,
        "type" => has_type(rule.as_str().expect("one type"), value),
        "const" => rule == value,
        "enum" => list(rule).contains(value),
        "pattern" => value.as_str().is_none_or(|text| matches(rule, text)),
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 >= number(rule)),
        "minimum" => value
            .as_i64()
            .is_none_or(|n| i128::from(n) >= i128::from(number(rule))),
        "minItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 >= number(rule)),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 <= number(rule)),
        "uniqueItems" => value.as_array().is_none_or(|items| {
            let twice = |(at, item): (usize, &Value)| items[..at].contains(item);
            !items.iter().enumerate().any(twice)
        }),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| is_valid(rule, item))),
        "anyOf" => list(rule).iter().any(|choice| is_valid(choice, value)),
        "oneOf" => {
            list(rule)
                .iter()
                .filter(|choice| is_valid(choice, value))
                .count()
                == 1
        }
        "required" => table(value).is_none_or(|table| {
            let mut keys = list(rule).iter().filter_map(Value::as_str);
            keys.all(|key| table.contains_key(key))
        }),
        "properties" => table(value).is_none_or(|table| {
            let rules = rule.as_object().expect("keys");
            let mut keys = table.iter();
            keys.all(|(key, value)| rules.get(key).is_none_or(|rule| is_valid(rule, value)))
        }),
        "additionalProperties" => table(value).is_none_or(|table| {
            let known = schema.get("properties").and_then(Value::as_object);
            let mut others = table
                .iter()
                .filter(|(key, _)| !known.is_some_and(|k| k.contains_key(*key)));
            others.all(|(_, value)| is_valid(rule, value))
        }),
        "propertyNames" => table(value).is_none_or(|table| {
            table
                .keys()
                .all(|key| is_valid(rule, &Value::String(key.clone())))
        }),
        other => panic!("the validator of the tests does not know `{other}`"),
    })
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the validator of the tests does not know the type {other}"),
    }
}

fn matches(pattern: &Value, text: &str) -> bool {
    let pattern = pattern.as_str().expect("a pattern");
    Regex::new(pattern)
        .expect("a regular expression")
        .is_match(text)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn table(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}
