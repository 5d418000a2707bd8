//! The kernels of examples/, which this program holds: to start a new kernel from. NB: they are the
//! files of the repository themselves, with their names.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use include_dir::{Dir, include_dir};
use toml_edit::DocumentMut;

use super::InitError;
use crate::words::Backend;

static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/examples");

/// Folders and files that lie in a checkout after a build, and are no part of an example.
const LEFT_BEHIND: [&str; 4] = ["__pycache__", "build", "build.nix", "result"];

/// A kernel that a new one starts from.
#[derive(Clone, Debug)]
pub struct Example {
    /// The name of its folder, which is the name of the kernel.
    pub name: &'static str,
    /// Its files, by their paths in the folder.
    pub files: BTreeMap<Utf8PathBuf, &'static str>,
}

impl Example {
    /// Every example, sorted by name.
    pub fn all() -> Vec<Self> {
        let folders = EXAMPLES.dirs();
        let mut examples: Vec<Self> = folders.filter_map(Self::read).collect();
        examples.sort_by_key(|example| example.name);
        examples
    }

    /// The example of a name.
    ///
    /// # Errors
    /// `InitError::UnknownExample`
    pub fn find(name: &str) -> Result<Self, InitError> {
        let mut all = Self::all();
        if let Some(place) = all.iter().position(|example| example.name == name) {
            return Ok(all.swap_remove(place));
        }
        let names: Vec<&str> = all.iter().map(|example| example.name).collect();
        Err(InitError::UnknownExample {
            name: name.to_owned(),
            examples: names.join(", "),
        })
    }

    /// The example in a folder; `None` if the folder is none, as after an unfinished checkout.
    fn read(folder: &'static Dir<'static>) -> Option<Self> {
        let mut example = Self {
            name: folder.path().to_str()?,
            files: BTreeMap::new(),
        };
        example.add_files(folder);
        example
            .files
            .contains_key(Utf8Path::new("build.toml"))
            .then_some(example)
    }

    fn add_files(&mut self, folder: &'static Dir<'static>) {
        for entry in folder.entries() {
            let name = entry.path().file_name().and_then(|name| name.to_str());
            let is_hidden = |name: &str| name.starts_with('.') || name.ends_with(".lock");
            if name.is_none_or(|name| LEFT_BEHIND.contains(&name) || is_hidden(name)) {
                continue;
            }
            if let Some(folder) = entry.as_dir() {
                self.add_files(folder);
            } else if let Some(file) = entry.as_file()
                && let Ok(path) = file.path().strip_prefix(self.name)
                && let Some(path) = Utf8Path::from_path(path)
                && let Some(text) = file.contents_utf8()
            {
                self.files.insert(path.to_owned(), text);
            }
        }
    }

    /// Its build.toml.
    pub fn manifest(&self) -> DocumentMut {
        let text = self.files.get(Utf8Path::new("build.toml"));
        let document = text.and_then(|text| text.parse().ok());
        // NB: a test reads the file of every example.
        document.unwrap_or_default()
    }

    /// The backends that it has code for, in the order of its build.toml.
    pub fn backends(&self) -> Vec<Backend> {
        let manifest = self.manifest();
        let list = manifest
            .get("general")
            .and_then(|table| table.get("backends"));
        let words = list.and_then(|list| list.as_array()).into_iter().flatten();
        let words = words.filter_map(|word| word.as_str());
        let backend = |word: &str| Backend::ALL.iter().find(|known| known.as_str() == word);
        words.filter_map(backend).copied().collect()
    }

    /// One line about it: the description of its flake.nix.
    pub fn description(&self) -> &'static str {
        let flake = self.files.get(Utf8Path::new("flake.nix")).copied();
        let line = flake.and_then(|text| text.split("description = \"").nth(1));
        line.and_then(|rest| rest.split('"').next())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program holds the examples of the repository, and no build of them.
    #[test]
    fn every_example_can_be_read() {
        let all = Example::all();
        let names: Vec<&str> = all.iter().map(|example| example.name).collect();
        for name in [
            "relu-all-backends",
            "relu-stable-abi",
            "relu-tvm-ffi",
            "silu-and-mul",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        let folder = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        for example in all {
            let manifest = example.manifest();
            assert_eq!(manifest["general"]["name"].as_str(), Some(example.name));
            assert!(!example.backends().is_empty(), "{}", example.name);
            assert!(!example.description().is_empty(), "{}", example.name);
            for (path, text) in &example.files {
                let place = folder.join(example.name).join(path);
                assert_eq!(
                    &std::fs::read_to_string(&place).expect("a file"),
                    text,
                    "{place}"
                );
                assert!(!place.as_str().contains("/build/"), "{place}");
            }
            for path in ["README.md", "flake.nix", "benchmarks/benchmark.py"] {
                assert!(
                    example.files.contains_key(Utf8Path::new(path)),
                    "{}: {path}",
                    example.name
                );
            }
        }
    }
}
