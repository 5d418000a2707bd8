//! The steps of a build: the derivations of some variants as a graph, each with its kind and state.
//! Building is in src/nix/.

pub mod ci_jobs;
pub mod derivations;
pub mod dot;
pub mod estimate;
pub mod hints;
pub mod history;
pub mod inputs;
pub mod json;
pub mod record;
pub mod titles;
pub mod torch_headers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use self::derivations::DerivationGraph;
use self::torch_headers::TorchHeaders;
use crate::nix::name_of;

/// The derivations of a variant, as Nix evaluates them (`derivationsOf` in nix/kernel/default.nix).
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct WantedVariant {
    pub derivation: String,
    /// The derivation of the library; `None` for a variant of Python alone.
    pub library: Option<String>,
}

/// The kind of a step: its output.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum StepKind {
    /// Compilers, headers and libraries, made of fetched files.
    Toolchain,
    /// An object of one source, or of a part of it: "host", "host+sm_80", "sm_90".
    Unit {
        source: String,
        part: Option<String>,
        driver: String,
    },
    /// The object of one source, made of its parts.
    Join { source: String },
    /// A list of objects that variants share, for their links.
    Objects { driver: String },
    /// The linked library of a variant.
    Library,
    /// A variant as it is published.
    Package,
}

impl StepKind {
    /// The name of the kind in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Toolchain => "toolchain",
            Self::Unit { .. } => "unit",
            Self::Join { .. } => "join",
            Self::Objects { .. } => "objects",
            Self::Library => "library",
            Self::Package => "package",
        }
    }

    /// The name of the step in its variant: "csrc/a.cu", "csrc/a.cu sm_90" for a part of it,
    /// "library".
    pub fn role(&self) -> String {
        match self {
            Self::Unit { source, part, .. } => match part {
                Some(part) => format!("{source} {part}"),
                None => source.clone(),
            },
            Self::Join { source } => format!("{source} joined"),
            Self::Objects { driver } => format!("objects of {driver}"),
            _ => self.name().to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// The step is not built: the store or a binary cache has its output, or that of every step
    /// that needs it.
    Cached,
    Build,
}

impl StepState {
    /// The name of the state in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::Build => "build",
        }
    }
}

/// One derivation that is built, not fetched.
#[derive(Clone, Debug)]
pub struct Step {
    pub derivation: String,
    pub kind: StepKind,
    /// The name for a person: the source, the variant, or Nix's name of a toolchain.
    pub name: String,
    /// Variants that need it, directly or not.
    pub variants: BTreeSet<String>,
    /// Steps that it needs directly.
    pub needs: Vec<String>,
    pub state: StepState,
    /// Reasons for building it; empty if it is cached.
    pub reasons: Vec<String>,
    /// Seconds that it took last, or is guessed to take; `None` if unknown.
    pub seconds: Option<f64>,
    /// Whether `seconds` was measured here.
    pub measured: bool,
    /// Hints that would make it cheaper.
    pub hints: Vec<String>,
    /// The headers of torch of a unit; `None` if it includes no umbrella header of torch.
    pub torch_headers: Option<TorchHeaders>,
}

/// The steps of some variants, each after those that it needs.
#[derive(Debug, Default)]
pub struct Steps {
    pub all: Vec<Step>,
    /// Store names of pinned files that are to be fetched.
    pub to_fetch: BTreeSet<String>,
    /// Missing pins by name, each with the reason. Steps that need one cannot be built.
    pub unavailable: BTreeMap<String, String>,
}

impl Steps {
    /// The graph of some variants, by name. `to_build` are the derivations that Nix would build or
    /// fetch for them.
    pub fn find(
        derivations: &DerivationGraph,
        wanted: &[(&str, &WantedVariant)],
        to_build: &[String],
    ) -> Self {
        let mut search = StepSearch {
            derivations,
            kinds: kinds_and_names(wanted),
            to_build: to_build.iter().map(String::as_str).collect(),
            numbers: HashMap::new(),
            steps: Self::default(),
        };
        for (variant, wanted) in wanted {
            let mut seen = HashSet::new();
            search.visit(&wanted.derivation, variant, &mut seen);
        }
        search.steps
    }

