//! The program: parses arguments, runs a command, turns its error into a message and an exit code.

use std::process::ExitCode;

use clap::Parser;
use kernel_builder::cli::{Cli, color_of_arguments, complete};
use kernel_builder::{commands, terminal};

fn main() -> ExitCode {
    complete::answer_shell();
    // Messages about wrong arguments have colours, too.
    terminal::set_color(color_of_arguments(std::env::args_os().skip(1)));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return commands::report_usage(error),
    };
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::from(error.exit_code())
        }
    }
}
