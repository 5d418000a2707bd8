//! Looks up the archives that families are made of now: versions and hashes from pages of indexes
//! and lists of apt, sizes from servers. trees.rs reads their content.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use camino::Utf8PathBuf;
use pep440_rs::VersionSpecifiers;

use super::super::error::IndexError;
use super::super::silence::SourceWatch;
use super::super::simple::ListedFile;
use super::super::{Archive, ArchiveKind, Family, apt};
use super::index::{IndexReader, Pages, Unanswered};
use super::spec::{CUDA_TOOLKIT, FamilyRecipe, FamilySpec, WantedArchive, WantedVersion};
use super::wheel::{self, FoundWheel};
use super::{RefreshError, metadata};
use crate::terminal::status;

/// One family of one system.
#[derive(Clone, Debug)]
pub struct FamilyTarget {
    pub system: String,
    pub family: String,
    /// The path of the family's file in the repository.
    pub path: Utf8PathBuf,
    pub recipe: FamilyRecipe,
    /// The family's file as it is: the text and the family; `None` for a new family.
    pub old: Option<(String, Family)>,
}

/// The archives that were found for all wants, by system.
pub type FoundArchives = BTreeMap<(String, WantedArchive), Archive>;

/// The index and the families.toml that a lookup reads, and the archives that are known without
/// asking.
pub struct ArchiveLookup<'a> {
    pub index: &'a IndexReader,
    pub spec: &'a FamilySpec,
    /// Pinned archives by file name and hash.
    pub known: BTreeMap<(String, String), Archive>,
}

