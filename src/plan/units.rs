//! Translation units of a variant, grouped by what they have in common: the binding, and each active section.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::headers::Headers;
use super::{Namespace, PlanError, flags};
use crate::kernel::{Capability, Kernel, Language, SectionBackend};
use crate::matrix::clang;
use crate::matrix::table::knows;
use crate::matrix::{Row, Table, Variant};
use crate::version::Version;

/// Units that see the same headers.
#[derive(Clone, Debug, Serialize)]
pub struct Component {
    /// The framework's name for the binding, else the section's.
    pub name: String,
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    /// Every header that its units can see, sorted.
    pub headers: Vec<String>,
    pub units: Vec<UnitGroup>,
    /// Architectures of its device code, in order.
    #[serde(skip)]
    pub capabilities: Vec<Capability>,
}

/// Units that are compiled alike.
#[derive(Clone, Debug, Serialize)]
pub struct UnitGroup {
    pub driver: Driver,
    pub namespace: Namespace,
    pub flags: Vec<String>,
    pub sources: Vec<String>,
}

/// Which compiler driver turns a source into an object.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Driver {
    #[serde(rename = "gcc")]
    Gcc,
    #[serde(rename = "g++")]
    Gxx,
    #[serde(rename = "nvcc")]
    Nvcc,
    /// Of CUDA sources alone.
    #[serde(rename = "clang")]
    Clang,
}

pub(super) fn components(
    kernel: &Kernel,
    variant: &Variant,
    row: &Row,
    table: &Table,
    headers: &Headers,
    notes: &mut Vec<String>,
) -> Result<Vec<Component>, PlanError> {
    let context = Context {
        kernel,
        variant,
        row,
        table,
        headers,
    };
    let mut components = Vec::new();
    let active: Vec<_> = kernel
        .sections
        .iter()
        .filter(|section| section.backend.backend() == variant.backend)
        .collect();

    // A binding may hold device code of its own: it gets what the sections get.
    let mut capabilities = BTreeSet::new();
    let mut sections = Vec::new();
    for section in active {
        let (own, own_flags) = match &section.backend {
            SectionBackend::Cpu | SectionBackend::Metal => (Vec::new(), &[][..]),
            SectionBackend::Rocm { flags, .. } | SectionBackend::Xpu { flags } => {
                (Vec::new(), &flags[..])
            }
            SectionBackend::Cuda {
                capabilities: asked,
                flags,
                minver,
            } => {
                let toolkit = row.compute.as_ref();
                if let (Some(minver), Some(toolkit)) = (minver, toolkit)
                    && toolkit < minver
                {
                    notes.push(format!(
                        "CUDA {toolkit}: kernel.{} is left out: its cuda-minver is {minver}",
                        section.name
                    ));
                    continue;
                }
                let own = match toolkit {
                    Some(toolkit) => context.capabilities(&section.name, asked, toolkit, notes),
                    None => Vec::new(),
                };
                (own, &flags[..])
            }
        };
        capabilities.extend(own.iter().copied());
        let own_flags = context.device_flags(&section.name, own_flags, notes);
        sections.push((section, own, own_flags));
    }
    let all: Vec<Capability> = capabilities.into_iter().collect();
    components.push(context.component(
        kernel.framework.name(),
        kernel.framework.include(),
        kernel.framework.units(),
        kernel.framework.cxx_flags(),
        &[],
        all,
    )?);
    for (section, own, own_flags) in sections {
        components.push(context.component(
            &section.name,
            &section.include,
            section.units(),
            &section.cxx_flags,
            &own_flags,
            own,
        )?);
    }
    Ok(components)
}

struct Context<'a> {
    kernel: &'a Kernel,
    variant: &'a Variant,
    row: &'a Row,
    table: &'a Table,
    headers: &'a Headers,
}

