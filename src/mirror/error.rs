//! Errors of a mirror that cannot start.

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

#[derive(Debug, Diagnostic, Error)]
pub enum MirrorError {
    #[error("{folder} has no built kernel")]
    #[diagnostic(
        code(mirror::empty),
        help(
            "give a folder with kernels as OWNER/NAME/build/VARIANT in it, or the folder of one kernel, which has build/; \
             `kernel-builder build` fills it"
        )
    )]
    Empty { folder: Utf8PathBuf },

    #[error("failed to listen at {address}")]
    #[diagnostic(
        code(mirror::listen),
        help("choose an address of this machine and a free port, as in `--listen 127.0.0.1:8001`")
    )]
    Listen {
        address: std::net::SocketAddr,
        source: std::io::Error,
    },

    #[error("failed to {action}")]
    #[diagnostic(code(mirror::io), help("{}", crate::file::help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl MirrorError {
    /// 1 if the folder is wrong, 2 for a wrong address, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Empty { .. } => 1,
            Self::Listen { .. } => 2,
            Self::Io { .. } => 3,
        }
    }
}
