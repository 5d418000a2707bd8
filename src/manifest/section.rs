//! The `[kernel.*]` sections of build.toml as written.

use schemars::JsonSchema;

use super::dependency::Dependency;
use super::reader::Reader;
use super::schema;
use super::table::TomlTable;
use super::value::{FromValue, List, Spanned, Value, one_of};
use crate::problem::{Place, Problem, code};
use crate::version::Version;
use crate::words::Backend;

/// One `[kernel.<name>]`.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", extend("required" = ["depends", "src"]))]
pub struct WrittenSection {
    /// The name in the header.
    #[schemars(skip)]
    pub name: Spanned<String>,
    /// `backend`, with the keys that only this backend has.
    #[schemars(skip)]
    pub backend: Option<Spanned<WrittenBackend>>,
    /// Libraries such as `torch` and `cutlass_4_0`, or names of `[dependencies.*]`.
    pub depends: Option<List<Dependency>>,
    /// Files to compile, and headers.
    pub src: Option<List<String>>,
    /// Include directories.
    pub include: Option<List<String>>,
    /// Flags for the C++ compiler.
    pub cxx_flags: Option<List<String>>,
    /// Whether units get lean headers of torch (docs/lean-headers.md); true by default.
    pub lean_headers: Option<Spanned<bool>>,
}

/// The backend of a section and the keys that only it has.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(tag = "backend", rename_all = "lowercase")]
pub enum WrittenBackend {
    /// Compiled for the host processor.
    Cpu,
    /// Compiled for NVIDIA GPUs.
    Cuda {
        /// GPU capabilities to compile for.
        #[schemars(rename = "cuda-capabilities", transform = schema::capabilities)]
        capabilities: Option<List<String>>,
        /// Flags for nvcc; translated for clang, which compiles CUDA 12.
        #[schemars(rename = "cuda-flags")]
        flags: Option<List<String>>,
        /// Oldest CUDA toolkit that compiles this section.
        #[schemars(rename = "cuda-minver")]
        minver: Option<Spanned<Version>>,
    },
    /// Compiled for Apple GPUs.
    Metal,
    /// Compiled for AMD GPUs.
    Rocm {
        /// GPU architectures to compile for.
        #[schemars(rename = "rocm-archs", transform = schema::architectures)]
        archs: Option<List<String>>,
        /// Flags for hipcc.
        #[schemars(rename = "hip-flags")]
        flags: Option<List<String>>,
    },
    /// Compiled for Intel GPUs.
    Xpu {
        /// Flags for the SYCL compiler.
        #[schemars(rename = "sycl-flags")]
        flags: Option<List<String>>,
    },
}

impl WrittenBackend {
    /// The backend without its keys.
    pub fn backend(&self) -> Backend {
        match self {
            WrittenBackend::Cpu => Backend::Cpu,
            WrittenBackend::Cuda { .. } => Backend::Cuda,
            WrittenBackend::Metal => Backend::Metal,
            WrittenBackend::Rocm { .. } => Backend::Rocm,
            WrittenBackend::Xpu { .. } => Backend::Xpu,
        }
    }
}

/// The backends that can have sections, and the keys that only they have.
const OWN_KEYS: &[(Backend, &[&str])] = &[
    (Backend::Cpu, &[]),
    (
        Backend::Cuda,
        &["cuda-capabilities", "cuda-flags", "cuda-minver"],
    ),
    (Backend::Metal, &[]),
    (Backend::Rocm, &["rocm-archs", "hip-flags"]),
    (Backend::Xpu, &["sycl-flags"]),
];

/// Reads `[kernel]` of v2 to edition 5: a table from names to sections, whose dependencies are
/// written in the words of `D`. Sections of older editions have no `lean-headers`.
pub(super) fn read_sections<D>(
    value: Option<&Value<'_>>,
    reader: &Reader,
    is_edition_5: bool,
) -> Vec<WrittenSection>
where
    D: FromValue + Into<Dependency>,
{
    let Some(table) = value.and_then(|value| value.table(reader)) else {
        return Vec::new();
    };
    table
        .entries()
        .map(|(name, value)| read_section::<D>(name, &value, reader, is_edition_5))
        .collect()
}

