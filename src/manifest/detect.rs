//! Finds out which edition a file is of, and says why. Formats before edition 5 have no number:
//! each is recognised by the keys that only it has. NB: readers are never tried one after the
//! other, because then a typo in a file of one edition is reported as a mistake in another.

use std::fmt;

use super::reader::Reader;
use super::table::TomlTable;
use super::v5;
use super::value::{FromValue, Value};
use crate::problem::{Place, Problem, code};

/// An edition of the format, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edition {
    /// Spring 2025 and before.
    V1,
    /// Most of 2025.
    V2,
    /// Early 2026.
    V3,
    /// Spring 2026.
    V4,
    /// The first with a number.
    V5,
}

impl Edition {
    /// The name in sentences: `the 2025 format (v2)`.
    pub fn name(self) -> &'static str {
        match self {
            Edition::V1 => "the format of spring 2025 (v1)",
            Edition::V2 => "the 2025 format (v2)",
            Edition::V3 => "the format of early 2026 (v3)",
            Edition::V4 => "the format of spring 2026 (v4)",
            Edition::V5 => "edition 5",
        }
    }

    /// The key of this edition that decides what a key of edition 5 decides.
    pub fn key(self, key: &str) -> String {
        let older = self <= Edition::V2;
        match key {
            "general.backends" if self == Edition::V1 => "kernel.*.language".to_owned(),
            "general.backends" if older => "kernel.*.backend".to_owned(),
            "general.cuda.minver" if older => "general.cuda-minver".to_owned(),
            "general.cuda.maxver" if older => "general.cuda-maxver".to_owned(),
            _ => key.to_owned(),
        }
    }
}

/// The short name: `format v2`, `edition 5`.
impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Edition::V1 => "format v1",
            Edition::V2 => "format v2",
            Edition::V3 => "format v3",
            Edition::V4 => "format v4",
            Edition::V5 => "edition 5",
        })
    }
}

/// The edition of a file, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedEdition {
    /// The edition.
    pub edition: Edition,
    /// The reason, in words that complete "read as …, because …".
    pub because: String,
    /// The key that decided, or `general`.
    pub place: Place,
}

impl DetectedEdition {
    fn new(edition: Edition, because: impl Into<String>, place: &Place) -> Self {
        Self {
            edition,
            because: because.into(),
            place: place.clone(),
        }
    }

    /// The edition that a value reveals, because only that edition has its key.
    fn by_key(edition: Edition, value: &Value<'_>) -> Self {
        let because = format!("`{}` is there", value.place.key);
        Self::new(edition, because, &value.place)
    }

    /// The warning that a file is of an old edition.
    pub(super) fn warning(&self) -> Problem {
        let message = format!("read as {}, because {}", self.edition.name(), self.because);
        Problem::warning(code::OLD_EDITION, &self.place, message)
            .label(format!("{}, not edition {}", self.edition, v5::EDITION))
            .help("`kernel-builder update-build` rewrites the file as edition 5")
    }
}

/// Keys that came with edition 5, with v4, and so on: a table and a key in it.
type Keys = &'static [(&'static str, &'static str)];

const OF_V5: Keys = &[
    ("general", "kernel-depends"),
    ("general", "tpu"),
    ("general.cuda", "kernel-depends"),
    ("general.neuron", "kernel-depends"),
    ("general.xpu", "kernel-depends"),
];
const OF_V4: Keys = &[
    ("", "torch-noarch"),
    ("general", "source"),
    ("torch", "stable-abi"),
    ("torch", "cxx-flags"),
    ("tvm-ffi", "cxx-flags"),
];
const OF_V3: Keys = &[
    ("", "tvm-ffi"),
    ("general", "cuda"),
    ("general", "neuron"),
    ("general", "xpu"),
];
/// Keys that only v2 has.
const OF_V2: Keys = &[
    ("general", "universal"),
    ("general", "cuda-minver"),
    ("general", "cuda-maxver"),
];
/// Keys that v1 does not have.
const SINCE_V2: Keys = &[
    ("general", "python-depends"),
    ("general", "hub"),
    ("torch", "minver"),
    ("torch", "maxver"),
];

