//! `build`: everything from build.toml to build/<variant>, and a table of what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use camino::Utf8Path;
use walkdir::WalkDir;

use super::fetch::Purpose;
use super::prepare::prepare;
use super::survey::{self, Graph};
use super::{CommandError, count, fetch, generate, print};
use crate::matrix::{Row, Variant};
use crate::nix::schedule::{Cost, Costs, Task};
use crate::nix::{Built, Finished, Limits, Nix, Work, name_of};
use crate::pins::fetch::{Options, missing};
use crate::pins::packages::Packages;
use crate::plan::Plan;
use crate::steps::{Kind, Step, Steps, Wanted, hints};

pub fn run(
    path: &Utf8Path,
    names: &[String],
    max_jobs: Option<u16>,
    cores: u16,
    offline: bool,
    print_logs: bool,
) -> Result<(), CommandError> {
    let start = Instant::now();
    let prepared = prepare(path)?;
    let variants = prepared.select_pinned(names)?;
    let mut nix = Nix::find()?;
    if offline {
        nix.stay_offline();
    }
    let output = prepared.kernel.root.join("build");
    for variant in &variants {
        check_replaceable(&output.join(&variant.name))?;
    }
    generate::write(&prepared)?;

    let file = survey::root(&prepared)?.join("build.nix");
    let wanted = survey::evaluate(&nix, &prepared, &variants, &file)?;
    let limits = Limits {
        max_jobs: jobs(&nix, max_jobs),
        cores: usize::from(cores),
        print_logs,
    };
    let (graph, built) = everything(&nix, &prepared.plan, &variants, &wanted, &limits, offline)?;
    // Only what `kernel-builder plan` says depends on it.
    if let Err(error) = survey::remember(&nix, &prepared, &graph, &built) {
        anstream::eprintln!("note: what was built is not recorded: {error}");
    }

    report_failures(&nix, &built, print_logs)?;
    let (rows, failed) = install(&nix, &variants, &graph, &built, &output)?;
    print(&table(&rows))?;
    let notes = elsewhere(&built).into_iter();
    for line in notes.chain(slowest(&built, graph.steps)) {
        anstream::eprintln!("{line}");
    }
    anstream::eprintln!("{} in {:.1} s", output, start.elapsed().as_secs_f64());
    if failed > 0 {
        return Err(CommandError::Build {
            failed,
            of: variants.len(),
        });
    }
    Ok(())
}

/// Copies the variants that were built to their places. A line of the table for each, and how many failed.
fn install(
    nix: &Nix,
    variants: &[&Variant],
    graph: &Graph<'_>,
    built: &Built,
    output: &Utf8Path,
) -> Result<(Vec<[String; 4]>, usize), CommandError> {
    let finished = built.finished.iter();
    let seconds: BTreeMap<&str, f64> = finished
        .map(|finished| (finished.derivation.as_str(), finished.seconds))
        .collect();
    let wanted = graph.wanted.iter();
    let failed = nix.unbuilt(wanted.map(|(_, own)| &own.derivation))?;
    let mut rows = vec![["variant", "result", "seconds", "size"].map(str::to_owned)];
    for (variant, (_, wanted)) in variants.iter().zip(&graph.wanted) {
        if failed.contains(&wanted.derivation) {
            let [result, none] = ["failed", "-"].map(str::to_owned);
            rows.push([variant.name.clone(), result, none.clone(), none]);
            continue;
        }
        let path = &graph.derivations[&wanted.derivation].output;
        let bytes = copy(nix, variant, path, output)?;
        let steps = graph.steps.all.iter();
        let steps = steps.filter(|step| step.variants.contains(&variant.name));
        let own: Vec<f64> = steps
            .filter_map(|step| seconds.get(step.derivation.as_str()).copied())
            .collect();
        let result = match own.is_empty() {
            true if built.copied.contains_key(path) => "copied",
            true => "cached",
            false => "built",
        };
        rows.push([
            variant.name.clone(),
            result.to_owned(),
            format!("{:.1}", own.iter().fold(0.0, |sum, seconds| sum + seconds)),
            format!("{:.1} kB", bytes as f64 / 1e3),
        ]);
    }
    Ok((rows, failed.len()))
}

