//! The steps of a build over time, in lanes: the coordinates of a drawing. Its unit is a thousandth
//! of its width.

use serde::Serialize;

use super::units::seconds_in_words;
use crate::steps::history::{StepOutcome, TimedBuild, TimedStep};

/// The width of every drawing.
const WIDTH: f64 = 1000.0;
/// The height of the axis above the lanes.
const AXIS: f64 = 22.0;
const LANE: f64 = 20.0;
const BAR: f64 = 16.0;
/// The height of the line that names a machine.
const HEADING: f64 = 18.0;
/// The width of a letter of a label.
const LETTER: f64 = 6.2;
/// Bars that are narrower are drawn as one with their neighbours.
const NARROW: f64 = 3.0;

/// A drawing.
#[derive(Serialize)]
pub struct Timeline {
    width: f64,
    height: f64,
    bars: Vec<TimelineBar>,
    ticks: Vec<TimelineText>,
    /// The names of machines; empty if all steps ran on this one.
    headings: Vec<TimelineText>,
}

/// A step, or several short ones of the same kind in a row.
#[derive(Serialize)]
struct TimelineBar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    /// The name of the kind of step.
    kind: String,
    critical: bool,
    failed: bool,
    title: String,
    /// The part of the name that fits into the bar; may be empty.
    label: String,
}

#[derive(Serialize)]
struct TimelineText {
    x: f64,
    y: f64,
    text: String,
}

/// A bar before its text is known.
struct LaneSpan<'a> {
    start: f64,
    end: f64,
    steps: Vec<&'a TimedStep>,
}

impl Timeline {
    /// The drawing of a build.
    pub fn new(build: &TimedBuild) -> Self {
        let ends = build.steps.iter().map(end);
        let total = ends.fold(build.seconds, f64::max).max(0.001);
        let scale = WIDTH / total;
        let mut machines: Vec<Option<&str>> = Vec::new();
        for step in &build.steps {
            let machine = step.machine.as_deref();
            if !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        machines.sort_unstable();
        let has_others = machines.iter().any(Option::is_some);
        let mut y = AXIS;
        let (mut bars, mut headings) = (Vec::new(), Vec::new());
        for machine in machines {
            if has_others {
                let text = machine.unwrap_or("this machine").to_owned();
                headings.push(TimelineText {
                    x: 0.0,
                    y: y + HEADING - 5.0,
                    text,
                });
                y += HEADING;
            }
            let steps = build.steps.iter();
            let steps = steps.filter(|step| step.machine.as_deref() == machine);
            for lane in lanes(steps.collect()) {
                let spans = merge_narrow(lane, NARROW / scale);
                bars.extend(spans.iter().map(|span| bar(span, scale, y)));
                y += LANE;
            }
        }
        Self {
            width: WIDTH,
            height: y + 2.0,
            bars,
            ticks: ticks(total, scale),
            headings,
        }
    }
}

fn end(step: &TimedStep) -> f64 {
    step.start + step.seconds
}

/// Steps in lanes: each step is in the first lane that is free when it starts.
fn lanes(mut steps: Vec<&TimedStep>) -> Vec<Vec<&TimedStep>> {
    /// Seconds that two steps of one lane may overlap: the end of one is seen after the next has
    /// begun.
    const OVERLAP: f64 = 0.02;
    steps.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut lanes: Vec<Vec<&TimedStep>> = Vec::new();
    for step in steps {
        let is_free = |lane: &&mut Vec<&TimedStep>| {
            lane.last()
                .is_none_or(|last| end(last) <= step.start + OVERLAP)
        };
        match lanes.iter_mut().find(is_free) {
            Some(lane) => lane.push(step),
            None => lanes.push(vec![step]),
        }
    }
    lanes
}

/// The spans of a lane. Neighbours of one kind that are shorter than `narrow` seconds are one span,
/// unless they failed or are part of the critical path.
fn merge_narrow(lane: Vec<&TimedStep>, narrow: f64) -> Vec<LaneSpan<'_>> {
    let is_plain = |step: &TimedStep| {
        !step.critical && step.outcome == StepOutcome::Built && step.seconds < narrow
    };
    let mut spans: Vec<LaneSpan<'_>> = Vec::new();
    for step in lane {
        let last = spans.last_mut().filter(|span| {
            let last = span.steps[span.steps.len() - 1];
            is_plain(last)
                && is_plain(step)
                && last.kind == step.kind
                && step.start - span.end < narrow
        });
        match last {
            Some(span) => {
                span.end = end(step);
                span.steps.push(step);
            }
            None => spans.push(LaneSpan {
                start: step.start,
                end: end(step),
                steps: vec![step],
            }),
        }
    }
    spans
}