/// The edition of a file with a `[general]` section at `general`; `None` if it has a number that
/// cannot be read, which is reported.
pub(super) fn detect(
    root: &TomlTable<'_, '_>,
    general: &Place,
    reader: &Reader,
) -> Option<DetectedEdition> {
    let file = File { root };
    if let Some(value) = file.value("general", "edition") {
        let edition = u64::from_value(&value, reader)?;
        if edition == v5::EDITION {
            return Some(DetectedEdition::by_key(Edition::V5, &value));
        }
        reader.report(unknown_edition(edition, &value.place));
        return None;
    }
    // The number is on a line that could not be parsed.
    if reader.is_on_broken_line("edition") {
        return Some(DetectedEdition::new(Edition::V5, "it says so", general));
    }
    let stable_abi = file.value("torch", "stable-abi");
    let stable_abi = stable_abi.filter(Value::is_table);
    if let Some(value) = file.first(OF_V5).or(stable_abi) {
        reader.report(no_edition(&value.place));
        return Some(DetectedEdition::by_key(Edition::V5, &value));
    }
    Some(file.without_number(general))
}

struct File<'a, 't, 'r> {
    root: &'a TomlTable<'t, 'r>,
}

impl<'t> File<'_, 't, '_> {
    /// The value of `key` in the table at a path of keys, if both are there.
    fn value(&self, path: &str, key: &str) -> Option<Value<'t>> {
        let mut tables = path.split('.').filter(|part| !part.is_empty());
        let Some(first) = tables.next() else {
            return self.root.peek(key);
        };
        let first = self.root.peek(first)?;
        let table = tables.try_fold(first, |table, part| table.peek(part))?;
        table.peek(key)
    }

    fn first(&self, keys: Keys) -> Option<Value<'t>> {
        keys.iter().find_map(|(path, key)| self.value(path, key))
    }

    fn without_number(&self, general: &Place) -> DetectedEdition {
        let sections = self.sections();
        let in_sections = |key| sections.iter().find_map(|section| section.peek(key));
        let of_v1 = self.value("torch", "universal");
        if let Some(value) = of_v1.or_else(|| in_sections("language")) {
            return DetectedEdition::by_key(Edition::V1, &value);
        }
        let backends = self.value("general", "backends");
        if let (None, Some(value)) = (&backends, self.first(OF_V2)) {
            return DetectedEdition::by_key(Edition::V2, &value);
        }
        if let Some(value) = self.first(OF_V4) {
            return DetectedEdition::by_key(Edition::V4, &value);
        }
        let version = self.value("general", "version");
        let license = self.value("general", "license");
        if let Some(backends) = backends {
            // v3 let these keys be left out, and the framework section too.
            let framework = self.first(&[("", "torch"), ("", "tvm-ffi")]);
            return match (version, license, framework) {
                (Some(_), Some(license), Some(_)) => DetectedEdition::new(
                    Edition::V4,
                    "it has `general.backends`, a version and a license, but no `edition`",
                    &license.place,
                ),
                _ => DetectedEdition::by_key(Edition::V3, &backends),
            };
        }
        if let Some(value) = version.or(license) {
            return DetectedEdition::by_key(Edition::V4, &value);
        }
        if let Some(value) = self.first(OF_V3) {
            return DetectedEdition::by_key(Edition::V3, &value);
        }
        match in_sections("backend") {
            Some(value) => {
                let because = format!(
                    "`{}` is there and `general.backends` is not",
                    value.place.key
                );
                DetectedEdition::new(Edition::V2, because, &value.place)
            }
            None if sections.is_empty() || self.first(SINCE_V2).is_some() => DetectedEdition::new(
                Edition::V2,
                "it has no key of an earlier or later format",
                general,
            ),
            None => DetectedEdition::new(
                Edition::V1,
                "no kernel section says its `backend`",
                &sections[0].place,
            ),
        }
    }

    fn sections(&self) -> Vec<Value<'t>> {
        let kernel = self.root.peek("kernel");
        kernel.map_or_else(Vec::new, |kernel| kernel.children())
    }
}

fn unknown_edition(edition: u64, place: &Place) -> Problem {
    let cure = match edition < v5::EDITION {
        true => {
            "formats before edition 5 have no number: remove the line, and `kernel-builder update-build` rewrites the file; or write `edition = 5` and follow that format"
        }
        false => "a newer kernel-builder may read it; this one reads up to edition 5",
    };
    Problem::error(
        code::EDITION,
        place,
        format!("there is no edition {edition}"),
    )
    .label("this edition cannot be read")
    .help(cure)
}

fn no_edition(place: &Place) -> Problem {
    let message = format!(
        "`{}` came with edition 5, which the file does not say it is of",
        place.key
    );
    Problem::error(code::EDITION, place, message)
        .label("not in a file without an edition")
        .help("add `edition = 5` to `[general]`")
}
