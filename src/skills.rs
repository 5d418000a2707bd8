//! Guides for coding assistants, made of pages of docs/: which pages a guide has, and its files.
//! The assistants read SKILL.md first, and a page when they need it.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

/// A guide.
#[derive(Clone, Copy, Debug)]
pub struct Skill {
    pub name: &'static str,
    /// When an assistant should read it.
    pub description: &'static str,
    /// The example to start from.
    example: &'static str,
    /// The page to read first.
    first: &'static str,
}

/// Names the pages that guides have.
macro_rules! pages {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../docs/", $name)))),*]
    };
}

/// The pages of every guide.
const PAGES: &[(&str, &str)] = pages![
    "backends.md",
    "continuous-integration.md",
    "lean-headers.md",
    "libraries.md",
    "local-development.md",
    "manifest.md",
    "migrating.md",
    "nix.md",
    "plan.md",
    "writing-kernels.md"
];

/// Every guide, in the order of the alphabet.
pub const SKILLS: [Skill; 6] = [
    Skill {
        name: "cpu-kernels",
        description: "Write, build and test kernels in C++ for the CPU with kernel-builder",
        example: "relu",
        first: "writing-kernels.md",
    },
    Skill {
        name: "cuda-kernels",
        description: "Write, build and test CUDA kernels for PyTorch with kernel-builder, with or without CUTLASS",
        example: "relu",
        first: "writing-kernels.md",
    },
    Skill {
        name: "kernel-builder",
        description: "Build kernels for every torch and CUDA with kernel-builder: build.toml, variants, Nix, old projects",
        example: "relu-all-backends",
        first: "local-development.md",
    },
    Skill {
        name: "rocm-kernels",
        description: "Write and build kernels for AMD GPUs with kernel-builder, in HIP or by translation of CUDA",
        example: "gemm",
        first: "backends.md",
    },
    Skill {
        name: "triton-kernels",
        description: "Write, build and test kernels in Triton and other Python with kernel-builder",
        example: "silu-and-mul",
        first: "writing-kernels.md",
    },
    Skill {
        name: "xpu-kernels",
        description: "Write and build SYCL kernels for Intel GPUs with kernel-builder",
        example: "relu-all-backends",
        first: "backends.md",
    },
];

impl Skill {
    /// Its files, by their paths in the folder of the guide.
    pub fn files(&self) -> BTreeMap<Utf8PathBuf, String> {
        let pages = PAGES.iter().map(|(name, text)| {
            let path = Utf8PathBuf::from(format!("references/{name}"));
            (path, without_foreign_links(text))
        });
        let mut files: BTreeMap<_, _> = pages.collect();
        files.insert("SKILL.md".into(), self.start());
        files
    }

    /// The file that an assistant reads first.
    fn start(&self) -> String {
        let Self {
            name,
            description,
            example,
            first,
        } = self;
        let pages: String = PAGES
            .iter()
            .map(|(page, text)| {
                let title = text.lines().next().unwrap_or_default();
                format!(
                    "- [{}](references/{page})\n",
                    title.trim_start_matches("# ")
                )
            })
            .collect();
        format!(
            "---\nname: {name}\ndescription: {description}.\n---\n\n# {name}\n\n{description}.\n\n\
             1. Start: `kernel-builder init --name OWNER/NAME --example {example}` writes a kernel that builds and passes its \
             tests; `kernel-builder init --help` has other examples.\n\
             2. Read [{first}](references/{first}).\n\
             3. `kernel-builder check-config` reports every mistake in build.toml with its cure, and `kernel-builder explain \
             CODE` says more.\n\
             4. `kernel-builder build` builds, `kernel-builder test` runs the tests, `kernel-builder benchmark` measures; \
             `kernel-builder plan` says why a build is slow.\n\n\
             The pages of kernel-builder's documentation:\n\n{pages}"
        )
    }
}

/// A page whose links to pages that guides lack are plain words.
fn without_foreign_links(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let (before, after) = (&rest[..middle], &rest[middle + 2..]);
        let Some((target, behind)) = after.split_once(')') else {
            break;
        };
        let page = target.split('#').next().unwrap_or_default();
        let is_known = page.is_empty()
            || page.contains("://")
            || PAGES.iter().any(|(known, _)| *known == page);
        match before.rfind('[') {
            Some(start) if !is_known => {
                result.push_str(&before[..start]);
                result.push_str(&before[start + 1..]);
            }
            _ => {
                result.push_str(before);
                result.push_str("](");
                result.push_str(target);
                result.push(')');
            }
        }
        rest = behind;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::Example;

    #[test]
    fn links_of_guides_lead_to_their_own_pages() {
        for skill in SKILLS {
            let files = skill.files();
            assert!(files.len() > 5 && skill.description.len() < 200);
            Example::find(skill.example).expect("an example");
            for (path, text) in &files {
                let targets = text
                    .split("](")
                    .skip(1)
                    .filter_map(|rest| rest.split(')').next());
                for target in targets.filter(|target| !target.contains("://")) {
                    let page = target.split('#').next().unwrap_or_default();
                    let folder = path.parent().expect("a folder");
                    assert!(
                        page.is_empty() || files.contains_key(&folder.join(page)),
                        "{}: {path} links to {target}",
                        skill.name
                    );
                }
            }
        }
        assert!(SKILLS.is_sorted_by_key(|skill| skill.name));
    }

    #[test]
    fn links_elsewhere_become_words() {
        let text =
            "[a](plan.md#x), [b](../README.md), [c](https://example.org) and ![d](images/e.png)";
        let expected = "[a](plan.md#x), b, [c](https://example.org) and !d";
        assert_eq!(without_foreign_links(text), expected);
    }
}
