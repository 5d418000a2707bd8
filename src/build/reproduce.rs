//! Builds every step of variants a second time, in another folder, and compares the results.
//! Toolchains are unpacked archives and are not built again.

use camino::Utf8Path;
use walkdir::WalkDir;

use super::error::{EngineError, failed_to};
use super::evaluation::evaluate;
use super::failures::{command_with_logs, report_failures};
use super::prepare::Prepared;
use super::realise::{build_variants, task};
use super::survey::{StepGraph, saved_costs};
use crate::artifact::sections::{StorePath, first_difference, store_paths};
use crate::matrix::Variant;
use crate::nix::schedule::Task;
use crate::nix::{Limits, Nix, Rebuilt, Work};
use crate::steps::titles::titles_by_derivation;
use crate::steps::{Step, StepKind};
use crate::terminal::{count, error_text, status};

/// The outcome of building variants twice.
#[derive(Debug)]
pub struct Reproduction {
    /// Steps that were built again.
    pub steps: usize,
    /// Steps that are not reproducible.
    pub wrong: usize,
    /// Variants that the first build did not make. No step is built again then.
    pub unbuilt: usize,
    /// The command that prints every line of the compilers of the first build.
    pub again: String,
    /// Lines about each step that is not reproducible.
    pub text: String,
}

/// Builds the steps of variants twice and compares.
///
/// # Errors
/// `EngineError`; steps that fail or differ are part of the result.
pub fn reproduce(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
    limits: &Limits,
) -> Result<Reproduction, EngineError> {
    let store = nix.store_folder().ok_or(EngineError::RemoteStore)?;
    let evaluation = evaluate(nix, prepared, variants)?;
    let (graph, built) = build_variants(nix, variants, &evaluation, limits, false)?;
    let failed = report_failures(nix, &graph.steps, &built, false)?;
    let again = command_with_logs("build", &prepared.kernel.root, failed.as_deref());
    let StepGraph {
        derivations, steps, ..
    } = graph;
    let mut steps = steps.all;
    steps.retain(|step| step.kind != StepKind::Toolchain);
    if !built.errors.is_empty() {
        // Nix may have refused a package since an object of it holds a path of the store.
        let text: Vec<String> = steps
            .iter()
            .map(|step| store_paths_text(step, &store, &derivations[&step.derivation].output))
            .collect::<Result<_, _>>()?;
        let unbuilt = nix.unbuilt(evaluation.wanted.iter().map(|wanted| &wanted.derivation))?;
        return Ok(Reproduction {
            steps: 0,
            wrong: 0,
            unbuilt: unbuilt.len(),
            again,
            text: text.concat(),
        });
    }
    let costs = saved_costs();
    let task_again = |step| Task {
        needs: Vec::new(),
        ..task(step, &costs)
    };
    let tasks: Vec<Task> = steps.iter().map(task_again).collect();
    status(format_args!(
        "building {} again",
        count(steps.len(), "step")
    ));
    let work = Work {
        count: tasks.len(),
        tasks,
        titles: titles_by_derivation(&steps),
        ..Work::default()
    };
    let (second, rebuilt) = nix.rebuild(&work, limits)?;

    let mut wrong = 0;
    let mut text = String::new();
    for step in &steps {
        let output = &derivations[&step.derivation].output;
        let name = output.rsplit('/').next().unwrap_or(output);
        let first = store.join(name);
        let differs = match rebuilt.get(&step.derivation) {
            Some(Rebuilt::Same) => String::new(),
            Some(Rebuilt::Differs) => {
                let second = store.join(format!("{name}.check"));
                difference_text(step, &first, &second)?
            }
            Some(Rebuilt::Failed) | None => {
                format!("{}: failed when it was built again\n", step.title())
            }
        };
        let found = differs + &store_paths_text(step, &store, output)?;
        wrong += usize::from(!found.is_empty());
        text += &found;
    }
    let failed = rebuilt.values().any(|rebuilt| *rebuilt == Rebuilt::Failed);
    for error in second.errors.iter().filter(|_| failed) {
        error_text(error);
    }
    Ok(Reproduction {
        steps: steps.len(),
        wrong,
        unbuilt: 0,
        again,
        text,
    })
}

/// A line for the first place where two results of a step differ, and their paths.
fn difference_text(
    step: &Step,
    first: &Utf8Path,
    second: &Utf8Path,
) -> Result<String, EngineError> {
    let place = first_difference(first, second).map_err(failed_to(format!("read {second}")))?;
    // Nix has found that they differ, so there is a place.
    let place = place.map_or_else(String::new, |place| format!(" in {place}"));
    let title = step.title();
    Ok(format!("{title}: differs{place}\n  {first}\n  {second}\n"))
}

/// A line for each section that holds a path of the store, in a unit's object or in the files of a
/// part. Empty if there is no object.
fn store_paths_text(step: &Step, store: &Utf8Path, output: &str) -> Result<String, EngineError> {
    let (place, name) = output.rsplit_once('/').unwrap_or(("", output));
    let object = store.join(name);
    if !matches!(step.kind, StepKind::Unit { .. } | StepKind::Join { .. }) || !object.exists() {
        return Ok(String::new());
    }
    let mut lines = String::new();
    for entry in WalkDir::new(&object).sort_by_file_name() {
        let entry = entry.map_err(|error| failed_to(format!("read {object}"))(error.into()))?;
        if !entry.file_type().is_file() {
            continue;
        }
        let content = std::fs::read(entry.path()).map_err(failed_to(format!("read {object}")))?;
        let file = match entry.depth() {
            0 => String::new(),
            _ => format!(" {}", entry.file_name().to_string_lossy()),
        };
        // NB: builds see the store at /nix/store, the folder of `output`, wherever it really lies.
        for StorePath { section, path } in store_paths(&content, place) {
            lines += &format!("{}{file}: {section} holds {path}\n", step.title());
        }
    }
    Ok(lines)
}
