//! The plan: everything that Nix needs to know to build the variants of a kernel, and nothing that it would have to
//! decide. Its serialised form is what build.nix holds (nix/kernel/ reads these names).

mod device;
pub mod flags;
mod headers;
pub mod id;
mod link;
mod metadata;
mod split;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::kernel::{Framework, HeaderArchive, Kernel};
use crate::matrix::{
    Compilation, Matrix, Row, Table, Toolchain, Variant, VariantKind, header_libraries,
    other_releases,
};
use crate::problem::Problems;
use crate::scan::{Operators, ScanError, Search, operators, search};

pub use self::device::DeviceArch;
use self::flags::HeaderDemands;
pub use self::headers::Listing;
pub use self::link::{Link, RowLink};
use self::metadata::HeaderDepend;
pub use self::metadata::Metadata;
pub use self::split::{Split, flags_for_fatbinary};
pub use self::units::{Component, Driver, SourceKind, UnitGroup};

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
    pub archives: BTreeMap<String, ArchivePlan>,
    /// Variants with native code.
    pub variants: Vec<VariantPlan>,
    /// Variants of Python files alone.
    pub noarch: Vec<NoarchPlan>,
    /// Names of the sections, in the order of build.toml.
    #[serde(skip)]
    pub sections: Vec<String>,
    /// What is left out or surely not meant, in words; not part of build.nix.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Warnings about sources, by file; not part of build.nix.
    #[serde(skip)]
    pub warnings: Vec<Problems>,
}

/// An archive of headers.
#[derive(Clone, Debug, Serialize)]
pub struct ArchivePlan {
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
    /// The row of the release table that it is compiled for.
    #[serde(skip)]
    pub row: Row,
    /// Flags that define macros of every unit.
    #[serde(skip)]
    pub defines: Vec<String>,
    /// C++ standard of units that include no header of a framework.
    #[serde(skip)]
    pub standard: u32,
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
        listing: Listing::of_searches(&kernel.root, &searches)?,
        searches,
        archives: archives(matrix),
        warnings: operators::warnings(
            &kernel.root,
            variants.iter().map(|variant| &variant.operators),
        ),
        sections: kernel
            .sections
            .iter()
            .map(|section| section.name.clone())
            .collect(),
        variants,
        noarch,
        notes,
    })
}

/// The archives of headers that some variant needs.
fn archives(matrix: &Matrix) -> BTreeMap<String, ArchivePlan> {
    let variants = matrix.variants.iter();
    let archives = variants.flat_map(Variant::header_archives);
    let archive = |(name, headers): (&String, &HeaderArchive)| {
        let archive = ArchivePlan {
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
        row: row.clone(),
        defines: flags::stable_abi_defines(compilation.stable_abi.as_ref()),
        standard: HeaderDemands::without_framework(row, matrix.rows(), table).standard,
        system: row.system.clone(),
        bundle: variant.bundle,
        toolchain: row.toolchain.clone(),
        id: id::identity(kernel, row.backend, &components),
        link: link::link(row, table, &components),
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
