//! Which headers a source can reach through `#include`, over all branches of conditionals. Not a preprocessor: where a
//! name is computed, every header of the kernel is taken.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::PlanError;
use super::namespace::without_comments;

/// What stands below the include folders of a torch wheel (2.7 to 2.15), besides what only its own headers include.
const TORCH: [&str; 18] = [
    "ATen",
    "THC",
    "c10",
    "caffe2",
    "cpuinfo.h",
    "fbgemm",
    "fmt",
    "fp16",
    "fp16.h",
    "google",
    "kineto",
    "libshm.h",
    "pybind11",
    "registration.h",
    "sleef.h",
    "tensorpipe",
    "torch",
    "xnnpack.h",
];

/// What a source reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Files of the kernel, relative to it.
    pub headers: BTreeSet<Utf8PathBuf>,
    /// Names that no file of the kernel has, as written between the quotes.
    pub external: BTreeSet<String>,
    /// A file with an include whose name is a macro, or is otherwise not to be read; if there is one.
    pub computed: Option<Utf8PathBuf>,
}

impl Reach {
    /// Whether a header of torch is, or may be, among them.
    pub fn torch(&self) -> bool {
        let is_torch = |name: &String| {
            let first = name.split('/').next().unwrap_or_default();
            TORCH.contains(&first) || first.starts_with("dnnl")
        };
        self.computed.is_some() || self.external.iter().any(is_torch)
    }
}

/// An include, or a question whether there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Include {
    /// `"name"`: the folder of the file comes first.
    Quoted(String),
    /// `<name>`
    Angle(String),
    /// A name that only the preprocessor knows.
    Computed,
}

/// Reads the files of one kernel, each once.
pub struct Includes {
    root: Utf8PathBuf,
    files: RefCell<HashMap<Utf8PathBuf, Rc<[Include]>>>,
    exist: RefCell<HashMap<Utf8PathBuf, bool>>,
}

impl Includes {
    /// For a kernel in a folder.
    pub fn new(root: &Utf8Path) -> Self {
        Self {
            root: root.to_owned(),
            files: RefCell::default(),
            exist: RefCell::default(),
        }
    }

    /// What a source reaches with some include folders, in their order; paths are relative to the kernel.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn reach(&self, source: &Utf8Path, dirs: &[Utf8PathBuf]) -> Result<Reach, PlanError> {
        let mut reach = Reach::default();
        let mut waiting = vec![source.to_owned()];
        while let Some(file) = waiting.pop() {
            for include in self.of(&file)?.iter() {
                let (name, own) = match include {
                    Include::Quoted(name) => (name, file.parent()),
                    Include::Angle(name) => (name, None),
                    Include::Computed => {
                        reach.computed.get_or_insert_with(|| file.clone());
                        continue;
                    }
                };
                let mut folders = own.into_iter().chain(dirs.iter().map(Utf8PathBuf::as_path));
                match folders.find_map(|dir| self.find(dir, name)) {
                    Some(found) => {
                        if found != source && reach.headers.insert(found.clone()) {
                            waiting.push(found);
                        }
                    }
                    None => {
                        reach.external.insert(name.clone());
                    }
                }
            }
        }
        Ok(reach)
    }

    /// The file of the kernel that a name stands for in a folder.
    fn find(&self, dir: &Utf8Path, name: &str) -> Option<Utf8PathBuf> {
        let path = inside(&dir.join(name))?;
        let mut exist = self.exist.borrow_mut();
        let exists = exist
            .entry(path.clone())
            .or_insert_with(|| self.root.join(&path).is_file());
        exists.then_some(path)
    }

    fn of(&self, file: &Utf8Path) -> Result<Rc<[Include]>, PlanError> {
        if let Some(known) = self.files.borrow().get(file) {
            return Ok(known.clone());
        }
        let path = self.root.join(file);
        let bytes = std::fs::read(&path).map_err(|source| PlanError::Read { path, source })?;
        let includes: Rc<[Include]> = read(&String::from_utf8_lossy(&bytes)).into();
        self.files
            .borrow_mut()
            .insert(file.to_owned(), includes.clone());
        Ok(includes)
    }
}

/// A relative path without `.` and `..`; nothing if it leaves the kernel, where a build has nothing.
fn inside(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut inside = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::Normal(name) => inside.push(name),
            Utf8Component::ParentDir if inside.pop() => {}
            Utf8Component::CurDir => {}
            _ => return None,
        }
    }
    Some(inside)
}

/// The includes of a text, and what `__has_include` asks for, in order.
fn read(text: &str) -> Vec<Include> {
    let text = without_comments(&text.replace("\\\r\n", "").replace("\\\n", ""));
    let mut includes = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let Some(directive) = line.strip_prefix('#').or_else(|| line.strip_prefix("%:")) else {
            continue;
        };
        let directive = directive.trim_start();
        let end = directive
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(directive.len());
        let (word, rest) = directive.split_at(end);
        match word {
            // Only the folders after the present one are searched; the first of all is a safe guess, and
            // what is meant is most often outside of the kernel, so all of its headers are taken.
            "include_next" => includes.push(Include::Computed),
            "include" | "import" => includes.push(name(rest)),
            _ => {
                let asked = rest.match_indices("__has_include").map(|(at, found)| {
                    let rest = &rest[at + found.len()..];
                    let rest = rest.trim_start_matches("_next").trim_start();
                    rest.strip_prefix('(').map(name)
                });
                includes.extend(asked.flatten());
            }
        }
    }
    includes
}

