//! Which version of a kernel a project asks for: integers as the `kernels` client has them, and
//! specifiers such as `>=1,<3` and `~=1.2`, for branches `v1` and tags `v1.2.3`.

use std::str::FromStr;

use camino::Utf8Path;
use pep440_rs::{Version, VersionSpecifiers};

use super::api::{HubRef, HubRefs, HubRepository};
use super::error::HubError;
use crate::file::{MAX_TEXT, read_at_most};

/// A kernel that a project or another kernel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRequirement {
    pub repository: HubRepository,
    pub wanted: WantedKernelVersion,
}

/// The version that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedKernelVersion {
    /// The newest version that fits.
    Fitting(VersionSpecifiers),
    /// A branch, a tag or a commit.
    Revision(String),
}

impl KernelRequirement {
    /// A kernel by its name and a version as a person writes it; the newest version without one.
    ///
    /// # Errors
    /// `HubError::Repository`, and `HubError::Version`.
    pub fn new(repository: &str, version: Option<&str>) -> Result<Self, HubError> {
        let text = version.unwrap_or(">=0");
        let wanted = wanted(&toml::Value::String(text.to_owned()));
        Ok(Self {
            repository: repository.parse()?,
            wanted: wanted.ok_or_else(|| HubError::Version {
                text: text.to_owned(),
            })?,
        })
    }

    /// The newest branch or tag that fits, and its commit.
    ///
    /// # Errors
    /// `HubError::Missing`
    pub fn choose(&self, refs: &HubRefs) -> Result<HubRef, HubError> {
        let all = || refs.branches.iter().chain(&refs.tags);
        let found = match &self.wanted {
            WantedKernelVersion::Revision(name) => {
                let is_commit =
                    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                let commit = || HubRef {
                    name: name.clone(),
                    target_commit: name.clone(),
                };
                let named = all().find(|one| one.name == *name).cloned();
                named.or_else(|| is_commit.then(commit))
            }
            WantedKernelVersion::Fitting(specifiers) => {
                let versions = all().filter_map(|one| Some((version_of(&one.name)?, one)));
                let fitting = versions.filter(|(version, _)| specifiers.contains(version));
                // A branch counts before a tag of the same version.
                let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
                best.map(|(_, one)| one.clone())
            }
        };
        found.ok_or_else(|| HubError::Missing {
            action: format!("find {self} of {}", self.repository),
            why: {
                let names: Vec<&str> = all()
                    .filter(|one| version_of(&one.name).is_some())
                    .map(|one| one.name.as_str())
                    .collect();
                match names.is_empty() {
                    true => "it has no versions".to_owned(),
                    false => format!("it has {}", names.join(", ")),
                }
            },
        })
    }
}

/// Reads `OWNER/NAME`, which asks for the newest version, or `OWNER/NAME@VERSION`. The version is
/// an integer, specifiers, or the name of a branch, a tag or a commit.
impl FromStr for KernelRequirement {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let Some((repository, version)) = text.split_once('@') else {
            return Self::new(text, None);
        };
        match Self::new(repository, Some(version)) {
            Err(HubError::Version { .. }) if !version.is_empty() => Ok(Self {
                repository: repository.parse()?,
                wanted: WantedKernelVersion::Revision(version.to_owned()),
            }),
            result => result,
        }
    }
}

impl std::fmt::Display for KernelRequirement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.wanted {
            WantedKernelVersion::Fitting(specifiers) => write!(formatter, "version {specifiers}"),
            WantedKernelVersion::Revision(name) => formatter.write_str(name),
        }
    }
}

/// The version in the name of a branch or tag: `v` and numbers with dots.
fn version_of(name: &str) -> Option<Version> {
    let numbers = name.strip_prefix('v')?;
    let is_plain = numbers
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    // NB: pep440_rs takes 1 for a version that `==1.2.*` fits, and Python reads it as 1.0.0.
    let padded = format!("{numbers}.0.0.0.0");
    is_plain.then(|| Version::from_str(&padded).ok()).flatten()
}

/// Reads a version that is asked for: `2`, `>=1,<3`, or an integer of TOML.
fn wanted(value: &toml::Value) -> Option<WantedKernelVersion> {
    let text = match value {
        toml::Value::Integer(number) => format!("=={number}"),
        toml::Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("=={text}")
        }
        toml::Value::String(text) => text.clone(),
        _ => return None,
    };
    VersionSpecifiers::from_str(&text)
        .ok()
        .filter(|all| !all.is_empty())
        .map(WantedKernelVersion::Fitting)
}

/// The kernels that a project asks for: `[tool.kernels.dependencies]` of its pyproject.toml.
///
/// # Errors
/// `HubError::Project`
pub fn requirements_of(project: &Utf8Path) -> Result<Vec<KernelRequirement>, HubError> {
    let path = project.join("pyproject.toml");
    let wrong = |why: String| HubError::Project {
        path: path.clone(),
        why,
    };
    let text = read_at_most(&path, MAX_TEXT).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    let file: toml::Table =
        toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
    let table =
        |table: &toml::Table, name| table.get(name).and_then(toml::Value::as_table).cloned();
    let kernels = table(&file, "tool").and_then(|tool| table(&tool, "kernels"));
    let asked = kernels
        .and_then(|kernels| table(&kernels, "dependencies"))
        .unwrap_or_default();
    if asked.is_empty() {
        return Err(wrong("it has no [tool.kernels.dependencies]".to_owned()));
    }
    let read = |(name, value): (&String, &toml::Value)| {
        Ok(KernelRequirement {
            repository: name.parse()?,
            wanted: wanted(value)
                .ok_or_else(|| wrong(format!("{value} is no version of {name}")))?,
        })
    };
    asked.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_fitting_version_is_chosen() {
        let refs = |names: &[&str]| {
            let one = |name: &&str| HubRef {
                name: (*name).to_owned(),
                target_commit: format!("commit of {name}"),
            };
            names.iter().map(one).collect::<Vec<_>>()
        };
        let refs = HubRefs {
            branches: refs(&["main", "v1", "v2", "v10", "v3-beta"]),
            tags: refs(&["v1.2.0", "v1.2.9", "v1.10.0", "v2.0.0", "latest"]),
        };
        let chosen = |text: &str| {
            let value = text
                .parse()
                .map_or(toml::Value::String(text.to_owned()), toml::Value::Integer);
            let requirement = KernelRequirement {
                repository: "a/b".parse().expect("a name"),
                wanted: wanted(&value).expect("a version"),
            };
            requirement
                .choose(&refs)
                .map(|one| one.name)
                .unwrap_or_default()
        };
        for (text, name) in [
            ("1", "v1"),
            ("10", "v10"),
            ("==2", "v2"),
            (">=1,<3", "v2"),
            (">=1", "v10"),
            ("~=1.2", "v1.10.0"),
            ("~=1.2.0", "v1.2.9"),
            ("==1.2.*", "v1.2.9"),
            ("<1", ""),
            (">10", ""),
        ] {
            assert_eq!(chosen(text), name, "{text}");
        }
        assert_eq!(wanted(&toml::Value::String("newest".to_owned())), None);
    }
}
