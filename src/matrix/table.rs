//! The toolchain table (toolchains.toml) as types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::facts::{CudaCompiler, CudaFacts, RocmFacts, TorchFacts};
use super::header_library::HeaderLibrary;
use super::{CxxAbi, STEP_PYTHON, Toolchain, name};
use crate::kernel::{Backend, CudaToolkit, CudaToolkits, KnownDependency, RocmArch};
use crate::version::Version;

/// The origin of the archives of a row. In order of preference: archives that any package index
/// serves come first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Package indexes, through the machine's own pip and apt.
    Registry,
    /// The vendors' own archives, by URL.
    Vendor,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::Registry => "registry",
            Profile::Vendor => "vendor",
        })
    }
}

/// One row: a torch or tvm-ffi release for one compute and system, and the toolchain that builds
/// for it.
#[derive(Clone, Debug)]
pub struct Row {
    pub release: FrameworkRelease,
    pub backend: Backend,
    /// Version of the compute toolkit; `None` for backends without one (cpu, metal).
    pub compute: Option<Version>,
    /// Nix's name of the system, e.g. `x86_64-linux`.
    pub system: String,
    pub profile: Profile,
    /// Whether the row's variants are built by default.
    pub bundle: bool,
    /// A key of `policy`.
    pub policy: String,
    pub toolchain: Toolchain,
}

/// The release that a row's variants are compiled against. Versions are major and minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameworkRelease {
    Torch { version: Version, cxx_abi: CxxAbi },
    TvmFfi(Version),
}

impl FrameworkRelease {
    /// Major and minor version of the release.
    pub fn version(&self) -> &Version {
        match self {
            FrameworkRelease::Torch { version, .. } | FrameworkRelease::TvmFfi(version) => version,
        }
    }
}

impl Row {
    /// Major and minor version of the release's torch; `None` for tvm-ffi.
    pub fn torch(&self) -> Option<&Version> {
        match &self.release {
            FrameworkRelease::Torch { version, .. } => Some(version),
            FrameworkRelease::TvmFfi(_) => None,
        }
    }

    /// The C++ ABI of the release's torch; `None` for tvm-ffi, whose interface is in C.
    pub fn cxx_abi(&self) -> Option<CxxAbi> {
        match &self.release {
            FrameworkRelease::Torch { cxx_abi, .. } => Some(*cxx_abi),
            FrameworkRelease::TvmFfi(_) => None,
        }
    }

    /// The kernel of the row's operating system: `linux` or `darwin`.
    pub fn os(&self) -> &str {
        let (_, os) = self.system.split_once('-').unwrap_or_default();
        os
    }

    /// The name of the row's compute: `cpu`, `cu130`.
    pub fn compute_name(&self) -> String {
        name::compute(self.backend, self.compute.as_ref())
    }

    /// The name of the row's compilers, e.g. `torch-cu130-gcc-12-x86_64-linux`. Rows with the same
    /// name differ only in the release of their framework.
    pub fn compilers(&self) -> String {
        let framework = match self.release {
            FrameworkRelease::Torch { cxx_abi, .. } => match cxx_abi.define() {
                Some(_) => format!("torch-{cxx_abi}"),
                None => "torch".to_owned(),
            },
            FrameworkRelease::TvmFfi(_) => "tvm-ffi".to_owned(),
        };
        let (compute, host) = (self.compute_name(), &self.toolchain.host);
        format!("{framework}-{compute}-{host}-{}", self.system)
    }

    /// The pin families that a build with this row needs.
    pub fn families(&self) -> Vec<String> {
        let toolchain = &self.toolchain;
        if self.system.ends_with("-darwin") {
            // The machine itself provides the host compiler and the first programs
            // (nix/toolchains/xcode.nix).
            let frameworks = [&toolchain.torch, &toolchain.tvm_ffi];
            return frameworks.into_iter().flatten().cloned().collect();
        }
        let mut families = vec!["seed".to_owned()];
        families.extend(toolchain.families());
        families.extend(toolchain.cuda.iter().map(|cuda| format!("{cuda}-headers")));
        // Toolchains for torch name it already.
        if toolchain.interpreter.as_deref() != Some(STEP_PYTHON) {
            families.push(STEP_PYTHON.to_owned());
        }
        families
    }
}

/// A row as written in toolchains.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenRow {
    #[serde(default, deserialize_with = "parsed_option")]
    torch: Option<Version>,
    #[serde(default)]
    cxx_abi: CxxAbi,
    #[serde(default, deserialize_with = "parsed_option")]
    tvm_ffi: Option<Version>,
    #[serde(deserialize_with = "backend")]
    backend: Backend,
    #[serde(default, deserialize_with = "parsed_option")]
    compute: Option<Version>,
    system: String,
    profile: Profile,
    #[serde(default)]
    bundle: bool,
}

/// The facts that all rows of a system share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Host {
    host: String,
    #[serde(default)]
    python: Option<String>,
    policy: String,
}

