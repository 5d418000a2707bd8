//! `devshell`, `testshell`: opens a shell of one variant.

use std::process::ExitStatus;

use super::CommandError;
use crate::build::{self, EngineError, ShellKind};
use crate::cli::ShellArgs;
use crate::nix::Nix;

pub fn run(arguments: &ShellArgs, kind: ShellKind) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variant = match &arguments.variant {
        Some(name) => {
            let variant = prepared.select_pinned(std::slice::from_ref(name))?[0];
            let here = build::system();
            if let Some(row) = variant.row().filter(|row| row.system != here) {
                return Err(EngineError::ForeignSystem {
                    variant: variant.name.clone(),
                    system: row.system.clone(),
                }
                .into());
            }
            variant
        }
        None => prepared.choose_for_this_machine()?,
    };
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

/// Turns the exit status of the shell into that of this program.
fn result_of_status(status: ExitStatus) -> Result<(), CommandError> {
    match status.code().map(u8::try_from) {
        Some(Ok(0)) => Ok(()),
        Some(Ok(code)) => Err(CommandError::Shell { code }),
        _ => Err(CommandError::Shell { code: 1 }),
    }
}
