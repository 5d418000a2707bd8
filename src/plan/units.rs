//! Translation units of a variant, grouped by how they are compiled: the binding, and each active
//! section.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexSet;

use super::flags::{HeaderDemands, stable_abi_defines};
use super::{Component, DeviceArch, Driver, SourceKind, UnitGroup, device, flags, split};
use crate::kernel::{Backend, Dependency, Kernel, Language, Section, SectionBackend};
use crate::matrix::{Compilation, Matrix, Row, Table, clang, openmp};
use crate::scan::search::folders;
use crate::scan::{Namespace, Operators, Search};

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
    /// Whether device code is compiled with headers of the framework. torch's headers make that
    /// many times as slow, even if they are lean.
    pub fn is_slow(&self) -> bool {
        let device = matches!(self.driver, Driver::Nvcc | Driver::Clang | Driver::Hip);
        device && self.framework
    }
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

    /// The driver that links the libraries of a row. It is the driver that compiles the row's C++.
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
    let context = VariantContext {
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

    // NB: a binding may hold device code of its own, so it gets the architectures and headers of
    // all sections.
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
    components.push(
        context.component(
            kernel.framework.name(),
            kernel.framework.include(),
            kernel.framework.units(),
            &ComponentSettings {
                cxx: kernel.framework.cxx_flags(),
                header_families: compilation.header_families.iter().cloned().collect(),
                header_archives: compilation.header_archives.keys().cloned().collect(),
                lean_headers: kernel
                    .framework
                    .torch()
                    .is_none_or(|torch| torch.lean_headers),
                ..ComponentSettings::default()
            },
            all.into_iter().collect(),
        ),
    );
    for (section, archs, device_flags) in sections {
        components.push(context.component(
            &section.name,
            &section.include,
            section.units(),
            &ComponentSettings {
                backend: Some(row.backend),
                cxx: &section.cxx_flags,
                device: &device_flags,
                sycl: row.backend == Backend::Xpu,
                header_families: context.header_families(section, table),
                header_archives: context.header_archives(section),
                lean_headers: section.lean_headers,
            },
            archs,
        ));
    }
    components
}

struct VariantContext<'a> {
    kernel: &'a Kernel,
    compilation: &'a Compilation,
    with_framework: HeaderDemands,
    without_framework: HeaderDemands,
    /// Flags that define macros for every unit.
    defines: Vec<String>,
    searches: &'a [Search],
}

/// The settings that build.toml adds to a component.
#[derive(Default)]
struct ComponentSettings<'a> {
    /// The backend of the section; `None` for the binding.
    backend: Option<Backend>,
    /// Flags for C++.
    cxx: &'a [String],
    /// Flags for device code.
    device: &'a [String],
    /// Whether its C++ is SYCL, and so device code too.
    sycl: bool,
    /// Pin families of libraries of headers, in the order in which they are searched.
    header_families: Vec<String>,
    /// Names of archives of headers, in the order in which they are searched.
    header_archives: Vec<String>,
    /// Whether units get lean headers of torch.
    lean_headers: bool,
}

/// The names that a section has itself, then all others.
fn own_first<'a>(
    own_names: impl Iterator<Item = &'a str>,
    all: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let names: IndexSet<&str> = own_names.chain(all.map(String::as_str)).collect();
    names.into_iter().map(str::to_owned).collect()
}

impl VariantContext<'_> {
    fn component<'a>(
        &self,
        name: &str,
        include: &[Utf8PathBuf],
        units: impl Iterator<Item = (&'a Utf8Path, Language)>,
        settings: &ComponentSettings<'_>,
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
            // torch brings hipify, which translates CUDA sources.
            let translated = driver == Driver::Hip && language == Language::Cuda;
            // The scan does not read headers of archives: they may include headers of the
            // framework.
            let unread = !settings.header_archives.is_empty();
            // torch has the omp.h that Xcode lacks.
            let has_omp_h = driver == Driver::AppleClangxx && openmp::is_asked_for(settings.cxx);
            let reads = reach.is_none_or(|reach| reach.framework);
            let framework = translated || unread || has_omp_h || reads;
            let libraries = reach.is_none_or(|reach| reach.libraries);
            let heavy = match driver {
                Driver::Nvcc | Driver::Clang => framework || libraries,
                // NB: `libraries` is also true for ROCm's own headers, which lie in folders, too.
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
                    .or_insert_with(|| self.own_flags(driver, settings));
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
                    lean_headers: settings.lean_headers || !framework,
                    header_families: settings.header_families.clone(),
                    header_archives: settings.header_archives.clone(),
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
            settings
                .cxx
                .iter()
                .chain(settings.device)
                .any(|flag| may_define(flag, name))
        });
        Component {
            operators,
            name: name.to_owned(),
            backend: settings.backend,
            include,
            headers: headers.into_iter().cloned().collect(),
            units: groups.into_values().collect(),
            own_flags,
            archs,
            more_archs: device::flags_name_archs(settings.device),
            openmp: openmp::is_asked_for(settings.cxx) || openmp::is_asked_for(settings.device),
            lean_headers: settings.lean_headers,
        }
    }

    /// The libraries of headers that a section names, then those that other sections of the backend
    /// name. The reference's CMake project also lets every file of the kernel include both.
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

    /// A section's flags for its device code, as the compiler of the variant takes them. The matrix
    /// leaves out variants whose compiler has no equivalent of a flag.
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

    /// The flags of build.toml for a driver.
    fn own_flags(&self, driver: Driver, settings: &ComponentSettings<'_>) -> Vec<String> {
        match driver {
            Driver::Gxx => settings.cxx.to_vec(),
            Driver::Nvcc | Driver::Clang | Driver::Hip => settings.device.to_vec(),
            Driver::Icpx if settings.sycl => {
                let sycl = flags::SYCL.map(str::to_owned);
                [settings.cxx, &sycl[..], settings.device].concat()
            }
            Driver::Icpx => settings.cxx.to_vec(),
            Driver::AppleClang => self.metallib(),
            Driver::AppleClangxx => {
                let mut flags = self.metallib();
                flags.extend(
                    settings
                        .cxx
                        .iter()
                        .flat_map(|flag| openmp::apple_flags(flag)),
                );
                flags
            }
            Driver::Gcc | Driver::Icx | Driver::Metal => Vec::new(),
        }
    }

    /// Flags for code that loads the shaders of its kernel; empty if the kernel has none.
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

/// Whether a flag may define a macro: `-DNAME=value`, or `NAME=value` after `-D`.
fn may_define(flag: &str, name: &str) -> bool {
    let macro_name = flag.strip_prefix("-D").unwrap_or(flag);
    macro_name.split('=').next() == Some(name)
}
