//! The last build of a kernel: its numbers, what failed, and what took the time.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::timeline::Timeline;
use super::units::{bytes_in_words, seconds_in_words, time_in_words};
use crate::steps::history::{StepOutcome, TimedBuild, TimedStep};

/// The most steps that a table lists.
const SHOWN: usize = 15;

/// The last build.
#[derive(Serialize)]
pub struct BuildView {
    /// The time of its start as RFC 3339 writes it.
    time: String,
    time_words: String,
    system: String,
    seconds: String,
    jobs: usize,
    cores: usize,
    variants: usize,
    ran: usize,
    cached: usize,
    /// The seconds of all steps, one after the other.
    work: String,
    /// The number of steps that ran at a time, on average.
    at_a_time: String,
    critical_seconds: String,
    /// The names of the steps of the critical path.
    critical_path: Vec<String>,
    /// The time until the first step: evaluation and fetching. `None` if no step ran.
    before: Option<String>,
    copied: Vec<CopiedPaths>,
    failures: Vec<StepFailure>,
    kinds: Vec<KindShare>,
    slowest: Vec<SlowStep>,
    more: Option<MoreSteps>,
    timeline: Timeline,
}

/// The paths that came from a binary cache.
#[derive(Serialize)]
struct CopiedPaths {
    cache: String,
    number: usize,
}

/// Steps that failed with the same words: parts of a unit often do.
#[derive(Serialize)]
struct StepFailure {
    titles: Vec<String>,
    variants: BTreeSet<String>,
    /// The first line that looks like an error; the last line if none does.
    first_error: String,
    lines: String,
}

/// The steps of a kind.
#[derive(Serialize)]
struct KindShare {
    kind: String,
    number: usize,
    seconds: String,
    /// The part of the seconds of all steps, in percent.
    share: f64,
}

/// A step that took long.
#[derive(Serialize)]
struct SlowStep {
    title: String,
    kind: String,
    critical: bool,
    seconds: String,
    peak: Option<String>,
    /// The seconds in comparison with the slowest step, in percent.
    share: f64,
}

/// Steps that a table leaves out.
#[derive(Serialize)]
struct MoreSteps {
    number: usize,
    seconds: String,
}

impl BuildView {
    pub fn new(build: &TimedBuild) -> Self {
        let work = total(build.steps.iter());
        let critical = || build.steps.iter().filter(|step| step.critical);
        let mut path: Vec<&TimedStep> = critical().collect();
        path.sort_by(|a, b| a.start.total_cmp(&b.start));
        let starts = build.steps.iter().map(|step| step.start);
        let first = starts.reduce(f64::min);
        let ends = build.steps.iter().map(|step| step.start + step.seconds);
        let span = ends.fold(0.0, f64::max) - first.unwrap_or_default();
        let mut slowest: Vec<&TimedStep> = build.steps.iter().collect();
        slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let longest = slowest.first().map_or(0.0, |step| step.seconds);
        let left = slowest.get(SHOWN..).unwrap_or_default();
        Self {
            time: build.started.clone(),
            time_words: time_in_words(&build.started),
            system: build.system.clone(),
            seconds: seconds_in_words(build.seconds),
            jobs: build.jobs,
            cores: build.cores,
            variants: build.variants.len(),
            ran: build.steps.len(),
            cached: build.cached,
            work: seconds_in_words(work),
            at_a_time: format!("{:.1}", work / span.max(0.001)),
            critical_seconds: seconds_in_words(total(critical())),
            critical_path: path.iter().map(|step| step.title.clone()).collect(),
            before: first.map(seconds_in_words),
            copied: build
                .copied
                .iter()
                .map(|(cache, number)| CopiedPaths {
                    cache: cache.clone(),
                    number: *number,
                })
                .collect(),
            failures: failures(build),
            kinds: kinds(build, work),
            more: (!left.is_empty()).then(|| MoreSteps {
                number: left.len(),
                seconds: seconds_in_words(total(left.iter().copied())),
            }),
            slowest: slowest
                .into_iter()
                .take(SHOWN)
                .map(|step| SlowStep {
                    title: step.title.clone(),
                    kind: step.kind.clone(),
                    critical: step.critical,
                    seconds: seconds_in_words(step.seconds),
                    peak: step.peak.map(bytes_in_words),
                    share: percent(step.seconds, longest),
                })
                .collect(),
            timeline: Timeline::new(build),
        }
    }
}

/// The seconds of some steps together. NB: `sum` of an empty iterator is -0.
fn total<'a>(steps: impl Iterator<Item = &'a TimedStep>) -> f64 {
    steps.fold(0.0, |sum, step| sum + step.seconds)
}

/// A part of a whole in percent, with one digit after the point.
fn percent(part: f64, whole: f64) -> f64 {
    (part / whole.max(0.001) * 1000.0).round() / 10.0
}

/// The kinds of steps, those that took longest first.
fn kinds(build: &TimedBuild, work: f64) -> Vec<KindShare> {
    let mut kinds: BTreeMap<&str, Vec<&TimedStep>> = BTreeMap::new();
    for step in &build.steps {
        kinds.entry(&step.kind).or_default().push(step);
    }
    let mut kinds: Vec<(&str, usize, f64)> = kinds
        .into_iter()
        .map(|(kind, steps)| (kind, steps.len(), total(steps.into_iter())))
        .collect();
    kinds.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a));
    let share = |(kind, number, seconds): (&str, usize, f64)| KindShare {
        kind: kind.to_owned(),
        number,
        seconds: seconds_in_words(seconds),
        share: percent(seconds, work),
    };
    kinds.into_iter().map(share).collect()
}

/// The failed steps of a build, in the order in which they ended.
fn failures(build: &TimedBuild) -> Vec<StepFailure> {
    let mut failures: Vec<StepFailure> = Vec::new();
    let steps = build.steps.iter();
    for step in steps.filter(|step| step.outcome == StepOutcome::Failed) {
        let lines: Vec<String> = step.last_lines.iter().map(|line| plain(line)).collect();
        let text = lines.join("\n");
        if let Some(same) = failures.iter_mut().find(|failure| failure.lines == text) {
            same.titles.push(step.title.clone());
            same.variants.extend(step.variants.iter().cloned());
            continue;
        }
        // NB: the line is only shown above all lines; no decision depends on it.
        let mut with_error = lines.iter();
        let first = with_error.find(|line| line.to_lowercase().contains("error"));
        let first = first.or(lines.last());
        failures.push(StepFailure {
            titles: vec![step.title.clone()],
            variants: step.variants.clone(),
            first_error: first
                .map_or("it printed no line", |line| line.trim())
                .to_owned(),
            lines: text,
        });
    }
    failures
}

/// A line without colours and control characters, which HTML has no place for.
fn plain(line: &str) -> String {
    let line = anstream::adapter::strip_str(line).to_string();
    let is_shown = |c: &char| !c.is_control() || *c == '\t';
    line.chars().filter(is_shown).collect()
}
