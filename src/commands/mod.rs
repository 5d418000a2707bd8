//! Commands, one per file. Each reads its arguments (src/cli.rs), calls the engine (src/build/) and
//! prints. None decides about kernels.

mod benchmark;
mod build;
mod build_result;
mod build_summary;
mod check_abi;
mod check_builds;
mod check_config;
mod ci_matrix;
mod clean_pyproject;
mod completions;
mod create_pyproject;
mod diff;
mod doctor;
mod explain;
mod fetch;
mod fill_card;
mod format;
mod generate;
mod graph;
mod hash;
mod init;
mod list_variants;
mod lock;
mod man;
mod pin;
mod pin_python;
mod plan;
mod report;
mod schema;
mod serve;
mod shell;
mod sign;
mod skills;
mod test;
mod to_wheel;
mod update_build;
mod upload;
mod usage;
mod verify_pins;
mod verify_reproducible;
mod watch;

pub use self::usage::report_usage;

use std::io::ErrorKind;

use camino::Utf8PathBuf;
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use crate::abi::AbiError;
use crate::artifact::rehash::RehashError;
use crate::artifact::signature::SignatureError;
use crate::benchmark::BenchmarkError;
use crate::build::{EngineError, ShellKind};
use crate::card::CardError;
use crate::cli::{Cli, Command};
use crate::emit::EmitError;
use crate::file::help_for_io;
use crate::hub::HubError;
use crate::init::InitError;
use crate::kernel::LoadError;
use crate::manifest::update::UpdateError;
use crate::mirror::MirrorError;
use crate::nix::NixError;
use crate::pins::MissingFiles;
use crate::pins::packages::PackagesError;
use crate::pins::refresh::RefreshError;
use crate::project::ProjectError;
use crate::terminal::{
    count, error_text, print_diagnostic, print_problems, set_verbosity, write_result,
};
use crate::wheel::WheelError;

