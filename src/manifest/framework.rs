//! The framework sections of build.toml as written: `[torch]`, `[torch-noarch]`, `[tvm-ffi]`.

use schemars::JsonSchema;

use super::reader::Reader;
use super::schema;
use super::table::TomlTable;
use super::value::{FromValue, List, Spanned, Value, one_of};
use crate::problem::{Place, Problem, code};
use crate::version::Version;
use crate::words::Backend;

/// A kernel with a C++ binding for torch.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WrittenTorch {
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
    /// Whether units get lean headers of torch (docs/lean-headers.md); true by default.
    pub lean_headers: Option<Spanned<bool>>,
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
pub struct WrittenTorchNoarch {
    /// Extensions of the Python files to install.
    pub pyext: Option<List<String>>,
    /// GPU capabilities to state in the metadata.
    #[schemars(transform = schema::capabilities)]
    pub cuda_capabilities: Option<List<String>>,
    /// GPU architectures to state in the metadata.
    #[schemars(transform = schema::architectures)]
    pub rocm_archs: Option<List<String>>,
}

/// A kernel with a C++ binding through TVM FFI.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, extend("required" = ["src"]))]
pub struct WrittenTvmFfi {
    /// Sources of the binding.
    pub src: Option<List<String>>,
    /// Include directories.
    pub include: Option<List<String>>,
    /// Extensions of the Python files to install.
    pub pyext: Option<List<String>>,
    /// Flags for the C++ sources of the binding.
    pub cxx_flags: Option<List<String>>,
}

impl WrittenTorch {
    /// The keys of v2 and v3, which are part of every later edition.
    pub(super) fn read_plain(table: &mut TomlTable<'_, '_>) -> Self {
        Self {
            src: table.optional("src"),
            pyext: table.optional("pyext"),
            include: table.optional("include"),
            minver: table.optional("minver"),
            maxver: table.optional("maxver"),
            stable_abi: None,
            cxx_flags: None,
            lean_headers: None,
        }
    }

    /// The keys of v4, whose stable ABI is one for every backend.
    pub(super) fn read_v4(table: &mut TomlTable<'_, '_>) -> Self {
        let plain = Self::read_plain(table);
        let version: Option<Spanned<Version>> = table.optional("stable-abi");
        Self {
            stable_abi: version.map(|version| Spanned {
                place: version.place.clone(),
                value: StableAbi::All(version),
            }),
            cxx_flags: table.optional("cxx-flags"),
            ..plain
        }
    }

    /// The keys of edition 5.
    pub(super) fn read(table: &mut TomlTable<'_, '_>) -> Self {
        let plain = Self::read_plain(table);
        Self {
            stable_abi: table.optional("stable-abi"),
            cxx_flags: table.optional("cxx-flags"),
            lean_headers: table.optional("lean-headers"),
            ..plain
        }
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

impl WrittenTorchNoarch {
    /// The keys of v4 and of edition 5.
    pub(super) fn read(table: &mut TomlTable<'_, '_>) -> Self {
        Self {
            pyext: table.optional("pyext"),
            cuda_capabilities: read_either(table, "cuda-capabilities", "cuda_capabilities"),
            rocm_archs: read_either(table, "rocm-archs", "rocm_archs"),
        }
    }
}

/// Reads a key that was documented in one spelling and read in another; both are accepted.
fn read_either<T: FromValue>(
    table: &mut TomlTable<'_, '_>,
    documented: &'static str,
    used: &'static str,
) -> Option<Spanned<T>> {
    table.optional(documented).or_else(|| table.optional(used))
}

impl WrittenTvmFfi {
    /// The keys of v3, which are part of every later edition.
    pub(super) fn read_plain(table: &mut TomlTable<'_, '_>) -> Self {
        Self {
            src: table.required("src", "add `src = [\"binding.cpp\"]`"),
            include: table.optional("include"),
            pyext: table.optional("pyext"),
            cxx_flags: None,
        }
    }

    /// The keys of v4 and of edition 5.
    pub(super) fn read(table: &mut TomlTable<'_, '_>) -> Self {
        let plain = Self::read_plain(table);
        Self {
            cxx_flags: table.optional("cxx-flags"),
            ..plain
        }
    }
}

/// Reports a missing or a second framework section, whether or not the sections can be read.
pub(super) fn report_unless_one(root: &mut TomlTable<'_, '_>, reader: &Reader) {
    let [first, ..] = at_most_one(root, reader);
    if first.is_some() || NAMES.iter().any(|name| reader.is_on_broken_line(name)) {
        return;
    }
    reader.report(no_framework(&Place::default()));
}

const NAMES: [&str; 3] = ["torch", "torch-noarch", "tvm-ffi"];

/// The framework sections in the order of the file; reports all but the first.
pub(super) fn at_most_one(root: &mut TomlTable<'_, '_>, reader: &Reader) -> [Option<Place>; 3] {
    let mut present = NAMES.map(|name| root.value(name).map(|value| value.place));
    present.sort_by_key(|place| place.as_ref().map_or(usize::MAX, |place| place.span.start));
    if let [Some(first), others @ ..] = &present {
        for place in others.iter().flatten() {
            let (one, other) = (&first.key, &place.key);
            reader.report(
                Problem::error(
                    code::TWO_FRAMEWORKS,
                    place,
                    format!("`[{other}]` and `[{one}]` exclude each other"),
                )
                .label("second framework section")
                .related(first, "first framework section")
                .help("keep one of the two sections"),
            );
        }
    }
    present
}

/// The problem that a kernel with sections has no framework section.
pub(super) fn no_framework(place: &Place) -> Problem {
    Problem::error(code::NO_FRAMEWORK, place, "there is no framework section").help(
        "add `[torch]` for a kernel with a C++ binding, `[torch-noarch]` for a Python-only one, or `[tvm-ffi]`",
    )
}