/// The name at the start of a text.
fn name(text: &str) -> Include {
    let text = text.trim_start();
    let until = |end| text[1..].split_once(end).map(|(name, _)| name.to_owned());
    match text.chars().next() {
        Some('"') => until('"').map(Include::Quoted),
        Some('<') => until('>').map(Include::Angle),
        _ => None,
    }
    .unwrap_or(Include::Computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angle(name: &str) -> Include {
        Include::Angle(name.to_owned())
    }

    fn quoted(name: &str) -> Include {
        Include::Quoted(name.to_owned())
    }

    #[test]
    fn includes_are_found_as_compilers_find_them() {
        let cases = [
            ("#include <torch/all.h>\n", vec![angle("torch/all.h")]),
            ("  #  include\t\"a.h\" // why", vec![quoted("a.h")]),
            (
                "#include\"a.h\"\r\n#include<b>\r\n",
                vec![quoted("a.h"), angle("b")],
            ),
            ("%:include \"a.h\"", vec![quoted("a.h")]),
            ("#inc\\\nlude \\\n  \"a.h\"", vec![quoted("a.h")]),
            ("/* x */ #include \"a.h\"", vec![quoted("a.h")]),
            ("#include /* x */ \"a.h\"", vec![quoted("a.h")]),
            ("// #include \"a.h\"\n/*\n#include \"b.h\"\n*/", vec![]),
            ("// a \\\n#include \"a.h\"", vec![]),
            (
                "const char *x = \"/*\";\n#include \"a.h\"",
                vec![quoted("a.h")],
            ),
            ("#if 0\n#include \"a.h\"\n#endif", vec![quoted("a.h")]),
            ("#include HEADER", vec![Include::Computed]),
            ("#include \"a.h", vec![Include::Computed]),
            ("#include_next <a.h>", vec![Include::Computed]),
            (
                "#if defined(X) && __has_include(<a.h>) || __has_include ( \"b.h\" )",
                vec![angle("a.h"), quoted("b.h")],
            ),
            ("#if __has_include(HEADER)", vec![Include::Computed]),
            (
                "#ifdef __has_include\n#define include x\n#pragma include",
                vec![],
            ),
            ("int included;\n#define X \"#include\"", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    fn reach(files: &[(&str, &str)], source: &str, dirs: &[&str]) -> Reach {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = Utf8Path::from_path(root.path()).expect("UTF-8");
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, text).expect("written");
        }
        let dirs: Vec<_> = dirs.iter().map(Utf8PathBuf::from).collect();
        Includes::new(root)
            .reach(Utf8Path::new(source), &dirs)
            .expect("read")
    }

    fn headers(reach: &Reach) -> Vec<&str> {
        reach.headers.iter().map(|path| path.as_str()).collect()
    }

    #[test]
    fn headers_are_looked_up_in_order() {
        let files = [
            (
                "csrc/a.cu",
                "#include \"x.h\"\n#include <y.h>\n#include \"../top.h\"\n#include <cuda_fp16.h>",
            ),
            ("csrc/x.h", "#include \"deep/z.h\""),
            ("csrc/deep/z.h", "#include \"x.h\"\n#include \"w.h\""),
            ("csrc/y.h", ""),
            ("include/x.h", ""),
            ("include/y.h", "#include \"sibling.h\""),
            ("include/sibling.h", "#pragma once"),
            ("include/w.h", ""),
            ("top.h", ""),
            ("csrc/unused.h", ""),
        ];
        let found = reach(&files, "csrc/a.cu", &["include", "csrc"]);
        assert_eq!(
            headers(&found),
            [
                "csrc/deep/z.h",
                "csrc/x.h",
                "include/sibling.h",
                "include/w.h",
                // Not csrc/x.h: only the folder of the including file is searched first.
                "include/x.h",
                "include/y.h",
                "top.h"
            ]
        );
        assert_eq!(found.external.iter().collect::<Vec<_>>(), ["cuda_fp16.h"]);
        assert!(!found.torch());
    }

    #[test]
    fn a_source_may_include_a_source_and_itself() {
        let files = [
            ("csrc/a.cu", "#include \"b.cu\"\n#include \"a.cu\""),
            (
                "csrc/b.cu",
                "#include \"../../outside.h\"\n#include \"/etc/passwd\"",
            ),
        ];
        let found = reach(&files, "csrc/a.cu", &[]);
        assert_eq!(headers(&found), ["csrc/b.cu"]);
        assert_eq!(found.external.len(), 2);
    }

    #[test]
    fn what_only_the_preprocessor_knows_is_said() {
        let files = [("a.cu", "#include \"b.h\""), ("b.h", "#include CONFIG")];
        let found = reach(&files, "a.cu", &[]);
        assert_eq!(found.computed.as_deref(), Some(Utf8Path::new("b.h")));
        assert!(found.torch());
    }

    #[test]
    fn torch_is_seen_through_headers() {
        for (include, torch) in [
            ("<torch/extension.h>", true),
            ("<ATen/ATen.h>", true),
            ("<c10/cuda/CUDAStream.h>", true),
            ("\"registration.h\"", true),
            ("<Python.h>", false),
            ("<cub/cub.cuh>", false),
            ("<vector>", false),
        ] {
            let text = format!("#include {include}");
            let files = [("a.cu", "#include \"b.h\""), ("b.h", &text)];
            assert_eq!(reach(&files, "a.cu", &[]).torch(), torch, "{include}");
        }
    }
}
