//! One file per command. A command connects rooms and talks to the person; it decides nothing about kernels.

mod build;
mod check_config;
mod completions;
mod explain;
mod fetch;
mod format;
mod generate;
mod graph;
mod list_variants;
mod pin;
mod pin_python;
mod plan;
mod prepare;
mod schema;
mod shell;
mod survey;
mod update_build;
mod verify_pins;
mod verify_reproducible;

use std::io::{ErrorKind, Write};

use camino::Utf8PathBuf;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use thiserror::Error;

use crate::cli::Command;
use crate::emit::EmitError;
use crate::kernel::LoadError;
use crate::manifest::update::UpdateError;
use crate::matrix::UnknownVariant;
use crate::nix::NixError;
use crate::pins::PinError;
use crate::pins::packages::PackagesError;
use crate::pins::refresh::{RefreshError, Request};
use crate::problem::{Problems, RenderOptions};
use crate::scan::ScanError;

/// Why a command ended without doing what was asked.
#[derive(Debug, Diagnostic, Error)]
pub enum CommandError {
    #[error(transparent)]
    Load(#[from] LoadError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Scan(#[from] ScanError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Emit(#[from] EmitError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Nix(#[from] NixError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Refresh(#[from] RefreshError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Packages(#[from] PackagesError),

    #[error("no package is named, and none is pinned yet")]
    #[diagnostic(
        code(packages::none),
        help("name the packages that flake.nix asks for: `kernel-builder pin-python NAME...`")
    )]
    NoPackages,

    #[error("failed to fetch {} of the toolchains' files", .0.len())]
    Pins(Vec<PinError>),

    #[error(transparent)]
    #[diagnostic(transparent)]
    UnknownVariant(#[from] UnknownVariant),

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

    #[error("no problem has the code {id}")]
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

    #[error("nothing to build: {why}")]
    #[diagnostic(code(variants::none), help("{help}"))]
    NoVariants {
        why: String,
        help: &'static str,
        /// Whether build.toml asks for too little: the user's files are wrong.
        is_limited: bool,
    },

    #[error("nothing is built on {system}: {why}")]
    #[diagnostic(
        code(variants::elsewhere),
        help(
            "`kernel-builder list-variants --all` shows what there is; `--variant NAME` builds one of another system on a \
             remote builder of Nix (docs/distribution.md)"
        )
    )]
    NothingHere { system: String, why: String },

    #[error("{variant} cannot be built: {family}: {why}")]
    #[diagnostic(
        code(variants::unpinned),
        help("`kernel-builder list-variants --json` says of each variant whether it is `pinned`")
    )]
    Unpinned {
        variant: String,
        family: String,
        why: String,
    },

    #[error("{variant} cannot be built here: it is for {system}")]
    #[diagnostic(
        code(variants::foreign),
        help(
            "build it on such a machine, or name one to Nix as a remote builder: `builders` in nix.conf \
             (docs/distribution.md)"
        )
    )]
    ForeignSystem { variant: String, system: String },

    #[error("build.nix is not up to date")]
    #[diagnostic(code(generate::stale), help("run `kernel-builder generate`"))]
    Stale,

    #[error("failed to build {failed} of {of} variants")]
    #[diagnostic(code(build::failed), help("the errors are printed above the table"))]
    Build { failed: usize, of: usize },

    #[error("{wrong} of {of} steps are not reproducible")]
    #[diagnostic(
        code(reproducible::wrong),
        help(
            "what differs was printed above: compare the two results (`diffoscope`), and look for times, random numbers \
             and paths of the build in what makes it"
        )
    )]
    Irreproducible { wrong: usize, of: usize },

    #[error("the Nix store is on another machine: its files cannot be compared")]
    #[diagnostic(
        code(reproducible::remote),
        help("set NIX_REMOTE to a store on this machine, or unset it")
    )]
    RemoteStore,

    #[error("{path} is not a Nix file that can be read:\n{why}")]
    #[diagnostic(code(format::syntax), help("nothing of it was changed"))]
    Syntax { path: Utf8PathBuf, why: String },

    #[error("{} not formatted", .0.join(", "))]
    #[diagnostic(code(format::check), help("run `kernel-builder format`"))]
    Unformatted(Vec<String>),

    #[error("{path} exists and is not a built variant (it has no metadata.json)")]
    #[diagnostic(
        code(build::foreign),
        help("move it away: building would overwrite it")
    )]
    Foreign { path: Utf8PathBuf },

    #[error("the command ended with {code}")]
    #[diagnostic(code(shell::command))]
    Shell { code: u8 },

    #[error("failed to {action}")]
    #[diagnostic(code(io))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl CommandError {
    /// 1: the user's files are wrong; 2: usage; 3: the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Load(error) => error.exit_code(),
            CommandError::Refresh(error) => error.exit_code(),
            CommandError::Packages(error) => error.exit_code(),
            // The reader had enough (`kernel-builder completions bash | head`).
            CommandError::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe => 0,
            CommandError::Scan(ScanError::Read { .. }) => 3,
            CommandError::Scan(_) => 1,
            CommandError::NoVariants { is_limited, .. } => {
                if *is_limited {
                    1
                } else {
                    3
                }
            }
            CommandError::Update(UpdateError::Problems(_)) | CommandError::Old(_) => 1,
            CommandError::Update(UpdateError::Defect { .. }) => 3,
            CommandError::WrongPins(_) | CommandError::Irreproducible { .. } => 1,
            CommandError::Stale | CommandError::Build { .. } | CommandError::Foreign { .. } => 1,
            CommandError::Emit(EmitError::Foreign { .. }) => 1,
            CommandError::UnknownVariant(_)
            | CommandError::UnknownCode { .. }
            | CommandError::NoPackages => 2,
            CommandError::Shell { code } => *code,
            CommandError::Syntax { .. } | CommandError::Unformatted(_) => 1,
            CommandError::Emit(_)
            | CommandError::NothingHere { .. }
            | CommandError::Unpinned { .. }
            | CommandError::ForeignSystem { .. }
            | CommandError::UnreachedPins
            | CommandError::RemoteStore
            | CommandError::Nix(_)
            | CommandError::Pins(_)
            | CommandError::Io { .. } => 3,
        }
    }

    /// Prints it for a person.
    pub fn report(&self) {
        match self {
            CommandError::Load(LoadError::Problems(problems))
            | CommandError::Update(UpdateError::Problems(problems)) => print_problems(problems),
            // The reader went away: nobody is left to tell.
            CommandError::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe => {}
            // It said itself what was wrong.
            CommandError::Shell { .. } => {}
            CommandError::Pins(errors) => {
                let is_unasked = |error: &&PinError| matches!(error, PinError::Unasked { .. });
                let (unasked, others): (Vec<_>, Vec<_>) = errors.iter().partition(is_unasked);
                for error in others {
                    print_diagnostic(error);
                }
                // One says it for all, of what may be a hundred files.
                if let Some(first) = unasked.first() {
                    print_diagnostic(*first);
                    if unasked.len() > 1 {
                        anstream::eprintln!(
                            "and so for {}\n",
                            count(unasked.len() - 1, "other file")
                        );
                    }
                }
                print_diagnostic(self);
            }
            error => print_diagnostic(error),
        }
    }
}

