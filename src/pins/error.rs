//! Errors of bringing pins into the store. All of them are errors of the environment (exit code 3).

use std::process::Output;

use camino::Utf8PathBuf;
use miette::Diagnostic;
use thiserror::Error;

use super::http::HttpFailure;
use crate::families::FamilyError;

/// The reason why an index, or a file on a server, gave no answer. The caller says which file was
/// wanted, and what helps.
#[derive(Clone, Debug, Error)]
pub enum IndexError {
    #[error("pip's proxy {proxy} is not usable: {why}")]
    Proxy { proxy: String, why: String },

    #[error("pip's certificates in {path}: {why}")]
    Certificates { path: Utf8PathBuf, why: String },

    #[error(transparent)]
    Http(#[from] HttpFailure),

    #[error("{url}: {failure}")]
    Page { url: String, failure: HttpFailure },

    /// The words of pip, or of the reader of its settings.
    #[error("{0}")]
    Configuration(String),

    /// Each index, with the reason why the file is not taken from it.
    #[error("{}", .0.join("; "))]
    NotListed(Vec<String>),

    /// The same, where an index broke HTTP or a limit.
    #[error("{}", .0.join("; "))]
    Unusable(Vec<String>),

    #[error("{project}: no index has this project")]
    NoProject { project: String },

    #[error("{file}: no index lists it")]
    NoFile { file: String },

    #[error("{request}: no {kind} for {system}")]
    NoWheel {
        request: String,
        kind: &'static str,
        system: String,
    },

    #[error("{project} {release}: no such release")]
    NoRelease {
        project: &'static str,
        release: String,
    },

    #[error("{by} pins no {project}")]
    NotPinned { by: String, project: String },

    #[error("{project}{specifiers}: {why}")]
    Specifiers {
        project: String,
        specifiers: String,
        why: String,
    },

    /// The wheel is no zip file, or one of its members is no text.
    #[error("{0}")]
    Wheel(String),

    #[error("{file}: no METADATA in it")]
    NoMetadata { file: String },

    #[error("no {member} in it")]
    NoMember { member: String },

    #[error("{0}")]
    UnknownFacts(&'static str),

    #[error("{0}")]
    Pattern(String),

    #[error("the folder for temporary files is not UTF-8")]
    TemporaryFolder,
}

#[derive(Debug, Diagnostic, Error)]
pub enum PinError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Family(#[from] FamilyError),

    #[error("failed to find {program}, which fetches {what}")]
    #[diagnostic(code(pins::program), help("{help}"))]
    Program {
        program: &'static str,
        what: &'static str,
        help: &'static str,
    },

    #[error("failed to fetch {name}: {why}")]
    #[diagnostic(code(pins::download), help("{help}"))]
    Download {
        name: String,
        why: String,
        help: String,
    },

    /// No source of the file answers. `why` names the sources, and is the same for all their files.
    #[error("failed to fetch {name}: {why}")]
    #[diagnostic(
        code(pins::download),
        help(
            "check the network; then run the command again: what was fetched is kept. KERNEL_BUILDER_STALL_SECONDS=60 \
             waits longer for slow servers"
        )
    )]
    Silent { name: String, why: String },

