//! Translation units of a variant, grouped by what they have in common: the binding, and each active section.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexSet;
use serde::Serialize;

use super::device::DeviceArch;
use super::flags::Asked;
use super::split::{self, Split};
use super::{VariantPlan, device, flags};
use crate::kernel::{Backend, Dependency, Kernel, Language, Section, SectionBackend};
use crate::matrix::{Compilation, Matrix, Row, Table, Toolchain, clang, openmp};
use crate::scan::search::folders;
use crate::scan::{Namespace, Operators, Search};

/// Units that search the same folders for headers.
#[derive(Clone, Debug, Serialize)]
pub struct Component {
    /// The framework's name for the binding, else the section's.
    pub name: String,
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    /// Every header that its units reach.
    #[serde(skip)]
    pub headers: BTreeSet<String>,
    /// Those that only this variant has.
    pub units: Vec<UnitGroup>,
    /// The others, as places in `Plan::objects`.
    pub shared: Vec<usize>,
    /// Architectures of its device code, in order.
    #[serde(skip)]
    pub archs: Vec<DeviceArch>,
    /// Whether its flags name more of them.
    #[serde(skip)]
    pub more_archs: bool,
    /// Whether its flags ask for OpenMP.
    #[serde(skip)]
    pub openmp: bool,
    /// The namespaces in which its units define operators.
    #[serde(skip)]
    pub operators: Operators,
}

/// Units that know nothing of the framework's release, and so are the same in several variants.
#[derive(Clone, Debug, Serialize)]
pub struct Objects {
    pub system: String,
    /// What compiles them, by role.
    pub toolchain: Toolchain,
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    pub units: UnitGroup,
}

/// Moves units that variants may share to where each is once.
pub(super) fn share(variants: &mut [VariantPlan]) -> Vec<Objects> {
    let mut objects: Vec<Objects> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for variant in variants {
        let toolchain = variant.toolchain.without_framework();
        for component in &mut variant.components {
            let (shared, own) = std::mem::take(&mut component.units)
                .into_iter()
                .partition(|units| !units.framework && units.namespace != Namespace::Compiled);
            component.units = own;
            for units in shared {
                let units = Objects {
                    system: variant.system.clone(),
                    toolchain: toolchain.clone(),
                    include: component.include.clone(),
                    units,
                };
                let at = *known.entry(format!("{units:?}")).or_insert(objects.len());
                if at == objects.len() {
                    objects.push(units);
                }
                component.shared.push(at);
            }
        }
    }
    objects
}

/// Units that are compiled alike.
#[derive(Clone, Debug, Serialize)]
pub struct UnitGroup {
    pub driver: Driver,
    pub namespace: Namespace,
    /// Whether they reach headers of the framework or of Python. If they do not, an object serves all releases of it.
    pub framework: bool,
    /// Whether they ask Nix for a machine with `big-parallel` (docs/distribution.md has the rule).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub heavy: bool,
    /// Pin families of libraries of headers, from `depends`.
    #[serde(rename = "headerLibraries", skip_serializing_if = "Vec::is_empty")]
    pub header_families: Vec<String>,
    /// Names of archives of headers that build.toml describes: keys of [`Plan::archives`](super::Plan::archives).
    #[serde(rename = "headerArchives", skip_serializing_if = "Vec::is_empty")]
    pub header_archives: Vec<String>,
    pub flags: Vec<String>,
    /// If units are compiled for each architecture apart: what is not in `flags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub sources: Vec<String>,
}

impl UnitGroup {
    /// Whether device code is compiled with headers of the framework: with torch's, that takes some 80 times as long.
    pub fn is_slow(&self) -> bool {
        let device = matches!(self.driver, Driver::Nvcc | Driver::Clang | Driver::Hip);
        device && self.framework
    }
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
    /// ROCm's clang, which gets CUDA sources translated by hipify.
    #[serde(rename = "hip")]
    Hip,
    #[serde(rename = "icx")]
    Icx,
    #[serde(rename = "icpx")]
    Icpx,
    /// Xcode's clang for C.
    #[serde(rename = "apple-clang")]
    AppleClang,
    /// Xcode's clang for C++ and Objective-C++.
    #[serde(rename = "apple-clang++")]
    AppleClangxx,
    /// Xcode's compiler of shaders.
    #[serde(rename = "metal")]
    Metal,
}

