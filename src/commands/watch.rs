//! `build --watch`: builds again whenever a file of the kernel changes, until Ctrl-C.

use std::time::Instant;

use super::CommandError;
use super::build::{BuildOptions, ShownResult, build_selected};
use crate::build::{self, Prepared, Wake, Watch};
use crate::cli::BuildArgs;
use crate::nix::Nix;
use crate::terminal::status;

pub fn run(arguments: &BuildArgs) -> Result<(), CommandError> {
    let path = &arguments.kernel.path;
    let mut nix = Nix::find()?;
    if arguments.offline {
        nix.stay_offline();
    }
    let prepared = build::prepare(path)?;
    let names = match &arguments.variants.names[..] {
        [] => vec![prepared.choose_for_this_machine()?.name.clone()],
        names => names.to_vec(),
    };
    let mut watch = Watch::start(&prepared.root()?)?;
    let mut round = build_round(arguments, &nix, &prepared, &names);
    loop {
        match round {
            // NB: Ctrl-C on a terminal also ends the build, which has nothing to say about it.
            Err(_) if watch.is_ended() => return Ok(()),
            Err(error) => error.report(),
            Ok(()) => {}
        }
        status("waiting for a change; Ctrl-C ends");
        if watch.wait() == Wake::End {
            return Ok(());
        }
        round = match build::prepare(path) {
            Ok(prepared) => build_round(arguments, &nix, &prepared, &names),
            Err(error) => Err(error.into()),
        };
    }
}

/// Builds the variants as the kernel's files are now.
fn build_round(
    arguments: &BuildArgs,
    nix: &Nix,
    prepared: &Prepared,
    names: &[String],
) -> Result<(), CommandError> {
    let options = BuildOptions {
        path: &arguments.kernel.path,
        jobs: &arguments.jobs,
        fail_fast: arguments.fail_fast,
        offline: arguments.offline,
        print_logs: arguments.print_build_logs,
        shown: ShownResult::Line,
        is_default: false,
        start: Instant::now(),
    };
    build_selected(nix, prepared, &prepared.select_pinned(names)?, options)
}
