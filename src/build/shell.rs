//! Shells of one variant: building and opening one. prepare.rs chooses the variant.

use std::process::ExitStatus;

use super::error::EngineError;
use super::failures::{command_with_logs, report_failures};
use super::fetch::{Purpose, fetch_needed, kernel_packages, pins_of_variants, unpack_library};
use super::prepare::{Prepared, system};
use crate::emit;
use crate::matrix::Variant;
use crate::nix::{Limits, Nix, Work};
use crate::pins::fetch::FetchOptions;
use crate::pins::packages::PythonPackages;
use crate::steps::Steps;
use crate::terminal::{count, status};

/// The use of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellKind {
    /// Changing the kernel.
    Dev,
    /// Testing the built variant.
    Test,
}

/// Builds the shell of a variant and enters it, or runs a command in it. Returns its exit status.
///
/// # Errors
/// `EngineError` if the shell could not be opened.
pub fn open_shell(
    nix: &Nix,
    prepared: &Prepared,
    variant: &Variant,
    kind: ShellKind,
    limits: &Limits,
    command: &[String],
) -> Result<ExitStatus, EngineError> {
    prepared.write_build_nix()?;
    let library = unpack_library()?;
    let file = library.join("nix/cli.nix");
    let root = prepared.root()?;
    let set = match kind {
        ShellKind::Dev => "devShells",
        ShellKind::Test => "testShells",
    };
    let attribute = format!("{set}.{}", variant.name);
    let system = system();
    let given = [("root", root.as_str()), ("system", system.as_str())];
    let answer = nix.evaluate(&file, &format!("{attribute}.drvPath"), &given)?;
    let derivations: Vec<String> = answer.as_str().map(str::to_owned).into_iter().collect();
    let packages = kernel_packages(&root)?;
    if !build_shell(nix, &derivations, variant, &packages, limits)? {
        let command = match kind {
            ShellKind::Dev => "devshell",
            ShellKind::Test => "testshell",
        };
        return Err(EngineError::Build {
            failed: 1,
            of: 1,
            again: command_with_logs(command, &prepared.kernel.root, Some(&variant.name)),
        });
    }
    let expression = format!(
        "import (/. + {}) {{ root = {}; system = {}; }}",
        emit::nix::string(file.as_str()),
        emit::nix::string(root.as_str()),
        emit::nix::string(&system)
    );
    Ok(nix.develop(&library, &expression, &attribute, &root, command)?)
}

/// Fetches and builds the derivations that a shell is made of. Returns whether all are built.
fn build_shell(
    nix: &Nix,
    derivations: &[String],
    variant: &Variant,
    packages: &PythonPackages,
    limits: &Limits,
) -> Result<bool, EngineError> {
    let pins = || pins_of_variants(nix, &[variant], Purpose::Shell, packages);
    let mut planned = nix.to_build(derivations)?;
    if fetch_needed(nix, &planned, pins, &FetchOptions::default())? {
        planned = nix.to_build(derivations)?;
    }
    // The shell itself is a step, for each content of the kernel's files.
    if planned.len() > 1 {
        status(format_args!(
            "a shell of {} takes {} first, such as unpacking Python and torch; the next one opens at once",
            variant.name,
            count(planned.len(), "step")
        ));
    }
    let work = Work {
        wanted: derivations.to_vec(),
        count: planned.len(),
        ..Work::default()
    };
    let built = nix.build(&work, limits)?;
    report_failures(nix, &Steps::default(), &built, limits.print_logs)?;
    Ok(built.errors.is_empty())
}
