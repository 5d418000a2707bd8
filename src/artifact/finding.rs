//! The rules of a built variant, and findings of places that break them. Not the checks.

use serde::Serialize;

/// The rules that the files of a variant must keep, by the names that `--json` prints.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactRule {
    /// metadata.json exists, and the client can read it.
    Metadata,
    /// metadata.json has the digests of the files.
    Digest,
    /// Each file has its digest.
    Changed,
    /// Each file that has a digest exists.
    Missing,
    /// Each file has a digest.
    Added,
    /// There are files and folders alone, with names that every machine can have.
    Link,
    /// Python compiles modules itself.
    Bytecode,
    /// The client finds the Python package and the library.
    Layout,
    /// The library registers operators where `_ops.py` looks for them. NB: no error, since a
    /// library may have Python functions alone.
    Namespace,
    /// The oldest Python that the variant is for can read its modules.
    Syntax,
    /// Modules import each other by relative names.
    OwnName,
    /// The library has code for the machine and for the architectures that metadata.json lists.
    Architecture,
    /// Native files load where the variant promises, and disturb nobody there (`check-abi`).
    Abi,
    /// The statement about the build is about these files.
    Provenance,
    /// The signature is right and made with the given key.
    Signature,
}

impl ArtifactRule {
    /// Whether a variant that breaks the rule may still be good.
    pub fn is_warning(self) -> bool {
        matches!(
            self,
            Self::Bytecode | Self::Namespace | Self::Syntax | Self::OwnName
        )
    }
}

/// A place of a variant that breaks a rule.
#[derive(Clone, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactFinding {
    /// The file, from the folder of the variant.
    pub file: String,
    /// The line of the file, if the rule is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub rule: ArtifactRule,
    pub message: String,
    /// The cure.
    pub help: String,
}

impl ArtifactFinding {
    /// A finding about a file as a whole.
    pub fn new(
        rule: ArtifactRule,
        file: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            line: None,
            rule,
            message: message.into(),
            help: help.into(),
        }
    }

    /// The same about a line, counted from 1.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// `a/b.py:3`, or `a/b.py` without a line.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}
