//! CMakeLists.txt: the sources of a kernel, grouped as its plan groups them, with the facts that do
//! not follow from the release table.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::releases::driver_name;
use super::{ProjectError, quote_words};
use crate::kernel::{Backend, Dependency, Kernel};
use crate::matrix::clang;
use crate::plan::{Component, Driver, Plan, SourceKind, UnitGroup, VariantPlan};
use crate::scan::Namespace;
use crate::version::Version;

/// The parts of CMakeLists.txt.
#[derive(Debug, Serialize)]
pub struct CmakeLists {
    generated: &'static str,
    /// The name of the Python package.
    package: String,
    /// CMake's names of the languages of host code.
    languages: Vec<&'static str>,
    framework: &'static str,
    backends: Vec<&'static str>,
    python_backends: Vec<&'static str>,
    /// Bounds of build.toml; empty if there is none.
    framework_minver: String,
    framework_maxver: String,
    cuda_minver: String,
    cuda_maxver: String,
    stable_abi: BTreeMap<&'static str, StableAbiText>,
    /// `<backend><toolkit>=<C++ standard>`
    standards: Vec<String>,
    headers: Vec<HeadersOfLibrary>,
    units: Vec<UnitsText>,
}

#[derive(Debug, Serialize)]
struct StableAbiText {
    version: String,
    defines: String,
}

/// A library of headers that sections name in `depends`.
#[derive(Debug, Serialize)]
struct HeadersOfLibrary {
    name: String,
    sha256: Option<String>,
    include: Vec<String>,
    urls: Vec<String>,
}

/// Sources that are compiled alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct UnitsText {
    title: String,
    /// The name of the CMake target.
    target: String,
    backends: Vec<&'static str>,
    framework: bool,
    /// Whether they may get lean headers of torch.
    lean: bool,
    namespace: bool,
    sources: Vec<String>,
    include: Vec<String>,
    /// Names of libraries of headers.
    headers: Vec<String>,
    /// `<toolkits>=<architectures>`
    archs: Vec<String>,
    flags: Vec<FlagsOfDriver>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct FlagsOfDriver {
    driver: String,
    words: String,
}

impl CmakeLists {
    /// The lists of a kernel.
    ///
    /// # Errors
    /// `ProjectError` for names that CMake cannot hold.
    pub fn new(kernel: &Kernel, plan: &Plan) -> Result<Self, ProjectError> {
        let variants: Vec<&VariantPlan> = plan.variants.iter().collect();
        let backends: BTreeSet<Backend> = variants.iter().map(|own| own.row.backend).collect();
        let bounds = kernel.framework.torch().map(|torch| &torch.bounds);
        let text = |version: Option<&Version>| version.map(ToString::to_string).unwrap_or_default();
        let lists = Self {
            generated: super::GENERATED,
            package: kernel.name.python_name(),
            languages: languages(&variants),
            framework: kernel.framework.name(),
            backends: backends.iter().map(|backend| backend.as_str()).collect(),
            python_backends: plan
                .noarch
                .iter()
                .map(|own| own.metadata.backend.r#type)
                .collect(),
            framework_minver: text(bounds.and_then(|bounds| bounds.minver.as_ref())),
            framework_maxver: text(bounds.and_then(|bounds| bounds.maxver.as_ref())),
            cuda_minver: text(kernel.cuda.minver.as_ref()),
            cuda_maxver: text(kernel.cuda.maxver.as_ref()),
            stable_abi: stable_abi(kernel, &variants),
            standards: standards(&variants),
            headers: headers(kernel, &backends),
            units: units(kernel, &variants, &backends),
        };
        lists.check()?;
        Ok(lists)
    }

    /// Whether some units may get lean headers of torch, which lean.cmake gives for these backends.
    pub fn has_lean_units(&self) -> bool {
        let is_for = |backend: &&str| ["cpu", "cuda"].contains(backend);
        let mut units = self.units.iter();
        units.any(|units| units.lean && units.backends.iter().any(is_for))
    }

    /// Checks that CMake can hold every path and every flag.
    fn check(&self) -> Result<(), ProjectError> {
        // NB: CMake's lists and Ninja's files have no way to quote these characters in the name of
        // a file.
        const SPECIAL: [char; 9] = [';', '[', ']', '"', '\\', '<', '>', '\'', '$'];
        for units in &self.units {
            let paths = units.sources.iter().chain(&units.include);
            if let Some(path) = paths.into_iter().find(|path| path.contains(SPECIAL)) {
                return Err(ProjectError::Path { path: path.clone() });
            }
            let flags = units.flags.iter();
            if let Some(own) = flags
                .into_iter()
                .find(|own| own.words.contains(char::is_control))
            {
                return Err(ProjectError::Flag {
                    target: units.target.clone(),
                    words: own.words.clone(),
                });
            }
        }
        Ok(())
    }
}

/// C++, and C if some source is written in it.
fn languages(variants: &[&VariantPlan]) -> Vec<&'static str> {
    let components = variants.iter().flat_map(|variant| &variant.components);
    let mut groups = components.flat_map(|component| &component.units);
    match groups.any(|group| group.kind == SourceKind::C) {
        true => vec!["CXX", "C"],
        false => vec!["CXX"],
    }
}

