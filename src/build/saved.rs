//! Saved evaluations in the user's cache: `<cache>/evaluations/<key>.json`, each with a hash of its
//! content in the first line. An entry that is broken, foreign or of another release counts as
//! missing.

use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::evaluation::Evaluation;
use crate::file::replace_private_file;
use crate::hex;
use crate::steps::WantedVariant;
use crate::steps::derivations::SavedGraph;

/// The number of entries that are kept. The entries that were not used for longest are removed.
const KEPT: usize = 40;

/// Bytes that all entries together may take. An entry of a large kernel has about 5 MB.
const KEPT_BYTES: u64 = 200 << 20;

/// The name of an evaluation: a hash of its inputs, which are added one after the other.
#[derive(Clone, Debug, Default)]
pub struct EvaluationKey(Sha256);

impl EvaluationKey {
    /// Adds an input. Its length is hashed, too, so that neighbouring inputs stay distinct.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn name(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}

/// The content of an entry after its first line.
#[derive(Deserialize, Serialize)]
struct Entry {
    key: String,
    wanted: Vec<WantedVariant>,
    derivations: SavedGraph,
}

/// The folder of saved evaluations.
#[derive(Debug)]
pub struct SavedEvaluations {
    folder: Utf8PathBuf,
}

impl SavedEvaluations {
    /// The evaluations that a cache holds.
    pub fn open(cache: &Utf8Path) -> Self {
        Self {
            folder: cache.join("evaluations"),
        }
    }

    /// The evaluation of a key; `None` if there is no usable entry.
    pub fn read(&self, key: &EvaluationKey) -> Option<Evaluation> {
        let name = key.name();
        let file = self.file(key);
        let content = std::fs::read(&file).ok()?;
        let end = content.iter().position(|byte| *byte == b'\n')?;
        let (hash, json) = (&content[..end], &content[end + 1..]);
        if hash != hex(&Sha256::digest(json)).as_bytes() {
            return None;
        }
        let entry: Entry = serde_json::from_slice(json).ok()?;
        let derivations = entry.derivations.restore()?;
        let roots = entry.wanted.iter().map(|wanted| &wanted.derivation);
        if entry.key != name || !roots.clone().all(|root| derivations.contains_key(root)) {
            return None;
        }
        // NB: a used entry becomes the newest. If its time cannot be set, it is only removed
        // sooner.
        if let Ok(file) = std::fs::File::options().append(true).open(&file) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(Evaluation {
            wanted: entry.wanted,
            derivations,
        })
    }

    /// Saves an evaluation, and removes the oldest entries beyond the limits.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn write(&self, key: &EvaluationKey, evaluation: &Evaluation) -> std::io::Result<()> {
        let name = key.name();
        let json = serde_json::to_vec(&Entry {
            key: name.clone(),
            wanted: evaluation.wanted.clone(),
            derivations: SavedGraph::from(&evaluation.derivations),
        })?;
        let mut content = hex(&Sha256::digest(&json)).into_bytes();
        content.push(b'\n');
        content.extend(json);
        std::fs::create_dir_all(&self.folder)?;
        replace_private_file(&self.file(key), &content)?;
        self.remove_oldest(KEPT, KEPT_BYTES)
    }

    /// The file of an entry.
    pub fn file(&self, key: &EvaluationKey) -> Utf8PathBuf {
        self.folder.join(format!("{}.json", key.name()))
    }

