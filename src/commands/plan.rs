//! `plan`: the steps that a build would run, and the reasons, for a person or as JSON
//! (docs/plan.md). Builds and fetches nothing.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use serde::Serialize;

use super::{CommandError, count, print, print_json};
use crate::build;
use crate::build::fetch::{absent_pins, sizes_in_words};
use crate::cli::PlanArgs;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::pins::fetch::{FetchOptions, PlacedPin, download_size};
use crate::steps::estimate::{CriticalPath, total_seconds};
use crate::steps::json::StepJson;
use crate::steps::{Step, StepState, Steps};

/// The output of `--json`.
#[derive(Serialize)]
struct PlanReport<'a> {
    variants: Vec<VariantReport<'a>>,
    steps: Vec<StepJson<'a>>,
    fetch: FilesToFetch,
    unavailable: Vec<UnavailableName<'a>>,
    total: PlanTotal,
    critical_path: CriticalPath,
}

#[derive(Serialize)]
struct VariantReport<'a> {
    variant: &'a str,
    state: &'static str,
    /// Derivations of the steps that are to be built for the variant.
    steps: Vec<&'a str>,
    seconds: f64,
    /// Whether `seconds` contains no guess.
    measured: bool,
}

#[derive(Serialize)]
struct FilesToFetch {
    /// Store names of the files.
    files: Vec<String>,
    /// Bytes to download, without files of unknown size.
    download: u64,
    unknown_sizes: usize,
    store: u64,
    #[serde(skip)]
    words: String,
}

#[derive(Serialize)]
struct UnavailableName<'a> {
    name: &'a str,
    why: String,
}

#[derive(Serialize)]
struct PlanTotal {
    build: usize,
    cached: usize,
    seconds: f64,
    measured: bool,
    /// The number of steps to build whose length is unknown.
    unmeasured: usize,
}

pub fn run(arguments: &PlanArgs) -> Result<(), CommandError> {
    let names = &arguments.variants.names;
    print_plan(&arguments.kernel.path, names, arguments.json)
}

/// Prints the steps of a build of some variants, which `names` and globs match.
pub fn print_plan(path: &Utf8Path, names: &[String], json: bool) -> Result<(), CommandError> {
    let prepared = build::prepare(path)?;
    let variants = prepared.select(names)?;
    let nix = Nix::find()?;
    let steps = build::survey(&nix, &prepared, &variants)?;
    let absent = absent_pins(&nix, &variants, &steps)?;
    let mut report = plan_report(&steps, &variants, &absent);
    let without_builder = variants.iter().filter_map(|variant| {
        let row = build::row_without_builder(&nix, variant)?;
        let mut steps = steps.to_build();
        let to_build = steps.any(|step| step.variants.contains(&variant.name));
        to_build.then(|| UnavailableName {
            name: &variant.name,
            why: format!("Nix has no builder for {}", row.system),
        })
    });
    report.unavailable.extend(without_builder);
    match json {
        true => print_json(&report),
        false => print(&plan_text(&steps, &report)),
    }
}

fn plan_report<'a>(
    steps: &'a Steps,
    variants: &[&'a Variant],
    absent: &[PlacedPin],
) -> PlanReport<'a> {
    let variant_report = |variant: &&'a Variant| {
        let to_build = steps.to_build();
        let to_build: Vec<_> = to_build
            .filter(|step| step.variants.contains(&variant.name))
            .collect();
        VariantReport {
            variant: &variant.name,
            state: match to_build.is_empty() {
                true => StepState::Cached.name(),
                false => StepState::Build.name(),
            },
            seconds: total_seconds(to_build.iter().copied()),
            measured: is_measured(&to_build),
            steps: to_build.iter().map(|step| &*step.derivation).collect(),
        }
    };
    let to_build: Vec<_> = steps.to_build().collect();
    let build = to_build.len();
    let download = download_size(absent, &FetchOptions::default());
    PlanReport {
        variants: variants.iter().map(variant_report).collect(),
        steps: steps.all.iter().map(StepJson::new).collect(),
        fetch: FilesToFetch {
            files: absent
                .iter()
                .map(|placed| placed.pin.store_name())
                .collect(),
            download: download.bytes,
            unknown_sizes: download.unknown,
            store: absent.iter().map(|placed| placed.pin.store_size()).sum(),
            words: sizes_in_words(absent, &FetchOptions::default()),
        },
        unavailable: steps
            .unavailable
            .iter()
            .map(|(name, why)| UnavailableName {
                name,
                why: why.clone(),
            })
            .collect(),
        total: PlanTotal {
            build,
            cached: steps.all.len() - build,
            seconds: total_seconds(to_build.iter().copied()),
            measured: is_measured(&to_build),
            unmeasured: steps
                .to_build()
                .filter(|step| step.seconds.is_none())
                .count(),
        },
        critical_path: steps.critical_path(),
    }
}

