//! The includes among the files of a kernel, and the files that a source reaches, found as
//! compilers find them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::headers::Headers;
use super::includes::{self, Include};
use super::operators::{self, Operators};
use super::{Namespace, ScanError};
use crate::file::{MAX_TEXT, read_at_most};
use crate::kernel::{Framework, Kernel};
use crate::matrix::Table;

/// The first folders of include paths of the framework: below the include folders of a torch wheel
/// (2.7 to 2.15) and of tvm-ffi, without folders that only their own headers include, and Python's.
const FRAMEWORKS: [&str; 21] = [
    "ATen",
    "Python.h",
    "THC",
    "c10",
    "caffe2",
    "cpuinfo.h",
    "dlpack",
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
    "tvm",
    "xnnpack.h",
];

/// The start of the names of the macros that tell architectures apart, [`ARCH_LIST`] among them.
const ARCH: &str = "__CUDA_ARCH";

/// The macro that lists the architectures of a unit.
pub const ARCH_LIST: &str = "__CUDA_ARCH_LIST__";

/// The files of a kernel, each read once.
pub(super) struct ScannedFiles<'a> {
    root: &'a Utf8Path,
    headers: Headers,
    namespace: fn(&str) -> Namespace,
    /// Whether the files may register operators with torch.
    torch: bool,
    macros: BTreeSet<&'a str>,
    read: RefCell<HashMap<Utf8PathBuf, Rc<FileFacts>>>,
    exist: RefCell<HashMap<Utf8PathBuf, bool>>,
}

/// The facts of a file that the search uses.
pub(super) struct FileFacts {
    pub(super) binary: bool,
    pub(super) includes: Vec<Include>,
    pub(super) digest: String,
    pub(super) namespace: Namespace,
    pub(super) operators: Operators,
    /// Names of the macros that the file defines.
    pub(super) macros: BTreeSet<String>,
    /// Whether the file names a macro that comes with the framework.
    pub(super) framework: bool,
    /// Whether the file names a macro that tells architectures apart.
    pub(super) arch: bool,
    /// Whether the file names the macro that lists the architectures of a unit.
    pub(super) arch_list: bool,
}

impl<'a> ScannedFiles<'a> {
    pub(super) fn new(kernel: &'a Kernel, table: &'a Table) -> Self {
        Self {
            root: &kernel.root,
            headers: Headers::find(kernel),
            namespace: match kernel.framework {
                Framework::Torch(_) | Framework::TorchNoarch(_) => Namespace::in_torch_file,
                Framework::TvmFfi(_) => Namespace::in_tvm_ffi_file,
            },
            torch: kernel.framework.torch().is_some(),
            macros: table.framework_macros(),
            read: RefCell::default(),
            exist: RefCell::default(),
        }
    }

    fn read(&self, file: &Utf8Path) -> Result<Rc<FileFacts>, ScanError> {
        if let Some(known) = self.read.borrow().get(file) {
            return Ok(known.clone());
        }
        let path = self.root.join(file);
        let bytes =
            read_at_most(&path, MAX_TEXT).map_err(|source| ScanError::Read { path, source })?;
        let words = String::from_utf8_lossy(&bytes);
        let text = Rc::new(FileFacts {
            binary: bytes.contains(&0),
            framework: self.macros.iter().any(|name| words.contains(name)),
            arch: words.contains(ARCH),
            arch_list: words.contains(ARCH_LIST),
            includes: includes::includes(&bytes),
            digest: includes::digest(&bytes),
            operators: match self.torch {
                true => Operators::defined_in(file, &words),
                false => Operators::default(),
            },
            macros: operators::macros(&words),
            // A registration.h of the kernel's own takes the place of the build's.
            namespace: match file.file_name() {
                Some("registration.h") => Namespace::Compiled,
                _ => (self.namespace)(&words),
            },
        });
        self.read.borrow_mut().insert(file.to_owned(), text.clone());
        Ok(text)
    }

    /// The file of the kernel that an included name leads to from a folder.
    fn find(&self, dir: &Utf8Path, name: &str) -> Result<Option<Utf8PathBuf>, ScanError> {
        let Some(path) = path_inside(&dir.join(name)) else {
            return Ok(None);
        };
        if let Some(exists) = self.exist.borrow().get(&path) {
            return Ok(exists.then_some(path));
        }
        let exists = self.root.join(&path).is_file();
        if exists {
            // A unit gets copies of its headers: a link in a copy would lead to no file, or to a
            // file of this machine.
            let mut parts = path.ancestors().filter(|part| !part.as_str().is_empty());
            if let Some(link) = parts.find(|part| self.root.join(part).is_symlink()) {
                return Err(ScanError::Link {
                    path: link.to_owned(),
                });
            }
        }
        self.exist.borrow_mut().insert(path.clone(), exists);
        Ok(exists.then_some(path))
    }
}

