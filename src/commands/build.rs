//! `build`: from build.toml to build/<variant>, with a table of the results.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{CommandError, count, print};
use crate::build::{self, EngineError, InstalledVariant, Origin};
use crate::cli::BuildArgs;
use crate::nix::{Built, Finished, Nix};
use crate::steps::{Step, Steps};

pub fn run(arguments: &BuildArgs) -> Result<(), CommandError> {
    let start = Instant::now();
    // Nix is asked for its settings while the kernel is read and planned.
    let finding = std::thread::spawn(Nix::find);
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variants = prepared.select_pinned(&arguments.variants.names)?;
    let mut nix = finding
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if arguments.offline {
        nix.stay_offline();
    }
    let output = prepared.kernel.root.join("build");
    build::check_replaceable(&output, &variants)?;
    prepared.write_build_nix()?;

    let evaluation = build::evaluate(&nix, &prepared, &variants)?;
    let print_logs = arguments.print_build_logs;
    let limits = build::limits(
        &nix,
        arguments.jobs.max_jobs,
        arguments.jobs.cores,
        print_logs,
    );
    let (graph, built) = build::build_variants(
        &nix,
        &prepared.plan,
        &variants,
        &evaluation,
        &limits,
        arguments.offline,
    )?;
    let is_recorded = build::is_recorded(&prepared, &graph, &built)?;
    let unbuilt = graph.unbuilt(&nix, !is_recorded)?;
    // NB: only the reasons in `kernel-builder plan` depend on the record.
    if !is_recorded
        && let Err(error) = build::record_build(&nix, &prepared, &graph, &built, &unbuilt)
    {
        anstream::eprintln!("note: what was built is not recorded: {error}");
    }

    build::report_failures(&nix, &built, print_logs)?;
    let installed = build::install(&nix, &variants, &graph, &built, &unbuilt, &output)?;
    print(&result_table(&installed))?;
    let notes = lines_about_places(&built).into_iter();
    for line in notes.chain(lines_about_slowest(&built, graph.steps)) {
        anstream::eprintln!("{line}");
    }
    anstream::eprintln!("{} in {:.1} s", output, start.elapsed().as_secs_f64());
    let failed = installed
        .iter()
        .filter(|variant| variant.origin == Origin::Failed);
    match failed.count() {
        0 => Ok(()),
        failed => Err(EngineError::Build {
            failed,
            of: variants.len(),
        }
        .into()),
    }
}

/// The table: a line for each variant, in columns as wide as their widest cell. Numbers are aligned
/// to the right.
fn result_table(installed: &[InstalledVariant<'_>]) -> String {
    let header = ["variant", "result", "seconds", "size"].map(str::to_owned);
    let row = |variant: &InstalledVariant<'_>| {
        let (result, is_there) = match variant.origin {
            Origin::Built => ("built", true),
            Origin::Cached => ("cached", true),
            Origin::Copied => ("copied", true),
            Origin::Failed => ("failed", false),
        };
        let number = |text: String| if is_there { text } else { "-".to_owned() };
        [
            variant.name.to_owned(),
            result.to_owned(),
            number(format!("{:.1}", variant.seconds)),
            number(format!("{:.1} kB", variant.bytes as f64 / 1e3)),
        ]
    };
    let rows: Vec<[String; 4]> = std::iter::once(header)
        .chain(installed.iter().map(row))
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    rows.iter()
        .map(|[name, result, seconds, size]| {
            format!(
                "{name:0$}  {result:1$}  {seconds:>2$}  {size:>3$}\n",
                widths[0], widths[1], widths[2], widths[3]
            )
        })
        .collect()
}

/// Lines that count the paths from each binary cache, and the steps on each builder.
fn lines_about_places(built: &Built) -> Vec<String> {
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
fn lines_about_slowest(built: &Built, mut steps: Steps) -> Vec<String> {
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
    units.sort_by(|(_, a, _), (_, b, _)| b.seconds.total_cmp(&a.seconds));
    let mut lines = vec!["slowest units:".to_owned()];
    for (step, finished, peak) in units.iter().take(SHOWN) {
        let (title, seconds) = (step.title(), finished.seconds);
        lines.push(format!(
            "  {title}: {seconds:.1} s, {:.0} MB",
            *peak as f64 / 1e6
        ));
    }
    if units.len() > SHOWN {
        lines.push(format!("  and {} more", units.len() - SHOWN));
    }
    let path = steps.critical_path();
    let names = path.steps.iter().filter_map(|path| steps.step(path));
    let names: Vec<&str> = names.map(|step| &*step.name).collect();
    lines.push(format!(
        "critical path: {:.1} s: {}",
        path.seconds,
        names.join(" → ")
    ));
    lines
}