/// Fetches and builds what some variants lack, and learns what it took. Steps of the graph are as they were before.
pub fn everything<'a>(
    nix: &Nix,
    plan: &Plan,
    variants: &'a [&Variant],
    wanted: &'a [Wanted],
    limits: &Limits,
    offline: bool,
) -> Result<(Graph<'a>, Built), CommandError> {
    let derivations: Vec<String> = wanted.iter().map(|own| own.derivation.clone()).collect();
    let options = Options {
        offline,
        ..Options::default()
    };
    check_systems(nix, variants, wanted)?;
    let none = Packages::default();
    let planned = fetch_needed(nix, &derivations, variants, Purpose::Build, &none, &options)?;
    let graph = survey::graph(nix, variants, wanted, &planned)?;
    if let Some(hint) = hints::of_all(plan, graph.steps.to_build()) {
        anstream::eprintln!("{hint}");
    }
    let mut costs = survey::costs();
    let built = nix.build(&work(nix, &graph, &planned, &costs), limits)?;
    for finished in &built.finished {
        if let Some(bytes) = finished.peak {
            let seconds = finished.seconds;
            costs.learn(&finished.derivation, Cost { bytes, seconds });
        }
    }
    // Only the speed of the next build depends on it.
    if let Err(error) = costs.save() {
        anstream::eprintln!("note: what compilations took is not kept: {error}");
    }
    Ok((graph, built))
}

/// Whether Nix has a machine for each of some variants that is still to be built.
///
/// # Errors
/// The first variant that it has none for, before anything is fetched for it.
fn check_systems(nix: &Nix, variants: &[&Variant], wanted: &[Wanted]) -> Result<(), CommandError> {
    for (variant, own) in variants.iter().zip(wanted) {
        let Some(row) = foreign(nix, variant) else {
            continue;
        };
        if !nix
            .to_build(std::slice::from_ref(&own.derivation))?
            .is_empty()
        {
            return Err(CommandError::ForeignSystem {
                variant: variant.name.clone(),
                system: row.system.clone(),
            });
        }
    }
    Ok(())
}

/// The row of a variant that Nix has no machine for.
pub fn foreign<'a>(nix: &Nix, variant: &'a Variant) -> Option<&'a Row> {
    let row = variant.row();
    row.filter(|row| !nix.builds_for(&row.system))
}

/// Fetches those pins of some variants that derivations still to be built need, and returns the latter.
pub fn fetch_needed(
    nix: &Nix,
    derivations: &[String],
    variants: &[&Variant],
    purpose: Purpose,
    packages: &Packages,
    options: &Options,
) -> Result<Vec<String>, CommandError> {
    let planned = nix.to_build(derivations)?;
    if planned.is_empty() {
        return Ok(planned);
    }
    let needed: BTreeSet<&str> = planned
        .iter()
        .map(|derivation| name_of(derivation))
        .collect();
    let absent: Vec<_> = missing(nix, &fetch::pins(nix, variants, purpose, packages)?)
        .map_err(|error| CommandError::Pins(vec![error]))?
        .into_iter()
        .filter(|missing| needed.contains(missing.pin.store_name().as_str()))
        .collect();
    if absent.is_empty() {
        return Ok(planned);
    }
    fetch::bring(nix, &absent, options)?;
    Ok(nix.to_build(derivations)?)
}

/// Copies a built variant from the store to its place, and returns its size in bytes.
fn copy(nix: &Nix, variant: &Variant, path: &str, output: &Utf8Path) -> Result<u64, CommandError> {
    let io = |action: String| move |source| CommandError::Io { action, source };
    std::fs::create_dir_all(output).map_err(io(format!("create {output}")))?;
    let target = output.join(&variant.name);
    // Beside its place, then renamed: a killed run leaves the old build or the new one.
    let staging = tempfile::Builder::new()
        .prefix(".kernel-builder-")
        .tempdir_in(output)
        .map_err(io(format!("create a folder in {output}")))?;
    let exported = Utf8Path::from_path(staging.path())
        .unwrap_or(output)
        .join("export");
    nix.export(path, &exported)?;
    make_writable(&exported).map_err(io(format!("change the modes of {exported}")))?;
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(io(format!("replace {target}")))?;
    }
    std::fs::rename(exported.join(&variant.name), &target)
        .map_err(io(format!("create {target}")))?;
    Ok(WalkDir::new(&target)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum())
}

