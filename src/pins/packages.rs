//! The Python packages that a kernel pins itself in its python-packages.json, for its checks and
//! shells. The packages of every kernel are families of nix/pins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use pep440_rs::VersionSpecifiers;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::pip::{self, PipIndexes, ResolveQuestion, ResolvedWheel};
use super::refresh::wheel::normalized;
use super::requirement::read_requirement;
use super::{Archive, ArchiveKind, PinError, find_family, runtime};
use crate::emit::MARKER;

/// The file's name in a kernel's folder. NB: nix/flake/python-packages.nix reads it, too.
pub const FILE: &str = "python-packages.json";

/// The newest glibc whose wheels run in checks and shells: Debian 12's, with which nix/python runs
/// Python.
const GLIBC_MINOR: u32 = 36;

/// The content of python-packages.json.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PythonPackages {
    comment: String,
    /// The names that a person asked for, in order.
    requested: BTreeSet<PackageRequest>,
    /// The wheels of the requested packages and of their requirements, by system, in the order of
    /// their names.
    systems: BTreeMap<String, Vec<Archive>>,
}

/// A package that a person asks for: `rich`, or `rich>=14,<16`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PackageRequest {
    /// The name as indexes have it.
    name: String,
    specifiers: String,
}

/// The reason why a text is no request of a package.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PackageRequestError {
    #[error("`{0}` does not begin with the name of a package")]
    Name(String),
    #[error("`{0}` does not say which versions, as `>=2,<3` does")]
    Versions(String),
}

#[derive(Debug, Diagnostic, Error)]
pub enum PackagesError {
    #[error("failed to read {path}")]
    #[diagnostic(code(packages::read), help("check its permissions"))]
    Read {
        path: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error("{path} is not what `kernel-builder pin-python` writes: {why}")]
    #[diagnostic(
        code(packages::syntax),
        help(
            "take it back from git, or remove it and run `kernel-builder pin-python NAME...` again"
        )
    )]
    Syntax { path: Utf8PathBuf, why: String },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Pin(#[from] PinError),
}

impl PackagesError {
    /// Exit code: 1 if the kernel's file is wrong, 3 if the environment is.
    pub fn exit_code(&self) -> u8 {
        match self {
            PackagesError::Syntax { .. } => 1,
            PackagesError::Read { .. } | PackagesError::Pin(_) => 3,
        }
    }
}

impl PythonPackages {
    /// The packages of the kernel in a folder; `None` if it has no such file.
    ///
    /// # Errors
    /// `PackagesError::Read`, `PackagesError::Syntax`
    pub fn read(root: &Utf8Path) -> Result<Option<Self>, PackagesError> {
        let path = root.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PackagesError::Read { path, source }),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| PackagesError::Syntax {
                path,
                why: error.to_string(),
            })
    }

    /// The file's text.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The wheels for a system.
    pub fn archives(&self, system: &str) -> &[Archive] {
        self.systems.get(system).map_or(&[], Vec::as_slice)
    }

    /// The wheels by system.
    pub fn systems(&self) -> impl Iterator<Item = (&str, &[Archive])> {
        let systems = self.systems.iter();
        systems.map(|(system, archives)| (system.as_str(), archives.as_slice()))
    }

    /// These packages and more, and the systems that are left out since they lack a wheel, each
    /// with the reason. Pinned packages keep their version; if `added` is empty, all get the newest
    /// version that fits.
    ///
    /// # Errors
    /// The errors of pip and of its indexes about wheels for `own_system`.
    pub fn with_packages(
        &self,
        added: &[PackageRequest],
        own_system: &str,
    ) -> Result<(Self, BTreeMap<String, PinError>), PackagesError> {
        let runtime::RuntimeToolchain { python, torch, .. } = runtime::common_toolchain();
        let names = |request: &PackageRequest| added.iter().any(|new| new.name == request.name);
        let mut requested = self.requested.clone();
        requested.retain(|request| !names(request));
        requested.extend(added.iter().cloned());

        let mut systems = BTreeMap::new();
        let mut left_out = BTreeMap::new();
        for system in runtime::systems(&python) {
            let provided = versions(&system, &[format!("{python}-packages")])?;
            let present = versions(
                &system,
                &[format!("{torch}-runtime"), format!("{torch}-nvidia")],
            )?;
            let kept = self.archives(&system).iter();
            let kept = kept.filter(|archive| {
                !added.is_empty() && !added.iter().any(|new| new.name == archive.name)
            });
            let kept = kept.map(|archive| (archive.name.clone(), archive.version.clone()));
            let version = python.trim_start_matches("python-");
            let resolved = pip::resolve(&ResolveQuestion {
                environment: pip::marker_environment(&system, version),
                python: version,
                platforms: platforms(&system),
                requirements: requested.iter().map(ToString::to_string).collect(),
                constraints: kept.chain(provided.clone()).collect(),
                present: present.clone(),
            });
            let resolved = match resolved {
                Err(why) if system != own_system => {
                    left_out.insert(system, why);
                    continue;
                }
                resolved => resolved?,
            };
            requested.retain(|request| {
                !provided.contains_key(&request.name) && !present.contains_key(&request.name)
            });
            let own = resolved.into_iter();
            let own = own.filter(|wheel| !provided.contains_key(&wheel.name));
            systems.insert(system.clone(), archives(own, self.archives(&system))?);
        }
        let packages = Self {
            comment: format!("{MARKER} pin-python`; do not edit"),
            requested,
            systems,
        };
        Ok((packages, left_out))
    }

    /// Whether no package is requested.
    pub fn is_empty(&self) -> bool {
        self.requested.is_empty()
    }

    /// Whether a package is requested; a package that every kernel has is not.
    pub fn requests(&self, request: &PackageRequest) -> bool {
        self.requested.contains(request)
    }
}

