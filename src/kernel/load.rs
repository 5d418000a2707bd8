//! From a path on disk to a checked kernel.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use thiserror::Error;

use super::{CudaToolkits, Kernel};
use crate::file::{help_for_io, read_at_most};
use crate::manifest::{Edition, FILE_NAME, Manifest, locate};
use crate::problem::Problems;

/// A kernel that may be built, with its warnings.
#[derive(Debug, Clone)]
pub struct LoadedKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// The edition of its build.toml.
    pub edition: Edition,
    /// Problems that are no errors; often empty.
    pub warnings: Problems,
}

/// The reason why there is no kernel.
#[derive(Debug, Diagnostic, Error)]
pub enum LoadError {
    /// The file was read and has errors; render them.
    #[error("{}", .0.summary())]
    Problems(Box<Problems>),
    /// The file does not exist.
    #[error("there is no file {path}")]
    #[diagnostic(
        code(kernel::missing),
        help("name the folder of a kernel, or its {FILE_NAME}")
    )]
    NotFound {
        /// The path of the missing file.
        path: Utf8PathBuf,
    },
    /// The file cannot be read.
    #[error("failed to read {path}")]
    #[diagnostic(code(kernel::read), help("{}", help_for_io(source)))]
    Read {
        /// The file.
        path: Utf8PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl LoadError {
    /// 1 if the user's files are wrong, 3 if the machine is.
    pub fn exit_code(&self) -> u8 {
        match self {
            LoadError::Problems(_) | LoadError::NotFound { .. } => 1,
            LoadError::Read { .. } => 3,
        }
    }
}

/// The most bytes that a build.toml may have. A kernel of 2,816 sources has a tenth of it.
const MAX_BYTES: u64 = 1_000_000;

/// The bytes of a build.toml.
///
/// # Errors
/// `LoadError::NotFound` and `LoadError::Read`.
pub fn read_file(file: &Utf8Path) -> Result<Vec<u8>, LoadError> {
    let path = file.to_owned();
    read_at_most(file, MAX_BYTES).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LoadError::NotFound { path },
        _ => LoadError::Read { path, source },
    })
}

pub(super) fn load(path: &Utf8Path, toolkits: &CudaToolkits) -> Result<LoadedKernel, LoadError> {
    let (root, file) = locate(path);
    let bytes = read_file(&file)?;
    let manifest = Manifest::read(file.as_str(), &bytes);
    match Kernel::check(&manifest, &root, toolkits) {
        (Some(kernel), warnings) => Ok(LoadedKernel {
            kernel,
            // A file without a known edition gives no kernel.
            edition: manifest
                .edition
                .map_or(Edition::V5, |detected| detected.edition),
            warnings,
        }),
        (None, problems) => Err(LoadError::Problems(Box::new(problems))),
    }
}