fn stable_abi(kernel: &Kernel, variants: &[&VariantPlan]) -> BTreeMap<&'static str, StableAbiText> {
    let torch = kernel.framework.torch();
    let abis = torch.iter().flat_map(|torch| &torch.stable_abi);
    abis.filter_map(|(backend, version)| {
        let variant = variants.iter().find(|own| own.row.backend == *backend)?;
        let abi = StableAbiText {
            version: version.to_string(),
            defines: quote_words(&variant.defines),
        };
        Some((backend.as_str(), abi))
    })
    .collect()
}

/// The C++ standards of files without headers of the framework.
fn standards(variants: &[&VariantPlan]) -> Vec<String> {
    let mut standards: BTreeMap<String, u32> = BTreeMap::new();
    for variant in variants {
        let toolkit = variant.row.compute.as_ref().map(ToString::to_string);
        let key = format!("{}{}", variant.row.backend, toolkit.unwrap_or_default());
        let standard = standards.entry(key).or_insert(variant.standard);
        *standard = variant.standard.min(*standard);
    }
    let entries = standards.into_iter();
    entries
        .map(|(key, standard)| format!("{key}={standard}"))
        .collect()
}

/// The libraries of headers that sections of some backends name, each once.
fn headers(kernel: &Kernel, backends: &BTreeSet<Backend>) -> Vec<HeadersOfLibrary> {
    let names: BTreeSet<&Dependency> = backends
        .iter()
        .flat_map(|backend| names_of_headers(kernel, *backend))
        .collect();
    let library = |dependency: &Dependency| match dependency {
        Dependency::Known(known) => HeadersOfLibrary {
            name: known.as_str().to_owned(),
            sha256: None,
            include: ["include", "tools/util/include"]
                .map(str::to_owned)
                .to_vec(),
            urls: Vec::new(),
        },
        Dependency::Own(name) => {
            let headers = kernel.header_archives.get(name);
            HeadersOfLibrary {
                name: name.clone(),
                sha256: headers.map(|headers| headers.archive.sha256.clone()),
                include: headers
                    .map(|headers| headers.include.clone())
                    .unwrap_or_default(),
                urls: headers
                    .map(|headers| headers.archive.urls.clone())
                    .unwrap_or_default(),
            }
        }
    };
    names.into_iter().map(library).collect()
}

/// The libraries of headers that sections of a backend name.
fn names_of_headers(kernel: &Kernel, backend: Backend) -> impl Iterator<Item = &Dependency> {
    let sections = kernel.sections.iter();
    let sections = sections.filter(move |section| section.backend.backend() == backend);
    let is_library = |name: &&Dependency| !name.is_torch();
    sections
        .flat_map(|section| &section.depends)
        .filter(is_library)
}

/// The units of all components: the binding's, then those of the sections in their order.
fn units(
    kernel: &Kernel,
    variants: &[&VariantPlan],
    backends: &BTreeSet<Backend>,
) -> Vec<UnitsText> {
    let mut binding: Vec<(UnitsText, Vec<&'static str>)> = Vec::new();
    let mut sections = binding.clone();
    for backend in backends {
        let of_backend = variants.iter().filter(|own| own.row.backend == *backend);
        let of_backend: Vec<&VariantPlan> = of_backend.copied().collect();
        // NB: a section may be left out of some variants.
        let all = of_backend.iter().flat_map(|variant| &variant.components);
        let components: IndexMap<&str, &Component> =
            all.rev().map(|own| (own.name.as_str(), own)).collect();
        for component in components.into_values().rev() {
            let units = match component.backend {
                None => &mut binding,
                Some(_) => &mut sections,
            };
            for group in &component.units {
                let text = units_text(kernel, *backend, component, group, &of_backend);
                // Backends whose units differ in nothing share them.
                match units.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, backends)) => backends.push(backend.as_str()),
                    None => units.push((text, vec![backend.as_str()])),
                }
            }
        }
    }
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let all = binding.into_iter().chain(sections);
    all.map(|(mut units, backends)| {
        units.backends = backends;
        let number = used.entry(units.target.clone()).or_default();
        *number += 1;
        if *number > 1 {
            units.target = format!("{}-{number}", units.target);
        }
        units
    })
    .collect()
}

