//! Resolves the requirements of a wheel among some projects, and the requirements of these
//! projects, to exact versions. It reads metadata. It does not try older versions if newer ones
//! turn out not to fit together. Apt does the same for Debian packages.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::error::IndexError;
use super::super::members::NamePatterns;
use super::super::silence::SourceWatch;
use super::super::{ArchiveKind, apt, pip};
use super::RefreshError;
use super::index::{IndexReader, Pages, Unanswered, ask_each};
use super::lookup::{files, specifiers};
use super::spec::{RequiredWheels, WantedArchive, WantedVersion};
use super::wheel::{self, normalized};
use crate::pins::PinError;

/// The rounds after which requirements that still change are taken for a circle.
const ROUNDS: usize = 20;

/// The demands on one project, by all wheels that require it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Demand {
    specifiers: BTreeSet<String>,
    extras: BTreeSet<String>,
}

/// The demands by normalized name of their project.
type Demands = BTreeMap<String, Demand>;

/// The wheel that is chosen for a demand.
#[derive(Clone, Debug)]
struct ChosenWheel {
    version: String,
    url: String,
}

/// The question to pip_requirements.py: which requirements apply on a system.
#[derive(Serialize)]
struct MarkerQuestion<'a> {
    environment: BTreeMap<&'static str, String>,
    wheels: Vec<AskedWheel<'a>>,
}

#[derive(Serialize)]
struct AskedWheel<'a> {
    requires: &'a [String],
    extras: &'a BTreeSet<String>,
}

/// One requirement in the answer of pip_requirements.py.
#[derive(Deserialize)]
struct Requirement {
    name: String,
    extras: BTreeSet<String>,
    specifiers: String,
}

/// The wheels that are required, by name, without the one that requires them.
///
/// # Errors
/// `RefreshError::Unresolved` where no wheel fits, `RefreshError::Unanswered`, the errors of pip.
pub fn wheels(
    index: &IndexReader,
    system: &str,
    required: &RequiredWheels,
) -> Result<Vec<WantedArchive>, RefreshError> {
    let unresolved = |why: String| RefreshError::Unresolved(vec![why]);
    let python = required.by.python.as_deref().unwrap_or("py3");
    let root = normalized(&required.by.name);
    let start = Demands::from([(root.clone(), demand(&required.by))]);

    let projects = NamePatterns::new(required.projects.iter().map(String::as_str))
        .map_err(|error| unresolved(error.to_string()))?;
    let mut pages = Pages::new();
    let mut metadata: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut demands = start.clone();
    for _ in 0..ROUNDS {
        look_up(index, &mut pages, &demands)?;
        let chosen = choose_wheels(&pages, &demands, required, system, python)?;
        read(index, &mut metadata, &chosen)?;
        let mut next = start.clone();
        for requirement in applying_requirements(system, python, &demands, &chosen, &metadata)? {
            let name = normalized(&requirement.name);
            if projects.matches(&name) {
                let demand = next.entry(name).or_default();
                demand.extras.extend(requirement.extras);
                demand.specifiers.insert(requirement.specifiers);
            }
        }
        if next != demands {
            demands = next;
            continue;
        }
        let unused = required.chosen.iter();
        let mut unused = unused.filter(|want| !demands.contains_key(&normalized(&want.name)));
        if let Some(want) = unused.next() {
            let by = &required.by;
            return Err(unresolved(format!("{want}: {by} does not require it")));
        }
        let wants = chosen.into_iter().filter(|(name, _)| *name != root);
        let wants = wants.map(|(name, chosen)| WantedArchive {
            kind: ArchiveKind::Wheel,
            name,
            version: WantedVersion::Matching(format!("=={}", chosen.version)),
            python: required.by.python.clone(),
        });
        return Ok(wants.collect());
    }
    let by = &required.by;
    Err(unresolved(format!(
        "{by}: its requirements lead in a circle"
    )))
}

fn demand(want: &WantedArchive) -> Demand {
    let specifiers = match &want.version {
        WantedVersion::Matching(specifiers) => BTreeSet::from([specifiers.clone()]),
        WantedVersion::Newest | WantedVersion::Toolkit(_) => BTreeSet::new(),
    };
    Demand {
        specifiers,
        extras: BTreeSet::new(),
    }
}

/// Adds the pages of projects that are new.
fn look_up(index: &IndexReader, pages: &mut Pages, demands: &Demands) -> Result<(), RefreshError> {
    let new = demands.keys().filter(|name| !pages.contains_key(*name));
    pages.extend(index.pages(&new.cloned().collect()));
    let failed = pages.values().filter_map(|page| match page {
        Err(Unanswered::Failed(error)) => Some(error.to_string()),
        _ => None,
    });
    let failed: Vec<String> = failed.collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(RefreshError::Unanswered(failed)),
    }
}