    #[error(
        "the index serves another {file} than the pinned one\n  pinned  sha256 {pinned}\n  served  sha256 {served}"
    )]
    #[diagnostic(
        code(pins::hash),
        help(
            "a mirror may be broken: fetch again with another index; nothing of the file was kept"
        )
    )]
    Hash {
        file: String,
        pinned: String,
        served: String,
    },

    #[error("failed to unpack {file}: {why}")]
    #[diagnostic(code(pins::unpack), help("{help}"))]
    Unpack {
        file: String,
        why: String,
        help: &'static str,
    },

    #[error("these files are neither in the store nor in the download cache:{list}")]
    #[diagnostic(
        code(pins::offline),
        help(
            "on a machine with a network, `kernel-builder fetch --to DIR` writes them to a folder; bring it here and run \
             `kernel-builder fetch --from DIR`"
        )
    )]
    Offline { list: String },

    #[error("the cache in {cache} is not safe to use: {why}")]
    #[diagnostic(
        code(pins::cache),
        help("give KERNEL_BUILDER_CACHE a folder that only this user may write to")
    )]
    Cache { cache: Utf8PathBuf, why: String },

    #[error("failed to use the folder {dir}: {why}")]
    #[diagnostic(code(pins::folder), help("{help}"))]
    Folder {
        dir: Utf8PathBuf,
        why: String,
        help: &'static str,
    },

    #[error("there is too little room in {folders}: {needed} are needed, {free} are free")]
    #[diagnostic(
        code(pins::space),
        help(
            "free some space; KERNEL_BUILDER_CACHE moves the download cache, `nix-collect-garbage` removes what nothing \
             in the store refers to"
        )
    )]
    Space {
        folders: String,
        needed: String,
        free: String,
    },

    #[error("failed to {action} {path}")]
    #[diagnostic(code(pins::io), help("check free space and permissions there"))]
    Io {
        action: &'static str,
        path: Utf8PathBuf,
        source: std::io::Error,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Nix(#[from] crate::nix::NixError),
}

/// One reason why files are missing.
#[derive(Debug)]
pub struct MissingFiles {
    pub error: PinError,
    /// The store names of the files; empty for an error that concerns none in particular.
    pub names: Vec<String>,
}

impl From<PinError> for MissingFiles {
    fn from(error: PinError) -> Self {
        Self {
            error,
            names: Vec::new(),
        }
    }
}

impl MissingFiles {
    /// Puts together files that are missing for the same reason, the most files first.
    pub fn group(errors: Vec<(String, PinError)>) -> Vec<Self> {
        let mut groups: Vec<(String, Self)> = Vec::new();
        for (name, error) in errors {
            let why = error.why();
            match groups.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, group)) => group.names.push(name),
                None => groups.push((
                    why,
                    Self {
                        error,
                        names: vec![name],
                    },
                )),
            }
        }
        let mut groups: Vec<Self> = groups.into_iter().map(|(_, group)| group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.names.len()));
        for group in &mut groups {
            let count = group.names.len();
            if let PinError::Download { name, .. } | PinError::Silent { name, .. } =
                &mut group.error
                && count > 1
            {
                *name = format!("{count} files");
            }
        }
        groups
    }
}

impl PinError {
    /// The error of a program that fetches, with the last lines that it printed.
    pub fn download(name: &str, output: &Output, help: impl FnOnce(&str) -> &'static str) -> Self {
        let words = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = words
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let why = lines[lines.len().saturating_sub(5)..].join("\n  ");
        let help = help(&why).to_owned();
        PinError::Download {
            name: name.to_owned(),
            why,
            help,
        }
    }

    /// The reason alone, for a list of tried sources.
    pub fn why(&self) -> String {
        match self {
            PinError::Download { why, .. } | PinError::Silent { why, .. } => why.clone(),
            error => error.to_string(),
        }
    }

    /// The same error for another file.
    pub fn for_file(&self, file: &str) -> Self {
        match self {
            &PinError::Program {
                program,
                what,
                help,
            } => PinError::Program {
                program,
                what,
                help,
            },
            PinError::Silent { why, .. } => PinError::Silent {
                name: file.to_owned(),
                why: why.clone(),
            },
            error => PinError::Download {
                name: file.to_owned(),
                why: error.why(),
                help: error
                    .help()
                    .map(|help| help.to_string())
                    .unwrap_or_default(),
            },
        }
    }

    /// Makes an error of an I/O error, with the action that failed; for `map_err`.
    pub fn io(
        action: &'static str,
        path: impl Into<Utf8PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| PinError::Io {
            action,
            path,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_missing_for_one_reason_are_one_error() {
        let download = |name: &str, why: &str| {
            let error = PinError::Download {
                name: name.to_owned(),
                why: why.to_owned(),
                help: String::new(),
            };
            (name.to_owned(), error)
        };
        let apt = PinError::Program {
            program: "apt-get",
            what: "compilers",
            help: "",
        };
        let errors = vec![
            download("a", "a:1: no connection"),
            ("b".to_owned(), apt.for_file("b")),
            download("c", "b:1: no connection"),
            ("d".to_owned(), apt.for_file("d")),
            ("e".to_owned(), apt),
            download("f", "b:1: no connection"),
        ];
        let groups = MissingFiles::group(errors);
        let told: Vec<String> = groups
            .iter()
            .map(|group| format!("{}: {}", group.names.join(" "), group.error))
            .collect();
        assert_eq!(
            told,
            [
                "b d e: failed to find apt-get, which fetches compilers",
                "c f: failed to fetch 2 files: b:1: no connection",
                "a: failed to fetch a: a:1: no connection",
            ]
        );
    }
}
