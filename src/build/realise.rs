//! Builds the wanted variants: fetches pins, builds steps, and saves the time and memory that steps
//! took.

use super::error::EngineError;
use super::evaluation::Evaluation;
use super::fetch::{Purpose, fetch_needed, pins_of_variants};
use super::survey::{StepGraph, saved_costs};
use crate::matrix::{Row, Variant};
use crate::nix::schedule::{Cost, Costs, Task};
use crate::nix::{Built, Limits, Nix, Work};
use crate::pins::fetch::FetchOptions;
use crate::pins::packages::PythonPackages;
use crate::steps::titles::titles_by_derivation;
use crate::steps::{Step, StepKind};
use crate::terminal::note;

/// Fetches and builds the steps that some variants lack, and saves the costs of compilations. The
/// states of steps in the graph are those before the build.
///
/// # Errors
/// `EngineError`; steps that fail are part of the result.
pub fn build_variants<'a>(
    nix: &Nix,
    variants: &'a [&Variant],
    evaluation: &'a Evaluation,
    limits: &Limits,
    offline: bool,
) -> Result<(StepGraph<'a>, Built), EngineError> {
    let options = FetchOptions {
        offline,
        ..FetchOptions::default()
    };
    let packages = evaluation.packages();
    let to_build = || evaluation.to_build(nix, &packages);
    if evaluation.is_in_store(nix, &packages)? {
        return Ok((StepGraph::new(variants, evaluation, &[]), Built::default()));
    }
    let mut planned = to_build()?;
    check_systems(nix, variants, evaluation)?;
    let pins = || pins_of_variants(nix, variants, Purpose::Build, &PythonPackages::default());
    let mut graph = StepGraph::new(variants, evaluation, &planned);
    if !graph.steps.to_fetch.is_empty() && fetch_needed(nix, &planned, pins, &options)? {
        planned = to_build()?;
        graph = StepGraph::new(variants, evaluation, &planned);
    }
    let mut costs = saved_costs();
    let built = nix.build(&remaining_work(nix, &graph, &planned, &costs), limits)?;
    for finished in &built.finished {
        if let Some(bytes) = finished.peak {
            let seconds = finished.seconds;
            costs.record(&finished.derivation, Cost { bytes, seconds });
        }
    }
    // NB: only the speed of the next build depends on the costs.
    if let Err(error) = costs.save() {
        note(format_args!("what compilations took is not kept: {error}"));
    }
    Ok((graph, built))
}

/// Checks that Nix has a machine for each of some variants that is still to be built. Nothing is
/// fetched before this check.
///
/// # Errors
/// `EngineError::ForeignSystem` for the first variant without a machine.
fn check_systems(
    nix: &Nix,
    variants: &[&Variant],
    evaluation: &Evaluation,
) -> Result<(), EngineError> {
    for (variant, wanted) in variants.iter().zip(&evaluation.wanted) {
        let Some(row) = row_without_builder(nix, variant) else {
            continue;
        };
        let package = std::slice::from_ref(&wanted.derivation);
        if !evaluation.to_build(nix, package)?.is_empty() {
            return Err(EngineError::ForeignSystem {
                variant: variant.name.clone(),
                system: row.system.clone(),
            });
        }
    }
    Ok(())
}

/// The row of a variant; `None` if Nix has a machine for its system.
pub fn row_without_builder<'a>(nix: &Nix, variant: &'a Variant) -> Option<&'a Row> {
    let row = variant.row();
    row.filter(|row| !nix.builds_for(&row.system))
}

/// The limits of a build. The number of derivations at a time is `max_jobs` if given. Otherwise it
/// is Nix's own setting if Nix builds on other machines, too, or else the number of cores.
pub fn limits(nix: &Nix, max_jobs: Option<u16>, cores: u16, print_logs: bool) -> Limits {
    let all_cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let default = || nix.jobs_beside_builders().unwrap_or_else(all_cores);
    Limits {
        max_jobs: max_jobs.map_or_else(default, usize::from),
        cores: usize::from(cores),
        print_logs,
        fail_fast: false,
    }
}

/// The work that is still to be done. If Nix has remote builders, the work has no tasks: Nix itself
/// decides which machine builds a derivation.
fn remaining_work(nix: &Nix, graph: &StepGraph<'_>, planned: &[String], costs: &Costs) -> Work {
    let here = nix.jobs_beside_builders().is_none();
    let steps = graph.steps.to_build().filter(|_| here);
    let wanted = graph.wanted.iter();
    Work {
        tasks: steps.map(|step| task(step, costs)).collect(),
        wanted: wanted
            .map(|(_, wanted)| wanted.derivation.clone())
            .collect(),
        titles: titles_by_derivation(&graph.steps.all),
        count: planned.len(),
    }
}

/// The task of a step, for the schedule.
pub fn task(step: &Step, costs: &Costs) -> Task {
    // NB: a join compiles its unit whole if the parts do not fit together. The guess ignores
    // that; later builds know the cost.
    let driver = match &step.kind {
        StepKind::Unit { driver, .. } => Some(&**driver),
        _ => None,
    };
    Task {
        derivation: step.derivation.clone(),
        cost: costs.expected_cost(&step.derivation, driver),
        needs: step.needs.clone(),
    }
}
