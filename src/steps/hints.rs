//! Hints that would make a step cheaper, found in its plan.

use std::collections::{BTreeMap, BTreeSet};

use super::{Step, StepKind};
use crate::plan::{Driver, Plan, UnitGroup};

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

    /// One line for all units that are to be compiled; `None` if no hint concerns them.
    pub fn in_one_line<'s>(&self, steps: impl Iterator<Item = &'s Step>) -> Option<String> {
        let slow = steps.filter_map(|step| self.slow_source(step));
        let slow: BTreeSet<&str> = slow.collect();
        let first = slow.first()?;
        let (subject, verb, them) = match slow.len() - 1 {
            0 => ((*first).to_owned(), "includes", "it"),
            more => (format!("{first} and {more} more"), "include", "them"),
        };
        Some(format!(
            "hint: {subject} {verb} headers of torch in device code, which takes many times as long to compile: move what \
             needs torch to a .cpp file, and declare the functions that launch kernels in a header without torch, for both \
             to include (examples/relu); `kernel-builder plan` names all of {them}"
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
