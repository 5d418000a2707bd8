//! Writes the times and results of a build into the kernel's history (src/steps/history.rs).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use super::error::{EngineError, failed_to};
use super::install::{InstalledVariant, Origin};
use super::prepare::{Prepared, system};
use super::survey::{StepGraph, saved_costs};
use crate::nix::{Built, Finished, Limits, Nix};
use crate::pins::cache;
use crate::steps::history::{
    BuildHistory, LastResult, StepOutcome, TimedBuild, TimedStep, ToolchainCost, VariantOutcome,
};
use crate::steps::{Step, StepKind};

/// A build that has ended.
#[derive(Clone, Copy)]
pub struct EndedBuild<'a> {
    pub graph: &'a StepGraph<'a>,
    pub built: &'a Built,
    /// Derivations of the graph whose outputs the store lacks.
    pub unbuilt: &'a BTreeSet<&'a str>,
    pub installed: &'a [InstalledVariant<'a>],
    pub limits: &'a Limits,
    /// The start of the command.
    pub start: Instant,
}

/// Writes a build into the kernel's history. A build that only found everything in the store leaves
/// the last build as it was.
///
/// # Errors
/// `EngineError`, of Nix or of the file system.
pub fn record_history(
    nix: &Nix,
    prepared: &Prepared,
    ended: &EndedBuild<'_>,
) -> Result<(), EngineError> {
    let (cache, root) = (cache::dir(), prepared.root()?);
    // NB: a history that cannot be read is replaced; only reports depend on it.
    let old = BuildHistory::open(&cache, &root).unwrap_or_default();
    let mut history = old.clone();
    let age = ended.start.elapsed();
    let started = humantime::format_rfc3339_seconds(SystemTime::now() - age).to_string();
    for variant in ended.installed {
        let Some(result) = variant_result(ended.graph, variant, &started) else {
            continue;
        };
        let known = history.variants.get(variant.name);
        let is_known = known.is_some_and(|known| known.build_id == result.build_id);
        if !(is_known && result.outcome == VariantOutcome::Cached) {
            history.variants.insert(variant.name.to_owned(), result);
        }
    }
    if !(ended.built.finished.is_empty() && ended.built.copied.is_empty()) {
        history.toolchains.extend(toolchain_costs(nix, ended)?);
        history.last = Some(TimedBuild {
            started,
            manifest: prepared.plan.manifest.clone(),
            system: system(),
            jobs: ended.limits.max_jobs,
            cores: ended.limits.cores,
            seconds: age.as_secs_f64(),
            variants: ended.graph.variant_names().map(str::to_owned).collect(),
            cached: ended.graph.steps.all.len() - ended.graph.steps.to_build().count(),
            steps: timed_steps(ended),
            copied: paths_by_cache(ended.built),
        });
    }
    if history == old {
        return Ok(());
    }
    history
        .save(&cache, &root)
        .map_err(failed_to("write the history of builds"))
}

/// The result of a variant; `None` if the build was stopped before it, which says no more about it.
fn variant_result(
    graph: &StepGraph<'_>,
    variant: &InstalledVariant<'_>,
    started: &str,
) -> Option<LastResult> {
    let outcome = match variant.origin {
        Origin::Built => VariantOutcome::Built,
        Origin::Cached => VariantOutcome::Cached,
        Origin::Copied => VariantOutcome::Copied,
        Origin::Failed => VariantOutcome::Failed,
        Origin::Stopped => return None,
    };
    let id = graph.build_id(variant.name);
    let id = id.filter(|_| variant.origin.has_folder());
    Some(LastResult {
        outcome,
        started: started.to_owned(),
        seconds: variant.seconds,
        bytes: variant.bytes,
        build_id: id.map(str::to_owned),
    })
}

/// The steps that a build ran, each with its times.
fn timed_steps(ended: &EndedBuild<'_>) -> Vec<TimedStep> {
    let steps = ended.graph.steps.all.iter();
    let steps: BTreeMap<&str, &Step> = steps.map(|step| (&*step.derivation, step)).collect();
    let finished = &ended.built.finished;
    // A step that ran out of memory is finished twice: its last run counts.
    let last_runs: BTreeMap<&str, usize> = finished
        .iter()
        .enumerate()
        .map(|(number, finished)| (&*finished.derivation, number))
        .collect();
    let critical = ended.graph.steps.critical_path_of(finished);
    let critical: BTreeSet<&String> = critical.steps.iter().collect();
    let timed = |(number, finished): (usize, &Finished)| {
        let step = steps.get(&*finished.derivation)?;
        let is_last = last_runs[&*finished.derivation] == number;
        let outcome = match (is_last, ended.unbuilt.contains(&*finished.derivation)) {
            (false, _) => StepOutcome::Repeated,
            (true, true) => StepOutcome::Failed,
            (true, false) => StepOutcome::Built,
        };
        let start = finished.started.saturating_duration_since(ended.start);
        Some(TimedStep {
            title: finished.title.clone(),
            kind: step.kind.name().to_owned(),
            variants: step.variants.clone(),
            start: start.as_secs_f64(),
            seconds: finished.seconds,
            peak: finished.peak,
            machine: finished.machine.clone(),
            critical: is_last && critical.contains(&finished.derivation),
            outcome,
            last_lines: match outcome {
                StepOutcome::Failed => finished.last_lines.clone(),
                StepOutcome::Built | StepOutcome::Repeated => Vec::new(),
            },
        })
    };
    finished.iter().enumerate().filter_map(timed).collect()
}

/// The costs of the toolchains that are in the store. Seconds come from this build or, for others,
/// from earlier ones on this machine.
fn toolchain_costs(
    nix: &Nix,
    ended: &EndedBuild<'_>,
) -> Result<BTreeMap<String, ToolchainCost>, EngineError> {
    let graph = ended.graph;
    let is_there = |step: &&Step| {
        let node = &graph.derivations[&step.derivation];
        step.kind == StepKind::Toolchain
            && !node.is_environment
            && !ended.unbuilt.contains(&*step.derivation)
    };
    let steps: Vec<&Step> = graph.steps.all.iter().filter(is_there).collect();
    let output = |step: &&Step| graph.derivations[&step.derivation].output.clone();
    let outputs: Vec<String> = steps.iter().map(output).collect();
    let sizes = nix.sizes(&outputs)?;
    let costs = saved_costs();
    let cost = |(step, bytes): (&&Step, u64)| {
        let seconds = costs.last_cost(&step.derivation).map(|cost| cost.seconds);
        (step.name.clone(), ToolchainCost { seconds, bytes })
    };
    Ok(steps.iter().zip(sizes).map(cost).collect())
}

fn paths_by_cache(built: &Built) -> BTreeMap<String, usize> {
    let mut numbers = BTreeMap::new();
    for cache in built.copied.values() {
        *numbers.entry(cache.clone()).or_default() += 1;
    }
    numbers
}
