//! Typed reading of single TOML values: mistakes are reported and reading goes on. It knows no keys
//! of build.toml.

use std::fmt;
use std::ops::Range;

use toml::de::DeValue;

use crate::problem::suggest::suggest;
use crate::problem::{Place, Problem, code};
use crate::version::Version;

use super::reader::Reader;
use super::table::{TomlTable, join};

/// A value and where it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value as read.
    pub value: T,
    /// Its key path and byte range.
    pub place: Place,
}

impl<T: fmt::Debug> fmt::Debug for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A list that was written in the file, with the place of each element.
pub type List<T> = Spanned<Vec<Spanned<T>>>;

/// One TOML value with its place.
#[derive(Clone)]
pub struct Value<'t> {
    pub(super) toml: &'t DeValue<'t>,
    /// Where the value stands.
    pub place: Place,
}

impl<'t> Value<'t> {
    fn kind(&self) -> &'static str {
        match self.toml {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        }
    }

    /// Reports that the value is not `expected`, with `help` as the cure.
    pub fn wrong_type(&self, reader: &Reader, expected: &str, help: impl Into<String>) {
        let (key, kind) = (&self.place.key, self.kind());
        reader.report(
            Problem::error(
                code::WRONG_TYPE,
                &self.place,
                format!("`{key}` must be {expected}, found {kind}"),
            )
            .label(format!("expected {expected}"))
            .help(help),
        );
    }

    /// The text of a string value, without a report if it is something else.
    pub fn as_str(&self) -> Option<&'t str> {
        match self.toml {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of `key`, if this value is a table that has it.
    pub(super) fn peek(&self, key: &str) -> Option<Value<'t>> {
        let DeValue::Table(table) = self.toml else {
            return None;
        };
        let value = table.get(key)?;
        Some(Value {
            toml: value.get_ref(),
            place: place(join(&self.place.key, key), value.span()),
        })
    }

    /// The values of a table; empty if this value is no table.
    pub(super) fn children(&self) -> Vec<Value<'t>> {
        match self.toml {
            DeValue::Table(table) => table
                .keys()
                .filter_map(|key| self.peek(key.get_ref()))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.toml, DeValue::Table(_))
    }

    /// Reads the value as a table. `keys` asks for its keys; any other key is reported.
    pub(super) fn read_table<T>(
        &self,
        reader: &Reader,
        keys: impl FnOnce(&mut TomlTable<'t, '_>) -> T,
    ) -> Option<T> {
        let mut table = self.table(reader)?;
        let read = keys(&mut table);
        table.finish();
        Some(read)
    }

    /// The value as a table.
    pub fn table<'r>(&self, reader: &'r Reader) -> Option<TomlTable<'t, 'r>> {
        match self.toml {
            DeValue::Table(table) => Some(TomlTable::new(table, self.place.clone(), reader)),
            _ => {
                let key = &self.place.key;
                self.wrong_type(
                    reader,
                    "a table",
                    format!("write it as a `[{key}]` section"),
                );
                None
            }
        }
    }
}

/// A type that can be read from a TOML value. `None` means that a problem was reported.
pub trait FromValue: Sized {
    /// Reads the value or reports why it cannot be read.
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        if let Some(text) = value.as_str() {
            return Some(text.to_owned());
        }
        let help = match value.toml {
            DeValue::Array(_) => "give one string instead of a list",
            _ => "put the value in double quotes",
        };
        value.wrong_type(reader, "a string", help);
        None
    }
}

impl FromValue for bool {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        if let DeValue::Boolean(boolean) = value.toml {
            return Some(*boolean);
        }
        value.wrong_type(reader, "a boolean", "write true or false, without quotes");
        None
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let DeValue::Integer(integer) = value.toml else {
            let help = match value.as_str() {
                Some(text) if text.parse::<u64>().is_ok() => "remove the quotes",
                _ => "write a whole number without quotes",
            };
            value.wrong_type(reader, "an integer", help);
            return None;
        };
        // Nix integers are signed 64 bit, so the upper half of u64 is rejected.
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.and_then(|n| u64::try_from(n).ok());
        if number.is_none() {
            let key = &value.place.key;
            reader.report(
                Problem::error(
                    code::NUMBER_RANGE,
                    &value.place,
                    format!("`{key}` is out of range"),
                )
                .label("not between 0 and 9223372036854775807")
                .help("use a number that is zero or positive"),
            );
        }
        number
    }
}

impl FromValue for Version {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let Some(text) = value.as_str() else {
            let help = match value.toml {
                DeValue::Float(n) => format!("put it in quotes: \"{}\"", n.as_str()),
                DeValue::Integer(n) => format!("put it in quotes: \"{}\"", n.as_str()),
                _ => "write it like \"2.9\"".to_owned(),
            };
            value.wrong_type(reader, "a version string", help);
            return None;
        };
        match text.parse() {
            Ok(version) => Some(version),
            Err(error) => {
                reader.report(
                    Problem::error(
                        code::VERSION_FORMAT,
                        &value.place,
                        format!("`{}` is not a version: {error}", value.place.key),
                    )
                    .label("expected numbers separated by dots")
                    .help("write it like \"2.9\"; ranges and suffixes are not supported"),
                );
                None
            }
        }
    }
}

impl<T: FromValue> FromValue for Vec<Spanned<T>> {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let DeValue::Array(array) = value.toml else {
            let help = match value.toml {
                DeValue::Table(_) => "write a list in square brackets",
                _ => "put the value in square brackets",
            };
            value.wrong_type(reader, "a list", help);
            return None;
        };
        let element = |(index, item): (usize, &toml::Spanned<DeValue<'_>>)| {
            let key = format!("{}[{index}]", value.place.key);
            read(item.get_ref(), place(key, item.span()), reader)
        };
        Some(array.iter().enumerate().filter_map(element).collect())
    }
}

/// Reads one value and keeps its place.
pub(super) fn read<T: FromValue>(
    toml: &DeValue<'_>,
    place: Place,
    reader: &Reader,
) -> Option<Spanned<T>> {
    let value = Value { toml, place };
    T::from_value(&value, reader).map(|read| Spanned {
        value: read,
        place: value.place,
    })
}

pub(super) fn place(key: String, span: Range<usize>) -> Place {
    Place { key, span }
}

/// Finds the word `text`, which stands at `place`, in a fixed list; otherwise reports the words
/// allowed and the nearest one.
pub fn one_of<T: Copy>(
    text: &str,
    place: &Place,
    reader: &Reader,
    what: &str,
    allowed: &[(&str, T)],
) -> Option<T> {
    if let Some((_, found)) = allowed.iter().find(|(word, _)| *word == text) {
        return Some(*found);
    }
    let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
    reader.report(
        Problem::error(
            code::UNKNOWN_VALUE,
            place,
            format!("`{text}` is not a {what}"),
        )
        .label(format!("unknown {what}"))
        .help(suggest(text, &words)),
    );
    None
}
