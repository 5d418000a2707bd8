//! `benchmark`: measures builds of a kernel with the scripts of its benchmarks/ folder.

use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};

use super::build::{BuildOptions, ShownResult, build_selected};
use super::{CommandError, print, print_json, shell};
use crate::benchmark::{self, MeasuredBuild, PLOT_MARKER, RUN_BENCHMARKS};
use crate::build::{self, Prepared, VariantPython, failed_to, run_python};
use crate::cli::BenchmarkArgs;
use crate::emit::write_marked;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::terminal::status;

pub fn run(arguments: &BenchmarkArgs) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let builds = match &arguments.measured[..] {
        [] => measure(arguments, &prepared)?,
        files => files
            .iter()
            .map(|file| MeasuredBuild::read(file))
            .collect::<Result<_, _>>()?,
    };
    let name = prepared.kernel.name.as_str();
    if let Some(file) = &arguments.plot {
        let svg = benchmark::plot(name, &builds)?;
        write_marked(file, &svg, PLOT_MARKER)?;
    }
    match arguments.json {
        true => print_json(&benchmark::json(name, &builds))?,
        false => print(&benchmark::table(&builds))?,
    }
    let wrong: Vec<String> = builds
        .iter()
        .flat_map(|build| {
            build
                .wrong()
                .map(|name| format!("{name} of {}", build.build))
        })
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(CommandError::WrongResults(wrong)),
    }
}

/// A build to measure: the variant whose environment it runs in, and its place as run_benchmarks.py
/// takes it.
struct BuildToMeasure<'a> {
    label: String,
    variant: &'a Variant,
    place: String,
}

/// Builds the variants of this kernel that are asked for, and measures all builds, one after the
/// other.
fn measure(
    arguments: &BenchmarkArgs,
    prepared: &Prepared,
) -> Result<Vec<MeasuredBuild>, CommandError> {
    let folder = prepared.kernel.root.join("benchmarks");
    if !has_benchmarks(&folder) {
        return Err(CommandError::NoBenchmarks { folder });
    }
    let root = prepared.root()?;
    let first = shell::variant_for_here(prepared, arguments.variant.as_deref())?;
    let own = |variant: &'_ Variant| root.join("build").join(&variant.name).into_string();
    let mut targets = vec![BuildToMeasure {
        label: first.name.clone(),
        variant: first,
        place: own(first),
    }];
    for other in &arguments.against {
        let path = Utf8Path::new(other);
        let (variant, place) = if path.is_dir() {
            let path = path.canonicalize_utf8();
            (
                first,
                path.map_err(failed_to(format!("find {other}")))?
                    .into_string(),
            )
        } else if other.contains('@') {
            (first, other.clone())
        } else {
            let variant = shell::variant_for_here(prepared, Some(other))?;
            (variant, own(variant))
        };
        targets.push(BuildToMeasure {
            label: other.clone(),
            variant,
            place,
        });
    }
    let nix = Nix::find()?;
    let mut variants: Vec<&Variant> = Vec::new();
    for target in &targets {
        if !variants
            .iter()
            .any(|variant| variant.name == target.variant.name)
        {
            variants.push(target.variant);
        }
    }
    let options = BuildOptions {
        path: &arguments.kernel.path,
        jobs: &arguments.jobs,
        fail_fast: false,
        offline: false,
        print_logs: arguments.print_build_logs,
        shown: ShownResult::Line,
        is_default: false,
        start: Instant::now(),
    };
    build_selected(&nix, prepared, &variants, options)?;
    targets
        .iter()
        .map(|target| measure_build(arguments, prepared, &nix, target))
        .collect()
}

fn has_benchmarks(folder: &Utf8Path) -> bool {
    let files = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut names = files.map(|file| file.file_name().to_owned());
    names.any(|name| name.starts_with("benchmark") && name.ends_with(".py"))
}

fn measure_build(
    arguments: &BenchmarkArgs,
    prepared: &Prepared,
    nix: &Nix,
    target: &BuildToMeasure<'_>,
) -> Result<MeasuredBuild, CommandError> {
    let failed = || failed_to("create a temporary folder");
    let temporary = tempfile::tempdir().map_err(failed())?;
    let output = Utf8PathBuf::try_from(temporary.path().join("measured.json"))
        .map_err(|error| failed()(error.into_io_error()))?;
    let python = match arguments.shell {
        true => VariantPython::Shell,
        false => VariantPython::choose(prepared, target.variant, &[]),
    };
    status(format_args!("measuring {}", target.label));
    let jobs = &arguments.jobs;
    let limits = build::limits(nix, jobs.max_jobs, jobs.cores, arguments.print_build_logs);
    let words = [
        target.place.clone(),
        target.variant.backend.as_str().to_owned(),
        arguments.samples.to_string(),
        arguments.warmup.to_string(),
        output.to_string(),
    ];
    let status = run_python(
        python,
        nix,
        prepared,
        target.variant,
        &limits,
        RUN_BENCHMARKS,
        &words,
    )?;
    shell::result_of_status(status)?;
    let mut measured = MeasuredBuild::read(&output)?;
    measured.build.clone_from(&target.label);
    match measured.workloads.is_empty() {
        true => Err(CommandError::NoBenchmarks {
            folder: prepared.kernel.root.join("benchmarks"),
        }),
        false => Ok(measured),
    }
}
