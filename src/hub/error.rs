//! Errors of the Hub, and of builds that cannot be published.

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

use crate::abi::AbiError;

#[derive(Debug, Diagnostic, Error)]
pub enum HubError {
    #[error("failed to {action}: the Hub does not take the token: {why}")]
    #[diagnostic(
        code(hub::token),
        help("set HF_TOKEN to a token that may write to the repository, or run `hf auth login`")
    )]
    Token { action: String, why: String },

    #[error("failed to {action}: not allowed: {why}")]
    #[diagnostic(
        code(hub::forbidden),
        help(
            "the token needs the right to write there. Kernels are published by organisations that the Hub has approved \
             for it: ask for that in the settings of yours, or offer the kernel to kernels-community"
        )
    )]
    Forbidden { action: String, why: String },

    #[error("failed to {action}: {why}")]
    #[diagnostic(
        code(hub::missing),
        help(
            "check the names; a private repository also needs a token (HF_TOKEN) that may read it"
        )
    )]
    Missing { action: String, why: String },

    #[error("failed to {action}: the branch was changed meanwhile")]
    #[diagnostic(
        code(hub::changed),
        help("somebody else uploads, too: run the command again")
    )]
    Changed { action: String },

    #[error("failed to {action}: {why}")]
    #[diagnostic(
        code(hub::busy),
        help(
            "run the command again: what was transferred is not sent twice. HF_ENDPOINT names another Hub, and \
             KERNEL_BUILDER_STALL_SECONDS=60 waits longer for a slow one"
        )
    )]
    Busy { action: String, why: String },

    #[error("failed to {action}: the Hub refuses it: {why}")]
    #[diagnostic(
        code(hub::refused),
        help("these are the words of the Hub; if they name no cure, please report this")
    )]
    Refused { action: String, why: String },

    #[error("failed to {action}: the Hub's answer is wrong: {why}")]
    #[diagnostic(
        code(hub::answer),
        help("check HF_ENDPOINT, and proxies on the way; nothing of the answer was used")
    )]
    Answer { action: String, why: String },

    #[error("failed to {action}: HF_HUB_OFFLINE is set")]
    #[diagnostic(code(hub::offline), help("unset HF_HUB_OFFLINE to use the network"))]
    Offline { action: String },

    #[error("found no built variant in {places}, in its `result`, or in its `build`")]
    #[diagnostic(
        code(hub::no_build),
        help("build the kernel first: `kernel-builder build`")
    )]
    NoBuild { places: String },

    #[error("{path} cannot be published: {why}")]
    #[diagnostic(code(hub::build), help("{help}"))]
    Build {
        path: Utf8PathBuf,
        why: String,
        help: String,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Check(#[from] AbiError),

    #[error("{what}, and --strict refuses it")]
    #[diagnostic(code(hub::strict), help("{help}"))]
    Strict { what: String, help: &'static str },

    #[error("--watch builds until Ctrl-C, and never uploads")]
    #[diagnostic(
        code(hub::watch),
        help("leave --watch away, or run `kernel-builder upload` beside it")
    )]
    Watch,

    #[error("the name of the repository is unknown")]
    #[diagnostic(
        code(hub::repository),
        help(
            "give --repo-id ORGANISATION/NAME, or write it to build.toml: `[general.hub] repo-id`"
        )
    )]
    NoRepository,

    #[error("`{text}` is not the name of a repository")]
    #[diagnostic(code(hub::repository), help("a name is ORGANISATION/NAME"))]
    Repository { text: String },

    #[error("`{text}` is no version")]
    #[diagnostic(
        code(hub::version),
        help("write an integer, or specifiers such as `>=1,<3` and `~=1.2`")
    )]
    Version { text: String },

    #[error("{path} cannot be used: {why}")]
    #[diagnostic(
        code(hub::project),
        help(
            "kernels are listed as `\"acme/relu\" = \">=1,<3\"` in [tool.kernels.dependencies] of pyproject.toml; \
             `kernel-builder lock` then writes the locks"
        )
    )]
    Project { path: Utf8PathBuf, why: String },

    #[error("failed to ask {program} about torch: {why}")]
    #[diagnostic(
        code(hub::python),
        help("name the variants with --variant, or take all with --all")
    )]
    Python { program: String, why: String },

    #[error("{repository} has no variant for this machine:{reasons}")]
    #[diagnostic(
        code(hub::no_variant),
        help("name others with --variant, or take all with --all")
    )]
    NoVariant { repository: String, reasons: String },

    #[error("failed to {action}")]
    #[diagnostic(code(hub::io), help("{}", crate::file::help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl HubError {
    /// 1 if the user's files are wrong, 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Check(error) => error.exit_code(),
            Self::NoBuild { .. }
            | Self::Build { .. }
            | Self::NoVariant { .. }
            | Self::Project { .. }
            | Self::Strict { .. } => 1,
            Self::NoRepository | Self::Repository { .. } | Self::Version { .. } | Self::Watch => 2,
            _ => 3,
        }
    }

    /// Makes an error of an I/O error, with the action that failed; for `map_err`.
    pub fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
