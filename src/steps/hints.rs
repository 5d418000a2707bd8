//! Hints that would make a step cheaper, found in its plan.

use std::collections::{BTreeMap, BTreeSet};

use super::{Step, StepKind, Steps};
use crate::nix::Built;
use crate::plan::{Driver, Plan, UnitGroup};

/// Seconds of compiling a source for one variant, from which on a hint is worth a line.
const SLOW_SECONDS: f64 = 60.0;

/// The hints for the steps of a kernel.
pub struct Hints<'a> {
    /// Sources whose device code includes headers of torch, each with the variants in which it
    /// does.
    slow: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Hints<'a> {
    /// The hints that a plan gives.
    pub fn new(plan: &'a Plan) -> Self {
        let mut slow: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for variant in plan.variants.iter().filter(|_| !plan.tvm_ffi) {
            let groups = variant
                .components
                .iter()
                .flat_map(|component| &component.units);
            for group in groups.filter(|group| group.is_slow()) {
                let sources = group.sources.iter();
                for source in sources.filter(|source| !is_translated(group, source)) {
                    slow.entry(source).or_default().insert(&variant.variant);
                }
            }
        }
        Self { slow }
    }

    /// The hints for one step.
    pub fn for_step(&self, step: &Step) -> Vec<String> {
        let hint = "its device code includes headers of torch, which takes many times as long to compile: let it take \
                    pointers and sizes, and call it from a .cpp file that includes torch, as examples/relu does";
        match self.slow_source(step) {
            Some(_) => vec![hint.to_owned()],
            None => Vec::new(),
        }
    }

    /// One line about the slowest source whose device code includes headers of torch, from the
    /// seconds that units took in a build. `None` if none took longer than a minute for a variant.
    pub fn about_slowest(&self, steps: &Steps, built: &Built) -> Option<String> {
        let finished = built.finished.iter();
        let seconds: BTreeMap<&str, f64> = finished
            .map(|finished| (finished.derivation.as_str(), finished.seconds))
            .collect();
        let mut taken: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for step in &steps.all {
            let facts = (self.slow_source(step), step.variants.first());
            if let ((Some(source), Some(variant)), Some(seconds)) =
                (facts, seconds.get(step.derivation.as_str()))
            {
                *taken.entry((source, variant)).or_default() += seconds;
            }
        }
        let slow = taken
            .into_iter()
            .filter(|(_, seconds)| *seconds > SLOW_SECONDS);
        let ((source, variant), seconds) = slow.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some(format!(
            "hint: {source} took {seconds:.0} s of compiling for {variant}, since its device code includes headers of \
             torch; without them it takes seconds (docs/writing-kernels.md)"
        ))
    }

    /// The source of a unit whose device code includes headers of torch.
    fn slow_source<'s>(&self, step: &'s Step) -> Option<&'s str> {
        let StepKind::Unit { source, .. } = &step.kind else {
            return None;
        };
        let variants = self.slow.get(source.as_str())?;
        let mut step_variants = step.variants.iter();
        step_variants
            .any(|variant| variants.contains(variant.as_str()))
            .then_some(source)
    }
}

/// Whether a source is translated for AMD GPUs. NB: the translation needs torch, whether or not the
/// source includes its headers.
fn is_translated(group: &UnitGroup, source: &str) -> bool {
    group.driver == Driver::Hip && source.ends_with(".cu")
}
