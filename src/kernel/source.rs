//! The language of a source file, by its name.

use camino::{Utf8Path, Utf8PathBuf};

use super::Backend;

/// The language of a file that is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// `.c`
    C,
    /// `.cc`, `.cpp`, `.cxx`
    Cxx,
    /// `.cu`
    Cuda,
    /// `.hip`
    Hip,
    /// `.metal`
    Metal,
    /// `.mm`
    ObjectiveCxx,
}

impl Language {
    /// The language of a file; `None` if it is not compiled by itself.
    pub fn of_file(path: &Utf8Path) -> Option<Self> {
        Some(match path.extension()? {
            "c" => Language::C,
            "cc" | "cpp" | "cxx" => Language::Cxx,
            "cu" => Language::Cuda,
            "hip" => Language::Hip,
            "metal" => Language::Metal,
            "mm" => Language::ObjectiveCxx,
            _ => return None,
        })
    }

    /// Whether a section of `backend` can compile this language.
    pub fn compiles_on(self, backend: Backend) -> bool {
        match self {
            Language::C | Language::Cxx => true,
            // ROCm sections list CUDA sources, which are translated.
            Language::Cuda => matches!(backend, Backend::Cuda | Backend::Rocm),
            Language::Hip => backend == Backend::Rocm,
            Language::Metal | Language::ObjectiveCxx => backend == Backend::Metal,
        }
    }

    /// The name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cxx => "C++",
            Language::Cuda => "CUDA",
            Language::Hip => "HIP",
            Language::Metal => "Metal",
            Language::ObjectiveCxx => "Objective-C++",
        }
    }
}

/// Whether a file is a header, by its name.
pub fn is_header(path: &Utf8Path) -> bool {
    matches!(
        path.extension(),
        Some("h" | "hh" | "hpp" | "hxx" | "cuh" | "inc" | "inl" | "ipp" | "tcc" | "tpp" | "def")
    )
}

/// The files that are compiled, with their languages, in the order given.
pub fn units(src: &[Utf8PathBuf]) -> impl Iterator<Item = (&Utf8Path, Language)> {
    src.iter()
        .filter_map(|path| Some((path.as_path(), Language::of_file(path)?)))
}