impl Driver {
    /// The driver for a language in the builds of a row.
    fn of(row: &Row, language: Language) -> Self {
        match language {
            Language::Metal => Driver::Metal,
            Language::ObjectiveCxx => Driver::AppleClangxx,
            Language::Hip => Driver::Hip,
            Language::Cuda if row.backend == Backend::Rocm => Driver::Hip,
            Language::Cuda if row.toolchain.clang.is_some() => Driver::Clang,
            Language::Cuda => Driver::Nvcc,
            Language::C | Language::Cxx => match (Self::linker(row), language) {
                (Driver::AppleClangxx, Language::C) => Driver::AppleClang,
                (Driver::Icpx, Language::C) => Driver::Icx,
                (_, Language::C) => Driver::Gcc,
                (driver, _) => driver,
            },
        }
    }

    /// The driver that links the libraries of a row, which is the one that compiles its C++.
    pub(super) fn linker(row: &Row) -> Self {
        if row.system.ends_with("-darwin") {
            Driver::AppleClangxx
        } else if row.backend == Backend::Xpu {
            Driver::Icpx
        } else {
            Driver::Gxx
        }
    }
}

pub(super) fn components(
    kernel: &Kernel,
    compilation: &Compilation,
    matrix: &Matrix,
    table: &Table,
    searches: &[Search],
    notes: &mut Vec<String>,
) -> Vec<Component> {
    let row = &compilation.row;
    let context = Context {
        kernel,
        compilation,
        with_framework: Asked::by_framework(row, table),
        without: Asked::by_nobody(row, matrix, table),
        searches,
    };
    let mut components = Vec::new();
    let active: Vec<_> = kernel
        .sections
        .iter()
        .filter(|section| section.backend.backend() == row.backend)
        .collect();

    // A binding may hold device code of its own: it gets what the sections get.
    let mut all = BTreeSet::new();
    let mut sections = Vec::new();
    for section in active {
        if let (SectionBackend::Cuda { targets, .. }, Some(toolkit)) =
            (&section.backend, &row.compute)
        {
            let left_out = targets.iter().filter(|target| !target.is_active(toolkit));
            let minvers: Vec<_> = left_out
                .filter_map(|target| Some((&target.section, target.minver.as_ref()?)))
                .collect();
            notes.extend(minvers.iter().map(|(name, minver)| {
                format!("CUDA {toolkit}: kernel.{name} is left out: its cuda-minver is {minver}")
            }));
            if minvers.len() == targets.len() {
                continue;
            }
        }
        let archs = device::archs(section, row, table, notes);
        all.extend(archs.iter().copied());
        let device_flags = context.device_flags(section, notes);
        sections.push((section, archs, device_flags));
    }
    components.push(context.component(
        kernel.framework.name(),
        kernel.framework.include(),
        kernel.framework.units(),
        &Own {
            cxx: kernel.framework.cxx_flags(),
            header_families: compilation.header_families.iter().cloned().collect(),
            header_archives: compilation.header_archives.keys().cloned().collect(),
            ..Own::default()
        },
        all.into_iter().collect(),
    ));
    for (section, archs, device_flags) in sections {
        components.push(context.component(
            &section.name,
            &section.include,
            section.units(),
            &Own {
                cxx: &section.cxx_flags,
                device: &device_flags,
                sycl: row.backend == Backend::Xpu,
                header_families: context.header_families(section, table),
                header_archives: context.header_archives(section),
            },
            archs,
        ));
    }
    components
}