    /// Removes the entries that were not used for longest, and files that killed runs left. Another
    /// process may do the same at the same time.
    fn remove_oldest(&self, kept: usize, kept_bytes: u64) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in self.folder.read_dir_utf8()? {
            let entry = entry?;
            if let Ok(metadata) = entry.metadata() {
                entries.push((metadata.modified()?, metadata.len(), entry.into_path()));
            }
        }
        entries.sort();
        let mut bytes = 0;
        for (number, (_, size, path)) in entries.iter().rev().enumerate() {
            bytes += size;
            if number >= kept || bytes > kept_bytes {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(error);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::StepKind;
    use crate::steps::derivations::DerivationNode;

    fn evaluation() -> Evaluation {
        let node = |needs: &[&str], compilation| DerivationNode {
            needs: needs.iter().map(|path| (*path).to_owned()).collect(),
            output: "/nix/store/o".to_owned(),
            is_fixed: needs.is_empty(),
            unavailable: None,
            compilation,
            build_id: None,
            is_environment: false,
        };
        let unit = StepKind::Unit {
            source: "a.cu".to_owned(),
            part: None,
            driver: "nvcc".to_owned(),
        };
        let graph = [
            (
                "/nix/store/c.drv",
                node(&["/nix/store/a.drv", "/nix/store/b.drv"], None),
            ),
            ("/nix/store/a.drv", node(&["/nix/store/b.drv"], Some(unit))),
            ("/nix/store/b.drv", node(&[], None)),
        ];
        Evaluation {
            wanted: vec![WantedVariant {
                derivation: "/nix/store/c.drv".to_owned(),
                library: None,
            }],
            derivations: graph.map(|(path, node)| (path.to_owned(), node)).into(),
        }
    }

    fn key(parts: &[&str]) -> EvaluationKey {
        let mut key = EvaluationKey::default();
        for part in parts {
            key.add(part);
        }
        key
    }

    fn with_cache(test: impl FnOnce(&SavedEvaluations)) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
        test(&SavedEvaluations::open(cache));
    }

    #[test]
    fn a_saved_evaluation_is_read_only_under_its_key() {
        with_cache(|saved| {
            assert_eq!(saved.read(&key(&["a", "b"])), None);
            saved
                .write(&key(&["a", "b"]), &evaluation())
                .expect("written");
            assert_eq!(saved.read(&key(&["a", "b"])), Some(evaluation()));
            for other in [&["a"][..], &["ab"], &["a", "c"], &["a", "b", ""]] {
                assert_eq!(saved.read(&key(other)), None, "{other:?}");
            }
        });
    }

    #[test]
    fn an_entry_that_is_broken_or_foreign_is_like_none() {
        with_cache(|saved| {
            let key = key(&["a"]);
            saved.write(&key, &evaluation()).expect("written");
            let file = saved.file(&key);
            let whole = std::fs::read_to_string(&file).expect("read");
            let changed = whole.replace("/nix/store/o", "/nix/store/x");
            let other = SavedEvaluations::open(&saved.folder);
            let moved = {
                let second = super::tests::key(&["b"]);
                other.write(&second, &evaluation()).expect("written");
                std::fs::read_to_string(other.file(&second)).expect("read")
            };
            for content in ["", "{", &whole[..whole.len() - 9], &changed, &moved] {
                std::fs::write(&file, content).expect("written");
                assert_eq!(saved.read(&key), None, "{content}");
            }
            std::fs::write(&file, whole).expect("written");
            assert_eq!(saved.read(&key), Some(evaluation()));
        });
    }

    #[test]
    fn entries_that_were_not_used_for_longest_are_removed() {
        with_cache(|saved| {
            let names = ["a", "b", "c", "d"];
            for (age, name) in names.iter().rev().enumerate() {
                saved.write(&key(&[name]), &evaluation()).expect("written");
                let path = saved.file(&key(&[name]));
                let file = std::fs::File::options().append(true).open(path);
                let file = file.expect("a file");
                let time =
                    SystemTime::now() - std::time::Duration::from_secs(60 * (9 - age as u64));
                file.set_modified(time).expect("set");
            }
            // The oldest entry, but it is used now.
            assert!(saved.read(&key(&["d"])).is_some());
            saved.remove_oldest(2, u64::MAX).expect("removed");
            let kept =
                |saved: &SavedEvaluations| names.map(|name| saved.file(&key(&[name])).exists());
            assert_eq!(kept(saved), [true, false, false, true]);
            let size = saved.file(&key(&["a"])).metadata().expect("a file").len();
            saved.remove_oldest(2, size).expect("removed");
            assert_eq!(kept(saved), [false, false, false, true]);
        });
    }
}
