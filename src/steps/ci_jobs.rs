//! Builds of many variants as jobs of a service for continuous integration: which variants are
//! built together, so that jobs take about as long as each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Steps;

/// One job: variants of one system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CiJob {
    /// The name, unique among the jobs of a kernel.
    pub name: String,
    /// Nix's name of the system that the job runs on.
    pub system: String,
    pub variants: Vec<String>,
    /// The seconds that its steps take one after the other, from an empty store.
    pub seconds: f64,
    /// Whether `seconds` contains no guess.
    pub measured: bool,
}

/// The cost of building some variants together: steps that they share count once.
struct SharedCosts<'s> {
    /// The steps of each variant, as places in the list of all steps.
    steps: BTreeMap<&'s str, Vec<usize>>,
    all: &'s Steps,
}

impl<'s> SharedCosts<'s> {
    fn new(all: &'s Steps) -> Self {
        let mut steps: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, step) in all.all.iter().enumerate() {
            for variant in &step.variants {
                steps.entry(variant).or_default().push(place);
            }
        }
        Self { steps, all }
    }

    fn steps_of(&self, variants: &[&str]) -> BTreeSet<usize> {
        let steps = variants
            .iter()
            .filter_map(|variant| self.steps.get(variant));
        steps.flatten().copied().collect()
    }

    fn seconds(&self, variants: &[&str]) -> f64 {
        let steps = self.steps_of(variants);
        let seconds = steps
            .iter()
            .filter_map(|place| self.all.all[*place].seconds);
        seconds.fold(0.0, |sum, seconds| sum + seconds)
    }

    fn are_measured(&self, variants: &[&str]) -> bool {
        let steps = self.steps_of(variants);
        steps.iter().all(|place| self.all.all[*place].measured)
    }
}

/// Shares variants of one system among at most `most` jobs. Variants of a job are neighbours in the
/// given order, so that those of one compute, which need the same toolchain, stay together. The
/// longest job is as short as this allows.
pub fn share_among_jobs(steps: &Steps, system: &str, variants: &[&str], most: usize) -> Vec<CiJob> {
    let costs = SharedCosts::new(steps);
    // The seconds of each run of neighbours: by its start, then by its length less one.
    let runs: Vec<Vec<f64>> = (0..variants.len())
        .map(|start| {
            let ends = start + 1..=variants.len();
            ends.map(|end| costs.seconds(&variants[start..end]))
                .collect()
        })
        .collect();
    // Longer runs take no less time, so each job takes as many variants as the limit allows.
    let cuts_at = |limit: f64| {
        let mut cuts = vec![0];
        let mut start = 0;
        while let Some(run) = runs.get(start) {
            start += run
                .iter()
                .take_while(|seconds| **seconds <= limit)
                .count()
                .max(1);
            cuts.push(start);
        }
        cuts
    };
    let mut limits: Vec<f64> = runs.iter().flatten().copied().collect();
    // No job is shorter than the longest variant alone, so a smaller limit only makes more jobs.
    let longest = runs.iter().filter_map(|run| run.first().copied());
    let longest = longest.fold(0.0, f64::max);
    limits.retain(|limit| *limit >= longest);
    limits.sort_by(f64::total_cmp);
    let first = limits.partition_point(|limit| cuts_at(*limit).len() - 1 > most);
    let cuts = limits.get(first).map_or(vec![0], |limit| cuts_at(*limit));
    let jobs = cuts.windows(2).enumerate();
    jobs.map(|(place, cut)| {
        let variants = &variants[cut[0]..cut[1]];
        CiJob {
            name: format!("{system}-{}", place + 1),
            system: system.to_owned(),
            variants: variants.iter().map(|name| (*name).to_owned()).collect(),
            seconds: costs.seconds(variants),
            measured: costs.are_measured(variants),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{Step, StepKind, StepState};

    /// Steps with their seconds and variants.
    fn steps(all: &[(f64, &str)]) -> Steps {
        let step = |(seconds, variants): &(f64, &str)| Step {
            derivation: String::new(),
            kind: StepKind::Library,
            name: String::new(),
            variants: variants.split(' ').map(str::to_owned).collect(),
            needs: Vec::new(),
            state: StepState::Cached,
            reasons: Vec::new(),
            seconds: Some(*seconds),
            measured: *seconds != 7.0,
            hints: Vec::new(),
            torch_headers: None,
        };
        Steps {
            all: all.iter().map(step).collect(),
            ..Steps::default()
        }
    }

    fn jobs(all: &[(f64, &str)], variants: &str, most: usize) -> Vec<(String, f64, bool)> {
        let names: Vec<&str> = variants.split_whitespace().collect();
        let jobs = share_among_jobs(&steps(all), "x", &names, most);
        let jobs = jobs.into_iter();
        jobs.map(|job| (job.variants.join(" "), job.seconds, job.measured))
            .collect()
    }

    #[test]
    fn the_longest_job_is_as_short_as_neighbours_allow() {
        let own = [(5.0, "a"), (1.0, "b"), (1.0, "c"), (4.0, "d"), (7.0, "e")];
        let job = |names: &str, seconds, measured| (names.to_owned(), seconds, measured);
        assert_eq!(jobs(&own, "a b c d e", 1), [job("a b c d e", 18.0, false)]);
        assert_eq!(
            jobs(&own, "a b c d e", 3),
            [
                job("a b c", 7.0, true),
                job("d", 4.0, true),
                job("e", 7.0, false)
            ]
        );
        assert_eq!(
            jobs(&own, "a b c d e", 9).len(),
            3,
            "no job is shorter than the longest step"
        );
        assert_eq!(jobs(&own, "", 4), []);
    }

    /// A step that two variants share is built twice, if their jobs differ.
    #[test]
    fn shared_steps_count_once_in_each_job() {
        let own = [
            (10.0, "a b"),
            (1.0, "a"),
            (1.0, "b"),
            (10.0, "c"),
            (1.0, "d"),
        ];
        let found = jobs(&own, "a b c d", 2);
        let expected = [("a b", 12.0), ("c d", 11.0)];
        let expected = expected.map(|(names, seconds)| (names.to_owned(), seconds, true));
        assert_eq!(found, expected);
    }
}
