//! The program: parses arguments, runs a command, turns its error into a message and an exit code.

use std::process::ExitCode;

use clap::Parser;
use kernel_builder::{cli::Cli, commands};

fn main() -> ExitCode {
    match commands::run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::from(error.exit_code())
        }
    }
}
