//! Wrong usage: the first commands for whoever gives none, and hints for commands that other
//! builders have.

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::terminal::error_text;

/// The text for a program that is started alone.
const FIRST_COMMANDS: &str = "\
usage: kernel-builder COMMAND [KERNEL_DIR]; by default, the current folder

These commands take a new kernel from its files to Python:

  kernel-builder init           write a new kernel
  kernel-builder check-config   find mistakes in build.toml and its files
  kernel-builder build          build its variants for this system
  kernel-builder test           run its tests with the variant for this machine
  kernel-builder generate       write build.nix, for builds with Nix alone

`kernel-builder --help` lists all commands, `kernel-builder build --help` the
options of one.";

/// Commands of other builders, or those that users expect, each with the command of this program.
const FOREIGN_COMMANDS: &[(&[&str], &str)] = &[
    (
        &["new", "create", "scaffold"],
        "a similar subcommand exists: 'init'",
    ),
    (
        &["publish", "push"],
        "a similar subcommand exists: 'upload'",
    ),
    (
        &["kernel-abi-check", "abi-check"],
        "a similar subcommand exists: 'check-abi'",
    ),
    (
        &["shell", "develop", "dev"],
        "a similar subcommand exists: 'devshell'",
    ),
    (
        &["check"],
        "`kernel-builder check-config` checks the files, `kernel-builder test` runs the tests",
    ),
];

/// Prints an error of clap, or the help that was asked for, with our hints. Returns the exit code.
pub fn report_usage(mut error: clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            error_text(FIRST_COMMANDS);
            return ExitCode::from(2);
        }
        ErrorKind::InvalidSubcommand => {
            if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
                && let Some(tip) = tip(name)
            {
                error.remove(ContextKind::SuggestedSubcommand);
                let tip = ContextValue::StyledStrs(vec![tip.into()]);
                error.insert(ContextKind::Suggested, tip);
            }
        }
        _ => {}
    }
    // The reader of a help text may have closed the pipe.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// The hint for a word that is no command; `None` if clap's own suggestion is as good.
fn tip(name: &str) -> Option<String> {
    if Path::new(name).exists() {
        return Some(format!(
            "to build that kernel: `kernel-builder build {name}`"
        ));
    }
    let mut known = FOREIGN_COMMANDS.iter();
    let (_, tip) = known.find(|(names, _)| names.contains(&name))?;
    Some((*tip).to_owned())
}