/// The reason why a command failed.
#[derive(Debug, Diagnostic, Error)]
pub enum CommandError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Engine(#[from] EngineError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Hub(#[from] HubError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Mirror(#[from] MirrorError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Refresh(#[from] RefreshError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Init(#[from] InitError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Benchmark(#[from] BenchmarkError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Project(#[from] ProjectError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    AbiCheck(#[from] AbiError),

    #[error("{} in {}", count(*.findings, "finding"), count(*.of, "native file"))]
    #[diagnostic(
        code(abi::findings),
        help("each finding names its cure; docs/abi.md explains the rules")
    )]
    Abi { findings: usize, of: usize },

    #[error("no package is named, and none is pinned yet")]
    #[diagnostic(
        code(packages::none),
        help("name the packages that flake.nix asks for: `kernel-builder pin-python NAME...`")
    )]
    NoPackages,

    #[error("{path} has no built variants", path = .0)]
    #[diagnostic(
        code(artifact::none),
        help(
            "name a kernel that was built, a folder of variants, or one variant: each has a metadata.json"
        )
    )]
    NoBuilds(Utf8PathBuf),

    #[error("{wrong} of {} wrong", count(*.of, "variant"))]
    #[diagnostic(
        code(artifact::wrong),
        help("each file and its cure are printed above; --json has them for programs")
    )]
    WrongBuilds { wrong: usize, of: usize },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Rehash(#[from] RehashError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Card(#[from] CardError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Wheel(#[from] WheelError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Signature(#[from] SignatureError),

    #[error("no key is named to sign with")]
    #[diagnostic(
        code(signature::none),
        help(
            "`--secret-key FILE` signs; `kernel-builder sign --generate-key FILE` makes a key first"
        )
    )]
    NoKey,

    #[error("{differing} of {} differ", count(*.of, "variant"))]
    #[diagnostic(
        code(diff::differ),
        help("the differences are printed above; --json has all of them")
    )]
    Differ { differing: usize, of: usize },

    #[error("{0} cannot be had any more as pinned")]
    #[diagnostic(
        code(pins::wrong),
        help(
            "`kernel-builder pin` looks up what there is now (CONTRIBUTING.md, \"Keep the pins true\"); whoever fetched \
             the old files keeps them in the cache and in the store"
        )
    )]
    WrongPins(String),

    #[error("no source of any pin answered")]
    #[diagnostic(
        code(pins::unreached),
        help("check the network, pip's configuration (`pip config list`) and apt's sources")
    )]
    UnreachedPins,

    #[error("builds will fail: {} failed", count(*.failed, "check"))]
    #[diagnostic(
        code(doctor::failed),
        help("the cures are printed above: paste them, then run `kernel-builder doctor` again")
    )]
    NotReady { failed: usize },

    #[error("there is no code {id}")]
    #[diagnostic(code(explain::unknown), help("{help}"))]
    UnknownCode { id: String, help: String },

    #[error("{} would change", .0.join(" and "))]
    #[diagnostic(code(update::old), help("run the same without --check"))]
    Old(Vec<String>),

    #[error("{0}")]
    #[diagnostic(
        code(update::defect),
        help(
            "nothing was changed; this is a defect of kernel-builder, please report it with the file"
        )
    )]
    Update(UpdateError),

    #[error("build.nix is not up to date")]
    #[diagnostic(code(generate::stale), help("run `kernel-builder generate`"))]
    Stale,

    #[error("{wrong} of {of} steps are not reproducible")]
    #[diagnostic(
        code(reproducible::wrong),
        help(
            "what differs was printed above: compare the two results (`diffoscope`), and look for times, random numbers \
             and paths of the build in what makes it"
        )
    )]
    Irreproducible { wrong: usize, of: usize },

    #[error("{path} is not a Nix file that can be read:\n{why}")]
    #[diagnostic(code(format::syntax), help("nothing of it was changed"))]
    Syntax { path: Utf8PathBuf, why: String },

    #[error("{} not formatted", .0.join(", "))]
    #[diagnostic(code(format::check), help("run `kernel-builder format`"))]
    Unformatted(Vec<String>),

    #[error("failed to open {file} with {opener}")]
    #[diagnostic(code(report::open), help("open the file in a browser"))]
    Open {
        file: Utf8PathBuf,
        opener: &'static str,
    },

    #[error("there is no folder {folder}: the kernel has no tests")]
    #[diagnostic(
        code(test::none),
        help(
            "write tests for pytest there, which load the kernel: those of `kernel-builder init` show how"
        )
    )]
    NoTests { folder: Utf8PathBuf },

    #[error("no class in {folder} has anything to measure")]
    #[diagnostic(
        code(benchmark::none),
        help(
            "write benchmark*.py there, with classes derived from kernels.Benchmark: that of `kernel-builder init` shows how"
        )
    )]
    NoBenchmarks { folder: Utf8PathBuf },

    #[error("the result is wrong: {}", .0.join(", "))]
    #[diagnostic(
        code(benchmark::wrong),
        help(
            "the `verify_*` function of the workload computes another result; the table has the largest difference"
        )
    )]
    WrongResults(Vec<String>),

    #[error("the new kernel has no name")]
    #[diagnostic(
        code(init::unnamed),
        help(
            "give it one: `kernel-builder init --name OWNER/NAME`; on a terminal, this command asks"
        )
    )]
    Unnamed,

    #[error("there is no guide {name}")]
    #[diagnostic(code(skills::unknown), help("the guides are {known}"))]
    UnknownSkill { name: String, known: String },

    #[error("no assistant has settings in this folder")]
    #[diagnostic(
        code(skills::none),
        help(
            "name the folder for guides, as in `--dest .claude/skills`, or create .claude, .codex or .opencode"
        )
    )]
    NoAssistant,

    #[error("the command ended with {code}")]
    #[diagnostic(code(shell::command), help("its own words are printed above"))]
    Shell { code: u8 },

    #[error("failed to change to the folder {folder}")]
    #[diagnostic(code(usage::folder), help("give the option -C a folder that exists"))]
    Folder {
        folder: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error("failed to {action}")]
    #[diagnostic(code(io), help("{}", help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

/// Lets `?` turn errors of lower layers into errors of a command.
macro_rules! from_engine {
    ($($error:ty),*) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::Engine(error.into())
            }
        })*
    };
}

from_engine!(LoadError, EmitError, NixError, PackagesError);

impl CommandError {
    /// The exit code: 1 if the user's files are wrong, 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_closed_pipe() => 0,
            Self::Engine(error) => error.exit_code(),
            Self::Hub(error) => error.exit_code(),
            Self::Mirror(error) => error.exit_code(),
            Self::Refresh(error) => error.exit_code(),
            Self::Init(error) => error.exit_code(),
            Self::Benchmark(_) => 3,
            Self::Project(error) => error.exit_code(),
            Self::AbiCheck(error) => error.exit_code(),
            Self::Card(error) => error.exit_code(),
            Self::Wheel(error) => error.exit_code(),
            Self::Shell { code } => *code,
            Self::Update(UpdateError::Problems(_))
            | Self::Old(_)
            | Self::WrongPins(_)
            | Self::Abi { .. }
            | Self::Irreproducible { .. }
            | Self::NoBuilds(_)
            | Self::WrongBuilds { .. }
            | Self::Differ { .. }
            | Self::Signature(SignatureError::Key { .. })
            | Self::Rehash(RehashError::NoFile { .. } | RehashError::Metadata { .. })
            | Self::Stale
            | Self::Syntax { .. }
            | Self::NoTests { .. }
            | Self::NoBenchmarks { .. }
            | Self::WrongResults(_)
            | Self::Unformatted(_) => 1,
            Self::UnknownCode { .. }
            | Self::NoPackages
            | Self::NoKey
            | Self::Unnamed
            | Self::UnknownSkill { .. }
            | Self::NoAssistant
            | Self::Folder { .. } => 2,
            Self::Update(UpdateError::Defect { .. })
            | Self::UnreachedPins
            | Self::Rehash(RehashError::Io { .. })
            | Self::Signature(SignatureError::Failed { .. } | SignatureError::Io { .. })
            | Self::NotReady { .. }
            | Self::Open { .. }
            | Self::Io { .. } => 3,
        }
    }

    /// Whether the reader of the output closed the pipe (`kernel-builder completions bash | head`).
    fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::Engine(EngineError::Io { source, .. }) => {
                source.kind() == ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }

    /// Prints the error for a person.
    pub fn report(&self) {
        match self {
            Self::Engine(EngineError::Load(LoadError::Problems(problems)))
            | Self::Update(UpdateError::Problems(problems)) => print_problems(problems),
            // Nobody reads the output any more.
            _ if self.is_closed_pipe() => {}
            // The command in the shell printed its own error.
            Self::Shell { .. } => {}
            Self::Engine(EngineError::Pins(errors)) => {
                report_missing(errors);
                print_diagnostic(self);
            }
            error => print_diagnostic(error),
        }
    }
}

