//! New kernels: an example of this program (example.rs) under another name, for some of its
//! backends. Decides the text of each file (project.rs); asks no questions.

mod example;
mod project;
mod write;

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

pub use self::example::Example;
pub use self::project::{NewKernel, RepoName};
pub use self::write::write_new;
use crate::file::help_for_io;
use crate::words::Backend;

/// The reason why there is no new kernel.
#[derive(Debug, Diagnostic, Error)]
pub enum InitError {
    #[error("`{0}` is not the name of a repository")]
    #[diagnostic(
        code(init::name),
        help(
            "write OWNER/NAME, as in --name acme/fast-relu; NAME has lower-case letters, digits and dashes, begins with a \
             letter, ends with no dash, and is no word of Python"
        )
    )]
    Name(String),

    #[error("there is no example {name}")]
    #[diagnostic(code(init::example), help("the examples are {examples}"))]
    UnknownExample { name: String, examples: String },

    #[error("the example {example} has no code for {backend}")]
    #[diagnostic(code(init::backend), help("it has code for {backends}"))]
    Backend {
        example: &'static str,
        backend: Backend,
        backends: String,
    },

    #[error("{} in the way, and nothing was written", exist(.0))]
    #[diagnostic(code(init::exists), help("name another folder, or move them away"))]
    Exists(Vec<Utf8PathBuf>),

    #[error("failed to write {path}")]
    #[diagnostic(code(init::write), help("{}", help_for_io(source)))]
    Write {
        path: Utf8PathBuf,
        source: std::io::Error,
    },
}

impl InitError {
    /// The exit code: 1 if the user's files are wrong, 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Exists(_) => 1,
            Self::Name(_) | Self::UnknownExample { .. } | Self::Backend { .. } => 2,
            Self::Write { .. } => 3,
        }
    }
}

/// Files with the verb that they need: "a is", "a and 2 others are".
fn exist(files: &[Utf8PathBuf]) -> String {
    match files {
        [] => "no file is".to_owned(),
        [file] => format!("{file} is"),
        [file, others @ ..] => format!("{file} and {} more are", others.len()),
    }
}
