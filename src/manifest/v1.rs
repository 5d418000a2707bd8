//! v1, the format of spring 2025, and v0 before it, which had fewer keys. A section is in a
//! language instead of for a backend, and `cuda-hipify` stands for CUDA and ROCm at once.

use super::backend::OldDependency;
use super::dependency::Dependency;
use super::framework::WrittenTorch;
use super::reader::Reader;
use super::section::{self, WrittenBackend, read_depends, read_src};
use super::table::TomlTable;
use super::upgrade::{Universal, Upgrade};
use super::v5;
use super::value::{List, Spanned, Value};
use crate::problem::{Place, Problem, code};
use crate::words::words;

/// A whole file.
#[derive(Debug, Clone)]
pub struct BuildTomlV1 {
    /// `[general]`
    pub general: GeneralV1,
    /// `[torch]`
    pub torch: Option<Spanned<WrittenTorch>>,
    /// `torch.universal`: whether the kernel is Python-only and for every backend.
    pub universal: Universal,
    /// `[kernel.*]`, in the order of their names.
    pub kernel: Vec<SectionV1>,
}

/// `[general]`
#[derive(Debug, Clone, Default)]
pub struct GeneralV1 {
    /// Where the section stands.
    pub place: Place,
    /// Name of the kernel; may hold underscores.
    pub name: Option<Spanned<String>>,
}

/// One `[kernel.<name>]`.
#[derive(Debug, Clone)]
pub struct SectionV1 {
    /// The name in the header.
    pub name: Spanned<String>,
    /// The language of the sources; CUDA if the key is missing.
    pub language: Option<Spanned<Language>>,
    /// Whether `language` is there but cannot be read.
    pub unread: bool,
    /// Libraries to compile against.
    pub depends: Option<List<Dependency>>,
    /// Files to compile, and headers.
    pub src: Option<List<String>>,
    /// Include directories.
    pub include: Option<List<String>>,
    /// NVIDIA GPU capabilities to compile for.
    pub cuda_capabilities: Option<List<String>>,
    /// AMD GPU architectures to compile for.
    pub rocm_archs: Option<List<String>>,
}

words! {
    /// `language` of a section.
    Language, "language";
    /// CUDA only.
    Cuda = "cuda",
    /// CUDA, translated to HIP for AMD GPUs.
    CudaHipify = "cuda-hipify",
    /// Metal.
    Metal = "metal",
}

impl BuildTomlV1 {
    pub(super) fn read(mut root: TomlTable<'_, '_>, reader: &Reader) -> Self {
        let general = root.table("general", |table| GeneralV1 {
            place: table.place.clone(),
            name: table.required("name", "add `name = \"my-kernel\"`"),
        });
        let torch = root.table("torch", |table| {
            let torch = WrittenTorch {
                src: table.optional("src"),
                pyext: table.optional("pyext"),
                include: table.optional("include"),
                minver: None,
                maxver: None,
                stable_abi: None,
                cxx_flags: None,
                lean_headers: None,
            };
            (torch, Universal::read(table))
        });
        let kernel = root.value("kernel");
        root.finish();
        let (torch, universal) = match torch {
            Some(Spanned {
                value: (torch, universal),
                place,
            }) => (
                Some(Spanned {
                    value: torch,
                    place,
                }),
                universal,
            ),
            None => (None, Universal::default()),
        };
        Self {
            general: general.map(|general| general.value).unwrap_or_default(),
            torch,
            universal,
            kernel: read_sections(kernel.as_ref(), reader),
        }
    }