/// The macro, with its value, that files with headers of Python get: bindings use the stable ABI of
/// Python 3 alone.
pub const PYTHON_DEFINE: &str = "Py_LIMITED_API=3";

/// The reason why toolchains.toml is not a table.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TableError {
    #[error("no compiler of CUDA is called {0}")]
    CudaCompiler(String),

    #[error("no [host.{profile}.{system}] says what builds rows of {system}")]
    Host { profile: Profile, system: String },

    #[error("a row is of torch or of tvm-ffi, and of one only")]
    Framework,

    #[error("{0} has no compute toolkit")]
    Compute(Backend),
}

/// The table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    rows: Vec<WrittenRow>,
    host: BTreeMap<Profile, BTreeMap<String, Host>>,
    torch: BTreeMap<String, TorchFacts>,
    policy: BTreeMap<String, BTreeMap<String, String>>,
    cuda: Vec<CudaFacts>,
    #[serde(default)]
    rocm: Vec<RocmFacts>,
    #[serde(default, rename = "header-library")]
    header_libraries: Vec<HeaderLibrary>,
}

/// The whole table.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenTable")]
pub struct Table {
    pub rows: Vec<Row>,
    torch: BTreeMap<String, TorchFacts>,
    policy: BTreeMap<String, BTreeMap<String, String>>,
    cuda: Vec<CudaFacts>,
    /// The CUDA toolkits as the checks of build.toml need them.
    pub toolkits: CudaToolkits,
    rocm: Vec<RocmFacts>,
    pub header_libraries: Vec<HeaderLibrary>,
}

impl TryFrom<WrittenTable> for Table {
    type Error = TableError;

    fn try_from(written: WrittenTable) -> Result<Self, TableError> {
        let rows = written.rows.into_iter();
        let rows = rows.map(|row| resolve_toolchain(row, &written.host, &written.cuda));
        let toolkits = written.cuda.iter().map(|facts| CudaToolkit {
            version: facts.toolkit.clone(),
            known: facts.known.clone(),
        });
        Ok(Self {
            toolkits: CudaToolkits::new(toolkits.collect()),
            rows: rows.collect::<Result<_, _>>()?,
            torch: written.torch,
            policy: written.policy,
            cuda: written.cuda,
            rocm: written.rocm,
            header_libraries: written.header_libraries,
        })
    }
}

/// Names the parts of a row's toolchain. NB: only this function names them: `torch-2.11.0`, from a
/// vendor `torch-2.11.0-cu130` (each compute has a wheel of its own); `cuda-13.0`; host compiler
/// and compiler of CUDA as the table says.
fn resolve_toolchain(
    written: WrittenRow,
    hosts: &BTreeMap<Profile, BTreeMap<String, Host>>,
    toolkits: &[CudaFacts],
) -> Result<Row, TableError> {
    let (backend, profile) = (written.backend, written.profile);
    let host_of = |profile| hosts.get(&profile)?.get(&written.system);
    let host = host_of(profile).ok_or_else(|| TableError::Host {
        profile,
        system: written.system.clone(),
    })?;
    let mut toolchain = Toolchain {
        host: host.host.clone(),
        ..Toolchain::default()
    };
    let release = match (&written.torch, &written.tvm_ffi) {
        (Some(release), None) => {
            toolchain.python.clone_from(&host.python);
            // This Python makes lean headers of torch, and runs torch's hipify.
            let python = host.python.as_ref();
            toolchain.interpreter = python.map(|python| format!("{python}-interpreter"));
            toolchain.torch = Some(match profile {
                Profile::Registry => format!("torch-{release}"),
                Profile::Vendor => {
                    let compute = name::compute(backend, written.compute.as_ref());
                    format!("torch-{release}-{compute}")
                }
            });
            FrameworkRelease::Torch {
                version: release.minor_release(),
                cxx_abi: written.cxx_abi,
            }
        }
        (None, Some(release)) => {
            toolchain.tvm_ffi = Some(format!("tvm-ffi-{release}"));
            FrameworkRelease::TvmFfi(release.minor_release())
        }
        (Some(_), Some(_)) | (None, None) => return Err(TableError::Framework),
    };
    match (backend, &written.compute) {
        (_, None) => {}
        (Backend::Cuda, Some(toolkit)) => {
            toolchain.cuda = Some(format!("cuda-{toolkit}"));
            let facts = toolkits.iter().find(|facts| &facts.toolkit == toolkit);
            if let Some(CudaCompiler::Clang(family)) = facts.map(|facts| &facts.compiler) {
                toolchain.clang = Some(family.clone());
                // Debian's clang runs with nothing older than Debian's libraries.
                if let Some(debian) = host_of(Profile::Registry) {
                    toolchain.host.clone_from(&debian.host);
                }
            }
        }
        (Backend::Rocm, Some(toolkit)) => toolchain.rocm = Some(format!("rocm-{toolkit}")),
        (Backend::Xpu, Some(toolkit)) => toolchain.oneapi = Some(format!("oneapi-{toolkit}")),
        (backend, Some(_)) => return Err(TableError::Compute(backend)),
    }
    Ok(Row {
        release,
        backend,
        policy: host.policy.clone(),
        toolchain,
        compute: written.compute,
        system: written.system,
        profile,
        bundle: written.bundle,
    })
}