/// A folder that a build made may be replaced, nothing else.
fn check_replaceable(target: &Utf8Path) -> Result<(), CommandError> {
    if target.exists() && !target.join("metadata.json").exists() {
        return Err(CommandError::Foreign {
            path: target.to_owned(),
        });
    }
    Ok(())
}

/// The last lines of every derivation that was started and gave nothing.
pub fn report_failures(nix: &Nix, built: &Built, print_logs: bool) -> Result<(), CommandError> {
    if built.errors.is_empty() {
        return Ok(());
    }
    let finished = || built.finished.iter();
    let unbuilt = nix.unbuilt(finished().map(|step| &step.derivation))?;
    for finished in finished() {
        if unbuilt.contains(&finished.derivation) {
            anstream::eprintln!("failed: {}", name_of(&finished.derivation));
            if !print_logs {
                for line in &finished.last_lines {
                    anstream::eprintln!("  {line}");
                }
            }
        }
    }
    for error in &built.errors {
        anstream::eprintln!("{error}");
    }
    Ok(())
}

/// How many derivations are built here at a time: as many as asked for, as Nix is configured where it has other machines
/// too, or one for each core.
pub fn jobs(nix: &Nix, asked: Option<u16>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let default = || nix.jobs_beside_builders().unwrap_or_else(cores);
    asked.map_or_else(default, usize::from)
}

/// What is still to be built. Where Nix has remote builders, it knows best what to run where: everything is left to it.
fn work(nix: &Nix, graph: &Graph<'_>, planned: &[String], costs: &Costs) -> Work {
    let here = nix.jobs_beside_builders().is_none();
    let steps = graph.steps.to_build().filter(|_| here);
    let wanted = graph.wanted.iter();
    Work {
        tasks: steps.map(|step| task(step, costs)).collect(),
        wanted: wanted.map(|(_, own)| own.derivation.clone()).collect(),
        count: planned.len(),
    }
}

/// A step as something to be scheduled.
pub fn task(step: &Step, costs: &Costs) -> Task {
    // NB: where parts of a unit do not fit together, what joins them compiles, and then takes memory.
    let driver = match &step.kind {
        Kind::Unit { driver, .. } => Some(&**driver),
        _ => None,
    };
    Task {
        derivation: step.derivation.clone(),
        cost: costs.of(&step.derivation, driver),
        needs: step.needs.clone(),
    }
}

/// How much came from each binary cache, and from each builder.
fn elsewhere(built: &Built) -> Vec<String> {
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

/// What took longest: the compilations with the most time and memory, and the longest chain of steps, which no number of
/// cores would have done side by side. `steps` are those of all variants; nothing if nothing was compiled.
fn slowest(built: &Built, mut steps: Steps) -> Vec<String> {
    const SHOWN: usize = 3;
    let finished = built.finished.iter();
    let finished: BTreeMap<&str, &Finished> =
        finished.map(|own| (own.derivation.as_str(), own)).collect();
    for step in &mut steps.all {
        step.seconds = finished
            .get(step.derivation.as_str())
            .map(|own| own.seconds);
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
    let names = path.steps.iter().filter_map(|own| steps.step(own));
    let names: Vec<&str> = names.map(|step| &*step.name).collect();
    lines.push(format!(
        "critical path: {:.1} s: {}",
        path.seconds,
        names.join(" → ")
    ));
    lines
}

/// Files of the store are read-only; a user's own are not.
fn make_writable(dir: &Utf8Path) -> std::io::Result<()> {
    for entry in WalkDir::new(dir) {
        let entry = entry?;
        let mut permissions = entry.metadata()?.permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode | 0o200);
        std::fs::set_permissions(entry.path(), permissions)?;
    }
    Ok(())
}

/// Columns as wide as their widest cell; numbers to the right.
fn table(rows: &[[String; 4]]) -> String {
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
