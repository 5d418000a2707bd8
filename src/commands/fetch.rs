//! `fetch`: brings the archives that the toolchains of variants are made of into the store. With
//! `--json`, it prints events.

use camino::Utf8Path;
use serde::Serialize;

use super::{CommandError, count, print, print_json_line};
use crate::build::fetch::{
    IMAGE_FAMILIES, Purpose, bring_pins, check_space, fetch_tool, kernel_packages, pins_of_variants,
};
use crate::build::{self, pin_failed};
use crate::cli::FetchArgs;
use crate::nix::Nix;
use crate::pins::carry::{self, CarriedFolder};
use crate::pins::fetch::{FetchOptions, missing, tidy};
use crate::pins::space::megabytes;
use crate::terminal::start_events;

/// The last event of a fetch that succeeded.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum LastEvent<'a> {
    Finished(FetchReport<'a>),
}

/// The outcome of a fetch. Sizes are bytes.
#[derive(Serialize)]
struct FetchReport<'a> {
    /// The number of files that were in the store already.
    present: usize,
    /// Store names of the fetched files.
    fetched: Vec<String>,
    downloaded: u64,
    /// The outcome of `--to`.
    written: Option<CarriedFiles<'a>>,
}

#[derive(Serialize)]
struct CarriedFiles<'a> {
    folder: &'a Utf8Path,
    files: usize,
    /// The number of files that were not in the folder before.
    new: usize,
}

pub fn run(arguments: &FetchArgs) -> Result<(), CommandError> {
    if arguments.tool {
        return fetch_for_tool(arguments, "kernel-builder", &[]);
    }
    if arguments.image {
        return fetch_for_tool(arguments, "the image of kernel-builder", &IMAGE_FAMILIES);
    }
    if arguments.json {
        start_events();
    }
    let purpose = match (arguments.check, arguments.shell) {
        (_, true) => Purpose::Shell,
        (true, false) => Purpose::Check,
        (false, false) => Purpose::Build,
    };
    let prepared = build::prepare(&arguments.kernel.path)?;
    let names = &arguments.variants.names;
    let variants = match purpose {
        Purpose::Shell if names.is_empty() => vec![prepared.choose_for_this_machine()?],
        _ => prepared.select_pinned(names)?,
    };
    let (nix, options) = nix_and_options(arguments)?;
    let packages = kernel_packages(&prepared.kernel.root)?;
    let pins = pins_of_variants(&nix, &variants, purpose, &packages)?;
    let wanted = missing(&nix, &pins).map_err(pin_failed)?;
    let names = wanted.iter().map(|placed| placed.pin.store_name());
    let mut report = FetchReport {
        present: pins.len() - wanted.len(),
        fetched: names.collect(),
        downloaded: 0,
        written: None,
    };
    if !wanted.is_empty() {
        report.downloaded = bring_pins(&nix, &wanted, &options)?;
    }
    tidy(&pins).map_err(pin_failed)?;
    if purpose == Purpose::Shell {
        // The shell of a flake contains this program.
        fetch_tool(&nix, &options, &[])?;
    }
    if let Some(folder) = arguments.to.as_deref() {
        check_space(&[(folder, carry::size(folder, &pins))])?;
        report.written = Some(CarriedFiles {
            folder,
            files: pins.len(),
            new: carry::write(&nix, &pins, folder).map_err(pin_failed)?,
        });
    }
    if arguments.json {
        return print_json_line(&LastEvent::Finished(report));
    }
    let mut text = match report.fetched.len() {
        0 => "every file of the toolchains is in the store\n".to_owned(),
        files => format!(
            "{} in the store, {} downloaded\n",
            count(files, "new file"),
            megabytes(report.downloaded)
        ),
    };
    if let Some(CarriedFiles { folder, files, new }) = report.written {
        text += &format!("{} in {folder}, {new} of them new\n", count(files, "file"));
    }
    print(&text)
}

/// Runs `fetch --tool`, or `fetch --image` with the families of the image.
fn fetch_for_tool(
    arguments: &FetchArgs,
    what: &str,
    families: &[&str],
) -> Result<(), CommandError> {
    let (nix, options) = nix_and_options(arguments)?;
    match fetch_tool(&nix, &options, families)? {
        0 => print(&format!(
            "everything that {what} is built from is in the store\n"
        )),
        files => print(&format!("{} in the store\n", count(files, "new file"))),
    }
}

fn nix_and_options(arguments: &FetchArgs) -> Result<(Nix, FetchOptions), CommandError> {
    let from = arguments.from.as_deref();
    let options = FetchOptions {
        offline: arguments.offline,
        from: from
            .map(CarriedFolder::open)
            .transpose()
            .map_err(pin_failed)?,
    };
    let mut nix = Nix::find()?;
    if arguments.offline {
        nix.stay_offline();
    }
    Ok((nix, options))
}
