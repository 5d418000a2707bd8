//! The record of a kernel's last builds, step by step, in the user's cache. Only explanations
//! depend on it: Nix alone decides whether a step is built again.

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
    content: RecordContent,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct RecordContent {
    /// The kernel's folder, for a person who opens the file.
    kernel: String,
    /// Steps by variant, then by [`StepKind::role`].
    variants: BTreeMap<String, BTreeMap<String, RecordedStep>>,
    /// Sets of hashes of files by path. The key is a hash of the set, since many steps see the same
    /// files.
    files: BTreeMap<String, BTreeMap<String, String>>,
}

/// The headers of torch that a unit was compiled with.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum HeaderUse {
    Lean,
    /// All headers, for a reason.
    All(String),
}

#[derive(Debug, Deserialize, Serialize)]
struct RecordedStep {
    files: String,
    /// Inputs with empty `files`.
    inputs: Inputs,
    /// The headers of torch when the unit was last compiled here; `None` if it was not.
    #[serde(default)]
    headers: Option<HeaderUse>,
}

impl BuildRecord {
    /// Reads the record of a kernel's folder. A record that is missing or broken is like an empty
    /// one.
    pub fn open(cache: &Utf8Path, kernel: &Utf8Path) -> Self {
        let file = Self::record_file(cache, kernel);
        let text = std::fs::read(&file).unwrap_or_default();
        let mut content: RecordContent = serde_json::from_slice(&text).unwrap_or_default();
        kernel.as_str().clone_into(&mut content.kernel);
        Self { file, content }
    }

    /// Whether all of some packages, and only these, had been built when the record of a kernel's
    /// folder was last written.
    pub fn covers_packages(cache: &Utf8Path, kernel: &Utf8Path, packages: &[&str]) -> bool {
        let file = Self::record_file(cache, kernel);
        let known = std::fs::read_to_string(packages_file(&file));
        file.exists() && known.is_ok_and(|known| known == packages.join("\n"))
    }

    fn record_file(cache: &Utf8Path, kernel: &Utf8Path) -> Utf8PathBuf {
        cache
            .join("records")
            .join(format!("{}.json", name_for_kernel(kernel)))
    }

    /// The inputs that a step of a variant had when it was built last.
    pub fn inputs(&self, variant: &str, kind: &StepKind) -> Option<Inputs> {
        let kept = self.content.variants.get(variant)?.get(&kind.role())?;
        Some(Inputs {
            files: self.content.files.get(&kept.files)?.clone(),
            ..kept.inputs.clone()
        })
    }

    /// The variants whose packages were built.
    pub fn built_variants(&self) -> impl Iterator<Item = &str> {
        let package = StepKind::Package.role();
        let variants = self.content.variants.iter();
        let built = variants.filter(move |(_, steps)| steps.contains_key(&package));
        built.map(|(variant, _)| variant.as_str())
    }

    /// The headers of torch that a unit of a variant had when it was last compiled here; `None` if
    /// it was not.
    pub fn headers(&self, variant: &str, kind: &StepKind) -> Option<&HeaderUse> {
        let kept = self.content.variants.get(variant)?.get(&kind.role())?;
        kept.headers.as_ref()
    }

    /// Records the inputs of a step of a variant that is built, and the headers of torch if it was
    /// compiled now.
    pub fn learn(
        &mut self,
        variant: &str,
        kind: &StepKind,
        mut inputs: Inputs,
        headers: Option<&HeaderUse>,
    ) {
        // A kernel has many toolchain steps, and changes of them need no explanation.
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
        let role = kind.role();
        let before = of_variant.remove(&role).and_then(|kept| kept.headers);
        let step = RecordedStep {
            files: key,
            inputs,
            headers: headers.cloned().or(before),
        };
        of_variant.insert(role, step);
    }

    /// Writes the file. `packages` are given if all of them are built; `covers_packages` is then
    /// true for them.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn save(&mut self, packages: Option<&[&str]>) -> std::io::Result<()> {
        let steps = self.content.variants.values().flat_map(BTreeMap::values);
        let used: BTreeSet<String> = steps.map(|kept| kept.files.clone()).collect();
        self.content.files.retain(|key, _| used.contains(key));
        let dir = self.file.parent().unwrap_or(Utf8Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mark = packages_file(&self.file);
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

/// The name of the files that belong to a kernel's folder, without extension.
pub fn name_for_kernel(kernel: &Utf8Path) -> String {
    hex(&Sha256::digest(kernel.as_str()))[..16].to_owned()
}

/// The file that names the packages of the last build, beside a record.
fn packages_file(record: &Utf8Path) -> Utf8PathBuf {
    record.with_extension("packages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_step_is_known_in_the_next_run() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let kernel = Utf8Path::new("/kernels/relu");
        let mut record = BuildRecord::open(cache, kernel);
        let inputs = Inputs {
            derivation: "/nix/store/a.drv".to_owned(),
            files: BTreeMap::from([("a.h".to_owned(), "1".to_owned())]),
            ..Inputs::default()
        };
        record.learn(
            "cpu",
            &StepKind::Library,
            inputs.clone(),
            Some(&HeaderUse::Lean),
        );
        record.learn("cpu", &StepKind::Toolchain, inputs.clone(), None);
        let is_of = |packages: &[&str]| BuildRecord::covers_packages(cache, kernel, packages);
        record.save(None).expect("written");
        assert!(!is_of(&["a"]) && !is_of(&[]));
        record.save(Some(&["a", "b"])).expect("written");
        assert!(is_of(&["a", "b"]) && !is_of(&["a"]));
        record.save(None).expect("written");
        assert!(!is_of(&["a", "b"]));
        let mut record = BuildRecord::open(cache, kernel);
        assert_eq!(
            record.inputs("cpu", &StepKind::Library),
            Some(inputs.clone())
        );
        // A build that does not compile the unit again leaves its headers as they were.
        record.learn("cpu", &StepKind::Library, inputs, None);
        let lean = Some(&HeaderUse::Lean);
        assert_eq!(record.headers("cpu", &StepKind::Library), lean);
        assert_eq!(record.headers("cpu", &StepKind::Package), None);
        assert_eq!(record.inputs("cpu", &StepKind::Package), None);
        assert_eq!(record.inputs("cuda", &StepKind::Library), None);
        let other = BuildRecord::open(cache, Utf8Path::new("/kernels/other"));
        assert_eq!(other.inputs("cpu", &StepKind::Library), None);
        std::fs::write(&record.file, "{").expect("written");
        let broken = BuildRecord::open(cache, kernel);
        assert_eq!(broken.inputs("cpu", &StepKind::Library), None);
    }
}
