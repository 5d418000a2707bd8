//! The identity of a build: a hash of its content. The same sources have the same name wherever
//! they are built, and two builds in one process do not collide. nix/kernel/sources.nix computes
//! the same hash from the same files.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde::Serialize;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use super::{Component, Identity, PythonFiles};
use crate::hex;
use crate::kernel::{Backend, Dependency, HeaderArchive, Kernel, SectionBackend, Target};

impl PythonFiles {
    /// The files of the package, in order, as paths from the kernel's folder. `sources.find` of
    /// nix/kernel/sources.nix finds the same files.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn files(&self, root: &Utf8Path) -> std::io::Result<Vec<String>> {
        let mut files = Vec::new();
        let walk = WalkDir::new(root.join(&self.dir)).sort_by_file_name();
        for entry in walk
            .into_iter()
            .filter_entry(|entry| entry.file_name() != "__pycache__")
        {
            let entry = entry?;
            let Some(path) = Utf8Path::from_path(entry.path()) else {
                continue;
            };
            let extension = path
                .file_name()
                .and_then(|name| name.rsplit_once('.'))
                .map(|(_, last)| last);
            let wanted =
                extension.is_some_and(|last| self.extensions.iter().any(|known| known == last));
            if let (false, true, Ok(relative)) =
                (entry.file_type().is_dir(), wanted, path.strip_prefix(root))
            {
                files.push(relative.to_string());
            }
        }
        Ok(files)
    }
}

impl Identity {
    /// The build id of a kernel's files as they are now, native and Python. Nix computes the same
    /// (nix/kernel/content.nix).
    ///
    /// # Errors
    /// `std::io::Error` if a file cannot be read.
    pub fn build_id(&self, root: &Utf8Path, python: &PythonFiles) -> std::io::Result<String> {
        let mut lines = vec![self.salt.clone()];
        for path in self.files.iter().chain(&python.files(root)?) {
            let content = std::fs::read(root.join(path))?;
            lines.push(format!("{}  {path}", hex(&Sha256::digest(content))));
        }
        let hash = hex(&Sha256::digest(lines.join("\n")));
        Ok(format!("{}_{}", self.prefix, &hash[..10]))
    }
}

/// The settings of build.toml that go into the salt. NB: a change of these fields changes every
/// kernel's ids.
#[derive(Serialize)]
struct Salt<'a> {
    include: Vec<&'a str>,
    cxx_flags: &'a [String],
    #[serde(skip_serializing_if = "bool::clone")]
    lean_headers: bool,
    sections: Vec<SectionSalt<'a>>,
}

#[derive(Serialize)]
struct SectionSalt<'a> {
    name: &'a str,
    include: Vec<&'a str>,
    cxx_flags: &'a [String],
    #[serde(skip_serializing_if = "bool::clone")]
    lean_headers: bool,
    depends: Vec<String>,
    capabilities: Vec<String>,
    flags: &'a [String],
}

pub(super) fn identity(kernel: &Kernel, backend: Backend, components: &[Component]) -> Identity {
    let files: BTreeSet<&String> = components
        .iter()
        .flat_map(|component| {
            component
                .headers
                .iter()
                .chain(component.units.iter().flat_map(|group| &group.sources))
        })
        .collect();
    Identity {
        prefix: format!("_{}_{backend}", kernel.name.python_name()),
        salt: salt(kernel, backend, !components.is_empty()),
        files: files.into_iter().cloned().collect(),
    }
}

/// A dependency as it goes into the salt. The salt of an archive of headers has its content and its
/// folders.
fn dependency_salt(kernel: &Kernel, dependency: &Dependency) -> String {
    match kernel.header_archives.get(dependency.as_str()) {
        Some(HeaderArchive { archive, include }) => {
            format!("{dependency} {} {}", archive.sha256, include.join(" "))
        }
        None => dependency.to_string(),
    }
}

/// The salt of a backend's variants. A variant without native code has the same salt whatever
/// build.toml says of native code.
fn salt(kernel: &Kernel, backend: Backend, native: bool) -> String {
    let (include, cxx_flags) = match native {
        true => (kernel.framework.include(), kernel.framework.cxx_flags()),
        false => (&[][..], &[][..]),
    };
    let torch = kernel.framework.torch();
    let sections = kernel
        .sections
        .iter()
        .filter(|section| section.backend.backend() == backend);
    let salt = Salt {
        include: include.iter().map(|dir| dir.as_str()).collect(),
        cxx_flags,
        lean_headers: !native || torch.is_none_or(|torch| torch.lean_headers),
        sections: sections
            .map(|section| {
                let (capabilities, flags) = match &section.backend {
                    SectionBackend::Cpu | SectionBackend::Metal => (Vec::new(), &[][..]),
                    SectionBackend::Rocm { targets, flags } => (arch_names(targets), &flags[..]),
                    SectionBackend::Xpu { flags } => (Vec::new(), &flags[..]),
                    SectionBackend::Cuda { targets, flags } => (arch_names(targets), &flags[..]),
                };
                SectionSalt {
                    name: &section.name,
                    include: section.include.iter().map(|dir| dir.as_str()).collect(),
                    cxx_flags: &section.cxx_flags,
                    lean_headers: section.lean_headers,
                    depends: section
                        .depends
                        .iter()
                        .map(|dependency| dependency_salt(kernel, dependency))
                        .collect(),
                    capabilities,
                    flags,
                }
            })
            .collect(),
    };
    let text = serde_json::to_string(&salt).unwrap_or_default();
    hex(&Sha256::digest(text))[..16].to_owned()
}

/// The GPU architectures that build.toml names for a section.
fn arch_names<Arch: ToString>(targets: &[Target<Arch>]) -> Vec<String> {
    let archs = targets.iter().flat_map(|target| &target.archs);
    archs.map(ToString::to_string).collect()
}
