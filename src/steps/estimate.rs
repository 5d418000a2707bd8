//! The time that a build will take, estimated from earlier builds.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Step, StepKind, Steps};
use crate::nix::Finished;
use crate::nix::schedule::Costs;

/// The longest chain of steps. No number of cores makes a build faster than it.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct CriticalPath {
    pub seconds: f64,
    /// Derivations, in the order in which they are built.
    pub steps: Vec<String>,
}

impl Steps {
    /// Sets the seconds that each step is expected to take.
    pub fn estimate(&mut self, costs: &Costs) {
        for step in &mut self.all {
            let known = costs.last_cost(&step.derivation).map(|cost| cost.seconds);
            step.measured = known.is_some();
            step.seconds = known.or_else(|| match &step.kind {
                StepKind::Unit { driver, .. } => {
                    Some(costs.expected_cost(&step.derivation, Some(driver)).seconds)
                }
                _ => None,
            });
        }
    }

    /// The longest chain of steps that a build ran, with the seconds that they took.
    pub fn critical_path_of(&self, finished: &[Finished]) -> CriticalPath {
        let finished = finished.iter();
        let seconds: BTreeMap<&str, f64> = finished
            .map(|finished| (&*finished.derivation, finished.seconds))
            .collect();
        self.longest_chain(|step| seconds.get(&*step.derivation).copied())
    }

    /// The longest chain of steps that are to be built. A step of unknown length counts as 0
    /// seconds.
    pub fn critical_path(&self) -> CriticalPath {
        self.longest_chain(|step| step.seconds)
    }

    fn longest_chain(&self, seconds_of: impl Fn(&Step) -> Option<f64>) -> CriticalPath {
        let mut paths: BTreeMap<&str, CriticalPath> = BTreeMap::new();
        for step in self.to_build() {
            let before = step
                .needs
                .iter()
                .filter_map(|needed| paths.get(needed.as_str()));
            let before = before.max_by(|a, b| compare_length(a, b));
            let mut steps = before.map_or_else(Vec::new, |path| path.steps.clone());
            steps.push(step.derivation.clone());
            let seconds =
                before.map_or(0.0, |path| path.seconds) + seconds_of(step).unwrap_or_default();
            paths.insert(&step.derivation, CriticalPath { seconds, steps });
        }
        paths
            .into_values()
            .max_by(compare_length)
            .unwrap_or_default()
    }

    /// The step of a derivation.
    pub fn step(&self, derivation: &str) -> Option<&Step> {
        self.all.iter().find(|step| step.derivation == derivation)
    }
}

/// The seconds of some steps together, as far as they are known.
pub fn total_seconds<'a>(steps: impl IntoIterator<Item = &'a Step>) -> f64 {
    let seconds = steps.into_iter().filter_map(|step| step.seconds);
    // NB: `sum` of an empty iterator is -0.
    seconds.fold(0.0, |sum, seconds| sum + seconds)
}

fn compare_length(a: &CriticalPath, b: &CriticalPath) -> std::cmp::Ordering {
    let by_count = || a.steps.len().cmp(&b.steps.len());
    a.seconds.total_cmp(&b.seconds).then_with(by_count)
}