/// The most reasons for missing files that are printed.
const MAX_REASONS: usize = 6;

/// Prints the reasons why files are missing, each once.
fn report_missing(missing: &[MissingFiles]) {
    const SHOWN: usize = 3;
    for MissingFiles { error, names } in missing.iter().take(MAX_REASONS) {
        print_diagnostic(error);
        if names.len() > 1 {
            let shown = names[..names.len().min(SHOWN)].join(", ");
            let more = match names.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            error_text(format_args!("  missing for this reason: {shown}{more}\n"));
        }
    }
    let hidden = missing.iter().skip(MAX_REASONS);
    let hidden: usize = hidden.map(|reason| reason.names.len().max(1)).sum();
    if hidden > 0 {
        let files = count(hidden, "other file");
        error_text(format_args!(
            "and {files}, for other reasons: `fetch --json` lists them\n"
        ));
    }
}

/// Follows the options that every command has, then runs a command.
///
/// # Errors
/// `CommandError`, which knows its exit code.
pub fn run(cli: Cli) -> Result<(), CommandError> {
    set_verbosity(cli.global.quiet, cli.global.verbose);
    for folder in cli.global.folders {
        std::env::set_current_dir(&folder)
            .map_err(|source| CommandError::Folder { folder, source })?;
    }
    match cli.command {
        Command::Benchmark(arguments) => benchmark::run(&arguments),
        Command::Build(arguments) => build::run(&arguments),
        Command::BuildAndUpload(arguments) => upload::build_and_run(&arguments),
        Command::CheckAbi(arguments) => check_abi::run(&arguments),
        Command::CheckBuilds(arguments) => check_builds::run(&arguments),
        Command::CheckConfig(arguments) => check_config::run(&arguments),
        Command::CiMatrix(arguments) => ci_matrix::run(&arguments),
        Command::CleanPyproject(arguments) => clean_pyproject::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::CreatePyproject(arguments) => create_pyproject::run(&arguments),
        Command::Devshell(arguments) => shell::run(&arguments, ShellKind::Dev),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Download(arguments) => lock::run_download(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Fetch(arguments) => fetch::run(&arguments),
        Command::FillCard(arguments) => fill_card::run(&arguments),
        Command::Format(arguments) => format::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Graph(arguments) => graph::run(&arguments),
        Command::Hash(arguments) => hash::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::ListVariants(arguments) => list_variants::run(&arguments),
        Command::Lock(arguments) => lock::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Pin(arguments) => pin::run(arguments),
        Command::PinPython(arguments) => pin_python::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Resolve(arguments) => lock::run_resolve(&arguments),
        Command::Schema => schema::run(),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Sign(arguments) => sign::run(&arguments),
        Command::Skills(arguments) => skills::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Testshell(arguments) => shell::run(&arguments, ShellKind::Test),
        Command::ToWheel(arguments) => to_wheel::run(&arguments),
        Command::UpdateBuild(arguments) => update_build::run(&arguments),
        Command::Upload(arguments) => upload::run(&arguments),
        Command::Verify(arguments) => check_builds::run_verify(&arguments),
        Command::VerifyPins(arguments) => verify_pins::run(&arguments),
        Command::VerifyReproducible(arguments) => verify_reproducible::run(&arguments),
    }
}

/// Writes a result to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    write_result(text).map_err(|source| CommandError::Io {
        action: "write to standard output".to_owned(),
        source,
    })
}

/// Writes a result to standard output as JSON.
fn print_json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CommandError::Io {
        action: "write JSON".to_owned(),
        source: error.into(),
    })?;
    print(&(text + "\n"))
}

/// Writes an event to standard output as one line of JSON.
fn print_json_line(event: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(event).map_err(|error| CommandError::Io {
        action: "write JSON".to_owned(),
        source: error.into(),
    })?;
    print(&(text + "\n"))
}
