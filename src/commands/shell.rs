//! `devshell`, `testshell`: opens a shell of one variant.

use std::process::ExitStatus;

use super::CommandError;
use crate::build::{self, EngineError, Prepared, ShellKind};
use crate::cli::ShellArgs;
use crate::matrix::Variant;
use crate::nix::Nix;

pub fn run(arguments: &ShellArgs, kind: ShellKind) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variant = variant_for_here(&prepared, arguments.variant.as_deref())?;
    let nix = Nix::find()?;
    let limits = build::limits(
        &nix,
        arguments.jobs.max_jobs,
        arguments.jobs.cores,
        arguments.print_build_logs,
    );
    let command = &arguments.command;
    result_of_status(build::open_shell(
        &nix, &prepared, variant, kind, &limits, command,
    )?)
}

/// The named variant, or the one that suits this machine best. It can be built here.
pub(super) fn variant_for_here<'a>(
    prepared: &'a Prepared,
    name: Option<&str>,
) -> Result<&'a Variant, EngineError> {
    let Some(name) = name else {
        return prepared.choose_for_this_machine();
    };
    let variant = prepared.select_pinned(&[name.to_owned()])?[0];
    let here = build::system();
    match variant.row().filter(|row| row.system != here) {
        Some(row) => Err(EngineError::ForeignSystem {
            variant: variant.name.clone(),
            system: row.system.clone(),
        }),
        None => Ok(variant),
    }
}

/// Turns the exit status of the shell into that of this program.
pub(super) fn result_of_status(status: ExitStatus) -> Result<(), CommandError> {
    match status.code().map(u8::try_from) {
        Some(Ok(0)) => Ok(()),
        Some(Ok(code)) => Err(CommandError::Shell { code }),
        _ => Err(CommandError::Shell { code: 1 }),
    }
}
