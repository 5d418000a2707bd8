//! Reads the keys of one TOML table and reports missing and unknown keys. Each edition says which
//! keys there are.

use toml::de::DeTable;

use crate::problem::suggest::{nearest, suggest};
use crate::problem::{Place, Problem, code};

use super::reader::Reader;
use super::value::{FromValue, Spanned, Value, place, read};

/// One table being read; [`TomlTable::finish`] reports the keys that no reader asked for.
pub struct TomlTable<'t, 'r> {
    toml: &'t DeTable<'t>,
    /// Where the table starts.
    pub place: Place,
    reader: &'r Reader,
    asked: Vec<&'static str>,
    /// Required keys that are not there, and how to add them.
    missing: Vec<(&'static str, String)>,
}

impl<'t, 'r> TomlTable<'t, 'r> {
    /// The table `toml`, which stands at `place`.
    pub fn new(toml: &'t DeTable<'t>, place: Place, reader: &'r Reader) -> Self {
        Self {
            toml,
            place,
            reader,
            asked: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// The value of `key`, unread.
    pub fn value(&mut self, key: &'static str) -> Option<Value<'t>> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.peek(key)
    }

    /// The value of `key`, unread, which does not count as asking for it.
    pub(super) fn peek(&self, key: &str) -> Option<Value<'t>> {
        let value = self.toml.get(key)?;
        Some(Value {
            toml: value.get_ref(),
            place: place(join(&self.place.key, key), value.span()),
        })
    }

    /// The value of `key` if it is there and can be read.
    pub fn optional<T: FromValue>(&mut self, key: &'static str) -> Option<Spanned<T>> {
        let value = self.value(key)?;
        read(value.toml, value.place, self.reader)
    }

    /// The value of `key`; [`TomlTable::finish`] reports it if it is missing.
    pub fn required<T: FromValue>(&mut self, key: &'static str, cure: &str) -> Option<Spanned<T>> {
        if !self.has_key(key) {
            self.asked.push(key);
            self.missing.push((key, cure.to_owned()));
            return None;
        }
        self.optional(key)
    }

    /// The table under `key`. `keys` asks for the keys that it may have.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        keys: impl FnOnce(&mut TomlTable<'t, '_>) -> T,
    ) -> Option<Spanned<T>> {
        let value = self.value(key)?;
        let read = value.read_table(self.reader, keys)?;
        Some(Spanned {
            value: read,
            place: value.place,
        })
    }

    /// Whether the table has this key, readable or not, which does not count as asking for it.
    pub fn has_key(&self, key: &str) -> bool {
        self.toml.contains_key(key)
    }

    /// Every entry as a value under the name written, with the place of the name.
    pub fn entries(&self) -> impl Iterator<Item = (Spanned<String>, Value<'t>)> {
        self.toml.iter().map(|(name, value)| {
            let key = join(&self.place.key, name.get_ref());
            let value = Value {
                toml: value.get_ref(),
                place: place(key.clone(), value.span()),
            };
            let name = Spanned {
                value: name.get_ref().to_string(),
                place: place(key, name.span()),
            };
            (name, value)
        })
    }

    /// Reports the required keys that are missing and every key that was not asked for.
    pub fn finish(self) {
        self.finish_with(|_, _| None);
    }

    /// Like [`TomlTable::finish`]; `explain` may turn the key at a place into a better problem.
    pub fn finish_with(mut self, explain: impl Fn(&str, &Place) -> Option<Problem>) {
        for (name, _) in self.toml.iter() {
            let key = name.get_ref().as_ref();
            if self.asked.contains(&key) {
                continue;
            }
            let place = place(join(&self.place.key, key), name.span());
            let problem = explain(key, &place).unwrap_or_else(|| self.unknown(key, &place));
            self.reader.report(problem);
            // A misspelled key is one mistake, although the right key is then missing too.
            let absent: Vec<_> = self.missing.iter().map(|(key, _)| *key).collect();
            if let Some(meant) = nearest(key, &absent) {
                self.missing.retain(|(key, _)| *key != meant);
            }
        }
        for (key, cure) in &self.missing {
            if !self.reader.is_on_broken_line(key) {
                let place = place(join(&self.place.key, key), self.place.span.clone());
                self.reader.report(missing(key, &place, cure));
            }
        }
    }

    fn unknown(&self, key: &str, place: &Place) -> Problem {
        let table = match self.place.key.as_str() {
            "" => "at the top of the file".to_owned(),
            path => format!("in `{path}`"),
        };
        let message = match self.reader.format() {
            None => format!("there is no key `{key}` {table}"),
            Some(format) => format!("there is no key `{key}` {table}, in {format}"),
        };
        Problem::error(code::UNKNOWN_KEY, place, message)
            .label("unknown key")
            .help(suggest(key, &self.asked))
    }
}

/// The problem that a required key is missing.
pub(super) fn missing(key: &str, place: &Place, cure: &str) -> Problem {
    let message = format!("`{}` is missing", place.key);
    Problem::error(code::MISSING_KEY, place, message)
        .label(format!("no `{key}` here"))
        .help(cure)
}

/// `parent.key`, with quotes around a key that TOML requires quotes for.
pub(super) fn join(parent: &str, key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let key = match !key.is_empty() && key.bytes().all(bare) {
        true => key.to_owned(),
        false => format!("{key:?}"),
    };
    match parent {
        "" => key,
        parent => format!("{parent}.{key}"),
    }
}
