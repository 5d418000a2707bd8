//! The files of a variant's folder and their digests, as the client computes them. Not what the
//! files must hold.

use std::collections::BTreeMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};
use walkdir::WalkDir;

use super::metadata::{METADATA, SIGNATURE};
use crate::file::read_pieces;

/// A hash that the client knows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DigestAlgorithm {
    #[default]
    Sha256,
    Sha512,
}

impl DigestAlgorithm {
    /// The name in metadata.json and in statements.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// The base64 of the hash of a file.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn of_file(self, path: &Utf8Path) -> io::Result<String> {
        match self {
            Self::Sha256 => Ok(STANDARD.encode(hash_file::<Sha256>(path)?)),
            Self::Sha512 => Ok(STANDARD.encode(hash_file::<Sha512>(path)?)),
        }
    }
}

fn hash_file<H: Digest>(path: &Utf8Path) -> io::Result<Vec<u8>> {
    // NB: the path may come from a metadata.json. A pipe or a device may have no end.
    if !path.metadata()?.is_file() {
        let why = "it is not a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut hash = H::new();
    read_pieces(path, |piece| hash.update(piece))?;
    Ok(hash.finalize().to_vec())
}

/// The files of a folder, and other entries among them. Paths are those from the folder, in order.
#[derive(Debug, Default)]
pub struct FolderContents {
    /// Files that a digest covers.
    pub files: Vec<String>,
    /// Files of Python's compiler, which the client leaves out of digests.
    pub bytecode: Vec<String>,
    /// Links, with their targets.
    pub links: BTreeMap<String, String>,
    /// Pipes, devices, sockets, and names that are not UTF-8 or hold control characters.
    pub strange: Vec<String>,
}

impl FolderContents {
    /// Lists a folder. `links_to`: the folder to whose files links may lead, as in the cache of a
    /// client of the Hub; they count as files.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn list(folder: &Utf8Path, links_to: Option<&Utf8Path>) -> io::Result<Self> {
        let mut contents = Self::default();
        // NB: the folder itself may be a link, as `result` of Nix is.
        let root = folder.canonicalize_utf8()?;
        for entry in WalkDir::new(&root).min_depth(1).sort_by_file_name() {
            let entry = entry?;
            let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            let path = relative.to_string_lossy().into_owned();
            let kind = entry.file_type();
            let is_odd = relative.to_str().is_none() || path.contains(char::is_control);
            if is_odd || !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
                contents.strange.push(path.escape_debug().to_string());
            } else if kind.is_symlink() && !is_link_into(&root.join(&path), links_to) {
                let target = std::fs::read_link(entry.path())?;
                let target = target.to_string_lossy().into_owned();
                contents.links.insert(path, target);
            } else if kind.is_dir() || path == METADATA || path == SIGNATURE {
                // The client leaves out these files, at the top alone.
            } else if path.ends_with(".pyc") || path.split('/').any(|part| part == "__pycache__") {
                contents.bytecode.push(path);
            } else {
                contents.files.push(path);
            }
        }
        Ok(contents)
    }
}

/// Whether a link leads to a file directly in a folder.
fn is_link_into(link: &Utf8Path, folder: Option<&Utf8Path>) -> bool {
    let target = link.canonicalize_utf8().ok();
    target.is_some_and(|target| target.is_file() && target.parent() == folder)
}

/// The folder of a Hub client's cache that holds the files of a snapshot, which are links to them:
/// `models--a--b/blobs` for a folder below `models--a--b/snapshots`. `None` for other folders.
pub fn blobs_of(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let folder = folder.canonicalize_utf8().ok()?;
    let snapshots = folder
        .ancestors()
        .find(|folder| folder.file_name() == Some("snapshots"))?;
    snapshots.parent()?.join("blobs").canonicalize_utf8().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn digests_are_those_of_the_client() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let file = dir.join("_extension.so");
        std::fs::write(&file, "hello world").expect("written");
        // The vector of the client's own test.
        assert_eq!(
            DigestAlgorithm::Sha256.of_file(&file).expect("read"),
            "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="
        );
        let sha512 = DigestAlgorithm::Sha512.of_file(&file).expect("read");
        assert!(sha512.starts_with("MJ7MSJwS1utMxA9QyQLy"), "{sha512}");
    }

    /// F8 of the attack: the digests had no links, which the client then refused or followed.
    #[test]
    fn links_count_as_files_in_the_cache_of_a_hub_client_alone() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let dir = dir.canonicalize_utf8().expect("real");
        let variant = dir.join("models--a--b/snapshots/0123/build/torch-cpu");
        std::fs::create_dir_all(&variant).expect("created");
        std::fs::create_dir_all(dir.join("models--a--b/blobs")).expect("created");
        let blob = dir.join("models--a--b/blobs/abc");
        std::fs::write(&blob, "").expect("written");
        std::fs::write(dir.join("secret"), "").expect("written");
        symlink(&blob, variant.join("a.py")).expect("linked");
        symlink(dir.join("secret"), variant.join("b.py")).expect("linked");
        symlink(dir.join("models--a--b/blobs"), variant.join("c")).expect("linked");
        symlink("nowhere", variant.join("d.py")).expect("linked");
        let blobs = blobs_of(&variant).expect("blobs");
        let contents = FolderContents::list(&variant, Some(&blobs)).expect("listed");
        assert_eq!(contents.files, ["a.py"]);
        let links: Vec<&String> = contents.links.keys().collect();
        assert_eq!(links, ["b.py", "c", "d.py"]);
        assert_eq!(blobs_of(&dir), None);
        let contents = FolderContents::list(&variant, None).expect("listed");
        assert_eq!(contents.links.len(), 4);
    }
}
