//! The details of one variant.

use serde::Serialize;

use super::cell::{CellState, VariantStates};
use super::units::{bytes_in_words, seconds_in_words, time_in_words};
use crate::matrix::Variant;
use crate::plan::VariantPlan;
use crate::steps::history::{TimedStep, VariantOutcome};

/// The details of a variant.
#[derive(Serialize)]
pub struct VariantDetails {
    id: String,
    name: String,
    state: CellState,
    words: &'static str,
    facts: Vec<VariantFact>,
    /// The number of its set of flags; `None` for Python alone.
    flags: Option<usize>,
    /// Its slowest steps of the last build.
    steps: Vec<StepTime>,
}

/// A fact about a variant.
#[derive(Serialize)]
struct VariantFact {
    label: &'static str,
    value: String,
}

/// A step with its time.
#[derive(Serialize)]
struct StepTime {
    title: String,
    seconds: String,
}

/// The id of the element with the details of a variant of the matrix.
pub fn id_of_details(number: usize) -> String {
    format!("v{number}")
}

impl VariantDetails {
    /// The details of the variant with a number in the matrix. `flags` is the number of its set of
    /// flags.
    pub fn new(
        number: usize,
        variant: &Variant,
        plan: Option<&VariantPlan>,
        flags: Option<usize>,
        states: &VariantStates<'_>,
    ) -> Self {
        let state = states.state(variant);
        Self {
            id: id_of_details(number),
            name: variant.name.clone(),
            state,
            words: state.words(),
            facts: facts(variant, plan, states),
            flags,
            steps: slowest_steps(variant, states),
        }
    }
}

fn facts(
    variant: &Variant,
    plan: Option<&VariantPlan>,
    states: &VariantStates<'_>,
) -> Vec<VariantFact> {
    let mut facts = Vec::new();
    let mut add = |label, value: String| {
        if !value.is_empty() {
            facts.push(VariantFact { label, value });
        }
    };
    if let Some(result) = states.result(variant) {
        let time = time_in_words(&result.started);
        let seconds = seconds_in_words(result.seconds);
        add(
            "last result",
            match result.outcome {
                VariantOutcome::Built => format!("built on {time}, in {seconds} of steps"),
                VariantOutcome::Cached => format!("found in the store on {time}"),
                VariantOutcome::Copied => format!("copied from a binary cache on {time}"),
                VariantOutcome::Failed => format!("failed on {time}"),
            },
        );
        if result.bytes > 0 {
            add("size", bytes_in_words(result.bytes));
        }
        add("build id", result.build_id.clone().unwrap_or_default());
    }
    if let Some(unpinned) = variant.unpinned() {
        add(
            "cannot be built",
            format!("{} has no pins: {}", unpinned.family, unpinned.why),
        );
    }
    if let Some(plan) = plan {
        add("architectures", plan.metadata.backend.archs.join(" "));
    }
    if let Some(row) = variant.row() {
        let families = variant.families();
        let toolchains = families.iter().filter(|family| *family != "seed");
        let toolchains: Vec<&str> = toolchains.map(String::as_str).collect();
        add("toolchains", toolchains.join(" "));
        add("archives", format!("of the {} profile", row.profile));
    }
    let by_default = match variant.bundle {
        true => "yes",
        false => "only if --variant names it",
    };
    add("built by default", by_default.to_owned());
    facts
}

/// The slowest steps that the last build ran for a variant.
fn slowest_steps(variant: &Variant, states: &VariantStates<'_>) -> Vec<StepTime> {
    const SHOWN: usize = 3;
    let steps = states.history.last.iter().flat_map(|last| &last.steps);
    let mut steps: Vec<&TimedStep> = steps
        .filter(|step| step.variants.contains(&variant.name))
        .collect();
    steps.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let steps = steps.into_iter().take(SHOWN);
    let time = |step: &TimedStep| StepTime {
        title: step.title.clone(),
        seconds: seconds_in_words(step.seconds),
    };
    steps.map(time).collect()
}
