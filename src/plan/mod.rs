//! The plan: everything that Nix needs to know to build the variants of a kernel, and nothing that it would have to
//! decide. Its serialised form is what build.nix holds (nix/kernel/ reads these names).

mod device;
pub mod flags;
mod headers;
pub mod id;
mod metadata;
mod split;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::kernel::{Backend, Framework, HeaderArchive, Kernel};
use crate::matrix::{
    Compilation, Matrix, Row, Table, Toolchain, Variant, VariantKind, header_libraries,
    other_releases,
};
use crate::problem::Problems;
use crate::scan::{Operators, ScanError, Search, operators, search};

pub use self::device::DeviceArch;
pub use self::headers::Listing;
use self::metadata::HeaderDepend;
pub use self::metadata::Metadata;
pub use self::split::{ArchPart, Split};
pub use self::units::{Component, Driver, Objects, UnitGroup};

/// A kernel, resolved.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub name: String,
    /// sha256 (hex) of the build.toml that it was made from.
    pub manifest: String,
    /// Where it is published: `repo-id` and `branch`, as far as build.toml names them.
    pub hub: BTreeMap<&'static str, String>,
    /// Whether `variants` are `[tvm-ffi]` ones, not torch extensions.
    pub tvm_ffi: bool,
    pub python: Python,
    /// Names of files where compilers look for headers.
    pub listing: Listing,
    /// What is included where, by the folders that compilers search.
    pub searches: Vec<Search>,
    /// Archives of headers that units are compiled against, by their name in build.toml.
    pub archives: BTreeMap<String, Archive>,
    /// Units that variants share.
    pub objects: Vec<Objects>,
    /// Variants with native code.
    pub variants: Vec<VariantPlan>,
    /// Variants of Python files alone.
    pub noarch: Vec<NoarchPlan>,
    /// What is left out or surely not meant, in words; not part of build.nix.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Warnings about sources, by file; not part of build.nix.
    #[serde(skip)]
    pub warnings: Vec<Problems>,
}

impl Plan {
    /// The units of a component of one of its variants: its own, and those that it shares with others.
    pub fn units<'a>(&'a self, component: &'a Component) -> impl Iterator<Item = &'a UnitGroup> {
        let shared = component
            .shared
            .iter()
            .filter_map(|at| self.objects.get(*at));
        component
            .units
            .iter()
            .chain(shared.map(|objects| &objects.units))
    }
}

/// An archive of headers.
#[derive(Clone, Debug, Serialize)]
pub struct Archive {
    pub file: String,
    /// Hexadecimal.
    pub sha256: String,
    /// Where it is had without a package index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Its folders that compilers search, in order.
    pub include: Vec<String>,
}

/// One variant with native code, resolved.
#[derive(Clone, Debug, Serialize)]
pub struct VariantPlan {
    pub variant: String,
    pub system: String,
    /// Whether it is built when nothing is asked for.
    pub bundle: bool,
    pub toolchain: Toolchain,
    pub id: id::Identity,
    pub components: Vec<Component>,
    pub link: Link,
    pub metadata: Metadata,
    /// The op namespace of its operators, if it is not the build's own: that its id names.
    #[serde(rename = "opNamespace", skip_serializing_if = "Option::is_none")]
    pub op_namespace: Option<String>,
    /// The namespaces of its operators.
    #[serde(skip)]
    operators: Operators,
}

/// One variant of Python files alone, resolved.
#[derive(Clone, Debug, Serialize)]
pub struct NoarchPlan {
    pub variant: String,
    /// Whether it is built when nothing is asked for.
    pub bundle: bool,
    pub id: id::Identity,
    pub metadata: Metadata,
}

/// The link of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    pub driver: Driver,
    /// File name extension of the library; its stem is the build's id.
    pub extension: &'static str,
    /// Before the objects.
    pub flags: Vec<String>,
    /// After the objects.
    pub libraries: Vec<String>,
    /// CUDA architectures that the library must hold device code for; none if none of its units has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archs: Vec<String>,
    /// Whether flags of build.toml ask for architectures beyond these.
    #[serde(rename = "moreArchs", skip_serializing_if = "std::ops::Not::not")]
    pub more_archs: bool,
    /// Whether the library may call an OpenMP runtime.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub openmp: bool,
    /// Newest allowed version of each symbol family.
    pub policy: BTreeMap<String, String>,
}

