//! Errors of looking up pins.

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

use super::super::PinError;

#[derive(Debug, Diagnostic, Error)]
pub enum RefreshError {
    #[error("{from} is not inside of a checkout of kernel-builder")]
    #[diagnostic(
        code(pin::repository),
        help(
            "pins are files of kernel-builder's own repository: run this in a clone of it, or name one with \
             `--repository DIR`"
        )
    )]
    Repository { from: Utf8PathBuf },

    #[error("failed to read {path}: {why}")]
    #[diagnostic(code(pin::spec), help("correct the file; nothing was written"))]
    Spec { path: Utf8PathBuf, why: String },

    #[error("nothing says what the family {name} is made of")]
    #[diagnostic(code(pin::family), help("{help}"))]
    UnknownFamily { name: String, help: String },

    #[error("torch {release} cannot be added: {why}")]
    #[diagnostic(code(pin::torch), help("{help}"))]
    Torch {
        release: String,
        why: String,
        help: String,
    },

    #[error("no index has what these families need:\n  {}", .0.join("\n  "))]
    #[diagnostic(
        code(pin::unresolved),
        help(
            "check what pip's index and apt's sources offer, and what nix/pins/families.toml asks for; nothing was written"
        )
    )]
    Unresolved(Vec<String>),

    #[error("pip's index did not answer:\n  {}", .0.join("\n  "))]
    #[diagnostic(
        code(pin::unanswered),
        help("check the network and pip's configuration (`pip config list`); nothing was written")
    )]
    Unanswered(Vec<String>),

    #[error("the content of pinned files changed under their names:\n  {}", .0.join("\n  "))]
    #[diagnostic(
        code(pin::changed),
        help(
            "a published file does not change: find out who changed it. If the new content is right, name each file \
             with `--accept FILE`; nothing was written"
        )
    )]
    Changed(Vec<String>),

    #[error("failed to {action} {path}")]
    #[diagnostic(code(pin::io), help("{}", crate::file::help_for_io(source)))]
    Io {
        action: &'static str,
        path: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Pin(#[from] PinError),
}

impl RefreshError {
    /// Exit code: 1 if files of the repository or of an index are wrong, 2 for usage, 3 if the
    /// environment is wrong.
    pub fn exit_code(&self) -> u8 {
        match self {
            RefreshError::Repository { .. } | RefreshError::UnknownFamily { .. } => 2,
            RefreshError::Spec { .. }
            | RefreshError::Torch { .. }
            | RefreshError::Unresolved(_)
            | RefreshError::Changed(_) => 1,
            RefreshError::Unanswered(_) | RefreshError::Io { .. } | RefreshError::Pin(_) => 3,
        }
    }

    /// A file of the repository that cannot be used.
    pub fn spec(path: impl Into<Utf8PathBuf>, why: impl ToString) -> Self {
        RefreshError::Spec {
            path: path.into(),
            why: why.to_string(),
        }
    }
}
