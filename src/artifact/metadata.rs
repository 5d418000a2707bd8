//! metadata.json of a built variant, as the client reads it (kernels 0.17.2). It names the variant,
//! and has the digests of its files.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use walkdir::WalkDir;

use super::contents::DigestAlgorithm;
use crate::file::{MAX_TEXT, read_at_most};
use crate::kernel::KernelName;

/// The name of the file.
pub const METADATA: &str = "metadata.json";

/// A signature of metadata.json, which tools add to a build.
pub const SIGNATURE: &str = "metadata.json.sigstore";

/// The fields that the client reads. It ignores others.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ArtifactMetadata {
    pub name: String,
    /// The build id: the name of the Python module, and of the library.
    pub id: String,
    pub version: u64,
    pub license: String,
    pub python_depends: Vec<String>,
    /// Other kernels of the Hub that the kernel loads; only the client can give them to it.
    #[serde(default)]
    pub kernel_depends: Vec<serde_json::Value>,
    pub upstream: Option<String>,
    pub source: Option<String>,
    pub backend: ArtifactBackend,
    pub digest: Option<FileDigests>,
    pub provenance: Option<ArtifactProvenance>,
}

/// The backend that a variant is for.
#[derive(Debug, Deserialize)]
pub struct ArtifactBackend {
    pub r#type: String,
    /// GPU architectures.
    #[serde(default)]
    pub archs: Vec<String>,
}

/// The program that built a variant, and the revision that it was built from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ArtifactProvenance {
    pub kernel_builder: BuilderRelease,
    pub kernel: Option<KernelRevision>,
}

/// A release of the program.
#[derive(Debug, Deserialize)]
pub struct BuilderRelease {
    pub version: String,
}

/// A commit of the kernel's repository, and whether files that the build read differed from it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct KernelRevision {
    #[serde(alias = "sha")]
    pub commit: String,
    pub dirty: bool,
}

/// The reason why the client cannot read a metadata.json.
#[derive(Debug, Error)]
pub enum MetadataError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Value(String),
}

impl MetadataError {
    /// The line of the mistake, counted from 1; `None` for a file that cannot be read.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Json(error) => Some(error.line()).filter(|line| *line > 0),
            Self::Read(_) | Self::Value(_) => None,
        }
    }
}

impl ArtifactMetadata {
    /// Reads the metadata.json of the variant in a folder.
    ///
    /// # Errors
    /// `MetadataError` for a file that the client refuses.
    pub fn read(variant: &Utf8Path) -> Result<Self, MetadataError> {
        let metadata: Self =
            serde_json::from_slice(&read_at_most(&variant.join(METADATA), MAX_TEXT)?)?;
        let wrong = |text: String| Err(MetadataError::Value(text));
        if let Err(error) = metadata.name.parse::<KernelName>() {
            return wrong(format!("`name`: {error}"));
        }
        let known = [
            "cann", "cpu", "cuda", "metal", "neuron", "rocm", "tpu", "xpu",
        ];
        if !known.contains(&&*metadata.backend.r#type) {
            return wrong(format!(
                "`backend.type`: `{}` is none of {}",
                metadata.backend.r#type,
                known.join(", ")
            ));
        }
        let provenance = metadata.provenance.as_ref();
        if let Some(kernel) = provenance.and_then(|own| own.kernel.as_ref()) {
            let is_hex = kernel.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_hex || ![40, 64].contains(&kernel.commit.len()) {
                return wrong(format!(
                    "`provenance.kernel.commit`: `{}` is no commit of git",
                    kernel.commit
                ));
            }
        }
        Ok(metadata)
    }

    /// The name of the kernel's Python package.
    pub fn python_name(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// The digests of a variant's files, by path from the variant's folder: base64, as the `kernels`
/// client computes them.
#[derive(Debug, Deserialize)]
pub struct FileDigests {
    pub algorithm: DigestAlgorithm,
    pub files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct MetadataDigests {
    digest: Option<FileDigests>,
}

impl FileDigests {
    /// Reads the digests of the variant in a folder. `None` if its metadata.json has none, or
    /// cannot be read.
    pub fn read(variant: &Utf8Path) -> Option<Self> {
        let text = read_at_most(&variant.join(METADATA), MAX_TEXT).ok()?;
        let metadata: MetadataDigests = serde_json::from_slice(&text).ok()?;
        metadata.digest
    }

    /// The files of the variant's folder that are not the build's: paths from that folder, in
    /// order. What Python and signing tools leave in a build is not among them.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn unknown_files(&self, variant: &Utf8Path) -> std::io::Result<Vec<String>> {
        let mut unknown = Vec::new();
        let walk = WalkDir::new(variant).min_depth(1).sort_by_file_name();
        for entry in walk
            .into_iter()
            .filter_entry(|entry| !is_left_behind(entry))
        {
            let entry = entry?;
            let relative = entry.path().strip_prefix(variant).unwrap_or(entry.path());
            let path = relative.to_string_lossy().into_owned();
            if !entry.file_type().is_dir() && path != METADATA && !self.files.contains_key(&path) {
                unknown.push(path);
            }
        }
        Ok(unknown)
    }

    /// The sha256 that a file of the build has, in hexadecimal digits. `None` if it has another
    /// digest or none.
    pub fn sha256(&self, path: &str) -> Option<String> {
        let digest = self.files.get(path)?;
        let bytes = STANDARD.decode(digest.as_bytes()).ok()?;
        (self.algorithm == DigestAlgorithm::Sha256).then(|| crate::hex(&bytes))
    }

    /// The files that are there and no longer have their digest, in order.
    pub fn edited_files(&self, variant: &Utf8Path) -> Vec<&str> {
        let is_edited = |path: &str, digest: &str| {
            let found = self.algorithm.of_file(&variant.join(path));
            found.is_ok_and(|found| found != digest)
        };
        let files = self.files.iter();
        files
            .filter(|(path, digest)| is_edited(path, digest))
            .map(|(path, _)| path.as_str())
            .collect()
    }
}

/// Whether a file or folder of a variant was added by Python, which compiles modules when they are
/// imported, or by a tool that signs metadata.json.
pub fn is_left_behind(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name();
    name == "__pycache__" || entry.depth() == 1 && name == SIGNATURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_and_edited_ones_are_told_from_those_of_the_build() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let write = |path: &str, text: &str| {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, text).expect("written");
        };
        assert!(FileDigests::read(dir).is_none());
        // `printf a | openssl dgst -sha256 -binary | base64`
        let digest = "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=";
        write(
            METADATA,
            &format!(
                r#"{{"digest": {{"algorithm": "sha256", "files": {{"a.py": "{digest}", "layers/b.py": "{digest}"}}}}}}"#
            ),
        );
        for file in ["a.py", "layers/b.py", "__pycache__/a.pyc", SIGNATURE] {
            write(file, "a");
        }
        let digests = FileDigests::read(dir).expect("digests");
        let unknown = || digests.unknown_files(dir).expect("read");
        assert_eq!(unknown(), [""; 0]);
        assert_eq!(digests.edited_files(dir), [""; 0]);
        write("layers/b.py", "b");
        write("layers/notes.txt", "");
        assert_eq!(unknown(), ["layers/notes.txt"]);
        assert_eq!(digests.edited_files(dir), ["layers/b.py"]);
        write(METADATA, r#"{"digest": null}"#);
        assert!(FileDigests::read(dir).is_none());
    }
}
