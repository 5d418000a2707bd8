//! What was built last in a kernel's folder, step by step, kept in the user's cache. Nothing but explanations depends on
//! it: whether something is built again, Nix alone decides.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::StepKind;
use super::inputs::Inputs;
use crate::file::replace_private_file;
use crate::hex;

/// The record of a kernel's folder: `<cache>/records/<hash of the folder>.json`.
#[derive(Debug, Default)]
pub struct BuildRecord {
    file: Utf8PathBuf,
    content: Content,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Content {
    /// The kernel's folder, for who looks at the file.
    kernel: String,
    /// By variant, then by what the step is in it.
    variants: BTreeMap<String, BTreeMap<String, Kept>>,
    /// Hashes of files by path, by their own hash: many steps see the same.
    files: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    files: String,
    /// Its `files` are empty.
    inputs: Inputs,
}

impl BuildRecord {
    /// Reads the record of a kernel's folder; one that is missing or broken is like an empty one.
    pub fn open(cache: &Utf8Path, kernel: &Utf8Path) -> Self {
        let file = Self::file_of(cache, kernel);
        let text = std::fs::read(&file).unwrap_or_default();
        let mut content: Content = serde_json::from_slice(&text).unwrap_or_default();
        kernel.as_str().clone_into(&mut content.kernel);
        Self { file, content }
    }

    /// Whether the record of a kernel's folder was last written when all of some packages, and only these, had been built.
    pub fn is_of_packages(cache: &Utf8Path, kernel: &Utf8Path, packages: &[&str]) -> bool {
        let file = Self::file_of(cache, kernel);
        let known = std::fs::read_to_string(mark_of(&file));
        file.exists() && known.is_ok_and(|known| known == packages.join("\n"))
    }

    fn file_of(cache: &Utf8Path, kernel: &Utf8Path) -> Utf8PathBuf {
        let name = &hex(&Sha256::digest(kernel.as_str()))[..16];
        cache.join("records").join(format!("{name}.json"))
    }

    /// The inputs of a step of a variant when it was built last.
    pub fn inputs(&self, variant: &str, kind: &StepKind) -> Option<Inputs> {
        let kept = self.content.variants.get(variant)?.get(&kind.role())?;
        Some(Inputs {
            files: self.content.files.get(&kept.files)?.clone(),
            ..kept.inputs.clone()
        })
    }

    /// A step of a variant is built.
    pub fn learn(&mut self, variant: &str, kind: &StepKind, mut inputs: Inputs) {
        // There are many, and how they changed is of no use to anybody.
        if *kind == StepKind::Toolchain {
            return;
        }
        let files = std::mem::take(&mut inputs.files);
        let text: String = files
            .iter()
            .map(|(path, hash)| format!("{hash} {path}\n"))
            .collect();
        let key = hex(&Sha256::digest(text))[..16].to_owned();
        self.content.files.entry(key.clone()).or_insert(files);
        let of_variant = self.content.variants.entry(variant.to_owned()).or_default();
        of_variant.insert(kind.role(), Kept { files: key, inputs });
    }

    /// Writes the file. `packages` are given if all of them are built, so that `is_of_packages` is true of them.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn save(&mut self, packages: Option<&[&str]>) -> std::io::Result<()> {
        let steps = self.content.variants.values().flat_map(BTreeMap::values);
        let used: BTreeSet<String> = steps.map(|kept| kept.files.clone()).collect();
        self.content.files.retain(|key, _| used.contains(key));
        let dir = self.file.parent().unwrap_or(Utf8Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mark = mark_of(&self.file);
        // NB: the mark must not outlive the record that it was written for.
        match std::fs::remove_file(&mark) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        replace_private_file(&self.file, &serde_json::to_vec(&self.content)?)?;
        match packages {
            Some(packages) => replace_private_file(&mark, packages.join("\n").as_bytes()),
            None => Ok(()),
        }
    }
}

/// The file that names the packages of the last build, beside a record.
fn mark_of(record: &Utf8Path) -> Utf8PathBuf {
    record.with_extension("packages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_is_known_in_the_next_run() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let kernel = Utf8Path::new("/kernels/relu");
        let mut record = BuildRecord::open(cache, kernel);
        let inputs = Inputs {
            derivation: "/nix/store/a.drv".to_owned(),
            files: BTreeMap::from([("a.h".to_owned(), "1".to_owned())]),
            ..Inputs::default()
        };
        record.learn("cpu", &StepKind::Library, inputs.clone());
        record.learn("cpu", &StepKind::Toolchain, inputs.clone());
        let is_of = |packages: &[&str]| BuildRecord::is_of_packages(cache, kernel, packages);
        record.save(None).expect("written");
        assert!(!is_of(&["a"]) && !is_of(&[]));
        record.save(Some(&["a", "b"])).expect("written");
        assert!(is_of(&["a", "b"]) && !is_of(&["a"]));
        record.save(None).expect("written");
        assert!(!is_of(&["a", "b"]));
        let record = BuildRecord::open(cache, kernel);
        assert_eq!(record.inputs("cpu", &StepKind::Library), Some(inputs));
        assert_eq!(record.inputs("cpu", &StepKind::Package), None);
        assert_eq!(record.inputs("cuda", &StepKind::Library), None);
        let other = BuildRecord::open(cache, Utf8Path::new("/kernels/other"));
        assert_eq!(other.inputs("cpu", &StepKind::Library), None);
        std::fs::write(&record.file, "{").expect("written");
        let broken = BuildRecord::open(cache, kernel);
        assert_eq!(broken.inputs("cpu", &StepKind::Library), None);
    }
}
