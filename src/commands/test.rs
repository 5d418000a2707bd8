//! `test`: builds one variant and runs the kernel's tests with it, through the real client.

use std::time::Instant;

use super::build::{BuildOptions, ShownResult, build_selected};
use super::shell::result_of_status;
use super::{CommandError, shell};
use crate::build::{self, VariantPython, run_python};
use crate::cli::TestArgs;
use crate::nix::Nix;

/// The program that runs the tests.
const RUN_TESTS: &str = include_str!("../../templates/trial/run_tests.py");

pub fn run(arguments: &TestArgs) -> Result<(), CommandError> {
    let path = &arguments.kernel.path;
    let prepared = build::prepare(path)?;
    let folder = prepared.kernel.root.join("tests");
    if !folder.is_dir() {
        return Err(CommandError::NoTests { folder });
    }
    let variant = shell::variant_for_here(&prepared, arguments.variant.as_deref())?;
    let nix = Nix::find()?;
    let options = BuildOptions {
        path,
        jobs: &arguments.jobs,
        fail_fast: false,
        offline: false,
        print_logs: arguments.print_build_logs,
        shown: ShownResult::Line,
        is_default: false,
        start: Instant::now(),
    };
    build_selected(&nix, &prepared, &[variant], options)?;
    let python = match arguments.shell {
        true => VariantPython::Shell,
        false => VariantPython::choose(&prepared, variant, &["pytest"]),
    };
    let jobs = &arguments.jobs;
    let limits = build::limits(&nix, jobs.max_jobs, jobs.cores, arguments.print_build_logs);
    let pytest = &arguments.pytest;
    result_of_status(run_python(
        python, &nix, &prepared, variant, &limits, RUN_TESTS, pytest,
    )?)
}
