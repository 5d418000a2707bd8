//! `man`: manual pages of the program and its commands, one file each.

use clap::CommandFactory;

use super::CommandError;
use crate::cli::{Cli, ManArgs};

pub fn run(arguments: &ManArgs) -> Result<(), CommandError> {
    clap_mangen::generate_to(Cli::command(), &arguments.dir).map_err(|source| CommandError::Io {
        action: format!("write manual pages to {}", arguments.dir),
        source,
    })
}
