//! Libraries of headers that sections name in `depends`: which release and which pins a name stands
//! for. Not the toolchains of a row, and not the libraries that are linked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use super::table::{Profile, Row, Table, parsed_option};
use super::{Matrix, Variant};
use crate::kernel::{Backend, Dependency, HeaderArchive, Kernel, KnownDependency, Section};
use crate::version::Version;

/// One `[[header-library]]` of toolchains.toml.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderLibrary {
    /// The word in `depends`.
    #[serde(deserialize_with = "word")]
    pub name: KnownDependency,
    /// The release whose headers are taken.
    pub version: String,
    /// The release that the word stands for in other builders, if it differs.
    #[serde(default)]
    pub elsewhere: Option<String>,
    /// The compute toolkit that this entry is for; `None` stands for all.
    #[serde(default, deserialize_with = "parsed_option")]
    compute: Option<Version>,
    /// The profile of rows that this entry is for; `None` stands for both.
    #[serde(default)]
    profile: Option<Profile>,
    /// The family of pins; `None` if the library has none.
    #[serde(default)]
    family: Option<String>,
    #[serde(default)]
    unpinned: Option<String>,
}

impl HeaderLibrary {
    /// Whether the entry is the one for a library and a row.
    pub(super) fn serves(&self, name: KnownDependency, row: &Row) -> bool {
        self.name == name
            && (self.compute.is_none() || self.compute == row.compute)
            && self.profile.is_none_or(|profile| profile == row.profile)
    }

    /// The family of pins.
    ///
    /// # Errors
    /// The reason why there are no pins, in words.
    pub fn family(&self) -> Result<&str, &str> {
        let unpinned = self.unpinned.as_deref().unwrap_or("nobody has pinned it");
        self.family.as_deref().ok_or(unpinned)
    }
}

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<KnownDependency, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut words = KnownDependency::ALL.iter();
    let found = words.find(|dependency| dependency.as_str() == text);
    found
        .copied()
        .ok_or_else(|| serde::de::Error::custom(format!("no dependency is called {text}")))
}

/// The elements of `depends` of a backend's sections, with their section.
fn section_dependencies(
    kernel: &Kernel,
    backend: Backend,
) -> impl Iterator<Item = (&Section, &Dependency)> {
    let sections = kernel.sections.iter();
    let sections = sections.filter(move |section| section.backend.backend() == backend);
    sections.flat_map(|section| section.depends.iter().map(move |name| (section, name)))
}

/// The libraries of headers that sections of the row's backend name by a fixed word, with the
/// section and the word.
pub fn header_libraries<'a>(
    kernel: &'a Kernel,
    table: &'a Table,
    row: &'a Row,
) -> impl Iterator<Item = (&'a Section, KnownDependency, Option<&'a HeaderLibrary>)> {
    section_dependencies(kernel, row.backend).filter_map(|(section, name)| match name {
        Dependency::Known(KnownDependency::Torch) | Dependency::Own(_) => None,
        Dependency::Known(known) => Some((section, *known, table.header_library(*known, row))),
    })
}

/// The libraries of headers whose release differs from that of other builders, in words.
pub fn other_releases(kernel: &Kernel, matrix: &Matrix, table: &Table) -> BTreeSet<String> {
    let rows = matrix.variants.iter().filter_map(Variant::row);
    let libraries = rows.flat_map(|row| header_libraries(kernel, table, row));
    let words = libraries.filter_map(|(section, name, library)| {
        let library = library?;
        Some(format!(
            "kernel.{}: {name} is release {} here, {} elsewhere",
            section.written_name,
            library.version,
            library.elsewhere.as_ref()?
        ))
    });
    words.collect()
}

/// The archives of headers that sections of a backend name, by that name.
pub(super) fn header_archives(
    kernel: &Kernel,
    backend: Backend,
) -> BTreeMap<String, HeaderArchive> {
    let archives = section_dependencies(kernel, backend).filter_map(|(_, name)| {
        let (name, archive) = kernel.header_archives.get_key_value(name.as_str())?;
        Some((name.clone(), archive.clone()))
    });
    archives.collect()
}

pub(super) fn header_families(kernel: &Kernel, table: &Table, row: &Row) -> BTreeSet<String> {
    let libraries = header_libraries(kernel, table, row);
    let families = libraries.filter_map(|(.., library)| library?.family().ok());
    families.map(str::to_owned).collect()
}
