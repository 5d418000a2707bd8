//! The steps of variants, the reasons for building each, and the record of built steps. Builds
//! nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{EngineError, failed_to};
use super::evaluation::{Evaluation, evaluate};
use super::prepare::Prepared;
use crate::matrix::Variant;
use crate::nix::schedule::{Cost, Costs};
use crate::nix::{Built, Nix};
use crate::pins::cache;
use crate::plan::Plan;
use crate::steps::derivations::DerivationGraph;
use crate::steps::hints::Hints;
use crate::steps::inputs::{Inputs, StepFiles, reasons};
use crate::steps::record::{BuildRecord, HeaderUse};
use crate::steps::torch_headers::UmbrellaIncludes;
use crate::steps::{Step, StepKind, StepState, Steps, WantedVariant};

/// The time and memory that steps of earlier builds took.
pub fn saved_costs() -> Costs {
    Costs::open(&cache::dir().join("costs.json"))
}

/// Variants, the derivations that they need, and their steps.
pub struct StepGraph<'a> {
    /// The variants by name.
    pub wanted: Vec<(&'a str, &'a WantedVariant)>,
    /// The derivations that they need, by path.
    pub derivations: &'a DerivationGraph,
    pub steps: Steps,
}

impl<'a> StepGraph<'a> {
    /// The graph of some variants. `to_build` are the derivations that Nix would build or fetch.
    pub fn new(variants: &'a [&Variant], evaluation: &'a Evaluation, to_build: &[String]) -> Self {
        let names = variants.iter().map(|variant| &*variant.name);
        let wanted: Vec<(&str, &WantedVariant)> = names.zip(&evaluation.wanted).collect();
        let derivations = &evaluation.derivations;
        StepGraph {
            steps: Steps::find(derivations, &wanted, to_build),
            wanted,
            derivations,
        }
    }

    /// The packages whose outputs the store lacks, and with `all_steps` also the other steps.
    ///
    /// # Errors
    /// `EngineError::Nix`
    pub fn unbuilt(&self, nix: &Nix, all_steps: bool) -> Result<BTreeSet<&str>, EngineError> {
        let is_asked = |step: &&Step| all_steps || step.kind == StepKind::Package;
        let steps = || self.steps.all.iter().filter(is_asked);
        let output = |step: &Step| &self.derivations[&step.derivation].output;
        let outputs: Vec<String> = steps().map(output).cloned().collect();
        let invalid: BTreeSet<String> = nix.invalid_paths(&outputs)?.into_iter().collect();
        let unbuilt = steps().filter(|step| invalid.contains(output(step)));
        Ok(unbuilt.map(|step| &*step.derivation).collect())
    }

    fn packages(&self) -> Vec<&str> {
        let wanted = self.wanted.iter();
        wanted.map(|(_, wanted)| &*wanted.derivation).collect()
    }

    /// Some derivations and the environments that they need. The inputs of a step are the inputs of
    /// both.
    fn with_environments<'p>(&'p self, paths: impl Iterator<Item = &'p str>) -> BTreeSet<&'p str> {
        let mut all = BTreeSet::new();
        for path in paths {
            all.insert(path);
            let needs = self.derivations.get(path).map(|node| &node.needs);
            all.extend(
                needs
                    .into_iter()
                    .flatten()
                    .map(String::as_str)
                    .filter(|path| {
                        let needed = self.derivations.get(*path);
                        needed.is_some_and(|node| node.is_environment)
                    }),
            );
        }
        all
    }

    /// The names of the variants.
    pub fn variant_names(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(|(name, _)| *name)
    }

    /// The build id of a variant.
    pub fn build_id(&self, variant: &str) -> Option<&str> {
        let mut wanted = self.wanted.iter();
        let (_, wanted) = wanted.find(|(name, _)| *name == variant)?;
        self.derivations
            .get(&wanted.derivation)?
            .build_id
            .as_deref()
    }

    /// The variants of a step, each with its build id.
    fn variants_of(&self, step: &Step) -> impl Iterator<Item = (&'a str, &'a str)> {
        let wanted = self.wanted.iter();
        let wanted = wanted.filter(|(name, _)| step.variants.contains(*name));
        wanted.map(|(name, wanted)| {
            let package = self.derivations.get(&wanted.derivation);
            let id = package.and_then(|package| package.build_id.as_deref());
            (*name, id.unwrap_or_default())
        })
    }
}

/// The steps of some variants, each with the reasons for building it. Builds and fetches nothing,
/// and leaves the kernel's folder as it is.
///
/// # Errors
/// `EngineError`, of Nix or of the file system.
pub fn survey(nix: &Nix, prepared: &Prepared, variants: &[&Variant]) -> Result<Steps, EngineError> {
    let evaluation = evaluate(nix, prepared, variants)?;
    let to_build = evaluation.to_build(nix, &evaluation.packages())?;
    let mut graph = StepGraph::new(variants, &evaluation, &to_build);
    graph.steps.estimate(&saved_costs());
    let root = prepared.root()?;
    let record = BuildRecord::open(&cache::dir(), &root);
    let hints = Hints::new(&prepared.plan);
    let includes = UmbrellaIncludes::find(&prepared.plan, &root)
        .map_err(failed_to("read the kernel's files"))?;
    for step in &mut graph.steps.all {
        step.hints = hints.for_step(step);
        step.torch_headers = includes.for_step(step, &record);
    }
    set_reasons(nix, prepared, &record, &mut graph)?;
    Ok(graph.steps)
}

