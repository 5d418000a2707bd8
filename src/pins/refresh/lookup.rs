//! Which archives families are made of now: versions and hashes from pages of indexes and lists of apt, sizes by asking.
//! Not their content; trees.rs reads that.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use camino::Utf8PathBuf;
use pep440_rs::VersionSpecifiers;

use super::super::simple::Listed;
use super::super::{Archive, Family, Kind, apt};
use super::index::{Index, Pages, Unanswered};
use super::spec::{CUDA_TOOLKIT, Recipe, Spec, Want, Wanted};
use super::wheel::{self, Wheel};
use super::{RefreshError, metadata};

/// One family of one system.
#[derive(Clone, Debug)]
pub struct Target {
    pub system: String,
    pub family: String,
    /// Below the repository.
    pub path: Utf8PathBuf,
    pub recipe: Recipe,
    /// Its file as it is: the text, and what it says.
    pub old: Option<(String, Family)>,
}

/// The archives of all wants, by system.
pub type Found = BTreeMap<(String, Want), Archive>;

/// What is asked, and what is known without asking.
pub struct Lookup<'a> {
    pub index: &'a Index,
    pub spec: &'a Spec,
    /// Pinned archives by file name and hash.
    pub known: BTreeMap<(String, String), Archive>,
}

impl Lookup<'_> {
    /// Looks up every archive of some families.
    ///
    /// # Errors
    /// `RefreshError::Unresolved` with everything that no index has, `RefreshError::Unanswered`, apt's.
    pub fn archives(&self, targets: &[Target]) -> Result<Found, RefreshError> {
        let wants: BTreeSet<(String, Want)> = targets
            .iter()
            .flat_map(|target| {
                let wants = target.recipe.wants().cloned();
                wants.map(|want| (target.system.clone(), want))
            })
            .collect();
        let mut found = Found::new();
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
        wants: &BTreeSet<(String, Want)>,
        found: &mut Found,
        problems: &mut Vec<String>,
    ) -> Result<(), RefreshError> {
        let wheels = wants.iter().filter(|(_, want)| want.kind.is_of_python());
        let wheels: Vec<&(String, Want)> = wheels.collect();
        let toolkits: BTreeSet<&str> = wheels
            .iter()
            .filter_map(|(_, want)| match &want.version {
                Wanted::Toolkit(release) => Some(release.as_str()),
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
        anstream::eprintln!("looking up {} projects of pip's index", projects.len());
        let pages = self.pages(&projects)?;
        let mut pins = BTreeMap::new();
        for release in toolkits {
            match self.toolkit(&pages, release) {
                Ok(requirements) => {
                    pins.insert(release, requirements);
                }
                Err(why) => problems.push(why),
            }
        }

        let mut chosen = Vec::new();
        for (system, want) in wheels {
            // The absence of a toolkit is a problem already.
            if matches!(&want.version, Wanted::Toolkit(release) if !pins.contains_key(release.as_str()))
            {
                continue;
            }
            match self.wheel(&pages, &pins, system, want) {
                Ok(wheel) => chosen.push(((system.clone(), want.clone()), wheel)),
                Err(why) => problems.push(why),
            }
        }
        self.sized(chosen, found, problems)
    }

    /// The pages of projects, all of which answered.
    fn pages(&self, projects: &BTreeSet<String>) -> Result<Pages, RefreshError> {
        let pages = self.index.pages(projects);
        let failed = pages.values().filter_map(|page| match page {
            Err(Unanswered::Failed(why)) => Some(why.clone()),
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
    fn toolkit(&self, pages: &Pages, release: &str) -> Result<BTreeMap<String, String>, String> {
        let specifiers = specifiers(CUDA_TOOLKIT, &format!("=={release}"))?;
        // It is of any system and Python.
        let wheel = wheel::newest(files(pages, CUDA_TOOLKIT)?, Some(&specifiers), "", "py3");
        let wheel = wheel.ok_or_else(|| format!("{CUDA_TOOLKIT} {release}: no such release"))?;
        let members = self
            .index
            .read(&wheel.listed.url, &["*.dist-info/METADATA"])?;
        let metadata = members.values().next();
        metadata
            .map(|text| metadata::requirements(text))
            .ok_or_else(|| format!("{}: no METADATA in it", wheel.listed.file))
    }

    /// The file that a want means.
    fn wheel<'p>(
        &self,
        pages: &'p Pages,
        pins: &BTreeMap<&str, BTreeMap<String, String>>,
        system: &str,
        want: &Want,
    ) -> Result<Wheel<'p>, String> {
        let name = wheel::normalized(&want.name);
        let asked = match &want.version {
            Wanted::Newest => None,
            Wanted::Matching(asked) => Some(asked),
            Wanted::Toolkit(release) => {
                let pinned = pins.get(release.as_str()).and_then(|pins| pins.get(&name));
                Some(pinned.ok_or_else(|| format!("{CUDA_TOOLKIT} {release} pins no {name}"))?)
            }
        };
        let parsed = asked.map(|asked| specifiers(&name, asked)).transpose()?;
        let files = files(pages, &name)?;
        let (found, kind) = if want.kind == Kind::Sdist {
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
            format!("{name}{asked}: no {kind} for {system}")
        })
    }

    /// Adds chosen wheels to what was found; asks for the size of those that are not pinned yet.
    fn sized(
        &self,
        chosen: Vec<((String, Want), Wheel<'_>)>,
        found: &mut Found,
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
            let failed =
                |failure: super::super::http::Failure| format!("{file}: {}", failure.why());
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
        wants: &BTreeSet<(String, Want)>,
        found: &mut Found,
        problems: &mut Vec<String>,
    ) -> Result<(), RefreshError> {
        let mut by_system: BTreeMap<&String, Vec<&Want>> = BTreeMap::new();
        for (system, want) in wants.iter().filter(|(_, want)| want.kind == Kind::Deb) {
            by_system.entry(system).or_default().push(want);
        }
        for (system, wants) in by_system {
            let Some(architecture) = apt::architecture(system) else {
                problems.push(format!("{system}: there are no Debian packages for it"));
                continue;
            };
            anstream::eprintln!(
                "looking up {} Debian packages of {architecture}",
                wants.len()
            );
            let apt = apt::Apt::of(architecture)?;
            // Another source than Debian's may fail; if it matters, something is missing below.
            let updated = apt.update();
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

/// The files of a project, or why there are none.
pub fn files<'a>(pages: &'a Pages, project: &str) -> Result<&'a [Listed], String> {
    match pages.get(project) {
        Some(Ok(files)) => Ok(files),
        Some(Err(Unanswered::Missing)) | None => {
            Err(format!("{project}: no index has this project"))
        }
        Some(Err(Unanswered::Failed(why))) => Err(why.clone()),
    }
}

/// Version specifiers (PEP 440) of a project.
pub fn specifiers(project: &str, text: &str) -> Result<VersionSpecifiers, String> {
    VersionSpecifiers::from_str(text).map_err(|error| format!("{project}{text}: {error}"))
}