    /// The same kernel in edition 5.
    pub(super) fn upgrade(&self, upgrade: &mut Upgrade) -> v5::BuildToml {
        let general = &self.general;
        let (version, license) = upgrade.defaults(&general.place, None, None);
        let sections = self.kernel.iter();
        let sections = sections.flat_map(|section| self.sections(section, upgrade));
        let mut sections: Vec<_> = sections.collect();
        // `relu-x` stands before `relu_rocm`, the second half of `relu`.
        sections.sort_by(|a, b| a.name.value.cmp(&b.name.value));
        let body = upgrade.body(
            &self.universal,
            self.torch.clone(),
            sections,
            &general.place,
        );
        v5::BuildToml {
            general: v5::General {
                name: upgrade.name(general.name.clone()),
                version,
                license,
                backends: body.backends,
                ..v5::General::default()
            },
            torch: body.torch,
            torch_noarch: body.torch_noarch,
            tvm_ffi: None,
            dependencies: Vec::new(),
            kernel: body.kernel,
        }
    }

    /// The sections of edition 5 that a section of v1 stands for.
    fn sections(&self, section: &SectionV1, upgrade: &mut Upgrade) -> Vec<section::WrittenSection> {
        let language = section.language.as_ref().map(|language| language.value);
        let place = match &section.language {
            Some(language) => language.place.clone(),
            None => section.name.place.clone(),
        };
        let section_for = |backend: WrittenBackend| section::WrittenSection {
            name: section.name.clone(),
            backend: (!section.unread).then(|| Spanned {
                value: backend,
                place: place.clone(),
            }),
            depends: section.depends.clone(),
            src: section.src.clone(),
            include: section.include.clone(),
            cxx_flags: None,
            lean_headers: None,
        };
        let cuda = section_for(WrittenBackend::Cuda {
            capabilities: section.cuda_capabilities.clone(),
            flags: None,
            minver: None,
        });
        let metal = language == Some(Language::Metal);
        let cuda_only = language != Some(Language::CudaHipify) && !section.unread;
        let ignored = [
            metal.then_some(&section.cuda_capabilities),
            cuda_only.then_some(&section.rocm_archs),
        ];
        for list in ignored.into_iter().flatten().flatten() {
            upgrade.ignored(&list.place, "sections in this language do not use it");
        }
        match language {
            None | Some(Language::Cuda) => vec![cuda],
            Some(Language::Metal) => vec![section_for(WrittenBackend::Metal)],
            Some(Language::CudaHipify) => {
                let mut rocm = section_for(WrittenBackend::Rocm {
                    archs: section.rocm_archs.clone(),
                    flags: None,
                });
                rocm.name.value.push_str("_rocm");
                // The other libraries are CUTLASS, which only the CUDA half can use.
                if let Some(depends) = &mut rocm.depends {
                    depends.value.retain(|d| d.value.is_torch());
                }
                if let Some(other) = self.kernel.iter().find(|s| s.name.value == rocm.name.value) {
                    upgrade.report(
                        Problem::error(
                            code::HIPIFY_NAME,
                            &other.name.place,
                            format!("there are two kernel sections `{}`", rocm.name.value),
                        )
                        .label("this one, and the ROCm half of another")
                        .related(&place, "stands for a section for CUDA and one for ROCm")
                        .help("rename this section"),
                    );
                }
                vec![cuda, rocm]
            }
        }
    }
}

fn read_sections(value: Option<&Value<'_>>, reader: &Reader) -> Vec<SectionV1> {
    let Some(table) = value.and_then(|value| value.table(reader)) else {
        return Vec::new();
    };
    let section = |(name, value): (Spanned<String>, Value<'_>)| {
        value.read_table(reader, |table| SectionV1::read(name, table))
    };
    table.entries().filter_map(section).collect()
}

impl SectionV1 {
    fn read(name: Spanned<String>, table: &mut TomlTable<'_, '_>) -> Self {
        let language = table.optional("language");
        Self {
            name,
            unread: language.is_none() && table.has_key("language"),
            language,
            depends: read_depends::<OldDependency>(table),
            src: read_src(table),
            include: table.optional("include"),
            cuda_capabilities: table.optional("cuda-capabilities"),
            rocm_archs: table.optional("rocm-archs"),
        }
    }
}
