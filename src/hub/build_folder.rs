//! The folder of built variants that is to be published, and the checks before it is: everything
//! that a user of the kernel could trip over later.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use walkdir::WalkDir;

use super::error::HubError;
use crate::artifact::metadata::{FileDigests, METADATA};

/// Some built variants of one kernel in one folder.
#[derive(Debug)]
pub struct BuildFolder {
    pub path: Utf8PathBuf,
    /// The variants, in the order of their names; never empty.
    pub variants: Vec<BuiltVariant>,
}

/// A variant with the facts that publishing needs.
#[derive(Debug)]
pub struct BuiltVariant {
    pub name: String,
    pub metadata: BuiltMetadata,
    /// Its files: paths from its folder, in order.
    pub files: Vec<Utf8PathBuf>,
}

/// The part of metadata.json that publishing needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BuiltMetadata {
    pub name: String,
    pub version: u64,
    #[serde(default)]
    pub license: String,
    #[serde(default)]
    provenance: Option<BuiltProvenance>,
}

#[derive(Debug, Deserialize)]
struct BuiltProvenance {
    kernel: Option<BuiltFrom>,
}

#[derive(Debug, Deserialize)]
struct BuiltFrom {
    #[serde(default)]
    dirty: bool,
}

impl BuiltVariant {
    /// Whether it was built from files that git does not have.
    pub fn is_dirty(&self) -> bool {
        let provenance = self.metadata.provenance.as_ref();
        let kernel = provenance.and_then(|provenance| provenance.kernel.as_ref());
        kernel.is_some_and(|kernel| kernel.dirty)
    }
}

impl BuildFolder {
    /// The first of `result`, `build` and the kernel's folder itself that has variants.
    ///
    /// # Errors
    /// `HubError::NoBuild`, and `HubError::Build` for a variant that must not be published.
    pub fn find(kernel: &Utf8Path) -> Result<Self, HubError> {
        let places = [
            kernel.join("result"),
            kernel.join("build"),
            kernel.to_owned(),
        ];
        for place in &places {
            let names = variant_names(place)?;
            if !names.is_empty() {
                let variants = names.iter().map(|name| read_variant(place, name));
                let variants = variants.collect::<Result<_, _>>()?;
                return Ok(Self {
                    path: place.clone(),
                    variants,
                });
            }
        }
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        Err(HubError::NoBuild {
            places: places.join(", "),
        })
    }

    /// The version of the kernel, which all variants have in common.
    ///
    /// # Errors
    /// `HubError::Build`
    pub fn version(&self) -> Result<u64, HubError> {
        let versions: BTreeSet<u64> = self
            .variants
            .iter()
            .map(|variant| variant.metadata.version)
            .collect();
        match versions.iter().next() {
            Some(version) if versions.len() == 1 => Ok(*version),
            _ => Err(HubError::Build {
                path: self.path.clone(),
                why: format!("its variants have several versions: {versions:?}"),
                help: "build all of them again, or move the old ones away",
            }),
        }
    }
}

/// The names of the folders that hold a metadata.json.
fn variant_names(place: &Utf8Path) -> Result<Vec<String>, HubError> {
    let Ok(entries) = place.read_dir_utf8() else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(HubError::io(format!("read {place}")))?;
        if entry.path().join(METADATA).is_file() {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Reads a variant, and checks that its files are those that it was built with.
fn read_variant(place: &Utf8Path, name: &str) -> Result<BuiltVariant, HubError> {
    const REBUILD: &str = "build it again: `kernel-builder build`";
    let path = place.join(name);
    let refused = |why: String, help| HubError::Build {
        path: path.clone(),
        why,
        help,
    };
    let file = path.join(METADATA);
    let text = std::fs::read(&file).map_err(HubError::io(format!("read {file}")))?;
    let metadata: BuiltMetadata = serde_json::from_slice(&text)
        .map_err(|error| refused(format!("its {METADATA} cannot be read: {error}"), REBUILD))?;
    let mut files = Vec::new();
    // NB: a result of Nix is a link itself.
    for entry in WalkDir::new(&path)
        .follow_root_links(true)
        .sort_by_file_name()
    {
        let entry = entry.map_err(|error| HubError::io(format!("read {path}"))(error.into()))?;
        let name = entry.file_name().to_string_lossy();
        let relative = entry.path().strip_prefix(&path).unwrap_or(entry.path());
        let is_bytecode = name.ends_with(".pyc")
            || relative
                .components()
                .any(|part| part.as_os_str() == "__pycache__");
        if entry.file_type().is_dir() || is_bytecode {
            continue;
        }
        let shown = relative.display();
        if !entry.file_type().is_file() {
            let why = format!("{shown} is no file but a link, a pipe or a device");
            return Err(refused(why, REBUILD));
        }
        let relative = Utf8PathBuf::try_from(relative.to_owned());
        files.push(
            relative.map_err(|_| refused(format!("the name {shown} is not UTF-8"), "rename it"))?,
        );
    }
    let digests = FileDigests::read(&path).ok_or_else(|| {
        let why = format!("its {METADATA} has no digests of its files");
        refused(why, REBUILD)
    })?;
    let unknown = digests
        .unknown_files(&path)
        .map_err(HubError::io(format!("read {path}")))?;
    let edited = digests.edited_files(&path);
    let missing = digests.missing_files(&path);
    for (files, what) in [
        (unknown, "which no build made"),
        (
            edited.iter().map(|file| (*file).to_owned()).collect(),
            "which was changed after the build",
        ),
        (
            missing.iter().map(|file| (*file).to_owned()).collect(),
            "which was removed after the build",
        ),
    ] {
        if let Some(file) = files.first() {
            return Err(refused(format!("{file} is a file {what}"), REBUILD));
        }
    }
    Ok(BuiltVariant {
        name: name.to_owned(),
        metadata,
        files,
    })
}
