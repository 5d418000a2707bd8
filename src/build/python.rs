//! The Python that runs a built variant for its tests and benchmarks: this machine's, or that of
//! the variant's test shell.

use std::process::{Command, ExitStatus, Stdio};

use camino::Utf8PathBuf;

use super::error::{EngineError, failed_to};
use super::prepare::Prepared;
use super::shell::{ShellKind, open_shell};
use crate::kernel::Framework;
use crate::machine::ThisMachine;
use crate::matrix::Variant;
use crate::nix::{Limits, Nix};
use crate::terminal::status;

/// The Python to run a variant with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantPython {
    /// The `python3` on the PATH.
    Machine,
    Shell,
}

impl VariantPython {
    /// This machine's Python if it has the client, a torch that the variant is for and some more
    /// modules; otherwise that of the test shell. Prints the reason for a shell.
    pub fn choose(prepared: &Prepared, variant: &Variant, modules: &[&str]) -> Self {
        let mut modules = [&["torch", "kernels"], modules].concat();
        if matches!(prepared.kernel.framework, Framework::TvmFfi(_)) {
            modules.push("tvm_ffi");
        }
        let why = match missing_modules(&modules) {
            None => "this machine has no python3".to_owned(),
            Some(missing) if !missing.is_empty() => {
                format!("this machine's python3 has no {}", missing.join(", "))
            }
            Some(_) if !ThisMachine::find().has_torch_of(variant) => {
                format!("this machine's torch is not that of {}", variant.name)
            }
            Some(_) => return Self::Machine,
        };
        status(format_args!("{why}: the test shell's Python is used"));
        Self::Shell
    }
}

/// The modules of some that this machine's Python lacks; `None` without a Python.
fn missing_modules(modules: &[&str]) -> Option<Vec<String>> {
    const PROGRAM: &str = "import sys; from importlib.util import find_spec; print(*(m for m in sys.argv[1:] if not find_spec(m)))";
    let output = Command::new("python3")
        .args(["-c", PROGRAM])
        .args(modules)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let missing = text.split_whitespace().map(str::to_owned);
    output.status.success().then(|| missing.collect())
}

/// Runs a Python program for a built variant, in the kernel's folder. The program's own arguments
/// begin with the folder of the kernel, that of the variant, the name of the Python package and
/// that on the Hub, which may be empty.
///
/// # Errors
/// `EngineError` if Python or the shell could not be started.
pub fn run_python(
    python: VariantPython,
    nix: &Nix,
    prepared: &Prepared,
    variant: &Variant,
    limits: &Limits,
    program: &str,
    arguments: &[String],
) -> Result<ExitStatus, EngineError> {
    let root = prepared.root()?;
    let built: Utf8PathBuf = root.join("build").join(&variant.name);
    let repo = prepared.kernel.hub.repo_id.clone().unwrap_or_default();
    let mut words = vec![
        "python3".to_owned(),
        "-c".to_owned(),
        program.to_owned(),
        root.to_string(),
        built.into_string(),
        prepared.kernel.name.python_name(),
        repo,
    ];
    words.extend(arguments.iter().cloned());
    match python {
        VariantPython::Shell => open_shell(nix, prepared, variant, ShellKind::Test, limits, &words),
        VariantPython::Machine => Command::new(&words[0])
            .args(&words[1..])
            .current_dir(&root)
            .status()
            .map_err(failed_to("start python3")),
    }
}
