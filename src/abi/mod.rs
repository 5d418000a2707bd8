//! Native files judged by the rules of nix/abi: starts its program and reads its findings. The
//! rules are that program's alone, since a derivation runs it, too.

mod variants;

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::variants::check_variants;
use crate::library;
use crate::pins::{PinError, cache};
use crate::process::end_with_this_program;

/// The reason why files could not be judged.
#[derive(Debug, Diagnostic, Error)]
pub enum AbiError {
    #[error("no python3 is on the PATH")]
    #[diagnostic(code(abi::python), help("install it: `apt-get install python3`"))]
    NoPython,

    #[error("there is no file or folder {path}")]
    #[diagnostic(
        code(abi::usage),
        help("name a library, or a folder of built variants")
    )]
    NoPath { path: Utf8PathBuf },

    #[error("failed to read the build in {folder}")]
    #[diagnostic(code(abi::read), help("{}", crate::file::help_for_io(source)))]
    Read {
        folder: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error("{name} is no variant")]
    #[diagnostic(
        code(abi::usage),
        help("variants are named as in torch211-cxx11-cu130-x86_64-linux")
    )]
    NoVariant { name: String },

    #[error("there is no policy {name}")]
    #[diagnostic(
        code(abi::usage),
        help("policies are named as in manylinux_2_28, or by their older names (manylinux2014)")
    )]
    NoPolicy { name: String },

    #[error("{0} is no version such as 3.9")]
    #[diagnostic(code(abi::usage), help("give two numbers with a dot between them"))]
    NoVersion(String),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Cache(#[from] PinError),

    #[error("failed to run the checking program")]
    #[diagnostic(code(abi::program), help("python3 3.8 or newer runs it"))]
    Start { source: std::io::Error },

    #[error("the checking program failed:\n{words}")]
    #[diagnostic(
        code(abi::defect),
        help("this is a defect of kernel-builder: please report it with the file")
    )]
    Defect { words: String },
}

impl AbiError {
    /// 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoPath { .. }
            | Self::NoVariant { .. }
            | Self::NoPolicy { .. }
            | Self::NoVersion(_) => 2,
            Self::NoPython
            | Self::Cache(_)
            | Self::Start { .. }
            | Self::Read { .. }
            | Self::Defect { .. } => 3,
        }
    }
}

/// The promises that files are judged by.
#[derive(Clone, Debug)]
pub struct AbiPromises {
    /// The variant of all files; `None` for that of the folder around each.
    pub variant: Option<String>,
    /// A manylinux policy, or an alias of one.
    pub manylinux: String,
    /// The oldest Python of abi3 files.
    pub python: String,
    /// The oldest macOS.
    pub macos: String,
}

impl Default for AbiPromises {
    /// The promises of variants that builds make.
    fn default() -> Self {
        Self {
            variant: None,
            manylinux: "manylinux_2_28".to_owned(),
            python: "3.9".to_owned(),
            macos: "15.0".to_owned(),
        }
    }
}

/// A rule that a file breaks.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct AbiFinding {
    /// The name of the rule, such as `symbol-version`.
    pub rule: String,
    pub file: Utf8PathBuf,
    /// The symbol as the file has it; `None` for a rule about the file.
    pub symbol: Option<String>,
    /// The symbol as a person writes it, where the machine has c++filt.
    pub name: Option<String>,
    /// The most similar name of the libraries that are there when the file is loaded.
    pub nearest: Option<String>,
    pub message: String,
    pub cure: String,
}

/// The findings of one run of the program.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AbiReport {
    /// The native files.
    pub checked: Vec<Utf8PathBuf>,
    /// The variants whose torch has no list of names: the names are judged by their shapes.
    pub unlisted: Vec<String>,
    pub findings: Vec<AbiFinding>,
}

/// Judges native files, and those below folders.
///
/// # Errors
/// `AbiError`; no finding is an error.
pub fn check(paths: &[Utf8PathBuf], promises: &AbiPromises) -> Result<AbiReport, AbiError> {
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        return Err(AbiError::NoPath { path: path.clone() });
    }
    let is_number = |part: &str| part.parse::<u16>().is_ok();
    for version in [&promises.python, &promises.macos] {
        if !version.split('.').all(is_number) {
            return Err(AbiError::NoVersion(version.clone()));
        }
    }
    let python = which::which("python3").map_err(|_| AbiError::NoPython)?;
    cache::check()?;
    let library = library::unpack(&cache::dir()).map_err(|source| AbiError::Start { source })?;
    let mut command = Command::new(python);
    command.args(["-B", "-E", "-s"]).arg(program_in(&library));
    command.args(["--json", "--manylinux", &promises.manylinux]);
    command.args(["--python", &promises.python, "--macos", &promises.macos]);
    if let Some(variant) = &promises.variant {
        command.args(["--variant", variant]);
    }
    command.arg("--").args(paths);
    let output = end_with_this_program(&mut command)
        .output()
        .map_err(|source| AbiError::Start { source })?;
    match output.status.code() {
        Some(0 | 1) => {}
        Some(NO_POLICY) => {
            let name = promises.manylinux.clone();
            return Err(AbiError::NoPolicy { name });
        }
        Some(NO_VARIANT) => {
            let name = promises.variant.clone().unwrap_or_default();
            return Err(AbiError::NoVariant { name });
        }
        _ => return Err(defect(&output.stderr)),
    }
    serde_json::from_slice(&output.stdout).map_err(|_| defect(&output.stderr))
}

/// Exit codes of the program for options that it does not know the values of.
const NO_POLICY: i32 = 10;
const NO_VARIANT: i32 = 11;

fn program_in(library: &Utf8Path) -> Utf8PathBuf {
    library.join("nix/abi/program/check.py")
}

fn defect(words: &[u8]) -> AbiError {
    let words = String::from_utf8_lossy(words).trim_end().to_owned();
    AbiError::Defect { words }
}
