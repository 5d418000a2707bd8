//! Translation units of a variant, grouped by what they have in common: the binding, and each active section.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexSet;
use serde::Serialize;

use super::device::DeviceArch;
use super::flags::{HeaderDemands, stable_abi_defines};
use super::split::{self, Split};
use super::{device, flags};
use crate::kernel::{Backend, Dependency, Kernel, Language, Section, SectionBackend};
use crate::matrix::{Compilation, Matrix, Row, Table, clang, openmp};
use crate::scan::search::folders;
use crate::scan::{Namespace, Operators, Search};

/// Units that search the same folders for headers.
#[derive(Clone, Debug, Serialize)]
pub struct Component {
    /// The framework's name for the binding, else the section's.
    pub name: String,
    /// The backend of its section; `None` for the binding, which every backend has.
    #[serde(skip)]
    pub backend: Option<Backend>,
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    /// Every header that its units reach.
    #[serde(skip)]
    pub headers: BTreeSet<String>,
    pub units: Vec<UnitGroup>,
    /// Flags of build.toml for each driver that compiles some of its units.
    #[serde(skip)]
    pub own_flags: BTreeMap<Driver, Vec<String>>,
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
    #[serde(skip)]
    pub kind: SourceKind,
    /// Whether device code may depend on the architecture that it is compiled for.
    #[serde(skip)]
    pub depends_on_arch: bool,
    /// Whether device code may look at the list of all architectures.
    #[serde(skip)]
    pub lists_archs: bool,
}

/// The kind of a source, which with a row decides about the driver.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    #[serde(rename = "c")]
    C,
    /// C++ and Objective-C++.
    #[serde(rename = "c++")]
    Cxx,
    /// CUDA and HIP.
    #[serde(rename = "device")]
    Device,
    /// Shaders.
    #[serde(rename = "metal")]
    Metal,
}

impl SourceKind {
    fn from_language(language: Language) -> Self {
        match language {
            Language::C => Self::C,
            Language::Cxx | Language::ObjectiveCxx => Self::Cxx,
            Language::Cuda | Language::Hip => Self::Device,
            Language::Metal => Self::Metal,
        }
    }
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
    /// The driver that compiles sources of a kind in the builds of a row.
    pub fn for_source(row: &Row, kind: SourceKind) -> Self {
        match (kind, Self::for_link(row)) {
            (SourceKind::Metal, _) => Driver::Metal,
            (SourceKind::Device, _) if row.backend == Backend::Rocm => Driver::Hip,
            (SourceKind::Device, _) if row.toolchain.clang.is_some() => Driver::Clang,
            (SourceKind::Device, _) => Driver::Nvcc,
            (SourceKind::C, Driver::AppleClangxx) => Driver::AppleClang,
            (SourceKind::C, Driver::Icpx) => Driver::Icx,
            (SourceKind::C, _) => Driver::Gcc,
            (SourceKind::Cxx, driver) => driver,
        }
    }

    /// The driver that links the libraries of a row, which is the one that compiles its C++.
    pub fn for_link(row: &Row) -> Self {
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
        with_framework: HeaderDemands::by_framework(row, table),
        without_framework: HeaderDemands::without_framework(row, matrix.rows(), table),
        defines: stable_abi_defines(compilation.stable_abi.as_ref()),
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
                backend: Some(row.backend),
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
    with_framework: HeaderDemands,
    without_framework: HeaderDemands,
    /// Flags that define macros of every unit.
    defines: Vec<String>,
    searches: &'a [Search],
}

/// What build.toml adds to the flags of a component.
#[derive(Default)]
struct Own<'a> {
    /// The backend of the section; `None` for the binding.
    backend: Option<Backend>,
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
        let row = &self.compilation.row;
        let mut own_flags = BTreeMap::new();
        let mut groups: BTreeMap<_, UnitGroup> = BTreeMap::new();
        let mut operators = Operators::default();
        for (source, language) in units {
            let reach = search.and_then(|search| search.reach(source));
            let namespace = reach.map_or(Namespace::None, |reach| reach.namespace);
            headers.extend(reach.iter().flat_map(|reach| &reach.headers));
            if let Some(reach) = reach {
                operators.merge(&reach.operators);
            }
            let kind = SourceKind::from_language(language);
            let driver = Driver::for_source(row, kind);
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
            let is_cuda = matches!(driver, Driver::Nvcc | Driver::Clang);
            let lists_archs = is_cuda && libraries;
            let depends_on_arch = is_cuda && (libraries || reach.is_none_or(|reach| reach.arch));
            let key = (
                kind,
                namespace,
                framework,
                heavy,
                depends_on_arch,
                lists_archs,
            );
            let group = groups.entry(key).or_insert_with(|| {
                let own_flags = own_flags
                    .entry(driver)
                    .or_insert_with(|| self.own_flags(driver, own));
                let mut split = split::split(driver, own_flags, &archs, depends_on_arch);
                if let Some(split) = split.as_mut().filter(|_| lists_archs) {
                    split.arch_list = Some(split::arch_list(&archs));
                }
                let demands = match framework {
                    true => &self.with_framework,
                    false => &self.without_framework,
                };
                let mut flags = match (kind, &split) {
                    (SourceKind::Device, None) => flags::architectures(driver, &archs),
                    _ => Vec::new(),
                };
                flags.extend_from_slice(own_flags);
                UnitGroup {
                    kind,
                    driver,
                    namespace,
                    framework,
                    heavy,
                    header_families: own.header_families.clone(),
                    header_archives: own.header_archives.clone(),
                    flags: flags::driver_flags(row, driver).unit(demands, &self.defines, &flags),
                    split,
                    sources: Vec::new(),
                    depends_on_arch,
                    lists_archs,
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
            backend: own.backend,
            include,
            headers: headers.into_iter().cloned().collect(),
            units: groups.into_values().collect(),
            own_flags,
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

    /// The flags of build.toml, as a driver takes them.
    fn own_flags(&self, driver: Driver, own: &Own<'_>) -> Vec<String> {
        match driver {
            Driver::Gxx => own.cxx.to_vec(),
            Driver::Nvcc | Driver::Clang | Driver::Hip => own.device.to_vec(),
            Driver::Icpx if own.sycl => {
                let sycl = flags::SYCL.map(str::to_owned);
                [own.cxx, &sycl[..], own.device].concat()
            }
            Driver::Icpx => own.cxx.to_vec(),
            Driver::AppleClang => self.metallib(),
            Driver::AppleClangxx => {
                let mut flags = self.metallib();
                flags.extend(own.cxx.iter().flat_map(|flag| openmp::of_apple(flag)));
                flags
            }
            Driver::Gcc | Driver::Icx | Driver::Metal => Vec::new(),
        }
    }

    /// Flags for code that loads the shaders of its kernel.
    fn metallib(&self) -> Vec<String> {
        let metal = self.compilation.row.backend == Backend::Metal;
        let mut sections = self.kernel.sections.iter().filter(|_| metal);
        let has_shader = |section: &Section| section.units().any(|unit| unit.1 == Language::Metal);
        match sections.any(has_shader) {
            true => flags::METALLIB.map(str::to_owned).to_vec(),
            false => Vec::new(),
        }
    }
}

/// Whether a flag may define a macro: `-DNAME=value`, or `NAME=value` behind `-D`.
fn defines(flag: &str, name: &str) -> bool {
    let macro_name = flag.strip_prefix("-D").unwrap_or(flag);
    macro_name.split('=').next() == Some(name)
}