/// The text of a group of units, without its backends.
fn units_text(
    kernel: &Kernel,
    backend: Backend,
    component: &Component,
    group: &UnitGroup,
    variants: &[&VariantPlan],
) -> UnitsText {
    let title = match component.backend {
        None => format!("The binding: [{}] of build.toml.", component.name),
        Some(_) => format!("[kernel.{}] of build.toml.", component.name),
    };
    let mut toolkits: BTreeMap<&Version, Option<String>> = BTreeMap::new();
    for variant in variants {
        let mut components = variant.components.iter();
        let own = components.find(|own| own.name == component.name);
        if let Some(toolkit) = &variant.row.compute {
            let archs = own.map(|own| own.archs.iter().map(ToString::to_string));
            let words = archs.map(|archs| archs.collect::<Vec<_>>().join(" "));
            toolkits.insert(toolkit, words);
        }
    }
    // Host code of a section that every toolkit compiles needs no architectures.
    let is_everywhere = toolkits.values().all(Option::is_some);
    let mut archs: IndexMap<String, Vec<String>> = IndexMap::new();
    if group.kind == SourceKind::Device || !is_everywhere {
        for (toolkit, words) in toolkits {
            if let Some(words) = words {
                archs.entry(words).or_default().push(toolkit.to_string());
            }
        }
    }
    let own_headers = kernel
        .sections
        .iter()
        .filter(|own| own.name == component.name);
    let own_headers = own_headers.flat_map(|section| &section.depends);
    let own_headers = own_headers.filter(|name| !name.is_torch());
    let headers: IndexSet<&str> = own_headers
        .chain(names_of_headers(kernel, backend))
        .map(Dependency::as_str)
        .collect();
    UnitsText {
        title,
        target: format!("kernel_{}", component.name),
        backends: Vec::new(),
        framework: group.framework,
        lean: group.framework && group.lean_headers && kernel.framework.torch().is_some(),
        namespace: group.namespace != Namespace::None,
        sources: group.sources.clone(),
        include: component.include.clone(),
        headers: headers.into_iter().map(str::to_owned).collect(),
        archs: archs
            .into_iter()
            .map(|(words, toolkits)| format!("{}={words}", toolkits.join(" ")))
            .collect(),
        flags: flags(kernel, backend, component, group, variants),
    }
}

/// The flags of build.toml for the drivers that may compile a group of units.
fn flags(
    kernel: &Kernel,
    backend: Backend,
    component: &Component,
    group: &UnitGroup,
    variants: &[&VariantPlan],
) -> Vec<FlagsOfDriver> {
    let mut by_driver: BTreeMap<Driver, Vec<String>> = BTreeMap::new();
    if group.kind == SourceKind::Device && backend == Backend::Cuda {
        // nvcc may compile for toolkits that clang compiles for in our own builds.
        let mut sections = kernel.sections.iter();
        let section =
            sections.find(|own| component.backend.is_some() && own.name == component.name);
        let written = section.map_or(&[][..], |section| section.backend.flags());
        by_driver.insert(Driver::Nvcc, written.to_vec());
        by_driver.insert(Driver::Clang, clang::translate(written).flags);
    } else {
        let components = variants.iter().flat_map(|variant| &variant.components);
        for own in components.filter(|own| own.name == component.name) {
            let same = own.units.iter().filter(|other| other.kind == group.kind);
            for driver in same.map(|other| other.driver) {
                let flags = own.own_flags.get(&driver).cloned().unwrap_or_default();
                by_driver.insert(driver, flags);
            }
        }
    }
    let written = by_driver.into_iter().filter(|(_, flags)| !flags.is_empty());
    written
        .map(|(driver, flags)| FlagsOfDriver {
            driver: driver_name(driver),
            words: quote_words(&flags),
        })
        .collect()
}
