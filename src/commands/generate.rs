//! `generate`: build.toml -> build.nix.

use super::{CommandError, print};
use crate::build;
use crate::cli::GenerateArgs;
use crate::emit::{self, Written};
use crate::file::{MAX_TEXT, read_at_most};
use crate::terminal::status;

pub fn run(arguments: &GenerateArgs) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    if let Some(output) = &arguments.output {
        // lib/genFlakeOutputs.nix makes this program write into the store, where nobody reads a
        // message.
        emit::write(output, prepared.build_nix()?)?;
        return Ok(());
    }
    if arguments.check {
        let text = prepared.build_nix()?;
        let current =
            read_at_most(&prepared.kernel.root.join("build.nix"), MAX_TEXT).unwrap_or_default();
        return if current == text.as_bytes() {
            print("build.nix is up to date\n")
        } else {
            Err(CommandError::Stale)
        };
    }
    let written = prepared.write_build_nix()?;
    let change = match written {
        Written::Created => "created",
        Written::Updated => "updated",
        Written::Unchanged => "unchanged",
    };
    let numbers = prepared.matrix.numbers(&build::system());
    print(&format!("build.nix {change}: {numbers}\n"))?;
    if written == Written::Unchanged
        && let Some(hint) = build::hint_to_add_build_nix(&prepared.kernel.root)
    {
        status(hint);
    }
    Ok(())
}
