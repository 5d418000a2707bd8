//! The facts that setup.py and the scripts of the project read: kernel.json and pyproject.toml. As
//! data of a format with a writer of its own, they hold any text.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{GENERATED, ProjectError, ProjectOptions};
use crate::kernel::{Backend, Framework, Kernel};
use crate::matrix::Variant;
use crate::plan::{Identity, Metadata, Plan};

/// kernel.json.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct KernelFacts<'a> {
    #[serde(rename = "@generated")]
    generated: &'static str,
    name: &'a str,
    /// The name of the Python package.
    package: String,
    framework: &'static str,
    /// The folder of the Python package, and the extensions of its files.
    source: &'a str,
    extensions: &'a [String],
    provenance: Value,
    backends: BTreeMap<&'static str, BackendFacts<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct BackendFacts<'a> {
    /// The build id.
    id: String,
    op_namespace: String,
    /// The name of a variant of Python alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    metadata: Value,
}

/// The text of kernel.json.
pub fn kernel_json(
    kernel: &Kernel,
    plan: &Plan,
    options: &ProjectOptions,
) -> Result<String, ProjectError> {
    let id = |identity: &Identity| match &options.unique {
        Some(unique) => Ok(format!("{}_{unique}", identity.prefix)),
        None => identity
            .build_id(&kernel.root, &plan.python)
            .map_err(|source| ProjectError::Io {
                action: "read the kernel's files".to_owned(),
                source,
            }),
    };
    let mut backends = BTreeMap::new();
    for variant in &plan.noarch {
        let id = id(&variant.id)?;
        let facts = BackendFacts {
            op_namespace: id.clone(),
            id,
            variant: Some(&variant.variant),
            metadata: json!(variant.metadata),
        };
        backends.insert(variant.metadata.backend.r#type, facts);
    }
    // NB: variants of a backend differ in architectures, which the build adds.
    let mut compiled: Vec<_> = plan.variants.iter().collect();
    compiled.sort_by(|a, b| {
        Variant::from_row(&a.row)
            .rank()
            .cmp(&Variant::from_row(&b.row).rank())
    });
    for variant in compiled {
        let backend = variant.row.backend.as_str();
        if backends.contains_key(backend) {
            continue;
        }
        let id = id(&variant.id)?;
        let facts = BackendFacts {
            op_namespace: variant.op_namespace.clone().unwrap_or_else(|| id.clone()),
            id,
            variant: None,
            metadata: without_archs(&variant.metadata),
        };
        backends.insert(backend, facts);
    }
    let mut provenance = json!({ "kernel-builder": { "version": env!("CARGO_PKG_VERSION") } });
    if let Some(revision) = &options.revision {
        provenance["kernel"] = json!(revision);
    }
    let facts = KernelFacts {
        generated: GENERATED,
        name: kernel.name.as_str(),
        package: kernel.name.python_name(),
        framework: kernel.framework.name(),
        source: &plan.python.dir,
        extensions: &plan.python.extensions,
        provenance,
        backends,
    };
    // NB: maps whose keys are strings can always be printed as JSON.
    Ok(serde_json::to_string_pretty(&facts).unwrap_or_default() + "\n")
}

/// Metadata without the architectures of its variant.
fn without_archs(metadata: &Metadata) -> Value {
    let mut value = json!(metadata);
    value["backend"] = json!({ "type": metadata.backend.r#type });
    value
}

/// pyproject.toml.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Pyproject {
    build_system: BuildSystem,
    project: PyprojectMetadata,
    tool: Tool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct BuildSystem {
    requires: Vec<&'static str>,
    build_backend: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct PyprojectMetadata {
    name: String,
    version: String,
    requires_python: &'static str,
    dependencies: Vec<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    optional_dependencies: BTreeMap<&'static str, Vec<&'static str>>,
}

#[derive(Serialize)]
struct Tool {
    pytest: Pytest,
}

#[derive(Serialize)]
struct Pytest {
    ini_options: PytestOptions,
}

#[derive(Serialize)]
struct PytestOptions {
    markers: [&'static str; 1],
}

/// The text of pyproject.toml. NB: it does not require torch at run time: pip would replace the
/// torch that the kernel is compiled for.
pub fn pyproject(kernel: &Kernel) -> Result<String, ProjectError> {
    let (framework, native) = match kernel.framework {
        Framework::TvmFfi(_) => ("apache-tvm-ffi", true),
        Framework::Torch(_) => ("torch", true),
        Framework::TorchNoarch(_) => ("torch", false),
    };
    let mut requires = vec!["setuptools>=64", "wheel", framework];
    requires.extend(
        native
            .then_some(["cmake>=3.26", "ninja"])
            .into_iter()
            .flatten(),
    );
    let packages = &kernel.python_depends;
    let by_backend = packages
        .backend
        .iter()
        .map(|(backend, list): (&Backend, _)| {
            (
                backend.as_str(),
                list.iter().map(|own| own.package).collect(),
            )
        });
    let pyproject = Pyproject {
        build_system: BuildSystem {
            requires,
            build_backend: "setuptools.build_meta",
        },
        project: PyprojectMetadata {
            name: kernel.name.python_name(),
            version: kernel.version.to_string(),
            requires_python: ">=3.9",
            dependencies: packages.general.iter().map(|own| own.package).collect(),
            optional_dependencies: by_backend.collect(),
        },
        tool: Tool {
            pytest: Pytest {
                ini_options: PytestOptions {
                    markers: ["kernels_ci: tests that check a build of the kernel"],
                },
            },
        },
    };
    let text = toml::to_string_pretty(&pyproject).map_err(|error| ProjectError::Table {
        key: format!("pyproject.toml: {error}"),
    })?;
    Ok(format!("# {GENERATED}\n{text}"))
}