/// A relative path without `.` and `..`; `None` if it leaves the kernel, since a build has no files
/// there.
pub(super) fn path_inside(path: &Utf8Path) -> Option<Utf8PathBuf> {
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

/// The includes among the files of a kernel, for a list of folders to search.
pub(super) struct IncludeGraph<'a> {
    files: &'a ScannedFiles<'a>,
    include: &'a [Utf8PathBuf],
    pub(super) nodes: Vec<IncludeNode>,
    index: HashMap<Utf8PathBuf, usize>,
    /// Sources that may reach any visible header.
    pub(super) opaque: BTreeSet<Utf8PathBuf>,
    /// The visible headers; `None` until they are needed.
    visible: Option<BTreeSet<Utf8PathBuf>>,
}

pub(super) struct IncludeNode {
    pub(super) path: Utf8PathBuf,
    pub(super) text: Rc<FileFacts>,
    pub(super) includes: Vec<usize>,
    /// Whether the file needs the framework itself.
    pub(super) framework: bool,
    /// Whether the file includes a library of device code (`is_library`).
    pub(super) libraries: bool,
    /// Whether the file has an include that cannot be read.
    pub(super) computed: bool,
}

impl<'a> IncludeGraph<'a> {
    pub(super) fn new(files: &'a ScannedFiles<'a>, include: &'a [Utf8PathBuf]) -> Self {
        Self {
            files,
            include,
            nodes: Vec::new(),
            index: HashMap::new(),
            opaque: BTreeSet::new(),
            visible: None,
        }
    }

    /// The indexes of the source, then of every other file that it reaches.
    pub(super) fn reached_nodes(&mut self, source: &Utf8Path) -> Result<Vec<usize>, ScanError> {
        let mut reached = vec![self.add_reached(source)?];
        let mut seen = vec![false; self.nodes.len()];
        seen[reached[0]] = true;
        let mut at = 0;
        while let Some(node) = reached.get(at) {
            for included in &self.nodes[*node].includes.clone() {
                if !std::mem::replace(&mut seen[*included], true) {
                    reached.push(*included);
                }
            }
            at += 1;
        }
        Ok(reached)
    }

    /// The index of a file; adds the file and every file that it reaches.
    fn add_reached(&mut self, file: &Utf8Path) -> Result<usize, ScanError> {
        let mut waiting = Vec::new();
        let first = self.find_or_add(file, &mut waiting)?;
        while let Some(node) = waiting.pop() {
            let mut found = self.resolve(node)?;
            found.sort();
            found.dedup();
            let mut includes = Vec::with_capacity(found.len());
            for path in &found {
                includes.push(self.find_or_add(path, &mut waiting)?);
            }
            includes.retain(|included| *included != node);
            self.nodes[node].includes = includes;
        }
        Ok(first)
    }

    fn find_or_add(
        &mut self,
        file: &Utf8Path,
        waiting: &mut Vec<usize>,
    ) -> Result<usize, ScanError> {
        if let Some(known) = self.index.get(file) {
            return Ok(*known);
        }
        let text = self.files.read(file)?;
        let new = self.nodes.len();
        self.nodes.push(IncludeNode {
            path: file.to_owned(),
            text,
            includes: Vec::new(),
            framework: false,
            libraries: false,
            computed: false,
        });
        self.index.insert(file.to_owned(), new);
        waiting.push(new);
        Ok(new)
    }

    /// Finds the files that a file includes.
    fn resolve(&mut self, node: usize) -> Result<Vec<Utf8PathBuf>, ScanError> {
        let IncludeNode { path, text, .. } = &self.nodes[node];
        let mut found = Vec::new();
        let (mut framework, mut computed) = (text.framework, false);
        let mut libraries = text.arch_list;
        for include in &text.includes {
            let (name, own) = match include {
                Include::Quoted(name) => (name, path.parent()),
                Include::Angle(name) => (name, None),
                Include::Computed => {
                    computed = true;
                    continue;
                }
            };
            let mut folders = own
                .into_iter()
                .chain(self.include.iter().map(Utf8PathBuf::as_path));
            let place = folders.find_map(|dir| self.files.find(dir, name).transpose());
            match place.transpose()? {
                Some(place) => found.push(place),
                None => {
                    framework |= is_framework(name);
                    libraries |= is_library(name);
                }
            }
        }
        if computed || self.opaque.contains(path) {
            if self.visible.is_none() {
                self.visible = Some(self.files.headers.visible(self.include)?);
            }
            found.extend(self.visible.iter().flatten().cloned());
            framework = true;
        }
        let node = &mut self.nodes[node];
        (node.framework, node.computed) = (framework, computed);
        node.libraries = libraries;
        Ok(found)
    }

    /// Paths of the files that a file includes directly, sorted.
    pub(super) fn included_paths(&self, node: &IncludeNode) -> Vec<String> {
        let included = node.includes.iter();
        let mut paths: Vec<String> = included
            .map(|included| self.nodes[*included].path.to_string())
            .collect();
        paths.sort();
        paths
    }
}

/// Whether a name that no file of the kernel has is one of the framework's.
fn is_framework(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    FRAMEWORKS.contains(&first) || first.starts_with("dnnl")
}

/// Whether a header from outside the kernel may reach one that looks at [`ARCH_LIST`], like
/// `cub/cub.cuh`. Headers of C++ and of CUDA itself are in no folder, and none of them does.
/// NB: includes through a macro are not seen here. The build notices them, and then compiles the
/// unit whole.
fn is_library(name: &str) -> bool {
    name.contains('/')
}
