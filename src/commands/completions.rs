//! `completions`: a script with which a shell completes this program's arguments. The script asks
//! the program (src/cli/complete.rs).

use clap_complete::env::Shells;

use super::{CommandError, print};
use crate::cli::CompletionsArgs;
use crate::cli::complete::VARIABLE;

pub fn run(arguments: &CompletionsArgs) -> Result<(), CommandError> {
    const PROGRAM: &str = "kernel-builder";
    let shells = Shells::builtins();
    let mut script = Vec::new();
    let write_failed = |source| CommandError::Io {
        action: format!("write completions for {}", arguments.shell),
        source,
    };
    shells
        .completer(&arguments.shell.to_string())
        .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::Unsupported))
        .and_then(|shell| {
            shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        })
        .map_err(write_failed)?;
    print(&String::from_utf8_lossy(&script))
}