    /// The steps that are to be built.
    pub fn to_build(&self) -> impl Iterator<Item = &Step> {
        self.all
            .iter()
            .filter(|step| step.state == StepState::Build)
    }
}

/// The kind and the name of the libraries and packages of variants, by path.
fn kinds_and_names(wanted: &[(&str, &WantedVariant)]) -> BTreeMap<String, (StepKind, String)> {
    let mut kinds = BTreeMap::new();
    for (variant, wanted) in wanted {
        let package = (StepKind::Package, (*variant).to_owned());
        kinds.insert(wanted.derivation.clone(), package);
        if let Some(library) = &wanted.library {
            let name = format!("{variant} library");
            kinds.insert(library.clone(), (StepKind::Library, name));
        }
    }
    kinds
}

impl Step {
    /// The name, for a unit with a variant that needs it: several units may have the same source.
    pub fn title(&self) -> String {
        match (&self.kind, self.variants.first()) {
            (
                StepKind::Unit { .. } | StepKind::Join { .. } | StepKind::Objects { .. },
                Some(variant),
            ) => {
                format!("{} ({variant})", self.name)
            }
            _ => self.name.clone(),
        }
    }

    /// The source that it compiles, or its name if it is no unit.
    pub fn source(&self) -> &str {
        match &self.kind {
            StepKind::Unit { source, .. } | StepKind::Join { source } => source,
            _ => &self.name,
        }
    }
}

/// The search for the steps of variants, one variant after the other.
struct StepSearch<'a> {
    derivations: &'a DerivationGraph,
    kinds: BTreeMap<String, (StepKind, String)>,
    to_build: HashSet<&'a str>,
    /// The index of each step that was found.
    numbers: HashMap<&'a str, usize>,
    steps: Steps,
}

impl<'a> StepSearch<'a> {
    /// Adds a derivation after those that it needs. Returns whether it is a step.
    fn visit(&mut self, path: &'a str, variant: &str, seen: &mut HashSet<&'a str>) -> bool {
        let Some(derivation) = self.derivations.get(path) else {
            return false;
        };
        let to_build = self.to_build.contains(path);
        if derivation.is_fixed {
            if to_build {
                self.steps.to_fetch.insert(name_of(path).to_owned());
            }
            return false;
        }
        if let Some(why) = &derivation.unavailable {
            if to_build {
                let name = name_of(path).to_owned();
                self.steps.unavailable.insert(name, why.clone());
            }
            return false;
        }
        if !seen.insert(path) {
            return true;
        }
        let mut needs: Vec<&str> = derivation.needs.iter().map(String::as_str).collect();
        needs.retain(|needed| self.visit(needed, variant, seen));
        if let Some(number) = self.numbers.get(path) {
            self.steps.all[*number].variants.insert(variant.to_owned());
            return true;
        }
        let (kind, name) = match (self.kinds.get(path), &derivation.compilation) {
            (Some(known), _) => known.clone(),
            (None, Some(kind)) => (kind.clone(), kind.role()),
            (None, None) => (StepKind::Toolchain, name_of(path).to_owned()),
        };
        self.numbers.insert(path, self.steps.all.len());
        self.steps.all.push(Step {
            derivation: path.to_owned(),
            name,
            kind,
            variants: BTreeSet::from([variant.to_owned()]),
            needs: needs.into_iter().map(str::to_owned).collect(),
            state: if to_build {
                StepState::Build
            } else {
                StepState::Cached
            },
            reasons: Vec::new(),
            seconds: None,
            measured: false,
            hints: Vec::new(),
            torch_headers: None,
        });
        true
    }
}
