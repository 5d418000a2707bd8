//! `build`: from build.toml to build/<variant>, with a table of the results. build_result.rs has
//! the result as data, build_summary.rs in words; watch.rs builds again when files change.

use std::time::Instant;

use camino::Utf8Path;

use super::build_result::BuildResult;
use super::{CommandError, build_summary, plan, print, watch};
use crate::build::{self, Attestor, EndedBuild, EngineError, Prepared};
use crate::cli::{BuildArgs, JobArgs};
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::steps::hints::Hints;
use crate::terminal::{note, start_events, status};

/// The way in which variants are built, and in which the result is printed.
#[derive(Clone, Copy)]
pub(super) struct BuildOptions<'a> {
    /// The kernel as the user named it.
    pub path: &'a Utf8Path,
    pub jobs: &'a JobArgs,
    pub fail_fast: bool,
    pub offline: bool,
    pub print_logs: bool,
    pub shown: ShownResult,
    /// Whether the user named no variant.
    pub is_default: bool,
    pub start: Instant,
}

/// The result of a build as it is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownResult {
    Table,
    Json,
    /// One line, for commands that go on afterwards.
    Line,
}

pub fn run(arguments: &BuildArgs) -> Result<(), CommandError> {
    let names = &arguments.variants.names;
    if arguments.dry_run {
        return plan::print_plan(&arguments.kernel.path, names, arguments.json);
    }
    if arguments.watch {
        return watch::run(arguments);
    }
    if arguments.json {
        start_events();
    }
    let options = BuildOptions {
        path: &arguments.kernel.path,
        jobs: &arguments.jobs,
        fail_fast: arguments.fail_fast,
        offline: arguments.offline,
        print_logs: arguments.print_build_logs,
        shown: match arguments.json {
            true => ShownResult::Json,
            false => ShownResult::Table,
        },
        is_default: names.is_empty(),
        start: Instant::now(),
    };
    // Nix is asked for its settings while the kernel is read and planned.
    let finding = std::thread::spawn(Nix::find);
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variants = prepared.select_pinned(names)?;
    let mut nix = finding
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if arguments.offline {
        nix.stay_offline();
    }
    build_selected(&nix, &prepared, &variants, options)
}

/// Builds some variants of a kernel into its build/ folder, and prints the result.
///
/// # Errors
/// `EngineError::Build` if one of them was not built; the reasons are printed then.
pub(super) fn build_selected(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
    options: BuildOptions<'_>,
) -> Result<(), CommandError> {
    let start = options.start;
    let output = prepared.kernel.root.join("build");
    // A kernel in the current folder has the root `.`.
    let output = output.strip_prefix(".").map_or(&*output, Utf8Path::new);
    build::check_replaceable(output, variants)?;
    prepared.write_build_nix()?;

    let evaluation = build::evaluate(nix, prepared, variants)?;
    let print_logs = options.print_logs;
    let mut limits = build::limits(nix, options.jobs.max_jobs, options.jobs.cores, print_logs);
    limits.fail_fast = options.fail_fast;
    let (graph, built) =
        build::build_variants(nix, variants, &evaluation, &limits, options.offline)?;
    let is_recorded = build::is_recorded(prepared, &graph, &built)?;
    let unbuilt = graph.unbuilt(nix, !is_recorded)?;
    // NB: only the reasons in `kernel-builder plan` depend on the record.
    if !is_recorded && let Err(error) = build::record_build(nix, prepared, &graph, &built, &unbuilt)
    {
        note(format_args!("what was built is not recorded: {error}"));
    }

    let attestor = Attestor::open(prepared, &graph)?;
    let installed = build::install(nix, variants, &graph, &built, &unbuilt, &attestor, output);
    let installed = match installed {
        Ok(installed) => installed,
        Err(error) => {
            build::report_failures(nix, &graph.steps, &built, print_logs)?;
            return Err(error.into());
        }
    };
    let ended = EndedBuild {
        graph: &graph,
        built: &built,
        unbuilt: &unbuilt,
        installed: &installed,
        limits: &limits,
        start,
    };
    // NB: only reports depend on the history.
    if let Err(error) = build::record_history(nix, prepared, &ended) {
        note(format_args!(
            "the times of this build are not recorded: {error}"
        ));
    }
    let result = BuildResult::new(
        &installed,
        &graph,
        &built,
        &unbuilt,
        prepared.left_out(variants),
        output,
        start.elapsed(),
    );
    match options.shown {
        ShownResult::Table => print(&build_summary::result_table(&installed))?,
        ShownResult::Json => print(&result.json_line()?)?,
        ShownResult::Line => {}
    }
    let closing = build_summary::closing_lines(&result, output, options.is_default);
    let mut lines = match options.shown {
        ShownResult::Line => Vec::new(),
        _ => build_summary::lines_about_places(&built),
    };
    let mut failed = None;
    if built.errors.is_empty() {
        if options.shown == ShownResult::Line {
            closing.into_iter().for_each(status);
            return Ok(());
        }
        let hint = Hints::new(&prepared.plan).about_slowest(&graph.steps, &built);
        lines.extend(build_summary::lines_about_slowest(&built, graph.steps));
        lines.extend(hint);
        lines.into_iter().chain(closing).for_each(status);
    } else {
        // The words of compilers come last: a person reads them first.
        lines.into_iter().chain(closing).for_each(status);
        failed = build::report_failures(nix, &graph.steps, &built, print_logs)?;
    }
    let path = options.path;
    let again = build::command_with_logs("build", path, failed.as_deref());
    match result.number_without_folder() {
        0 => Ok(()),
        failed => Err(EngineError::Build {
            failed,
            of: variants.len(),
            again,
        }
        .into()),
    }
}
