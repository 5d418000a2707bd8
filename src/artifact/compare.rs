//! The differences of two variants: of their files, down to the sections and symbols of libraries,
//! of their metadata.json, and of the inputs that the statements about their builds name. Not the
//! first difference alone, which sections.rs finds.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use camino::Utf8Path;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use serde::Serialize;
use serde_json::Value;

use super::contents::{FolderContents, blobs_of};
use super::metadata::METADATA;
use super::provenance::{ReadStatement, STATEMENT};
use super::sbom::SBOM;
use crate::file::{MAX_TEXT, read_at_most};

/// Names that one of two has and the other lacks, and those that both have and that differ.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct NameDifferences {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl NameDifferences {
    /// Compares two maps by their keys, then by their values.
    fn new<T: PartialEq>(first: &BTreeMap<String, T>, second: &BTreeMap<String, T>) -> Self {
        let lacking = |one: &BTreeMap<String, T>, other: &BTreeMap<String, T>| {
            let names = one.keys().filter(|name| !other.contains_key(*name));
            names.cloned().collect()
        };
        let both = first.iter().filter_map(|(name, value)| {
            let other = second.get(name)?;
            (value != other).then(|| name.clone())
        });
        Self {
            removed: lacking(first, second),
            added: lacking(second, first),
            changed: both.collect(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// A file that differs between two variants.
#[derive(Debug, Serialize)]
pub struct ChangedFile {
    pub file: String,
    /// Sections of a library that differ.
    #[serde(skip_serializing_if = "NameDifferences::is_empty")]
    pub sections: NameDifferences,
    /// Symbols of a library that differ: in their bytes, or in their size where they have none.
    #[serde(skip_serializing_if = "NameDifferences::is_empty")]
    pub symbols: NameDifferences,
    /// Libraries that the loader needs.
    #[serde(skip_serializing_if = "NameDifferences::is_empty")]
    pub needed: NameDifferences,
    /// Keys of a JSON file that differ, such as `backend.archs`.
    #[serde(skip_serializing_if = "NameDifferences::is_empty")]
    pub keys: NameDifferences,
    /// The first line of a text that differs, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// The differences of two variants.
#[derive(Debug, Serialize)]
pub struct VariantDifferences {
    pub files: NameDifferences,
    pub details: Vec<ChangedFile>,
    /// Inputs of the builds that differ: sources, pins, derivations, and flags of the plan. `None`
    /// if a variant has no statement about its build.
    pub inputs: Option<NameDifferences>,
}

impl VariantDifferences {
    /// Whether the variants are the same, to the byte.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Compares the variants in two folders.
///
/// # Errors
/// The errors of the file system.
pub fn compare_variants(first: &Utf8Path, second: &Utf8Path) -> io::Result<VariantDifferences> {
    let (one, other) = (read_files(first)?, read_files(second)?);
    let files = NameDifferences::new(&one, &other);
    let detail = |file: &String| changed_file(file, &one[file], &other[file]);
    // These two differ whenever an input or another file does.
    let own = [STATEMENT, SBOM];
    let changed = files.changed.iter();
    let changed = changed.filter(|file| !own.contains(&file.as_str()));
    Ok(VariantDifferences {
        details: changed.map(detail).collect(),
        inputs: inputs(first)
            .zip(inputs(second))
            .map(|(one, other)| NameDifferences::new(&one, &other)),
        files,
    })
}

/// The contents of a variant's files by path, metadata.json among them.
fn read_files(folder: &Utf8Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let contents = FolderContents::list(folder, blobs_of(folder).as_deref())?;
    let mut files = BTreeMap::new();
    for (link, target) in contents.links {
        files.insert(link, target.into_bytes());
    }
    for file in contents.files {
        let content = std::fs::read(folder.join(&file))?;
        files.insert(file, content);
    }
    let metadata = read_at_most(&folder.join(METADATA), MAX_TEXT)?;
    files.insert(METADATA.to_owned(), metadata);
    Ok(files)
}

fn changed_file(file: &str, first: &[u8], second: &[u8]) -> ChangedFile {
    let mut changed = ChangedFile {
        file: file.to_owned(),
        sections: NameDifferences::default(),
        symbols: NameDifferences::default(),
        needed: NameDifferences::default(),
        keys: NameDifferences::default(),
        line: None,
    };
    let libraries = object::File::parse(first)
        .ok()
        .zip(object::File::parse(second).ok());
    if let Some((one, other)) = libraries {
        changed.sections = NameDifferences::new(&sections(&one), &sections(&other));
        changed.symbols = NameDifferences::new(&symbols(&one), &symbols(&other));
        changed.needed = NameDifferences::new(&needed(first), &needed(second));
        return changed;
    }
    let values: Option<(Value, Value)> = serde_json::from_slice(first)
        .ok()
        .zip(serde_json::from_slice(second).ok());
    if let Some((one, other)) = values {
        changed.keys = NameDifferences::new(&leaves(&one), &leaves(&other));
    } else if let (Ok(one), Ok(other)) = (str::from_utf8(first), str::from_utf8(second)) {
        let same = one.lines().zip(other.lines()).take_while(|(a, b)| a == b);
        changed.line = Some(same.count() + 1);
    }
    changed
}

/// The contents of a library's sections by name. The second section of a name is `name#2`.
fn sections<'f>(file: &object::File<'f>) -> BTreeMap<String, &'f [u8]> {
    let mut found = BTreeMap::new();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        let mut unique = name.to_owned();
        let mut number = 1;
        while found.contains_key(&unique) {
            number += 1;
            unique = format!("{name}#{number}");
        }
        found.insert(unique, section.data().unwrap_or_default());
    }
    found
}

/// The symbols of a library by name, those of its loader and all others: the kind of each, its
/// size, and its bytes. NB: not its address, which differs for all symbols behind one that grew.
fn symbols<'f>(file: &object::File<'f>) -> BTreeMap<String, (bool, u64, Option<&'f [u8]>)> {
    let mut found = BTreeMap::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if name.is_empty() {
            continue;
        }
        let section = symbol.section_index();
        let section = section.and_then(|index| file.section_by_index(index).ok());
        let bytes = section.and_then(|section| {
            section
                .data_range(symbol.address(), symbol.size())
                .ok()
                .flatten()
        });
        let value = (symbol.is_undefined(), symbol.size(), bytes);
        found.insert(name.to_owned(), value);
    }
    found
}

