//! The result of a build in words: the table of variants, and the lines below it.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use camino::Utf8Path;

use super::build_result::BuildResult;
use super::count;
use crate::build::{InstalledVariant, LeftOut, Origin};
use crate::nix::{Built, Finished};
use crate::steps::titles::titles_by_derivation;
use crate::steps::{Step, Steps};

/// The table: a line for each variant, in columns as wide as their widest cell. Numbers are aligned
/// to the right.
pub(super) fn result_table(installed: &[InstalledVariant<'_>]) -> String {
    let header = ["variant", "result", "seconds", "size"].map(str::to_owned);
    let row = |variant: &InstalledVariant<'_>| {
        let number = |text: String| match variant.origin.has_folder() {
            true => text,
            false => "-".to_owned(),
        };
        [
            variant.name.to_owned(),
            variant.origin.name().to_owned(),
            number(format!("{:.1}", variant.seconds)),
            number(format!("{:.1} kB", variant.bytes as f64 / 1e3)),
        ]
    };
    let rows: Vec<[String; 4]> = std::iter::once(header)
        .chain(installed.iter().map(row))
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].len());
        widths.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    let styles = installed.iter().map(|variant| style(variant.origin));
    let styles = std::iter::once(Style::new()).chain(styles);
    rows.iter()
        .zip(styles)
        .map(|([name, result, seconds, size], style)| {
            format!(
                "{name:0$}  {style}{result:1$}{style:#}  {seconds:>2$}  {size:>3$}\n",
                widths[0], widths[1], widths[2], widths[3]
            )
        })
        .collect()
}

fn style(origin: Origin) -> Style {
    match origin {
        Origin::Built => AnsiColor::Green.on_default(),
        Origin::Cached | Origin::Copied => Style::new(),
        Origin::Failed => AnsiColor::Red.on_default().bold(),
        Origin::Stopped => AnsiColor::Yellow.on_default(),
    }
}

/// The last lines: the kernel's variants that the build was not for, then the folder of the others
/// with the time and the numbers of steps. Variants that `--variant` leaves out are not worth a
/// line.
pub(super) fn closing_lines(
    result: &BuildResult<'_>,
    output: &Utf8Path,
    is_default: bool,
) -> Vec<String> {
    let groups = result.left_out.iter();
    let groups = groups.filter(|(reason, _)| is_default || **reason == LeftOut::Unpinned);
    let numbers: Vec<(usize, LeftOut)> = groups
        .map(|(reason, variants)| (variants.len(), *reason))
        .collect();
    let mut lines = Vec::new();
    if !numbers.is_empty() {
        let all = result.left_out.values().map(Vec::len).sum::<usize>();
        let all = all + result.number_of_variants();
        let left: usize = numbers.iter().map(|(number, _)| number).sum();
        let words = numbers.iter();
        let words: Vec<String> = words
            .map(|(number, reason)| format!("{number} {}", reason.words()))
            .collect();
        lines.push(format!(
            "left out: {left} of {}: {}; `kernel-builder list-variants --all` lists them",
            count(all, "variant"),
            words.join(", ")
        ));
    }
    let steps = &result.steps;
    let numbers = [
        (steps.built, "built"),
        (steps.cached, "cached"),
        (steps.copied, "copied"),
        (steps.failed, "failed"),
    ];
    let numbers = numbers.iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = numbers
        .enumerate()
        .map(|(place, (number, what))| match place {
            0 => format!("{} {what}", count(*number, "step")),
            _ => format!("{number} {what}"),
        })
        .collect();
    let seconds = result.seconds;
    lines.push(format!("{output} in {seconds:.1} s: {}", words.join(", ")));
    lines
}

/// Lines that count the paths from each binary cache, and the steps on each builder.
pub(super) fn lines_about_places(built: &Built) -> Vec<String> {
    fn lines<'a>(thing: &str, how: &str, places: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut numbers: BTreeMap<&String, usize> = BTreeMap::new();
        for place in places {
            *numbers.entry(place).or_default() += 1;
        }
        let line = |(place, number)| format!("{} {how} {place}", count(number, thing));
        numbers.into_iter().map(line).collect()
    }
    let machines = built.finished.iter();
    let machines = machines.filter_map(|finished| finished.machine.as_ref());
    let mut all = lines("path", "copied from", built.copied.values());
    all.extend(lines("step", "built on", machines));
    all
}

/// Lines about the slowest compilations, with their memory, and about the longest chain of steps,
/// which no number of cores makes faster. `steps` are those of all variants. Empty if no unit was
/// compiled.
pub(super) fn lines_about_slowest(built: &Built, mut steps: Steps) -> Vec<String> {
    const SHOWN: usize = 3;
    let finished = built.finished.iter();
    let finished: BTreeMap<&str, &Finished> = finished
        .map(|finished| (finished.derivation.as_str(), finished))
        .collect();
    for step in &mut steps.all {
        step.seconds = finished
            .get(step.derivation.as_str())
            .map(|finished| finished.seconds);
    }
    let mut units: Vec<(&Step, &Finished, u64)> = steps
        .all
        .iter()
        .filter_map(|step| {
            let finished = finished.get(step.derivation.as_str())?;
            Some((step, *finished, finished.peak?))
        })
        .collect();
    if units.is_empty() {
        return Vec::new();
    }
    let titles = titles_by_derivation(&steps.all);
    units.sort_by(|(_, a, _), (_, b, _)| b.seconds.total_cmp(&a.seconds));
    let mut lines = vec!["slowest units:".to_owned()];
    for (step, finished, peak) in units.iter().take(SHOWN) {
        let (title, seconds) = (&titles[&step.derivation], finished.seconds);
        let megabytes = *peak as f64 / 1e6;
        lines.push(format!("  {title}: {seconds:.1} s, {megabytes:.0} MB"));
    }
    if units.len() > SHOWN {
        lines.push(format!("  and {} more", units.len() - SHOWN));
    }
    let path = steps.critical_path();
    let names: Vec<&str> = path.steps.iter().map(|path| &*titles[path]).collect();
    lines.push(format!(
        "critical path: {:.1} s: {}",
        path.seconds,
        names.join(" → ")
    ));
    lines
}