fn bar(span: &LaneSpan<'_>, scale: f64, y: f64) -> TimelineBar {
    let first = span.steps[0];
    let seconds = seconds_in_words(span.steps.iter().map(|step| step.seconds).sum());
    let title = match &span.steps[..] {
        [step] => {
            let outcome = match step.outcome {
                StepOutcome::Built => "",
                StepOutcome::Failed => ", failed",
                StepOutcome::Repeated => ", ran out of memory and ran again",
            };
            format!("{}: {seconds}{outcome}", step.title)
        }
        steps => format!("{} short steps: {seconds}", steps.len()),
    };
    let width = ((span.end - span.start) * scale).max(1.0);
    let label = match &span.steps[..] {
        [step] => label(&step.title, width),
        _ => String::new(),
    };
    TimelineBar {
        x: tenths(span.start * scale),
        y,
        width: tenths(width),
        height: BAR,
        kind: first.kind.clone(),
        critical: first.critical,
        failed: first.outcome == StepOutcome::Failed,
        title,
        label,
    }
}

/// The part of a step's name that fits into a bar: the file name without its folders and without
/// the variant, or its last word, which names a part of a unit.
fn label(title: &str, width: f64) -> String {
    const SHORTEST: usize = 6;
    let name = title.split(" (").next().unwrap_or(title);
    let name = name.rsplit('/').next().unwrap_or(name);
    let last_word = name.rsplit(' ').next().unwrap_or(name);
    let fitting = ((width - 6.0) / LETTER).max(0.0) as usize;
    for words in [name, last_word] {
        if words.chars().count() <= fitting {
            return words.to_owned();
        }
    }
    match fitting {
        SHORTEST.. => name.chars().take(fitting - 1).chain(['…']).collect(),
        _ => String::new(),
    }
}

/// The marks of the axis: round numbers of seconds, at most ten.
fn ticks(total: f64, scale: f64) -> Vec<TimelineText> {
    const MOST: f64 = 10.0;
    const ROUND: [f64; 15] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0,
    ];
    let fits = |step: &&f64| total / **step <= MOST;
    let hours = (total / MOST / 3600.0).ceil() * 3600.0;
    let step = ROUND.iter().find(fits).copied().unwrap_or(hours);
    let numbers = (0..).map(|number| f64::from(number) * step);
    let numbers = numbers.take_while(|seconds| *seconds < total);
    let tick = |seconds: f64| TimelineText {
        x: tenths(seconds * scale),
        y: 12.0,
        text: tick_words(seconds),
    };
    numbers.map(tick).collect()
}

/// Seconds as an axis shows them: "0.5 s", "20 s", "3 min", "3:20 min", "2 h".
fn tick_words(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds.fract() > 0.01 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        _ if whole.is_multiple_of(3600) => format!("{} h", whole / 3600),
        _ if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        _ => format!("{}:{:02} min", whole / 60, whole % 60),
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(title: &str, start: f64, seconds: f64) -> TimedStep {
        TimedStep {
            title: title.to_owned(),
            kind: "unit".to_owned(),
            start,
            seconds,
            ..TimedStep::default()
        }
    }

    fn build(steps: Vec<TimedStep>) -> TimedBuild {
        TimedBuild {
            seconds: 10.0,
            steps,
            ..TimedBuild::default()
        }
    }

    #[test]
    fn steps_at_the_same_time_are_in_different_lanes() {
        let steps = vec![
            step("csrc/a.cu (v)", 1.0, 4.0),
            step("b", 2.0, 1.0),
            step("c", 3.0, 2.0),
            step("d", 5.0, 5.0),
        ];
        let timeline = Timeline::new(&build(steps));
        let places = timeline.bars.iter().map(|bar| (bar.x, bar.y, &*bar.label));
        let (first, second) = (AXIS, AXIS + LANE);
        assert_eq!(
            places.collect::<Vec<_>>(),
            [
                (100.0, first, "a.cu"),
                (500.0, first, "d"),
                (200.0, second, "b"),
                (300.0, second, "c"),
            ]
        );
        assert_eq!(timeline.ticks.len(), 10);
    }

    #[test]
    fn many_short_steps_are_one_bar_unless_they_matter() {
        let short = |number: u32| step("short", f64::from(number) * 0.01, 0.01);
        let mut steps: Vec<TimedStep> = (0..500).map(short).collect();
        steps[250].critical = true;
        steps[251].outcome = StepOutcome::Failed;
        let timeline = Timeline::new(&build(steps));
        let titles = timeline.bars.iter().map(|bar| &*bar.title);
        assert_eq!(
            titles.collect::<Vec<_>>(),
            [
                "250 short steps: 2.5 s",
                "short: 0.0 s",
                "short: 0.0 s, failed",
                "248 short steps: 2.5 s",
            ]
        );
    }

    #[test]
    fn machines_have_lanes_of_their_own() {
        let mut there = step("b", 5.0, 1.0);
        there.machine = Some("ssh://b".to_owned());
        let timeline = Timeline::new(&build(vec![step("a", 0.0, 1.0), there]));
        let headings = timeline.headings.iter().map(|heading| &*heading.text);
        assert_eq!(headings.collect::<Vec<_>>(), ["this machine", "ssh://b"]);
        assert!(timeline.bars[0].y < timeline.bars[1].y);
    }

    #[test]
    fn an_empty_build_can_be_drawn() {
        let timeline = Timeline::new(&TimedBuild::default());
        assert!(timeline.bars.is_empty() && timeline.height > 0.0);
    }
}
