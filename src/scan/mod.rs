//! Scanning: the facts that the text of a kernel's files states, such as their includes and how
//! they register operators. The plan says what is compiled of them.

pub mod headers;
mod include_graph;
pub mod includes;
mod namespace;
pub mod operators;
pub mod search;

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

pub use self::include_graph::ARCH_LIST;
pub use self::namespace::Namespace;
pub use self::operators::Operators;
pub use self::search::{Reach, Search};

/// The reason why the files of a kernel cannot be scanned.
#[derive(Debug, Diagnostic, Error)]
pub enum ScanError {
    #[error("failed to read {path}")]
    #[diagnostic(code(plan::read), help("check the permissions of the kernel's folder"))]
    Read {
        path: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error("{path} is not valid UTF-8")]
    #[diagnostic(
        code(plan::path),
        help("rename the file: names of files go into build.nix as text")
    )]
    Path { path: String },

    #[error("{path} is a symbolic link, and a header is included through it")]
    #[diagnostic(code(plan::link), help("put the files themselves there"))]
    Link { path: Utf8PathBuf },
}
