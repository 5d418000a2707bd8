//! The plan: everything that Nix needs to know to build the variants of a kernel, so that Nix
//! decides nothing. types.rs defines it; [`plan`] makes one of a kernel and its matrix, with a file
//! for each part of it.

mod device;
pub mod flags;
mod headers;
mod id;
mod link;
mod metadata;
mod split;
mod types;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{Framework, HeaderArchive, Kernel};
use crate::matrix::{
    Compilation, Matrix, Table, Variant, VariantKind, header_libraries, other_releases,
};
use crate::problem::Problems;
use crate::scan::{Operators, ScanError, Search, operators, search};

pub use self::device::DeviceArch;
use self::flags::HeaderDemands;
pub use self::link::RowLink;
pub use self::split::flags_for_fatbinary;
pub use self::types::{
    ArchivePlan, BackendMetadata, Component, Driver, HeaderDepend, HeaderListing, Identity,
    KernelDepend, Link, Metadata, NoarchPlan, Plan, PythonFiles, SourceKind, Split, UnitGroup,
    VariantPlan,
};

/// Resolves the variants of a matrix.
///
/// # Errors
/// `ScanError` if a file cannot be read, or if the files and the table leave nothing to build.
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
        listing: HeaderListing::from_searches(&kernel.root, &searches)?,
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

/// The warnings of a plan, for a caller that needs no other part of it. A kernel that cannot be
/// planned has none: `plan` reports its error.
pub fn warnings(kernel: &Kernel, matrix: &Matrix, table: &Table) -> Vec<Problems> {
    // NB: a plan is slow, and sources that may warn are rare.
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

/// The Python files of a kernel.
fn python(kernel: &Kernel) -> PythonFiles {
    let packages = kernel.framework.packages();
    PythonFiles {
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
    let described = archives.map(|(name, headers)| HeaderDepend {
        name: name.clone(),
        version: None,
        sha256: Some(headers.archive.sha256.clone()),
    });
    known.chain(described).collect()
}
