//! Families of pins as data: the files of nix/pins inside the program. Not how pins get into the
//! store; that is [`crate::pins`].

use std::collections::BTreeMap;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::library;

/// A family that cannot be read: a defect of this program, not of a user.
#[derive(Clone, Debug, Diagnostic, Error, PartialEq, Eq)]
#[error("failed to read the pin file {path}: {why}")]
#[diagnostic(
    code(pins::family),
    help("this is a defect of kernel-builder, please report it")
)]
pub struct FamilyError {
    pub path: String,
    pub why: String,
}

/// The kind of an archive, which decides who fetches and who unpacks it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum ArchiveKind {
    /// A Debian package: from apt, else by URL.
    Deb,
    /// A Python wheel: from pip's index, else by URL.
    Wheel,
    /// A Python source distribution (`.tar.gz`): from pip's index, else by URL.
    Sdist,
    /// An RPM package, by URL only.
    Rpm,
    /// Any other file, such as a tarball, by URL only.
    File,
    /// A `.tar.gz` that its server makes anew for each request, by URL only. Its own hash is not
    /// known: a tree holds all its members without the first folder, and the hash of that tree
    /// stands for the archive.
    Tarball,
}

impl ArchiveKind {
    /// Whether pip's index has archives of this kind.
    pub fn is_of_python(self) -> bool {
        matches!(self, ArchiveKind::Wheel | ArchiveKind::Sdist)
    }
}

/// One file of a package index or of a vendor.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Archive {
    pub kind: ArchiveKind,
    /// Package name as the index knows it.
    pub name: String,
    /// Version as the index knows it (a Debian version may hold an epoch).
    pub version: String,
    /// File name as the index serves it.
    pub file: String,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: String,
    /// Size in bytes; `None` if the vendor does not publish it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// URLs that serve the file without a package index, in order of preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// Members of archives, as a tree of their own.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tree {
    /// Store name.
    pub name: String,
    /// SHA-256 of the tree in Nix's archive format, in lower-case hexadecimal.
    pub sha256: String,
    /// Bytes of its files; `None` if no machine has unpacked the tree yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Bytes to download where an index serves parts of files; `None` stands for about `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<u64>,
    pub sources: Vec<TreeSource>,
}

/// The members that a tree takes from one archive.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TreeSource {
    pub archive: Archive,
    pub take: Vec<TakenMembers>,
}

/// Members of an archive by name pattern (`*` is any run of characters but `/`, `**` any folders).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TakenMembers {
    pub glob: String,
    /// The path in the tree of the one member that matches; `None` if members keep their paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The number of leading folders that members' paths lose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub strip: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The pins of one toolchain family: a file of nix/pins/<system>.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Family {
    pub family: String,
    pub archives: Vec<Archive>,
    pub trees: Vec<Tree>,
    /// Folders of the tree that compilers search; empty if the family is not a library of headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// The reason why the family has no pins yet. Its variants evaluate; a build of one fails with
    /// this reason (nix/pins.nix).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<String>,
}

impl Family {
    /// The archives of the family and the sources of its trees.
    pub fn every_archive(&self) -> impl Iterator<Item = &Archive> {
        let sources = self.trees.iter().flat_map(|tree| &tree.sources);
        let archives = self.archives.iter();
        archives.chain(sources.map(|source| &source.archive))
    }
}

/// One path that must be in the store before a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    Archive(Archive),
    Tree(Tree),
}

impl Pin {
    /// The name in the store. NB: nix/pins.nix has the same rule; a test compares the two.
    pub fn store_name(&self) -> String {
        match self {
            Pin::Archive(archive) => archive
                .file
                .replace("%3a", "_")
                .replace('~', "-")
                .replace(['%', '!'], "_"),
            Pin::Tree(tree) => tree.name.clone(),
        }
    }

    /// SHA-256 of the file, or of the tree in Nix's archive format, in hexadecimal.
    pub fn sha256(&self) -> &str {
        match self {
            Pin::Archive(archive) => &archive.sha256,
            Pin::Tree(tree) => &tree.sha256,
        }
    }

    /// Bytes to download, if known. For a tree, the bytes of the members that it takes; those of
    /// whole archives only where an index does not serve parts.
    pub fn download_size(&self) -> Option<u64> {
        match self {
            Pin::Archive(archive) => archive.size,
            Pin::Tree(tree) => tree.download.or(tree.size),
        }
    }

    /// Bytes in the store; unknown sizes count as 0.
    pub fn store_size(&self) -> u64 {
        match self {
            Pin::Archive(archive) => archive.size.unwrap_or_default(),
            Pin::Tree(tree) => tree.size.unwrap_or_default(),
        }
    }

    /// The archives that the pin is made of.
    pub fn archives(&self) -> Vec<&Archive> {
        match self {
            Pin::Archive(archive) => vec![archive],
            Pin::Tree(tree) => tree.sources.iter().map(|source| &source.archive).collect(),
        }
    }
}

/// Every family of this program, with its system.
///
/// # Errors
/// A file that cannot be read.
pub fn all_families() -> Result<Vec<(String, Family)>, FamilyError> {
    let files = library::files().into_iter();
    let pins =
        files.filter(|(path, _)| path.starts_with("nix/pins") && path.extension() == Some("json"));
    pins.map(|(path, content)| {
        let system = path
            .parent()
            .and_then(|dir| dir.file_name())
            .unwrap_or_default();
        Ok((system.to_owned(), parse(path.as_str(), content)?))
    })
    .collect()
}

/// The family of a system by its name; `None` if it has no file.
///
/// # Errors
/// A file that cannot be read.
pub fn find_family(system: &str, name: &str) -> Result<Option<Family>, FamilyError> {
    let path = path(system, name);
    let text = library::text(&path);
    text.map(|text| parse(&path, text.as_bytes())).transpose()
}

fn path(system: &str, name: &str) -> String {
    format!("nix/pins/{system}/{name}.json")
}

fn parse(path: &str, content: &[u8]) -> Result<Family, FamilyError> {
    serde_json::from_slice(content).map_err(|error| FamilyError {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// A family without pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpinnedFamily {
    pub family: String,
    pub why: String,
}

/// The first of some families of a system that has a file without pins; `None` if there is no such
/// family.
pub fn unpinned(system: &str, families: &[String]) -> Option<UnpinnedFamily> {
    families.iter().find_map(|name| {
        let text = library::text(&path(system, name))?;
        // Most files are long and have all their pins.
        if !text.contains("\"unpinned\"") {
            return None;
        }
        let family: Family = serde_json::from_str(&text).ok()?;
        Some(UnpinnedFamily {
            why: family.unpinned?,
            family: family.family,
        })
    })
}

/// The pins of some families of a system, each once, by store name.
///
/// # Errors
/// A family that has no file, or whose file cannot be read.
pub fn family_pins(
    system: &str,
    families: &[String],
) -> Result<BTreeMap<String, Pin>, FamilyError> {
    let mut pins = BTreeMap::new();
    for name in families {
        let family = find_family(system, name)?.ok_or_else(|| FamilyError {
            path: path(system, name),
            why: "no such file".to_owned(),
        })?;
        let archives = family.archives.into_iter().map(Pin::Archive);
        for pin in archives.chain(family.trees.into_iter().map(Pin::Tree)) {
            pins.insert(pin.store_name(), pin);
        }
    }
    Ok(pins)
}