impl ArchiveLookup<'_> {
    /// Looks up every archive of some families.
    ///
    /// # Errors
    /// `RefreshError::Unresolved` with all archives that no index has, `RefreshError::Unanswered`,
    /// errors of apt.
    pub fn archives(&self, targets: &[FamilyTarget]) -> Result<FoundArchives, RefreshError> {
        let wants: BTreeSet<(String, WantedArchive)> = targets
            .iter()
            .flat_map(|target| {
                let wants = target.recipe.wants().cloned();
                wants.map(|want| (target.system.clone(), want))
            })
            .collect();
        let mut found = FoundArchives::new();
        let mut problems = Vec::new();
        self.wheels(&wants, &mut found, &mut problems)?;
        self.debs(&wants, &mut found, &mut problems)?;
        if problems.is_empty() {
            Ok(found)
        } else {
            Err(RefreshError::Unresolved(problems))
        }
    }

    fn wheels(
        &self,
        wants: &BTreeSet<(String, WantedArchive)>,
        found: &mut FoundArchives,
        problems: &mut Vec<String>,
    ) -> Result<(), RefreshError> {
        let wheels = wants.iter().filter(|(_, want)| want.kind.is_of_python());
        let wheels: Vec<&(String, WantedArchive)> = wheels.collect();
        let toolkits: BTreeSet<&str> = wheels
            .iter()
            .filter_map(|(_, want)| match &want.version {
                WantedVersion::Toolkit(release) => Some(release.as_str()),
                _ => None,
            })
            .collect();
        let mut projects: BTreeSet<String> = wheels
            .iter()
            .map(|(_, want)| wheel::normalized(&want.name))
            .collect();
        if !toolkits.is_empty() {
            projects.insert(CUDA_TOOLKIT.to_owned());
        }
        if projects.is_empty() {
            return Ok(());
        }
        let number = projects.len();
        status(format_args!("looking up {number} projects of pip's index"));
        let pages = self.pages(&projects)?;
        let mut pins = BTreeMap::new();
        for release in toolkits {
            match self.toolkit(&pages, release) {
                Ok(requirements) => {
                    pins.insert(release, requirements);
                }
                Err(error) => problems.push(error.to_string()),
            }
        }

        let mut chosen = Vec::new();
        for (system, want) in wheels {
            // A toolkit that was not found has been reported already.
            if matches!(&want.version, WantedVersion::Toolkit(release) if !pins.contains_key(release.as_str()))
            {
                continue;
            }
            match self.wheel(&pages, &pins, system, want) {
                Ok(wheel) => chosen.push(((system.clone(), want.clone()), wheel)),
                Err(error) => problems.push(error.to_string()),
            }
        }
        self.add_wheels(chosen, found, problems)
    }

    /// The pages of projects; an error if an index did not answer.
    fn pages(&self, projects: &BTreeSet<String>) -> Result<Pages, RefreshError> {
        let pages = self.index.pages(projects);
        let failed = pages.values().filter_map(|page| match page {
            Err(Unanswered::Failed(error)) => Some(error.to_string()),
            _ => None,
        });
        let failed: Vec<String> = failed.collect();
        if failed.is_empty() {
            Ok(pages)
        } else {
            Err(RefreshError::Unanswered(failed))
        }
    }

    /// The versions that a release of cuda-toolkit pins, by project.
    fn toolkit(
        &self,
        pages: &Pages,
        release: &str,
    ) -> Result<BTreeMap<String, String>, IndexError> {
        let specifiers = specifiers(CUDA_TOOLKIT, &format!("=={release}"))?;
        // The wheel is for any system and Python.
        let wheel = wheel::newest(files(pages, CUDA_TOOLKIT)?, Some(&specifiers), "", "py3");
        let wheel = wheel.ok_or_else(|| IndexError::NoRelease {
            project: CUDA_TOOLKIT,
            release: release.to_owned(),
        })?;
        let members = self
            .index
            .read(&wheel.listed.url, &["*.dist-info/METADATA"])?;
        let metadata = members.values().next();
        metadata
            .map(|text| metadata::requirements(text))
            .ok_or_else(|| IndexError::NoMetadata {
                file: wheel.listed.file.clone(),
            })
    }

    /// The file of a wanted archive.
    fn wheel<'p>(
        &self,
        pages: &'p Pages,
        pins: &BTreeMap<&str, BTreeMap<String, String>>,
        system: &str,
        want: &WantedArchive,
    ) -> Result<FoundWheel<'p>, IndexError> {
        let name = wheel::normalized(&want.name);
        let asked = match &want.version {
            WantedVersion::Newest => None,
            WantedVersion::Matching(asked) => Some(asked),
            WantedVersion::Toolkit(release) => {
                let pinned = pins.get(release.as_str()).and_then(|pins| pins.get(&name));
                Some(pinned.ok_or_else(|| IndexError::NotPinned {
                    by: format!("{CUDA_TOOLKIT} {release}"),
                    project: name.clone(),
                })?)
            }
        };
        let parsed = asked.map(|asked| specifiers(&name, asked)).transpose()?;
        let files = files(pages, &name)?;
        let (found, kind) = if want.kind == ArchiveKind::Sdist {
            (wheel::newest_sdist(files, parsed.as_ref()), "sdist")
        } else {
            let python = want.python.as_deref().unwrap_or("py3");
            (
                wheel::newest(files, parsed.as_ref(), system, python),
                "wheel",
            )
        };
        found.ok_or_else(|| {
            let asked = asked.map(String::as_str).unwrap_or_default();
            IndexError::NoWheel {
                request: format!("{name}{asked}"),
                kind,
                system: system.to_owned(),
            }
        })
    }

    /// Adds chosen wheels to the found archives; asks for the sizes of wheels that are not pinned
    /// yet.
    fn add_wheels(
        &self,
        chosen: Vec<((String, WantedArchive), FoundWheel<'_>)>,
        found: &mut FoundArchives,
        problems: &mut Vec<String>,
    ) -> Result<(), RefreshError> {
        let mut hashed = Vec::new();
        for (key, wheel) in chosen {
            let file = &wheel.listed.file;
            match &wheel.listed.sha256 {
                Some(sha256) => {
                    let known = self.known.get(&(file.clone(), sha256.clone()));
                    hashed.push((key, known.and_then(|archive| archive.size), sha256, wheel));
                }
                None => problems.push(format!("{file}: the index gives no sha256")),
            }
        }
        let unknown = hashed.iter().filter(|(_, size, ..)| size.is_none());
        let urls = unknown
            .map(|(.., wheel)| wheel.listed.url.clone())
            .collect();
        let mut sizes = BTreeMap::new();
        for (url, answer) in self.index.sizes(&urls) {
            let file = url.rsplit('/').next().unwrap_or_default();
            let failed = |failure: super::super::http::HttpFailure| format!("{file}: {failure}");
            let size = answer.map_err(|failure| RefreshError::Unanswered(vec![failed(failure)]))?;
            sizes.insert(url, size);
        }
        for ((system, want), size, sha256, wheel) in hashed {
            let archive = Archive {
                kind: want.kind,
                name: want.name.clone(),
                version: wheel.version.to_string(),
                file: wheel.listed.file.clone(),
                sha256: sha256.clone(),
                size: size.or_else(|| sizes.get(&wheel.listed.url).copied()),
                urls: Vec::new(),
            };
            found.insert((system, want), archive);
        }
        Ok(())
    }

    fn debs(
        &self,
        wants: &BTreeSet<(String, WantedArchive)>,
        found: &mut FoundArchives,
        problems: &mut Vec<String>,
    ) -> Result<(), RefreshError> {
        let mut by_system: BTreeMap<&String, Vec<&WantedArchive>> = BTreeMap::new();
        for (system, want) in wants
            .iter()
            .filter(|(_, want)| want.kind == ArchiveKind::Deb)
        {
            by_system.entry(system).or_default().push(want);
        }
        for (system, wants) in by_system {
            let Some(architecture) = apt::architecture(system) else {
                problems.push(format!("{system}: there are no Debian packages for it"));
                continue;
            };
            let number = wants.len();
            status(format_args!(
                "looking up {number} Debian packages of {architecture}"
            ));
            let apt = apt::Apt::for_architecture(architecture)?;
            // A source besides Debian's may fail; a package that is then missing is reported below.
            let updated = apt.update(&SourceWatch::default());
            let names: Vec<&str> = wants.iter().map(|want| want.name.as_str()).collect();
            let versions = apt.versions(&names, self.spec.debian_release())?;
            for want in wants {
                match versions
                    .get(&want.name)
                    .and_then(|versions| versions.first())
                {
                    Some(archive) => {
                        found.insert((system.clone(), want.clone()), archive.clone());
                    }
                    None => problems.push(match &updated {
                        Ok(()) => {
                            format!("{}: apt has no such package of {architecture}", want.name)
                        }
                        Err(error) => format!("{}: {}", want.name, error.why()),
                    }),
                }
            }
        }
        Ok(())
    }
}

/// The files of a project.
pub fn files<'a>(pages: &'a Pages, project: &str) -> Result<&'a [ListedFile], IndexError> {
    match pages.get(project) {
        Some(Ok(files)) => Ok(files),
        Some(Err(Unanswered::Missing)) | None => Err(IndexError::NoProject {
            project: project.to_owned(),
        }),
        Some(Err(Unanswered::Failed(error))) => Err(error.clone()),
    }
}

/// Version specifiers (PEP 440) of a project.
pub fn specifiers(project: &str, text: &str) -> Result<VersionSpecifiers, IndexError> {
    VersionSpecifiers::from_str(text).map_err(|error| IndexError::Specifiers {
        project: project.to_owned(),
        specifiers: text.to_owned(),
        why: error.to_string(),
    })
}