/// `depends` of a section of any edition.
pub(super) fn read_depends<D>(table: &mut TomlTable<'_, '_>) -> Option<List<Dependency>>
where
    D: FromValue + Into<Dependency>,
{
    let cure = "add `depends = [\"torch\"]`, or `depends = []` if torch headers are not used";
    let list: List<D> = table.required("depends", cure)?;
    let word = |written: Spanned<D>| Spanned {
        value: written.value.into(),
        place: written.place,
    };
    Some(Spanned {
        value: list.value.into_iter().map(word).collect(),
        place: list.place,
    })
}

/// `src` of a section of any edition.
pub(super) fn read_src(table: &mut TomlTable<'_, '_>) -> Option<List<String>> {
    table.required("src", "add `src = [\"kernel.cu\"]`")
}

fn read_section<D>(
    name: Spanned<String>,
    value: &Value<'_>,
    reader: &Reader,
    is_edition_5: bool,
) -> WrittenSection
where
    D: FromValue + Into<Dependency>,
{
    let Some(mut table) = value.table(reader) else {
        return WrittenSection {
            name,
            backend: None,
            depends: None,
            src: None,
            include: None,
            cxx_flags: None,
            lean_headers: None,
        };
    };
    let backend: Option<Spanned<OfSection>> =
        table.required("backend", "add `backend = \"cuda\"` or another backend");
    let backend = backend.map(|written| Spanned {
        value: written.value.0,
        place: written.place,
    });
    let depends = read_depends::<D>(&mut table);
    let src = read_src(&mut table);
    let include = table.optional("include");
    let cxx_flags = table.optional("cxx-flags");
    let lean_headers = match is_edition_5 {
        true => table.optional("lean-headers"),
        false => None,
    };
    let own = backend
        .as_ref()
        .and_then(|backend| own_keys(&mut table, backend.value));
    match &own {
        Some(own) => table.finish_with(|key, place| foreign_key(key, place, own.backend())),
        None => {
            // Until the backend is known, the keys of every backend may be right.
            for key in OWN_KEYS.iter().flat_map(|(_, keys)| *keys) {
                table.value(key);
            }
            table.finish();
        }
    }
    let backend = backend.zip(own).map(|(backend, own)| Spanned {
        value: own,
        place: backend.place,
    });
    WrittenSection {
        name,
        backend,
        depends,
        src,
        include,
        cxx_flags,
        lean_headers,
    }
}

fn own_keys(table: &mut TomlTable<'_, '_>, backend: Backend) -> Option<WrittenBackend> {
    Some(match backend {
        Backend::Cpu => WrittenBackend::Cpu,
        Backend::Metal => WrittenBackend::Metal,
        Backend::Cuda => WrittenBackend::Cuda {
            capabilities: table.optional("cuda-capabilities"),
            flags: table.optional("cuda-flags"),
            minver: table.optional("cuda-minver"),
        },
        Backend::Rocm => WrittenBackend::Rocm {
            archs: table.optional("rocm-archs"),
            flags: table.optional("hip-flags"),
        },
        Backend::Xpu => WrittenBackend::Xpu {
            flags: table.optional("sycl-flags"),
        },
        Backend::Cann | Backend::Neuron | Backend::Tpu => return None,
    })
}

/// A backend that can have sections.
struct OfSection(Backend);

impl FromValue for OfSection {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let text = String::from_value(value, reader)?;
        let words: Vec<(&str, Backend)> = OWN_KEYS
            .iter()
            .map(|(backend, _)| (backend.as_str(), *backend))
            .collect();
        if Backend::ALL.iter().any(|b| b.as_str() == text) && words.iter().all(|(w, _)| *w != text)
        {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            reader.report(
                Problem::error(
                    code::UNKNOWN_VALUE,
                    &value.place,
                    format!("`{text}` kernels have no `[kernel.*]` sections"),
                )
                .label("only Python for this backend")
                .help(format!("allowed are: {}", words.join(", "))),
            );
            return None;
        }
        one_of(&text, &value.place, reader, "backend of a section", &words).map(Self)
    }
}

/// The problem of a key that exists, but in sections of another backend.
fn foreign_key(key: &str, place: &Place, backend: Backend) -> Option<Problem> {
    let (owner, _) = OWN_KEYS.iter().find(|(_, keys)| keys.contains(&key))?;
    let message = format!("`{key}` is for {owner} sections, this one is for {backend}");
    Some(
        Problem::error(code::KEY_OF_OTHER_BACKEND, place, message)
            .label(format!("only in {owner} sections"))
            .help("remove the key, or move it to a section of that backend"),
    )
}