impl Context<'_> {
    fn component<'a>(
        &self,
        name: &str,
        include: &[Utf8PathBuf],
        units: impl Iterator<Item = (&'a Utf8Path, Language)>,
        cxx_flags: &[String],
        device_flags: &[String],
        capabilities: Vec<Capability>,
    ) -> Result<Component, PlanError> {
        let mut include = include.to_vec();
        // Authors rely on it: the reference's CMake project always searches this folder.
        let csrc = Utf8PathBuf::from("csrc");
        if self.kernel.root.join(&csrc).is_dir() && !include.contains(&csrc) {
            include.push(csrc);
        }
        let visible = self.headers.visible(&include)?;
        let mut of_headers = Namespace::None;
        for header in &visible {
            of_headers = of_headers.max(self.headers.namespace(header)?);
        }

        let clang = self.row.toolchain.contains_key("clang");
        let mut groups: BTreeMap<(Driver, Namespace), UnitGroup> = BTreeMap::new();
        for (source, language) in units {
            let namespace = self.headers.namespace(source)?.max(of_headers);
            let driver = match language {
                Language::Cuda if clang => Driver::Clang,
                Language::Cuda => Driver::Nvcc,
                Language::C => Driver::Gcc,
                _ => Driver::Gxx,
            };
            let group = groups.entry((driver, namespace)).or_insert_with(|| {
                let (mut flags, own) = match driver {
                    Driver::Gcc => (flags::c(self.variant, self.row, self.table), &[][..]),
                    Driver::Gxx => (flags::cxx(self.variant, self.row, self.table), cxx_flags),
                    Driver::Nvcc => (
                        flags::nvcc(self.variant, self.row, self.table, &capabilities),
                        device_flags,
                    ),
                    Driver::Clang => (
                        flags::clang(self.variant, self.row, self.table, &capabilities),
                        device_flags,
                    ),
                };
                flags.extend(own.iter().cloned());
                UnitGroup {
                    driver,
                    namespace,
                    flags,
                    sources: Vec::new(),
                }
            });
            group.sources.push(source.to_string());
        }
        Ok(Component {
            name: name.to_owned(),
            include: include.into_iter().map(Utf8PathBuf::into_string).collect(),
            headers: visible.into_iter().map(Utf8PathBuf::into_string).collect(),
            units: groups.into_values().collect(),
            capabilities,
        })
    }

    /// A section's flags for its device code, as the compiler of the variant takes them. The matrix leaves out variants
    /// whose compiler has nothing for one of them.
    fn device_flags(
        &self,
        section: &str,
        flags: &[String],
        notes: &mut Vec<String>,
    ) -> Vec<String> {
        let clang = self.row.toolchain.contains_key("clang");
        let Some(toolkit) = self.row.compute.as_ref().filter(|_| clang) else {
            return flags.to_vec();
        };
        let translated = clang::translate(flags);
        if !translated.left_out.is_empty() {
            notes.push(format!(
                "CUDA {toolkit}: kernel.{section} is compiled without {}, which clang has nothing for",
                translated.left_out.join(", ")
            ));
        }
        translated.flags
    }

    /// The capabilities that a section is compiled for with a toolkit: those it asks for, or the toolkit's default. The
    /// matrix leaves out toolkits that compile none of them.
    fn capabilities(
        &self,
        section: &str,
        asked: &[Capability],
        toolkit: &Version,
        notes: &mut Vec<String>,
    ) -> Vec<Capability> {
        let Some(facts) = self.table.cuda(toolkit) else {
            return asked.to_vec();
        };
        if asked.is_empty() {
            return facts.default.clone();
        }
        let (kept, dropped): (Vec<Capability>, Vec<Capability>) = asked
            .iter()
            .partition(|capability| knows(&facts.known, capability));
        if !dropped.is_empty() {
            let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "CUDA {toolkit}: kernel.{section} is not compiled for {}, which it does not know",
                dropped.join(", ")
            ));
        }
        kept
    }
}