/// The versions of the wheels in those of some families that are pinned, by name.
fn versions(system: &str, families: &[String]) -> Result<BTreeMap<String, String>, PinError> {
    let mut versions = BTreeMap::new();
    for family in families {
        let archives = find_family(system, family)?.into_iter();
        let archives = archives.flat_map(|family| family.archives);
        versions.extend(archives.map(|archive| (normalized(&archive.name), archive.version)));
    }
    Ok(versions)
}

/// pip's platform tags of a system, the newest first (PEP 600).
fn platforms(system: &str) -> Vec<String> {
    let machine = system.split('-').next().unwrap_or_default();
    let minors = (5..=GLIBC_MINOR).rev();
    let mut platforms: Vec<String> = minors
        .map(|minor| format!("manylinux_2_{minor}_{machine}"))
        .collect();
    let older = ["manylinux2014", "manylinux2010", "manylinux1"];
    platforms.extend(older.map(|name| format!("{name}_{machine}")));
    platforms
}

/// The pins of some wheels. Asks for the sizes of wheels that are not pinned already.
fn archives(
    wheels: impl Iterator<Item = ResolvedWheel>,
    pinned: &[Archive],
) -> Result<Vec<Archive>, PinError> {
    let mut indexes = None;
    let mut archives = Vec::new();
    for wheel in wheels {
        let failed = |why: String| PinError::Download {
            name: wheel.file.clone(),
            why,
            help:
                "check the network and pip's configuration (`pip config list`); nothing was written"
                    .to_owned(),
        };
        let hex = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
        if wheel.sha256.len() != 64 || !wheel.sha256.chars().all(hex) {
            return Err(failed("the index gives no sha256 of it".to_owned()));
        }
        let known = pinned.iter().find(|pin| pin.sha256 == wheel.sha256);
        let size = match known.and_then(|pin| pin.size) {
            Some(size) => Some(size),
            // A wheel in a folder of wheels is not downloaded, so its size is not needed.
            None if !wheel.url.starts_with("http") => None,
            None => {
                let indexes = match &mut indexes {
                    Some(indexes) => indexes,
                    none => none.insert(PipIndexes::configured(Arc::default())?),
                };
                let size = indexes.client.size(&wheel.url);
                Some(size.map_err(|failure| failed(failure.to_string()))?)
            }
        };
        archives.push(Archive {
            kind: ArchiveKind::Wheel,
            name: wheel.name,
            version: wheel.version,
            file: wheel.file,
            sha256: wheel.sha256,
            size,
            urls: Vec::new(),
        });
    }
    Ok(archives)
}

impl FromStr for PackageRequest {
    type Err = PackageRequestError;

    fn from_str(text: &str) -> Result<Self, PackageRequestError> {
        let text = text.trim();
        let requirement = read_requirement(text);
        let name = requirement.name;
        if name.is_empty() {
            return Err(PackageRequestError::Name(text.to_owned()));
        }
        let no_versions = || PackageRequestError::Versions(text[name.len()..].to_owned());
        if requirement.extras.is_some() || requirement.condition.is_some() {
            return Err(no_versions());
        }
        let specifiers = VersionSpecifiers::from_str(requirement.versions);
        Ok(Self {
            name: normalized(name),
            specifiers: specifiers.map_err(|_| no_versions())?.to_string(),
        })
    }
}

impl TryFrom<String> for PackageRequest {
    type Error = PackageRequestError;

    fn try_from(text: String) -> Result<Self, PackageRequestError> {
        text.parse()
    }
}

impl From<PackageRequest> for String {
    fn from(request: PackageRequest) -> String {
        request.to_string()
    }
}

impl fmt::Display for PackageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.specifiers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_names_with_versions() {
        let shown = |text: &str| {
            text.parse::<PackageRequest>()
                .map(|request| request.to_string())
        };
        assert_eq!(shown("Py_CPUinfo").as_deref(), Ok("py-cpuinfo"));
        assert_eq!(shown("rich >=14,<16").as_deref(), Ok("rich>=14, <16"));
        for wrong in [
            "",
            "--index-url=x",
            "./wheel",
            "rich==",
            "rich[all]",
            "rich; x",
            "a-",
        ] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn platforms_are_those_of_a_glibc_and_older_ones() {
        let platforms = platforms("x86_64-linux");
        assert_eq!(platforms[0], "manylinux_2_36_x86_64");
        assert_eq!(
            platforms.last().map(String::as_str),
            Some("manylinux1_x86_64")
        );
    }
}