struct Context<'a> {
    kernel: &'a Kernel,
    compilation: &'a Compilation,
    with_framework: Asked,
    without: Asked,
    searches: &'a [Search],
}

/// What build.toml adds to the flags of a component.
#[derive(Default)]
struct Own<'a> {
    /// For C++.
    cxx: &'a [String],
    /// For device code.
    device: &'a [String],
    /// Whether its C++ is SYCL, and so device code too.
    sycl: bool,
    /// Pin families of libraries of headers, in the order in which they are searched.
    header_families: Vec<String>,
    /// Names of archives of headers, likewise.
    header_archives: Vec<String>,
}

/// The names that a section has itself, then all others.
fn own_first<'a>(
    own: impl Iterator<Item = &'a str>,
    all: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let names: IndexSet<&str> = own.chain(all.map(String::as_str)).collect();
    names.into_iter().map(str::to_owned).collect()
}

impl Context<'_> {
    fn component<'a>(
        &self,
        name: &str,
        include: &[Utf8PathBuf],
        units: impl Iterator<Item = (&'a Utf8Path, Language)>,
        own: &Own<'_>,
        archs: Vec<DeviceArch>,
    ) -> Component {
        let include = folders(self.kernel, include);
        let include: Vec<String> = include.iter().map(ToString::to_string).collect();
        let mut searches = self.searches.iter();
        let search = searches.find(|search| search.include == include);
        let mut headers: BTreeSet<&String> = BTreeSet::new();
        let mut groups: BTreeMap<_, UnitGroup> = BTreeMap::new();
        let mut operators = Operators::default();
        for (source, language) in units {
            let reach = search.and_then(|search| search.reach(source));
            let namespace = reach.map_or(Namespace::None, |reach| reach.namespace);
            headers.extend(reach.iter().flat_map(|reach| &reach.headers));
            if let Some(reach) = reach {
                operators.merge(&reach.operators);
            }
            let driver = Driver::of(&self.compilation.row, language);
            // torch brings what translates CUDA sources.
            let translated = driver == Driver::Hip && language == Language::Cuda;
            // Nobody has read the headers of an archive: they may include the framework's.
            let unread = !own.header_archives.is_empty();
            // torch has the omp.h that Xcode lacks.
            let has_omp_h = driver == Driver::AppleClangxx && openmp::is_asked_for(own.cxx);
            let reads = reach.is_none_or(|reach| reach.framework);
            let framework = translated || unread || has_omp_h || reads;
            let libraries = reach.is_none_or(|reach| reach.libraries);
            let heavy = match driver {
                Driver::Nvcc | Driver::Clang => framework || libraries,
                // ROCm's own headers are in folders, like those of libraries.
                Driver::Hip => reach.is_none_or(|reach| reach.framework),
                _ => false,
            };
            let depends = libraries || reach.is_none_or(|reach| reach.arch);
            let mut split = split::split(driver, own.device, &archs, depends);
            let lists_archs = split.is_some() && libraries;
            let key = (
                driver,
                namespace,
                framework,
                heavy,
                split.as_ref().map(|split| split.host.clone()),
                lists_archs,
            );
            let group = groups.entry(key).or_insert_with(|| {
                if let Some(split) = split.as_mut().filter(|_| lists_archs) {
                    split.arch_list = Some(split::arch_list(&archs));
                }
                let in_flags = if split.is_some() { &[] } else { &archs[..] };
                let flags = self.flags(driver, framework, own, in_flags);
                UnitGroup {
                    driver,
                    namespace,
                    framework,
                    heavy,
                    header_families: own.header_families.clone(),
                    header_archives: own.header_archives.clone(),
                    flags,
                    split,
                    sources: Vec::new(),
                }
            });
            group.sources.push(source.to_string());
        }
        operators.expand(|name| {
            own.cxx
                .iter()
                .chain(own.device)
                .any(|flag| defines(flag, name))
        });
        Component {
            operators,
            name: name.to_owned(),
            include,
            headers: headers.into_iter().cloned().collect(),
            units: groups.into_values().collect(),
            shared: Vec::new(),
            archs,
            more_archs: device::name_archs(own.device),
            openmp: openmp::is_asked_for(own.cxx) || openmp::is_asked_for(own.device),
        }
    }

    /// The libraries of headers that a section names, then those that other sections of the backend name: the reference's
    /// CMake project lets every file of the kernel include both.
    fn header_families(&self, section: &Section, table: &Table) -> Vec<String> {
        let named = section.depends.iter().filter_map(|name| match name {
            Dependency::Known(known) => table
                .header_library(*known, &self.compilation.row)?
                .family()
                .ok(),
            Dependency::Own(_) => None,
        });
        own_first(named, self.compilation.header_families.iter())
    }

    /// The archives of headers that a section names, then those of other sections of the backend.
    fn header_archives(&self, section: &Section) -> Vec<String> {
        let named = section.depends.iter().filter_map(|name| match name {
            Dependency::Known(_) => None,
            Dependency::Own(name) => Some(name.as_str()),
        });
        own_first(named, self.compilation.header_archives.keys())
    }

    /// A section's flags for its device code, as the compiler of the variant takes them. The matrix leaves out variants
    /// whose compiler has nothing for one of them.
    fn device_flags(&self, section: &Section, notes: &mut Vec<String>) -> Vec<String> {
        let flags = section.backend.flags();
        let row = &self.compilation.row;
        let by_clang = row.toolchain.clang.is_some();
        let Some(toolkit) = row.compute.as_ref().filter(|_| by_clang) else {
            return flags.to_vec();
        };
        let translated = clang::translate(flags);
        if !translated.left_out.is_empty() {
            notes.push(format!(
                "CUDA {toolkit}: kernel.{} is compiled without {}, which clang has nothing for",
                section.written_name,
                translated.left_out.join(", ")
            ));
        }
        translated.flags
    }

    /// The flags of a driver, then those of build.toml.
    fn flags(
        &self,
        driver: Driver,
        framework: bool,
        own: &Own<'_>,
        archs: &[DeviceArch],
    ) -> Vec<String> {
        let compilation = self.compilation;
        let asked = if framework {
            &self.with_framework
        } else {
            &self.without
        };
        let mut flags = match driver {
            Driver::Gcc | Driver::Icx => flags::c(compilation, asked),
            Driver::Gxx => flags::cxx(compilation, asked),
            Driver::Nvcc => flags::nvcc(compilation, asked, archs),
            Driver::Clang => flags::clang(compilation, asked, archs),
            Driver::Hip => flags::hip(compilation, asked, archs),
            Driver::Icpx => flags::icpx(compilation, asked),
            Driver::AppleClang | Driver::AppleClangxx => {
                flags::apple(compilation, asked, driver, self.kernel)
            }
            Driver::Metal => flags::metal(),
        };
        match driver {
            Driver::Gxx => flags.extend_from_slice(own.cxx),
            Driver::AppleClangxx => {
                flags.extend(own.cxx.iter().flat_map(|flag| openmp::of_apple(flag)));
            }
            Driver::Nvcc | Driver::Clang | Driver::Hip => flags.extend_from_slice(own.device),
            Driver::Icpx => {
                flags.extend_from_slice(own.cxx);
                if own.sycl {
                    flags.extend(flags::SYCL.map(str::to_owned));
                    flags.extend_from_slice(own.device);
                }
            }
            Driver::Gcc | Driver::Icx | Driver::AppleClang | Driver::Metal => {}
        }
        flags
    }
}

/// Whether a flag may define a macro: `-DNAME=value`, or `NAME=value` behind `-D`.
fn defines(flag: &str, name: &str) -> bool {
    let macro_name = flag.strip_prefix("-D").unwrap_or(flag);
    macro_name.split('=').next() == Some(name)
}
