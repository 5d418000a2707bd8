//! `completions`: what a shell needs to complete this program's arguments.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{CommandError, print};
use crate::cli::Cli;

pub fn run(shell: Shell) -> Result<(), CommandError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kernel-builder", &mut text);
    print(&String::from_utf8_lossy(&text))
}
