//! The identity of a build: a hash of its content, so that the same sources have the same name wherever they are built
//! and two builds in one process do not meet. nix/kernel/sources.nix computes the same from the same files.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::units::Component;
use crate::hex;
use crate::kernel::{Backend, Kernel, SectionBackend, Torch};

/// What the op namespace `<prefix>_<hash of salt and files>` is made of.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// `_<python name>_<backend>`
    pub prefix: String,
    /// Hash of what build.toml says of the native code of this backend.
    pub salt: String,
    /// Sources and headers, sorted.
    pub files: Vec<String>,
}

impl Identity {
    /// The op namespace of the files as they are now.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn namespace(&self, root: &Utf8Path) -> std::io::Result<String> {
        let mut lines = vec![self.salt.clone()];
        for file in &self.files {
            let hash = hex(&Sha256::digest(std::fs::read(root.join(file))?));
            lines.push(format!("{hash}  {file}"));
        }
        let hash = hex(&Sha256::digest(lines.join("\n")));
        Ok(format!("{}_{}", self.prefix, &hash[..10]))
    }
}

/// What of build.toml goes into the salt. NB: a change of these fields changes every kernel's ids.
#[derive(Serialize)]
struct Salt<'a> {
    include: Vec<&'a str>,
    cxx_flags: &'a [String],
    sections: Vec<SectionSalt<'a>>,
}

#[derive(Serialize)]
struct SectionSalt<'a> {
    name: &'a str,
    include: Vec<&'a str>,
    cxx_flags: &'a [String],
    depends: Vec<&'a str>,
    capabilities: Vec<String>,
    flags: &'a [String],
}

pub(super) fn identity(
    kernel: &Kernel,
    torch: &Torch,
    backend: Backend,
    components: &[Component],
) -> Identity {
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
        salt: salt(kernel, torch, backend),
        files: files.into_iter().cloned().collect(),
    }
}

fn salt(kernel: &Kernel, torch: &Torch, backend: Backend) -> String {
    let sections = kernel
        .sections
        .iter()
        .filter(|section| section.backend.backend() == backend);
    let salt = Salt {
        include: torch.include.iter().map(|dir| dir.as_str()).collect(),
        cxx_flags: &torch.cxx_flags,
        sections: sections
            .map(|section| {
                let (capabilities, flags) = match &section.backend {
                    SectionBackend::Cpu | SectionBackend::Metal => (Vec::new(), &[][..]),
                    SectionBackend::Rocm { archs, flags } => {
                        (archs.iter().map(ToString::to_string).collect(), &flags[..])
                    }
                    SectionBackend::Xpu { flags } => (Vec::new(), &flags[..]),
                    SectionBackend::Cuda {
                        capabilities,
                        flags,
                        ..
                    } => (
                        capabilities.iter().map(ToString::to_string).collect(),
                        &flags[..],
                    ),
                };
                SectionSalt {
                    name: &section.name,
                    include: section.include.iter().map(|dir| dir.as_str()).collect(),
                    cxx_flags: &section.cxx_flags,
                    depends: section
                        .depends
                        .iter()
                        .map(|dependency| dependency.as_str())
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
