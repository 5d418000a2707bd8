//! Errors of the engine. commands/mod.rs has further errors of commands.

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

use crate::emit::EmitError;
use crate::file::help_for_io;
use crate::kernel::LoadError;
use crate::matrix::UnknownVariant;
use crate::nix::NixError;
use crate::pins::packages::PackagesError;
use crate::pins::{MissingFiles, PinError};
use crate::scan::ScanError;

/// The reason why variants could not be prepared, fetched or built.
#[derive(Debug, Diagnostic, Error)]
pub enum EngineError {
    #[error(transparent)]
    #[diagnostic(transparent)]
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
    Packages(#[from] PackagesError),

    #[error("failed to fetch {} of the toolchains' files", count_missing(.0))]
    #[diagnostic(
        code(pins::failed),
        help("the reasons are printed above; what was fetched is kept")
    )]
    Pins(Vec<MissingFiles>),

    #[error(transparent)]
    #[diagnostic(transparent)]
    UnknownVariant(#[from] UnknownVariant),

    #[error("nothing to build: {why}")]
    #[diagnostic(code(variants::none), help("{help}"))]
    NoVariants {
        why: String,
        help: &'static str,
        /// Whether the bounds in build.toml exclude every variant, so that the user's file is
        /// wrong.
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

    #[error("failed to build {failed} of {of} variants")]
    #[diagnostic(
        code(build::failed),
        help("the reasons are printed above; `{again}` prints every line of the compilers")
    )]
    Build {
        failed: usize,
        of: usize,
        again: String,
    },

    #[error("failed to watch {path}")]
    #[diagnostic(
        code(build::watch),
        help(
            "the system lets programs watch only so many files: raise `fs.inotify.max_user_watches`, or move large folders \
             out of the kernel's"
        )
    )]
    Watch {
        path: Utf8PathBuf,
        source: notify::Error,
    },

    #[error("the Nix store is on another machine: its files cannot be compared")]
    #[diagnostic(
        code(reproducible::remote),
        help("set NIX_REMOTE to a store on this machine, or unset it")
    )]
    RemoteStore,

    #[error("{path} exists and is not a built variant (it has no metadata.json)")]
    #[diagnostic(
        code(build::foreign),
        help("move it away: building would overwrite it")
    )]
    Foreign { path: Utf8PathBuf },

    #[error("{path} has files that no build made: {}", .files.join(", "))]
    #[diagnostic(
        code(build::foreign_files),
        help("move them away: building would delete them with the build before")
    )]
    ForeignFiles {
        path: Utf8PathBuf,
        files: Vec<String>,
    },

    #[error("failed to {action}")]
    #[diagnostic(code(io), help("{}", help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl EngineError {
    /// The exit code: 1 if the user's files are wrong, 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Load(error) => error.exit_code(),
            Self::Packages(error) => error.exit_code(),
            Self::Scan(ScanError::Read { .. }) => 3,
            Self::Scan(_) => 1,
            Self::NoVariants {
                is_limited: true, ..
            } => 1,
            Self::Build { .. } | Self::Foreign { .. } | Self::ForeignFiles { .. } => 1,
            Self::Emit(EmitError::Foreign { .. }) => 1,
            Self::UnknownVariant(_) => 2,
            Self::Emit(_)
            | Self::NoVariants { .. }
            | Self::NothingHere { .. }
            | Self::Unpinned { .. }
            | Self::ForeignSystem { .. }
            | Self::RemoteStore
            | Self::Watch { .. }
            | Self::Nix(_)
            | Self::Pins(_)
            | Self::Io { .. } => 3,
        }
    }
}

/// An error of the file system during an action, as in "failed to read the kernel's files".
pub fn failed_to(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> EngineError {
    let action = action.into();
    move |source| EngineError::Io { action, source }
}

/// The number of files that are missing for some reasons. A reason without files counts as one.
fn count_missing(missing: &[MissingFiles]) -> usize {
    missing.iter().map(|reason| reason.names.len().max(1)).sum()
}

/// An error that concerns one pin.
pub fn pin_failed(error: impl Into<PinError>) -> EngineError {
    let error: PinError = error.into();
    EngineError::Pins(vec![error.into()])
}