/// Runs a command.
///
/// # Errors
/// `CommandError`, which knows its exit code.
pub fn run(command: Command) -> Result<(), CommandError> {
    match command {
        Command::Build {
            kernel,
            variants,
            max_jobs,
            cores,
            offline,
            print_build_logs,
        } => build::run(
            &kernel.path,
            &variants.names,
            max_jobs,
            cores,
            offline,
            print_build_logs,
        ),
        Command::CheckConfig { kernel, json } => check_config::run(&kernel.path, json),
        Command::Completions { shell } => completions::run(shell),
        Command::Devshell { shell } => shell::run(&shell, shell::Kind::Dev),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Fetch {
            tool: true,
            offline,
            from,
            ..
        } => fetch::tool(offline, from.as_deref()),
        Command::Fetch {
            kernel,
            variants,
            check,
            shell,
            tool: false,
            offline,
            from,
            to,
            json,
        } => {
            let purpose = match (check, shell) {
                (_, true) => fetch::Purpose::Shell,
                (true, false) => fetch::Purpose::Check,
                (false, false) => fetch::Purpose::Build,
            };
            fetch::run(
                &kernel.path,
                &variants.names,
                purpose,
                offline,
                from.as_deref(),
                to.as_deref(),
                json,
            )
        }
        Command::Format { paths, check } => format::run(&paths, check),
        Command::Generate {
            kernel,
            check,
            output,
        } => generate::run(&kernel.path, check, output.as_deref()),
        Command::Graph {
            kernel,
            variants,
            json,
            ..
        } => graph::run(&kernel.path, &variants.names, json),
        Command::ListVariants {
            kernel,
            all,
            arch,
            why,
            json,
        } => list_variants::run(
            &kernel.path,
            list_variants::Options {
                all,
                arch,
                why,
                json,
            },
        ),
        Command::Pin {
            families,
            torch,
            system,
            write,
            accept,
            repository,
        } => {
            let request = Request {
                families,
                torch,
                system,
                accept,
            };
            pin::run(&repository, &request, write)
        }
        Command::PinPython { names, kernel } => pin_python::run(&kernel, &names),
        Command::Plan {
            kernel,
            variants,
            json,
        } => plan::run(&kernel.path, &variants.names, json),
        Command::Schema => schema::run(),
        Command::Testshell { shell } => shell::run(&shell, shell::Kind::Test),
        Command::UpdateBuild {
            kernel,
            check,
            diff,
            sources,
        } => update_build::run(&kernel.path, check, diff, sources),
        Command::VerifyPins {
            families,
            profile,
            deep,
            json,
            repository,
        } => verify_pins::run(&verify_pins::Options {
            families,
            profile,
            deep,
            json,
            repository,
        }),
        Command::VerifyReproducible {
            kernel,
            variants,
            max_jobs,
            cores,
        } => verify_reproducible::run(&kernel.path, &variants.names, max_jobs, cores),
    }
}

/// Problems of a build.toml, on standard error.
fn print_problems(problems: &Problems) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    anstream::eprint!("{}", problems.render(RenderOptions { width: 100, color }));
}

fn print_diagnostic(diagnostic: &dyn Diagnostic) {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode())
        .with_width(100)
        .with_links(false);
    let mut text = String::new();
    if handler.render_report(&mut text, diagnostic).is_err() {
        text = format!("error: {diagnostic}\n");
    }
    anstream::eprint!("{text}");
}

/// "1 variant", "2 variants".
fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    let mut output = anstream::stdout();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    written.map_err(|source| CommandError::Io {
        action: "write to standard output".to_owned(),
        source,
    })
}