/// Python files of the package.
#[derive(Clone, Debug, Serialize)]
pub struct Python {
    pub dir: String,
    /// File name extensions, without a dot.
    pub extensions: Vec<String>,
}

/// Resolves the variants of a matrix.
///
/// # Errors
/// `ScanError` where the files on disk or the table leave nothing to build.
pub fn plan(kernel: &Kernel, matrix: &Matrix, table: &Table) -> Result<Plan, ScanError> {
    let mut notes = Vec::new();
    let searches = search::searches(kernel, matrix, table, &mut notes)?;
    let mut variants = Vec::new();
    let mut noarch = Vec::new();
    for variant in &matrix.variants {
        match &variant.kind {
            VariantKind::Compiled(compilation) => {
                let resolved = variant_plan(
                    kernel,
                    variant,
                    compilation,
                    matrix,
                    table,
                    &searches,
                    &mut notes,
                );
                variants.push(resolved);
            }
            VariantKind::PythonOnly => noarch.push(noarch_plan(kernel, variant)),
        }
    }
    notes.extend(other_releases(kernel, matrix, table));
    notes.sort();
    notes.dedup();
    Ok(Plan {
        name: kernel.name.as_str().to_owned(),
        manifest: kernel.build_toml_sha256.clone(),
        tvm_ffi: matches!(kernel.framework, Framework::TvmFfi(_)),
        hub: [
            ("repo-id", &kernel.hub.repo_id),
            ("branch", &kernel.hub.branch),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.clone()?)))
        .collect(),
        python: python(kernel),
        listing: Listing::of(&kernel.root, &searches)?,
        searches,
        archives: archives(matrix),
        objects: units::share(&mut variants),
        warnings: operators::warnings(
            &kernel.root,
            variants.iter().map(|variant| &variant.operators),
        ),
        variants,
        noarch,
        notes,
    })
}

/// The archives of headers that some variant needs.
fn archives(matrix: &Matrix) -> BTreeMap<String, Archive> {
    let variants = matrix.variants.iter();
    let archives = variants.flat_map(Variant::header_archives);
    let archive = |(name, headers): (&String, &HeaderArchive)| {
        let archive = Archive {
            file: headers.archive.file.clone(),
            sha256: headers.archive.sha256.clone(),
            urls: headers.archive.urls.clone(),
            include: headers.include.clone(),
        };
        (name.clone(), archive)
    };
    archives.map(archive).collect()
}

/// The warnings of a plan, for who needs nothing else of it. What cannot be planned has none: `plan` says why.
pub fn warnings(kernel: &Kernel, matrix: &Matrix, table: &Table) -> Vec<Problems> {
    // A plan takes its time, and this is rare.
    match operators::may_warn(kernel) {
        true => plan(kernel, matrix, table).map_or_else(|_| Vec::new(), |plan| plan.warnings),
        false => Vec::new(),
    }
}

fn noarch_plan(kernel: &Kernel, variant: &Variant) -> NoarchPlan {
    NoarchPlan {
        variant: variant.name.clone(),
        bundle: variant.bundle,
        id: id::identity(kernel, variant.backend, &[]),
        metadata: metadata::metadata(kernel, variant.backend, &[], BTreeSet::new()),
    }
}

fn python(kernel: &Kernel) -> Python {
    let packages = kernel.framework.packages();
    Python {
        dir: format!("{packages}/{}", kernel.name.python_name()),
        extensions: kernel.framework.pyext().to_vec(),
    }
}

