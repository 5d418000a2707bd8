//! `completions`: a script with which a shell completes this program's arguments.

use clap::CommandFactory;

use super::{CommandError, print};
use crate::cli::{Cli, CompletionsArgs};

pub fn run(arguments: &CompletionsArgs) -> Result<(), CommandError> {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "kernel-builder",
        &mut text,
    );
    print(&String::from_utf8_lossy(&text))
}
