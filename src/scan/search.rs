//! The files that includes lead to, found as compilers find them, and so the files that each unit
//! reaches. nix/kernel/sources.nix reads the part that build.nix holds, `Search`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::include_graph::{IncludeGraph, IncludeNode, ScannedFiles};
use super::operators::Operators;
use super::{Namespace, ScanError};
use crate::kernel::Kernel;
use crate::matrix::{Matrix, Table};

/// Flags that add includes or include folders to the `include` of build.toml.
const SEARCH_FLAGS: [&str; 11] = [
    "-I",
    "-iquote",
    "-isystem",
    "-idirafter",
    "-include",
    "-imacros",
    "-pre-include",
    "--include",
    "--pre-include",
    "--system-include",
    "@",
];

/// The files of components that search the same folders.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    /// The digest of the lines that include files (`includes::digest`), by source or header.
    pub digests: BTreeMap<String, String>,
    /// Files of the kernel that each file includes directly, sorted; files without includes are
    /// left out.
    pub includes: BTreeMap<String, Vec<String>>,
    /// Files that contain a byte of zero, which no string of Nix can hold.
    pub binary: Vec<String>,
    #[serde(skip)]
    reaches: HashMap<String, Reach>,
}

/// The files that a unit reaches, directly or not, and their common facts.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Headers of the kernel, sorted.
    pub headers: Vec<String>,
    /// Whether a header of the framework or of Python is, or may be, among the files, or a macro of
    /// its build is used.
    pub framework: bool,
    /// Whether a header of a library that looks at all architectures of a unit may be among the
    /// files.
    pub libraries: bool,
    /// Whether the unit or a header of the kernel looks at the architecture that it is compiled
    /// for.
    pub arch: bool,
    /// The greatest use that the unit and its headers make of the op namespace.
    pub namespace: Namespace,
    /// The namespaces in which the unit and its headers define operators.
    pub operators: Operators,
}

/// The files of a component, before its variants are known.
struct ScannedComponent<'a> {
    name: String,
    include: Vec<Utf8PathBuf>,
    sources: Vec<&'a Utf8Path>,
    /// The first flag of the component that takes part in the search.
    flag: Option<&'a String>,
}

/// The folders that a component searches: the folders of build.toml, and `csrc`. Authors rely on
/// `csrc`: the reference's CMake project always searches it.
pub fn folders(kernel: &Kernel, include: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    let csrc = Utf8PathBuf::from("csrc");
    let mut include = include.to_vec();
    if kernel.root.join(&csrc).is_dir() && !include.contains(&csrc) {
        include.push(csrc);
    }
    include
}

/// The searches of all components that variants of a matrix have. Adds a note of each file whose
/// includes cannot be read.
///
/// # Errors
/// The errors of the file system, and of a header that is a link.
pub fn searches(
    kernel: &Kernel,
    matrix: &Matrix,
    table: &Table,
    notes: &mut Vec<String>,
) -> Result<Vec<Search>, ScanError> {
    let files = ScannedFiles::new(kernel, table);
    let mut searches: Vec<Search> = Vec::new();
    let mut wanted = scanned_components(kernel, matrix);
    wanted.sort_by(|a, b| a.include.cmp(&b.include));
    for same in wanted.chunk_by(|a, b| a.include == b.include) {
        searches.push(search(&files, same, notes)?);
    }
    Ok(searches)
}

fn scanned_components<'a>(kernel: &'a Kernel, matrix: &Matrix) -> Vec<ScannedComponent<'a>> {
    let compiled: BTreeSet<_> = matrix
        .variants
        .iter()
        .filter(|variant| variant.row().is_some())
        .map(|variant| variant.backend)
        .collect();
    if compiled.is_empty() {
        return Vec::new();
    }
    let takes_part = |flag: &&String| SEARCH_FLAGS.iter().any(|known| flag.starts_with(known));
    let framework = &kernel.framework;
    let mut wanted = vec![ScannedComponent {
        name: framework.name().to_owned(),
        include: folders(kernel, framework.include()),
        sources: framework.units().map(|unit| unit.0).collect(),
        flag: framework.cxx_flags().iter().find(takes_part),
    }];
    let active = kernel.sections.iter();
    let active = active.filter(|section| compiled.contains(&section.backend.backend()));
    wanted.extend(active.map(|section| {
        let mut flags = section.cxx_flags.iter().chain(section.backend.flags());
        ScannedComponent {
            name: format!("kernel.{}", section.written_name),
            include: folders(kernel, &section.include),
            sources: section.units().map(|unit| unit.0).collect(),
            flag: flags.find(takes_part),
        }
    }));
    wanted
}

/// The search of components with the same folders.
fn search(
    files: &ScannedFiles<'_>,
    components: &[ScannedComponent<'_>],
    notes: &mut Vec<String>,
) -> Result<Search, ScanError> {
    let include = &components[0].include;
    let mut graph = IncludeGraph::new(files, include);
    for component in components {
        if let Some(flag) = component.flag {
            notes.push(format!(
                "{} has the flag {flag}: each of its files is compiled again when any header changes",
                component.name
            ));
            for source in &component.sources {
                graph.opaque.insert((*source).to_owned());
            }
        }
    }
    let sources: BTreeSet<&Utf8Path> = components
        .iter()
        .flat_map(|component| component.sources.iter().copied())
        .collect();
    let mut reaches = HashMap::new();
    for source in sources {
        let reached = graph.reached_nodes(source)?;
        let nodes = || reached.iter().map(|node| &graph.nodes[*node]);
        let mut headers: Vec<String> = nodes()
            .skip(1)
            .map(|node| node.path.as_str().to_owned())
            .collect();
        headers.sort();
        let mut operators = Operators::default();
        for node in nodes() {
            operators.merge(&node.text.operators);
        }
        operators.expand(|name| nodes().any(|node| node.text.macros.contains(name)));
        let reach = Reach {
            operators,
            headers,
            framework: nodes().any(|node| node.framework),
            libraries: nodes().any(|node| node.libraries),
            arch: nodes().any(|node| node.text.arch),
            namespace: nodes()
                .map(|node| node.text.namespace)
                .max()
                .unwrap_or(Namespace::None),
        };
        reaches.insert(source.to_string(), reach);
    }
    for node in graph.nodes.iter().filter(|node| node.computed) {
        notes.push(format!(
            "{} includes what only the preprocessor knows: units that include it are compiled again when any header \
             changes",
            node.path
        ));
    }
    let nodes = || graph.nodes.iter();
    let path = |node: &IncludeNode| node.path.to_string();
    let mut binary: Vec<String> = nodes().filter(|node| node.text.binary).map(path).collect();
    binary.sort();
    let including = nodes().filter(|node| !node.includes.is_empty());
    Ok(Search {
        include: include.iter().map(ToString::to_string).collect(),
        digests: nodes()
            .map(|node| (path(node), node.text.digest.clone()))
            .collect(),
        includes: including
            .map(|node| (path(node), graph.included_paths(node)))
            .collect(),
        binary,
        reaches,
    })
}

impl Search {
    /// The files that a source of one of the components reaches.
    pub fn reach(&self, source: &Utf8Path) -> Option<&Reach> {
        self.reaches.get(source.as_str())
    }
}