/// Sets the reasons for building each step that is to be built.
fn set_reasons(
    nix: &Nix,
    prepared: &Prepared,
    record: &BuildRecord,
    graph: &mut StepGraph<'_>,
) -> Result<(), EngineError> {
    if graph.steps.to_build().next().is_none() {
        return Ok(());
    }
    let root = prepared.root()?;
    let mut old_inputs: BTreeMap<String, (&str, &str, Inputs)> = BTreeMap::new();
    for step in graph.steps.to_build() {
        let mut variants = graph.variants_of(step);
        let known = variants.find_map(|(variant, id)| {
            let old = record.inputs(variant, &step.kind)?;
            Some((variant, id, old))
        });
        if let Some(known) = known {
            old_inputs.insert(step.derivation.clone(), known);
        }
    }
    let recorded = old_inputs.keys().map(String::as_str);
    let derivations = nix.derivations_alone(&graph.with_environments(recorded))?;
    let steps = graph.steps.all.iter();
    let kinds: BTreeMap<String, StepKind> = steps
        .map(|step| (step.derivation.clone(), step.kind.clone()))
        .collect();
    let mut files = StepFiles::new(&prepared.plan, root);
    for step in &mut graph.steps.all {
        if step.state == StepState::Cached {
            continue;
        }
        if step.kind == StepKind::Toolchain {
            step.reasons = vec!["not in the store".to_owned()];
            continue;
        }
        if let Some((variant, id, old)) = old_inputs.get(&step.derivation) {
            let seen = files.hashes_for_step(variant, &step.kind);
            let seen = seen.map_err(failed_to("read the kernel's files"))?;
            let new = Inputs::new(&derivations, &step.derivation, id, seen);
            step.reasons = reasons(&step.kind, old, &new, |path| kinds.get(path));
        }
        if step.reasons.is_empty() {
            step.reasons = vec!["never built here".to_owned()];
        }
    }
    Ok(())
}

/// Whether the record of builds has the inputs of all steps, since this build built none.
///
/// # Errors
/// `EngineError::Io`
pub fn is_recorded(
    prepared: &Prepared,
    graph: &StepGraph<'_>,
    built: &Built,
) -> Result<bool, EngineError> {
    let root = prepared.root()?;
    let is_known = || BuildRecord::covers_packages(&cache::dir(), &root, &graph.packages());
    Ok(built.finished.is_empty() && is_known())
}

/// The units that build.toml refuses lean headers, each as a variant and a source.
fn units_without_lean_headers(plan: &Plan) -> BTreeSet<(&str, &str)> {
    let mut units = BTreeSet::new();
    for variant in &plan.variants {
        let components = variant.components.iter();
        let groups = components.flat_map(|component| &component.units);
        for group in groups.filter(|group| !group.lean_headers) {
            let sources = group.sources.iter();
            units.extend(sources.map(|source| (variant.variant.as_str(), source.as_str())));
        }
    }
    units
}

/// Records the inputs of each step except the unbuilt ones, and the seconds of steps that are no
/// compilations.
///
/// # Errors
/// `EngineError`, of Nix or of the file system.
pub fn record_build(
    nix: &Nix,
    prepared: &Prepared,
    graph: &StepGraph<'_>,
    built: &Built,
    unbuilt: &BTreeSet<&str>,
) -> Result<(), EngineError> {
    let root = prepared.root()?;
    let packages = graph.packages();
    let is_built = |derivation: &str| !unbuilt.contains(derivation);

    let mut record = BuildRecord::open(&cache::dir(), &root);
    let is_recorded = |step: &&Step| step.kind != StepKind::Toolchain && is_built(&step.derivation);
    let steps = || graph.steps.all.iter().filter(is_recorded);
    let paths = graph.with_environments(steps().map(|step| &*step.derivation));
    let derivations = nix.derivations_alone(&paths)?;
    let mut files = StepFiles::new(&prepared.plan, root);
    let finished = built.finished.iter();
    // Only compilations tell their memory.
    let compiled = finished.filter(|finished| finished.peak.is_some());
    let headers: BTreeMap<&String, HeaderUse> = compiled
        .map(|finished| {
            let reason = finished.all_headers.clone();
            let headers = reason.map_or(HeaderUse::Lean, HeaderUse::All);
            (&finished.derivation, headers)
        })
        .collect();
    let refused = units_without_lean_headers(&prepared.plan);
    for step in steps() {
        let headers = headers.get(&step.derivation);
        for (variant, id) in graph.variants_of(step) {
            // NB: a unit that build.toml refuses lean headers keeps the record of a compilation
            // with them: its object may be in the store when build.toml allows them again.
            let headers = headers.filter(|_| !refused.contains(&(variant, step.source())));
            let seen = files.hashes_for_step(variant, &step.kind);
            let seen = seen.map_err(failed_to("read the kernel's files"))?;
            let inputs = Inputs::new(&derivations, &step.derivation, id, seen);
            record.learn(variant, &step.kind, inputs, headers);
        }
    }
    let all_are_built = packages.iter().all(|package| is_built(package));
    record
        .save(all_are_built.then_some(&packages[..]))
        .map_err(failed_to("write the record of builds"))?;
    let mut costs = saved_costs();
    for finished in &built.finished {
        let is_known = graph.derivations.contains_key(&finished.derivation);
        if is_known && finished.peak.is_none() && is_built(&finished.derivation) {
            let seconds = finished.seconds;
            costs.record(&finished.derivation, Cost { bytes: 0, seconds });
        }
    }
    costs.save().map_err(failed_to("write what steps took"))
}
