//! The framework sections of build.toml as written: `[torch]`, `[torch-noarch]`, `[tvm-ffi]`.

use schemars::JsonSchema;

use super::backend::Backend;
use super::schema;
use super::table::Table;
use super::value::{FromValue, List, Reader, Spanned, Value, one_of};
use crate::version::Version;

/// A kernel with a C++ binding for torch.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Torch {
    /// Sources of the binding.
    pub src: Option<List<String>>,
    /// Extensions of the Python files to install.
    pub pyext: Option<List<String>>,
    /// Include directories.
    pub include: Option<List<String>>,
    /// Oldest torch.
    pub minver: Option<Spanned<Version>>,
    /// Newest torch.
    pub maxver: Option<Spanned<Version>>,
    /// The torch release whose stable ABI is used.
    pub stable_abi: Option<Spanned<StableAbi>>,
    /// Flags for the C++ sources of the binding.
    pub cxx_flags: Option<List<String>>,
}

/// `stable-abi`, in its two forms.
#[derive(Debug, Clone)]
pub enum StableAbi {
    /// One version for every backend.
    All(Spanned<Version>),
    /// A table from backend to version.
    PerBackend(Vec<(Spanned<Backend>, Spanned<Version>)>),
}

/// A kernel for torch that is written in Python only.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, transform = schema::both_spellings)]
pub struct TorchNoarch {
    /// Extensions of the Python files to install.
    pub pyext: Option<List<String>>,
    /// GPU capabilities to state in the metadata.
    pub cuda_capabilities: Option<List<String>>,
    /// GPU architectures to state in the metadata.
    pub rocm_archs: Option<List<String>>,
}

/// A kernel with a C++ binding through TVM FFI.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, extend("required" = ["src"]))]
pub struct TvmFfi {
    /// Sources of the binding.
    pub src: Option<List<String>>,
    /// Include directories.
    pub include: Option<List<String>>,
    /// Extensions of the Python files to install.
    pub pyext: Option<List<String>>,
    /// Flags for the C++ sources of the binding.
    pub cxx_flags: Option<List<String>>,
}

impl FromValue for Torch {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        let torch = Self {
            src: table.optional("src"),
            pyext: table.optional("pyext"),
            include: table.optional("include"),
            minver: table.optional("minver"),
            maxver: table.optional("maxver"),
            stable_abi: table.optional("stable-abi"),
            cxx_flags: table.optional("cxx-flags"),
        };
        table.finish();
        Some(torch)
    }
}

impl FromValue for StableAbi {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        if !value.is_table() {
            let version = Version::from_value(value, reader)?;
            let place = value.place.clone();
            return Some(StableAbi::All(Spanned {
                value: version,
                place,
            }));
        }
        let words: Vec<_> = Backend::ALL.iter().map(|b| (b.as_str(), *b)).collect();
        let mut versions = Vec::new();
        for (name, value) in value.table(reader)?.entries() {
            let backend = one_of(&name.value, &name.place, reader, "backend", &words);
            let version = Version::from_value(&value, reader);
            if let (Some(backend), Some(version)) = (backend, version) {
                let at = |place| Spanned {
                    value: backend,
                    place,
                };
                let place = value.place.clone();
                versions.push((
                    at(name.place),
                    Spanned {
                        value: version,
                        place,
                    },
                ));
            }
        }
        Some(StableAbi::PerBackend(versions))
    }
}

impl FromValue for TorchNoarch {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        let noarch = Self {
            pyext: table.optional("pyext"),
            cuda_capabilities: either(&mut table, "cuda-capabilities", "cuda_capabilities"),
            rocm_archs: either(&mut table, "rocm-archs", "rocm_archs"),
        };
        table.finish();
        Some(noarch)
    }
}

/// A key that was documented in one spelling and read in another; both are accepted.
fn either<T: FromValue>(
    table: &mut Table<'_, '_>,
    documented: &'static str,
    used: &'static str,
) -> Option<Spanned<T>> {
    table.optional(documented).or_else(|| table.optional(used))
}

impl FromValue for TvmFfi {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        let tvm_ffi = Self {
            src: table.required("src", "add `src = [\"binding.cpp\"]`"),
            include: table.optional("include"),
            pyext: table.optional("pyext"),
            cxx_flags: table.optional("cxx-flags"),
        };
        table.finish();
        Some(tvm_ffi)
    }
}
