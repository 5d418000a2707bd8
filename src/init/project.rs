//! The files of a new kernel: those of an example, with another name and licence, and without the
//! code for the backends that are not wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use camino::{Utf8Path, Utf8PathBuf};
use toml_edit::{Array, DocumentMut, Item, Value, value};

use super::{Example, InitError};
use crate::card::{OWN_TEMPLATE, TEMPLATE};
use crate::kernel::KernelName;
use crate::manifest::schema::schema;
use crate::words::Backend;

/// The owner of the examples on the Hub.
const OWNER: &str = "kernel-builder";

/// The name of the file with the JSON Schema of build.toml.
const SCHEMA: &str = "build.schema.json";

/// The files that a build, a shell and Python leave in a kernel's folder.
const GITIGNORE: &str = ".venv/\n__pycache__/\nbuild/\nresult\nresult-*\n";

/// Words of Python, and modules that tests of kernels import: a package of such a name cannot be
/// imported, or hides another one.
const TAKEN: [&str; 41] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "kernels",
    "lambda", "nonlocal", "not", "numpy", "or", "os", "pass", "pathlib", "pytest", "raise",
    "return", "sys", "torch", "triton", "try", "tvm_ffi", "while", "with", "yield",
];

/// The name of a repository on the Hub: its owner and the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoName {
    pub owner: String,
    pub kernel: KernelName,
}

impl FromStr for RepoName {
    type Err = InitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || InitError::Name(text.to_owned());
        let (owner, kernel) = text.split_once('/').ok_or_else(wrong)?;
        let kernel: KernelName = kernel.parse().map_err(|_| wrong())?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let begins = owner.starts_with(|c: char| c.is_ascii_alphanumeric());
        let ends = owner.ends_with(|c: char| c.is_ascii_alphanumeric());
        let is_owner = begins && ends && owner.chars().all(is_word) && owner.len() <= 96;
        match is_owner && !TAKEN.contains(&&*kernel.python_name()) {
            true => Ok(Self {
                owner: owner.to_owned(),
                kernel,
            }),
            false => Err(wrong()),
        }
    }
}

impl std::fmt::Display for RepoName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.kernel)
    }
}

/// The facts of a new kernel that its example does not say.
#[derive(Clone, Debug)]
pub struct NewKernel {
    pub repo: RepoName,
    pub license: String,
    /// Some of the backends of the example, at least one.
    pub backends: Vec<Backend>,
    /// The flake of kernel-builder, for flake.nix.
    pub builder: String,
}

impl NewKernel {
    /// The files of the new kernel, by their paths in its folder, without build.nix.
    ///
    /// # Errors
    /// `InitError::Backend` for a backend that the example has no code for.
    pub fn files(&self, example: &Example) -> Result<BTreeMap<Utf8PathBuf, String>, InitError> {
        let known = example.backends();
        if let Some(backend) = self
            .backends
            .iter()
            .find(|backend| !known.contains(backend))
        {
            let words: Vec<&str> = known.iter().map(|backend| backend.as_str()).collect();
            return Err(InitError::Backend {
                example: example.name,
                backend: *backend,
                backends: words.join(", "),
            });
        }
        let mut manifest = example.manifest();
        let unused = self.edit_manifest(&mut manifest);
        let names = Renaming::new(example.name, &self.repo);
        let mut files = BTreeMap::new();
        for (path, text) in &example.files {
            if unused.contains(path) {
                continue;
            }
            let text = match path.as_str() {
                "build.toml" => format!("#:schema ./{SCHEMA}\n\n{manifest}"),
                "README.md" => self.readme(example, &unused),
                "flake.nix" => self.flake(text),
                _ => (*text).to_owned(),
            };
            files.insert(names.apply(path.as_str()).into(), names.apply(&text));
        }
        files.insert(TEMPLATE.into(), OWN_TEMPLATE.to_owned());
        files.insert(".gitignore".into(), GITIGNORE.to_owned());
        files.insert(SCHEMA.into(), format!("{:#}\n", schema()));
        Ok(files)
    }

    /// Changes build.toml, and returns the files that it does not name any more.
    fn edit_manifest(&self, manifest: &mut DocumentMut) -> BTreeSet<Utf8PathBuf> {
        let before = sources(manifest);
        let general = &mut manifest["general"];
        general["name"] = value(self.repo.kernel.as_str());
        general["license"] = value(&self.license);
        let words = self.backends.iter().map(|backend| backend.as_str());
        general["backends"] = value(words.collect::<Array>());
        if let Some(sections) = manifest.get_mut("kernel").and_then(Item::as_table_mut) {
            sections.retain(|_, section| {
                let backend = section.get("backend").and_then(Item::as_str);
                self.backends
                    .iter()
                    .any(|wanted| Some(wanted.as_str()) == backend)
            });
        }
        let after = sources(manifest);
        before.difference(&after).cloned().collect()
    }

    /// The README: a card of the Hub, without lines about unused files.
    fn readme(&self, example: &Example, unused: &BTreeSet<Utf8PathBuf>) -> String {
        let text = example.files.get(Utf8Path::new("README.md"));
        let is_kept = |line: &&str| {
            let file = line
                .strip_prefix("| ")
                .and_then(|row| row.split([' ', ',']).next());
            file.is_none_or(|file| !unused.contains(Utf8Path::new(file)))
        };
        let lines = text.into_iter().flat_map(|text| text.lines());
        let body: String = lines
            .filter(is_kept)
            .flat_map(|line| [line, "\n"])
            .collect();
        let title = format!("# {}\n", example.name);
        let body = body.replacen(&title, &format!("# {}\n", self.repo.kernel), 1);
        let license = Value::from(self.license.to_lowercase());
        format!("---\nlibrary_name: kernels\nlicense: {license}\n---\n\n{body}")
    }