/// The most steps with the same kind and reasons that have a line each. A larger group is one line.
const MAX_LINES: usize = 8;

fn plan_text(steps: &Steps, report: &PlanReport<'_>) -> String {
    let mut rows = Vec::new();
    for variant in &report.variants {
        let work = match variant.steps.len() {
            0 => "cached".to_owned(),
            number if variant.seconds == 0.0 => format!("{} to build", count(number, "step")),
            number => {
                let time = seconds_text(variant.seconds, variant.measured);
                format!("{} to build, {time}", count(number, "step"))
            }
        };
        rows.push([variant.variant.to_owned(), work, String::new()]);
    }
    let mut text = align_columns(&rows);
    let mut groups: BTreeMap<(&str, &[String]), Vec<&Step>> = BTreeMap::new();
    let mut order = Vec::new();
    for step in steps.to_build() {
        let key = (step.kind.name(), &*step.reasons);
        let group = groups.entry(key).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(step);
    }
    let mut rows = Vec::new();
    for key in order {
        let group = &groups[&key];
        let row = |name: String, group: &[&Step]| {
            let time = total_seconds(group.iter().copied());
            let time = match group.iter().any(|step| step.seconds.is_some()) {
                true => seconds_text(time, is_measured(group)),
                false => "-".to_owned(),
            };
            [name, time, reasons_text(key.1)]
        };
        match group.len() {
            many if many > MAX_LINES => {
                let name = format!("{} and {} more", group[0].name, many - 1);
                rows.push(row(name, group));
            }
            _ => rows.extend(group.iter().map(|step| row(step.name.clone(), &[step]))),
        }
    }
    if !rows.is_empty() {
        text += &format!("\n{}", align_columns(&rows));
    }
    // Each hint is printed once for all parts of a unit.
    let hints: BTreeSet<(&str, &str)> = steps
        .all
        .iter()
        .flat_map(|step| step.hints.iter().map(|hint| (step.source(), hint.as_str())))
        .collect();
    for (name, hint) in hints {
        text += &format!("hint: {name}: {hint}\n");
    }
    for missing in &report.unavailable {
        text += &format!("cannot be built: {}: {}\n", missing.name, missing.why);
    }
    text + &steps.torch_headers_text() + &summary_text(steps, report)
}

/// The first reasons; `--json` has all.
fn reasons_text(reasons: &[String]) -> String {
    const SHOWN: usize = 3;
    let more = reasons.len().saturating_sub(SHOWN);
    let shown = reasons[..reasons.len() - more].join("; ");
    match more {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

fn summary_text(steps: &Steps, report: &PlanReport<'_>) -> String {
    let mut text = "\n".to_owned();
    if !report.fetch.files.is_empty() {
        text += &format!(
            "{} to fetch: {}\n",
            count(report.fetch.files.len(), "file"),
            report.fetch.words
        );
    }
    let total = &report.total;
    if total.build == 0 {
        return text + &format!("nothing to build: {} cached\n", count(total.cached, "step"));
    }
    text += &format!(
        "{} to build, {} cached",
        count(total.build, "step"),
        total.cached
    );
    if total.seconds > 0.0 {
        text += &format!("; {} in all", seconds_text(total.seconds, total.measured));
        let names: Vec<&str> = report
            .critical_path
            .steps
            .iter()
            .filter_map(|path| Some(&*steps.step(path)?.name))
            .collect();
        let path = seconds_text(report.critical_path.seconds, total.measured);
        text += &format!(
            "; {path} on as many cores as there are: {}",
            names.join(" → ")
        );
    }
    if total.unmeasured > 0 {
        text += &format!("; {} never measured", count(total.unmeasured, "step"));
    }
    text + "\n"
}

/// Whether no time of some steps is guessed.
fn is_measured(steps: &[&Step]) -> bool {
    let mut guessed = steps
        .iter()
        .filter(|step| step.seconds.is_some() && !step.measured);
    guessed.next().is_none()
}

/// Seconds as text: "1.5 s", or "~15.0 s" for a guess.
fn seconds_text(seconds: f64, measured: bool) -> String {
    let sign = if measured { "" } else { "~" };
    format!("{sign}{seconds:.1} s")
}

/// Rows in columns as wide as their widest cell. The second column holds numbers.
fn align_columns(rows: &[[String; 3]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let line = |[name, number, words]: &[String; 3]| {
        let line = format!("{name:first$}  {number:>second$}  {words}");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