/// The libraries that an ELF file needs; none for other files.
fn needed(file: &[u8]) -> BTreeMap<String, ()> {
    let read = || -> Result<Vec<String>, object::Error> {
        let elf = FileHeader64::<Endianness>::parse(file)?;
        let endian = elf.endian()?;
        let sections = elf.sections(endian, file)?;
        let Some((entries, strings)) = sections.dynamic(endian, file)? else {
            return Ok(Vec::new());
        };
        let strings = sections.strings(endian, file, strings)?;
        let needed = entries
            .iter()
            .filter(|entry| entry.tag(endian) == DT_NEEDED);
        let names = needed.map(|entry| {
            let name = entry.string(endian, strings)?;
            Ok(String::from_utf8_lossy(name).into_owned())
        });
        names.collect()
    };
    let names = read().unwrap_or_default().into_iter();
    names.map(|name| (name, ())).collect()
}

/// The values of a JSON text that are neither objects nor lists of them, by their path.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        let below = |key: &str| match path.is_empty() {
            true => key.to_owned(),
            false => format!("{path}.{key}"),
        };
        match value {
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(key, value)| (below(key), value)));
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(number, item)| (below(&number.to_string()), item)));
            }
            _ => {
                found.insert(path, value.clone());
            }
        }
    }
    found
}

/// The inputs of a build by name, from the statement about it: files and pins by hash, derivations,
/// the revision, the builder, and each setting of the plan.
fn inputs(folder: &Utf8Path) -> Option<BTreeMap<String, Value>> {
    let statement = ReadStatement::read(folder)?.ok()?.predicate;
    let mut found = BTreeMap::new();
    let definition = statement.build_definition;
    for input in definition.resolved_dependencies {
        found.insert(input.name, serde_json::json!(input.digest));
    }
    for (prefix, value) in [
        ("", &definition.external_parameters),
        ("", &definition.internal_parameters),
        ("builder", &statement.run_details["builder"]["version"]),
    ] {
        for (path, value) in leaves(value) {
            let name = match prefix {
                "" => path,
                prefix => format!("{prefix}.{path}"),
            };
            found.insert(name, value);
        }
    }
    Some(found)
}

/// The inputs that a person changes, out of all that differ: derivations follow from others.
pub fn causes(inputs: &NameDifferences) -> NameDifferences {
    let keep = |names: &[String]| -> Vec<String> {
        let names: BTreeSet<&String> = names.iter().collect();
        let is_cause = |name: &&&String| !name.starts_with("derivation:");
        names
            .iter()
            .filter(is_cause)
            .map(|name| (*name).clone())
            .collect()
    };
    NameDifferences {
        removed: keep(&inputs.removed),
        added: keep(&inputs.added),
        changed: keep(&inputs.changed),
    }
}
