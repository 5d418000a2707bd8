//! `devshell`, `testshell`: a shell of one variant, with what the library inside this program makes.

use std::process::ExitStatus;

use super::prepare::{Prepared, prepare, system};
use super::{CommandError, build, fetch, generate};
use crate::cli::Shelled;
use crate::emit;
use crate::machine::ThisMachine;
use crate::matrix::Variant;
use crate::nix::{Limits, Nix, Work};
use crate::pins::fetch::Options;
use crate::pins::packages::Packages;

/// What a shell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changing the kernel.
    Dev,
    /// Using what is built of it.
    Test,
}

pub fn run(arguments: &Shelled, kind: Kind) -> Result<(), CommandError> {
    let prepared = prepare(&arguments.kernel.path)?;
    let variant = match &arguments.variant {
        Some(name) => {
            let variant = prepared.select_pinned(std::slice::from_ref(name))?[0];
            let here = system();
            if let Some(row) = variant.row().filter(|row| row.system != here) {
                return Err(CommandError::ForeignSystem {
                    variant: variant.name.clone(),
                    system: row.system.clone(),
                });
            }
            variant
        }
        None => choose(&prepared)?,
    };
    let nix = Nix::find()?;
    generate::write(&prepared)?;
    let library = fetch::unpacked()?;
    let file = library.join("nix/cli.nix");
    let root = prepared.kernel.root.canonicalize_utf8();
    let root = root.map_err(|source| CommandError::Io {
        action: "find the kernel's folder".to_owned(),
        source,
    })?;
    let set = match kind {
        Kind::Dev => "devShells",
        Kind::Test => "testShells",
    };
    let attribute = format!("{set}.{}", variant.name);
    let system = system();
    let given = [("root", root.as_str()), ("system", system.as_str())];
    let answer = nix.evaluate(&file, &format!("{attribute}.drvPath"), &given)?;
    let derivations: Vec<String> = answer.as_str().map(str::to_owned).into_iter().collect();
    let packages = fetch::packages(&root)?;
    bring(&nix, &derivations, variant, &packages, arguments)?;
    let expression = format!(
        "import (/. + {}) {{ root = {}; system = {}; }}",
        emit::nix::string(file.as_str()),
        emit::nix::string(root.as_str()),
        emit::nix::string(&system)
    );
    let status = nix.develop(&library, &expression, &attribute, &root, &arguments.command)?;
    ended(status)
}

/// The variant that suits this machine, after saying why.
pub fn choose(prepared: &Prepared) -> Result<&Variant, CommandError> {
    let system = system();
    let here: Vec<&Variant> = prepared
        .matrix
        .variants
        .iter()
        .filter(|variant| variant.builds_on(&system) && variant.unpinned().is_none())
        .collect();
    let (variant, why) = ThisMachine::find()
        .choose(&here)
        .ok_or_else(|| prepared.nothing_here(&system))?;
    anstream::eprintln!("{}: {why}", variant.name);
    Ok(variant)
}

/// Fetches and builds what a shell is made of.
fn bring(
    nix: &Nix,
    derivations: &[String],
    variant: &Variant,
    packages: &Packages,
    arguments: &Shelled,
) -> Result<(), CommandError> {
    let planned = build::fetch_needed(
        nix,
        derivations,
        &[variant],
        fetch::Purpose::Shell,
        packages,
        &Options::default(),
    )?;
    let limits = Limits {
        max_jobs: build::jobs(nix, arguments.max_jobs),
        cores: usize::from(arguments.cores),
        print_logs: arguments.print_build_logs,
    };
    let work = Work {
        wanted: derivations.to_vec(),
        count: planned.len(),
        ..Work::default()
    };
    let built = nix.build(&work, &limits)?;
    build::report_failures(nix, &built, arguments.print_build_logs)?;
    if built.errors.is_empty() {
        Ok(())
    } else {
        Err(CommandError::Build { failed: 1, of: 1 })
    }
}

fn ended(status: ExitStatus) -> Result<(), CommandError> {
    match status.code().map(u8::try_from) {
        Some(Ok(0)) => Ok(()),
        Some(Ok(code)) => Err(CommandError::Shell { code }),
        _ => Err(CommandError::Shell { code: 1 }),
    }
}