fn variant_plan(
    kernel: &Kernel,
    variant: &Variant,
    compilation: &Compilation,
    matrix: &Matrix,
    table: &Table,
    searches: &[Search],
    notes: &mut Vec<String>,
) -> VariantPlan {
    let row = &compilation.row;
    let components = units::components(kernel, compilation, matrix, table, searches, notes);
    let header_depends = header_depends(kernel, compilation, table);
    let mut operators = Operators::default();
    for component in &components {
        operators.merge(&component.operators);
    }
    VariantPlan {
        op_namespace: operators.namespace().map(str::to_owned),
        operators,
        variant: variant.name.clone(),
        system: row.system.clone(),
        bundle: variant.bundle,
        toolchain: row.toolchain.clone(),
        id: id::identity(kernel, row.backend, &components),
        link: link(row, table, &components),
        metadata: metadata::metadata(kernel, row.backend, &components, header_depends),
        components,
    }
}

/// The libraries of headers that sections of a variant name.
fn header_depends(
    kernel: &Kernel,
    compilation: &Compilation,
    table: &Table,
) -> BTreeSet<HeaderDepend> {
    let libraries = header_libraries(kernel, table, &compilation.row);
    let known = libraries.filter_map(|(_, name, library)| {
        Some(HeaderDepend {
            name: name.to_string(),
            version: Some(library?.version.clone()),
            sha256: None,
        })
    });
    let archives = compilation.header_archives.iter();
    let own = archives.map(|(name, headers)| HeaderDepend {
        name: name.clone(),
        version: None,
        sha256: Some(headers.archive.sha256.clone()),
    });
    known.chain(own).collect()
}

/// Symbol families of an OpenMP runtime.
const OPENMP: [&str; 2] = ["GOMP", "OMP"];

/// The libraries of torch are those that its CMake targets put on the link line, less libtorch itself: of a wheel with
/// CUDA it needs libtorch_cuda, which a CPU kernel must not. A kernel without torch holds its own CUDA runtime, as CMake
/// links it: no other library of the process is sure to bring one.
fn link(row: &Row, table: &Table, components: &[Component]) -> Link {
    let darwin = row.system.ends_with("-darwin");
    let (framework, toolkit) = match (row.torch().is_some(), row.backend) {
        (true, Backend::Cuda) => (
            &["c10", "torch_cpu", "c10_cuda", "torch_cuda"][..],
            "cudart",
        ),
        (true, Backend::Rocm) => (
            &["c10", "torch_cpu", "c10_hip", "torch_hip"][..],
            "amdhip64",
        ),
        // libsycl comes with the driver's -fsycl.
        (true, Backend::Xpu) => (&["c10", "torch_cpu", "c10_xpu", "torch_xpu"][..], ""),
        (true, _) => (&["c10", "torch_cpu"][..], ""),
        // NVIDIA's wheels of CUDA 12 have the shared runtime alone, which torch or JAX for CUDA 12 brings.
        (false, Backend::Cuda) if row.toolchain.clang.is_some() => (&["tvm_ffi"][..], "cudart"),
        (false, Backend::Cuda) => (&["tvm_ffi"][..], "cudart_static"),
        (false, Backend::Rocm) => (&["tvm_ffi"][..], "amdhip64"),
        (false, _) => (&["tvm_ffi"][..], ""),
    };
    let mut libraries: Vec<String> = framework.iter().map(|name| format!("-l{name}")).collect();
    if row.torch().is_some() && !darwin {
        // NB: stubs stand for torch's libraries, so that the linker cannot see which of them are needed.
        libraries.insert(0, "-Wl,--no-as-needed".to_owned());
        libraries.push("-Wl,--as-needed".to_owned());
    }
    if !toolkit.is_empty() {
        libraries.push(format!("-l{toolkit}"));
    }
    let (archs, more_archs) = device::linked(components);
    let openmp = components.iter().any(|component| component.openmp);
    let mut policy = table.policy(row).cloned().unwrap_or_default();
    policy.retain(|family, _| openmp || !OPENMP.contains(&family.as_str()));
    Link {
        archs,
        more_archs,
        extension: match (row.torch().is_some(), darwin) {
            (true, _) => "abi3.so",
            (false, false) => "so",
            (false, true) => "dylib",
        },
        driver: Driver::linker(row),
        flags: flags::link(row),
        openmp,
        libraries,
        policy,
    }
}
