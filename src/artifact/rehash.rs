//! Writes the digests of a variant's files into its metadata.json. Everything else there stays.

use std::collections::BTreeMap;
use std::io;

use camino::Utf8Path;
use miette::Diagnostic;
use serde_json::{Value, json};
use thiserror::Error;

use super::contents::{DigestAlgorithm, FolderContents};
use super::metadata::{ArtifactMetadata, METADATA, MetadataError};
use crate::file::{MAX_TEXT, help_for_io, read_at_most, replace_file};

/// The reason why digests cannot be written.
#[derive(Debug, Diagnostic, Error)]
pub enum RehashError {
    #[error("{path} is no file that a digest can cover")]
    #[diagnostic(
        code(artifact::link),
        help("put the file itself in its place, and build again")
    )]
    NoFile { path: String },

    #[error("the client cannot read {path}: {source}")]
    #[diagnostic(
        code(artifact::metadata),
        help("build the variant again; builds of before 2026 have no such file, or a shorter one")
    )]
    Metadata { path: String, source: MetadataError },

    #[error("failed to read or write {path}")]
    #[diagnostic(code(io), help("{}", help_for_io(source)))]
    Io { path: String, source: io::Error },
}

/// Writes the digests of a variant again. Returns the number of files, and whether metadata.json
/// changed; it keeps keys that this program does not know.
///
/// # Errors
/// `RehashError`; metadata.json then stays as it was.
pub fn rehash(folder: &Utf8Path) -> Result<(usize, bool), RehashError> {
    let path = folder.join(METADATA);
    let failed = |path: &Utf8Path| {
        let path = path.to_string();
        move |source| RehashError::Io { path, source }
    };
    ArtifactMetadata::read(folder).map_err(|source| match source {
        MetadataError::Read(source) => failed(&path)(source),
        source => RehashError::Metadata {
            path: path.to_string(),
            source,
        },
    })?;
    let contents = FolderContents::list(folder, None).map_err(failed(folder))?;
    if let Some(strange) = contents.links.keys().chain(&contents.strange).next() {
        return Err(RehashError::NoFile {
            path: folder.join(strange).to_string(),
        });
    }
    let mut files = BTreeMap::new();
    for file in &contents.files {
        let full = folder.join(file);
        let digest = DigestAlgorithm::Sha256
            .of_file(&full)
            .map_err(failed(&full))?;
        files.insert(file.clone(), digest);
    }
    let number = files.len();
    let old = read_at_most(&path, MAX_TEXT).map_err(failed(&path))?;
    let digest = json!({ "algorithm": DigestAlgorithm::Sha256, "files": files });
    let new = with_field(&old, "digest", digest).map_err(failed(&path))?;
    if new == old {
        return Ok((number, false));
    }
    replace_file(&path, &new).map_err(failed(&path))?;
    Ok((number, true))
}

/// The text of a metadata.json with another value of one field, in the form in which
/// nix/kernel/metadata.py writes it.
///
/// # Errors
/// `InvalidData` for a text that is no JSON object.
pub fn with_field(text: &[u8], name: &str, value: Value) -> io::Result<Vec<u8>> {
    let mut metadata: serde_json::Map<String, Value> = serde_json::from_slice(text)?;
    metadata.insert(name.to_owned(), value);
    let mut text = serde_json::to_vec_pretty(&metadata)?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"backend\": {\n    \"type\": \"cpu\"\n  },\n  \"digest\": {\n    \"algorithm\": \"sha256\",\n    \
                        \"files\": {\n      \"__init__.py\": \"ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=\"\n    }\n  },\n  \
                        \"future\": {\n    \"kept\": [\n      1,\n      \"ü\"\n    ]\n  },\n  \"id\": \"_a_b_c\",\n  \
                        \"license\": \"MIT\",\n  \"name\": \"ab\",\n  \"python-depends\": [],\n  \"version\": 1\n}\n";

    /// The client's own `hash` loses the keys that it does not know.
    #[test]
    fn unknown_keys_stay_and_right_digests_change_nothing() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("written");
        let read = || std::fs::read_to_string(dir.join(METADATA)).expect("read");
        write("__init__.py", "a");
        write(METADATA, TEXT);
        assert_eq!(rehash(dir).expect("hashed"), (1, false));
        assert_eq!(read(), TEXT);
        write("__init__.py", "b");
        write("new.py", "");
        assert_eq!(rehash(dir).expect("hashed"), (2, true));
        let metadata: Value = serde_json::from_str(&read()).expect("JSON");
        assert_eq!(metadata["future"]["kept"][1], "ü");
        let files = metadata["digest"]["files"].as_object().expect("files");
        assert_eq!(files.keys().collect::<Vec<_>>(), ["__init__.py", "new.py"]);
        assert_eq!(rehash(dir).expect("hashed"), (2, false));

        std::os::unix::fs::symlink("new.py", dir.join("link.py")).expect("linked");
        let before = read();
        let error = rehash(dir).expect_err("a link");
        assert!(matches!(error, RehashError::NoFile { .. }), "{error}");
        assert_eq!(read(), before);
    }
}