    /// flake.nix with the flake of kernel-builder.
    fn flake(&self, text: &str) -> String {
        let url = crate::emit::nix::string(&self.builder);
        text.replacen("\"path:../..\"", &url, 1)
    }
}

/// The files that sections of build.toml name.
fn sources(manifest: &DocumentMut) -> BTreeSet<Utf8PathBuf> {
    let sections = manifest.get("kernel").and_then(Item::as_table).into_iter();
    let sections = sections.flat_map(|table| table.iter().map(|(_, section)| section));
    let lists = sections.filter_map(|section| section.get("src")?.as_array());
    let files = lists.flatten().filter_map(Value::as_str);
    files.map(Utf8PathBuf::from).collect()
}

/// The places where a name of an example stands for the kernel, and their new text. Operators keep
/// their names, which stand for what they compute.
struct Renaming(Vec<(String, String)>);

impl Renaming {
    fn new(example: &str, repo: &RepoName) -> Self {
        let old = example.replace('-', "_");
        let new = repo.kernel.python_name();
        let mut pairs = vec![(format!("{OWNER}/{example}\""), format!("{repo}\""))];
        for folder in ["torch-ext", "tvm-ffi-ext"] {
            pairs.push((format!("{folder}/{old}/"), format!("{folder}/{new}/")));
        }
        pairs.push((
            format!("tests/test_{old}.py"),
            format!("tests/test_{new}.py"),
        ));
        Self(pairs)
    }

    fn apply(&self, text: &str) -> String {
        let pairs = self.0.iter();
        pairs.fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_kernel(backends: &[Backend]) -> NewKernel {
        NewKernel {
            repo: "acme/fast-op".parse().expect("a name"),
            license: "MIT".to_owned(),
            backends: backends.to_vec(),
            builder: "path:/builder".to_owned(),
        }
    }

    /// No file of a new kernel has a name of its example where the kernel's own belongs.
    #[test]
    fn every_example_gets_the_new_name_everywhere() {
        for example in Example::all() {
            let files = new_kernel(&example.backends())
                .files(&example)
                .expect("files");
            let python = example.name.replace('-', "_");
            for (path, text) in &files {
                for old in [
                    format!("kernel-builder/{}", example.name),
                    format!("-ext/{python}"),
                    format!("test_{python}.py"),
                    "path:../..".to_owned(),
                ] {
                    assert!(!text.contains(&old), "{}: {path} has {old}", example.name);
                    assert!(!path.as_str().contains(&old), "{path}");
                }
            }
            let package = |folder: &str| format!("{folder}/fast_op/__init__.py");
            let packages = ["torch-ext", "tvm-ffi-ext"].map(package);
            assert!(
                packages
                    .iter()
                    .any(|path| files.contains_key(Utf8Path::new(path)))
            );
            assert!(files.contains_key(Utf8Path::new("tests/test_fast_op.py")));
            assert!(files[Utf8Path::new("README.md")].contains("\n# fast-op\n"));
        }
    }

    #[test]
    fn code_for_other_backends_is_left_out() {
        let example = Example::find("relu-all-backends").expect("an example");
        let files = new_kernel(&[Backend::Rocm]).files(&example).expect("files");
        let sources = files.keys().filter(|path| path.starts_with("csrc"));
        let sources: Vec<&str> = sources.map(|path| path.as_str()).collect();
        // NB: AMD's code is a translation of the CUDA source.
        assert_eq!(sources, ["csrc/relu.h", "csrc/relu_cuda.cu"]);
        let manifest = &files[Utf8Path::new("build.toml")];
        assert!(
            manifest.starts_with("#:schema ./build.schema.json\n\n[general]\n"),
            "{manifest}"
        );
        assert!(manifest.contains("name = \"fast-op\"") && manifest.contains("license = \"MIT\""));
        assert!(
            !manifest.contains("cpu") && !manifest.contains("xpu"),
            "{manifest}"
        );
        let readme = &files[Utf8Path::new("README.md")];
        assert!(
            readme.starts_with("---\nlibrary_name: kernels\nlicense: \"mit\"\n---\n"),
            "{readme}"
        );
        assert!(
            readme.contains("relu_cuda.cu") && !readme.contains("relu_xpu.cpp"),
            "{readme}"
        );
        let error = new_kernel(&[Backend::Tpu])
            .files(&example)
            .expect_err("no code");
        assert_eq!(
            error.to_string(),
            "the example relu-all-backends has no code for tpu"
        );
    }

    #[test]
    fn names_that_fit_nowhere_are_refused() {
        for name in [
            "relu",
            "acme/",
            "/relu",
            "a/b/c",
            "acme/My.Kernel",
            "acme/relu_op",
            "acme/-relu",
            "acme/import",
            "acme/torch",
            "acme/tvm-ffi",
            "-acme/relu",
            "ac me/relu",
            "acme./relu",
            "acme/r",
            "acme/relu-",
            "\u{e9}cole/relu",
        ] {
            assert!(name.parse::<RepoName>().is_err(), "{name}");
        }
        let name: RepoName = "Acme-2.x/fast-relu".parse().expect("a name");
        assert_eq!(name.to_string(), "Acme-2.x/fast-relu");
    }
}