impl Table {
    /// The requirements of a row's torch; a test checks that every row has them.
    pub fn torch(&self, row: &Row) -> Option<&TorchFacts> {
        self.torch.get(row.torch()?.as_str())
    }

    /// Names of the macros that only files with headers of torch or Python get. Other files may
    /// have these names, too.
    pub fn framework_macros(&self) -> BTreeSet<&str> {
        let facts = self.torch.values();
        let defines = facts.flat_map(|facts| facts.defines.iter().chain(&facts.cuda_defines));
        let name = |define| str::split(define, '=').next().unwrap_or(define);
        let defines = defines.map(String::as_str).chain([PYTHON_DEFINE]);
        defines.map(name).collect()
    }

    /// Limits on the symbol versions that a library of a row may need, by family.
    pub fn policy(&self, row: &Row) -> Option<&BTreeMap<String, String>> {
        self.policy.get(&row.policy)
    }

    /// The headers that a word of `depends` stands for in a row; `None` for torch, and for headers
    /// that a row has no use for.
    pub fn header_library(&self, name: KnownDependency, row: &Row) -> Option<&HeaderLibrary> {
        let mut libraries = self.header_libraries.iter();
        libraries.find(|library| library.serves(name, row))
    }

    /// The facts of a CUDA toolkit.
    pub fn cuda(&self, toolkit: &Version) -> Option<&CudaFacts> {
        self.cuda.iter().find(|facts| &facts.toolkit == toolkit)
    }

    /// The facts of a ROCm toolkit.
    pub fn rocm(&self, toolkit: &Version) -> Option<&RocmFacts> {
        let facts = self.rocm.iter().filter(|facts| &facts.from <= toolkit);
        facts.max_by(|a, b| a.from.cmp(&b.from))
    }
}

impl Table {
    /// The names of the variants that the rows make, without those of a stable ABI.
    pub fn variants(&self) -> BTreeSet<String> {
        let rows = self.rows.iter();
        rows.map(|row| name::compiled(row, None)).collect()
    }

    /// Every AMD architecture that at least one release of ROCm compiles for.
    pub fn rocm_archs(&self) -> BTreeSet<RocmArch> {
        let known = self.rocm.iter().flat_map(|facts| &facts.known);
        known.copied().collect()
    }
}

/// The table of this program.
///
/// # Panics
/// Never for a released program: the file is part of it, and a test reads it.
pub fn table() -> &'static Table {
    static TABLE: std::sync::OnceLock<Table> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("toolchains.toml"))
            .expect("src/matrix/toolchains.toml is checked by a test")
    })
}

fn backend<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backend, D::Error> {
    let word = String::deserialize(deserializer)?;
    let found = Backend::ALL.iter().find(|backend| backend.as_str() == word);
    found
        .copied()
        .ok_or_else(|| serde::de::Error::custom(format!("no backend is called {word}")))
}

pub(super) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

pub(super) fn parsed_option<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    parsed(deserializer).map(Some)
}

pub(super) fn parsed_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| text.parse().map_err(serde::de::Error::custom))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::kernel::{Backend, KnownDependency, knows};

    #[test]
    fn every_row_has_its_facts_and_its_pins() {
        let table = table();
        for row in &table.rows {
            assert!(
                row.torch().is_none() || table.torch(row).is_some(),
                "no [torch] facts for {row:?}"
            );
            assert!(table.policy(row).is_some(), "no [policy] for {row:?}");
            if let (Backend::Cuda, Some(compute)) = (row.backend, &row.compute) {
                let facts = table.cuda(compute).expect("architectures of the toolkit");
                let known = |capability| knows(&facts.known, capability);
                assert!(facts.default.iter().all(known), "{compute}");
            }
            crate::families::family_pins(&row.system, &row.families()).expect("pins of a row");
        }
    }

    /// A library of headers has pins on every system that has rows of its backend.
    #[test]
    fn every_header_library_has_its_pins() {
        let table = table();
        for library in &table.header_libraries {
            let Ok(family) = library.family() else {
                continue;
            };
            let rows = table.rows.iter();
            for row in rows.filter(|row| library.serves(library.name, row)) {
                let of_backend = match library.name {
                    KnownDependency::SyclTla => row.backend == Backend::Xpu,
                    name => name.is_cutlass() && row.backend == Backend::Cuda,
                };
                if !of_backend {
                    continue;
                }
                let pins = crate::families::family_pins(&row.system, &[family.to_owned()]);
                assert_eq!(pins.expect("pins of a library").len(), 1, "{family}");
            }
        }
    }
}