/// The newest wheel of each project that fits all demands.
fn choose_wheels(
    pages: &Pages,
    demands: &Demands,
    required: &RequiredWheels,
    system: &str,
    python: &str,
) -> Result<BTreeMap<String, ChosenWheel>, RefreshError> {
    let mut chosen = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, asked) in demands {
        let mut asked = asked.specifiers.clone();
        let by_hand = required.chosen.iter();
        for want in by_hand.filter(|want| normalized(&want.name) == *name) {
            asked.extend(demand(want).specifiers);
        }
        asked.remove("");
        let asked = asked.into_iter().collect::<Vec<_>>().join(",");
        let wheel = specifiers(name, &asked).and_then(|parsed| {
            let parsed = (!parsed.is_empty()).then_some(&parsed);
            let wheel = wheel::newest(files(pages, name)?, parsed, system, python);
            wheel.ok_or_else(|| IndexError::NoWheel {
                request: format!("{name}{asked}"),
                kind: "wheel",
                system: system.to_owned(),
            })
        });
        match wheel {
            Ok(wheel) => {
                let (version, url) = (wheel.version.to_string(), wheel.listed.url.clone());
                chosen.insert(name.clone(), ChosenWheel { version, url });
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    match problems.is_empty() {
        true => Ok(chosen),
        false => Err(RefreshError::Unresolved(problems)),
    }
}

/// The Debian packages of an installation that has some packages and lacks all others, by name.
///
/// # Errors
/// `RefreshError::Unresolved` for a system without Debian packages, the errors of apt.
pub fn debs(
    system: &str,
    packages: &[String],
    release: &str,
) -> Result<Vec<WantedArchive>, RefreshError> {
    let Some(architecture) = apt::architecture(system) else {
        let why = format!("{system}: there are no Debian packages for it");
        return Err(RefreshError::Unresolved(vec![why]));
    };
    let apt = apt::Apt::for_architecture(architecture)?;
    apt.update(&SourceWatch::default())?;
    let names = apt.installation(packages, release)?;
    let wants = names.into_iter().map(|name| WantedArchive {
        kind: ArchiveKind::Deb,
        name,
        version: WantedVersion::Newest,
        python: None,
    });
    Ok(wants.collect())
}

/// Adds the requirements of new wheels, as their metadata writes them.
fn read(
    index: &IndexReader,
    metadata: &mut BTreeMap<String, Vec<String>>,
    chosen: &BTreeMap<String, ChosenWheel>,
) -> Result<(), RefreshError> {
    let urls = chosen.values().map(|chosen| chosen.url.clone());
    let new = urls.filter(|url| !metadata.contains_key(url)).collect();
    for (url, members) in ask_each(&new, |url| index.read(url, &["*.dist-info/METADATA"])) {
        let file = url.rsplit('/').next().unwrap_or_default();
        let failed = |error: IndexError| RefreshError::Unanswered(vec![error.to_string()]);
        let members =
            members.map_err(|error| RefreshError::Unanswered(vec![format!("{file}: {error}")]))?;
        let text = members.values().next();
        let text = text.ok_or_else(|| {
            failed(IndexError::NoMetadata {
                file: file.to_owned(),
            })
        })?;
        // An empty line ends the headers.
        let headers = text.lines().take_while(|line| !line.is_empty());
        let requires = headers.filter_map(|line| line.strip_prefix("Requires-Dist:"));
        let requires = requires.map(|requirement| requirement.trim().to_owned());
        metadata.insert(url.clone(), requires.collect());
    }
    Ok(())
}

/// The requirements of all wheels that apply on a system.
fn applying_requirements(
    system: &str,
    python: &str,
    demands: &Demands,
    chosen: &BTreeMap<String, ChosenWheel>,
    metadata: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<Requirement>, RefreshError> {
    // The tag cp311 stands for version 3.11.
    let digits = python.trim_start_matches(|c: char| !c.is_ascii_digit());
    let (major, minor) = digits.split_at(digits.len().min(1));
    let version = format!("{major}.{minor}");
    let question = MarkerQuestion {
        environment: pip::marker_environment(system, &version),
        wheels: chosen
            .iter()
            .map(|(name, chosen)| AskedWheel {
                requires: &metadata[&chosen.url],
                extras: &demands[name].extras,
            })
            .collect(),
    };
    let text = serde_json::to_string(&question).unwrap_or_default();
    let answer = pip::requirements(&text)?;
    let answer: Vec<Vec<Requirement>> =
        serde_json::from_slice(&answer).map_err(|error| PinError::Download {
            name: "what wheels require".to_owned(),
            why: error.to_string(),
            help: "look at `python3 -m pip --version`".to_owned(),
        })?;
    Ok(answer.into_iter().flatten().collect())
}
