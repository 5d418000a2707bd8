//! metadata.json of a built variant: which files the variant has. Not what they hold.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

/// The name of the file.
pub const METADATA: &str = "metadata.json";

/// A signature of metadata.json, which tools add to a build.
pub const SIGNATURE: &str = "metadata.json.sigstore";

/// The digests of a variant's files, by path from the variant's folder. Base64 of sha256, as the
/// `kernels` client computes it.
#[derive(Debug, Deserialize)]
pub struct FileDigests {
    algorithm: String,
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct MetadataDigests {
    digest: Option<FileDigests>,
}

impl FileDigests {
    /// Reads the digests of the variant in a folder. `None` if its metadata.json has none, or
    /// cannot be read.
    pub fn read(variant: &Utf8Path) -> Option<Self> {
        let text = std::fs::read(variant.join(METADATA)).ok()?;
        let metadata: MetadataDigests = serde_json::from_slice(&text).ok()?;
        let digests = metadata.digest?;
        (digests.algorithm == "sha256").then_some(digests)
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

    /// The files that are there and no longer have their digest, in order.
    pub fn edited_files(&self, variant: &Utf8Path) -> Vec<&str> {
        let is_edited = |path: &str, digest: &str| {
            let content = std::fs::read(variant.join(path));
            content.is_ok_and(|content| STANDARD.encode(Sha256::digest(content)) != digest)
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
