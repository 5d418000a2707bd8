//! The checked kernel: the form of a manifest that every later stage reads. It has no positions in
//! a text, and all of it has been checked.

mod backends;
mod binding;
pub mod capability;
mod check;
mod dependencies;
mod framework;
mod general;
mod git_url;
mod license;
mod load;
mod name;
mod package_files;
mod paths;
mod python_ops;
mod section_backend;
mod sections;
mod shared;
pub mod source;
mod toolkits;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

pub use self::binding::{Framework, Torch, TorchNoarch, TvmFfi};
pub use self::capability::Capability;
pub use self::dependencies::HeaderArchive;
pub use self::git_url::GitUrl;
pub use self::license::spdx_expression;
pub use self::load::{LoadError, LoadedKernel, read_file};
pub use self::name::KernelName;
pub use self::source::Language;
pub use self::toolkits::{CudaToolkit, CudaToolkits, knows};
pub use crate::manifest::Dependency;
pub use crate::manifest::v5::KernelPin;
pub use crate::words::{Backend, KnownDependency, PythonDependency, RocmArch};

use self::check::Check;
use crate::manifest::{Edition, Manifest};
use crate::problem::Problems;
use crate::version::Version;

/// A kernel that can be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel's directory; every other path is relative to it.
    pub root: Utf8PathBuf,
    /// SHA-256 of the exact bytes of build.toml, in lower-case hexadecimal.
    pub build_toml_sha256: String,
    /// Name, with dashes.
    pub name: KernelName,
    /// Version of the kernel's interface; 0 stands for unstable.
    pub version: u64,
    /// Licence as written: not empty, not necessarily SPDX. `unknown` if a file of an older edition
    /// has none.
    pub license: String,
    /// The project that the kernel was taken from.
    pub upstream: Option<GitUrl>,
    /// The sources of this kernel.
    pub source: Option<GitUrl>,
    /// Backends that the kernel runs on; never empty. Backends without a section get the Python
    /// files alone.
    pub backends: BTreeSet<Backend>,
    /// Where the kernel is published.
    pub hub: Hub,
    /// Other kernels needed at run time.
    pub kernel_depends: Depends<KernelDependency>,
    /// Python packages needed at run time.
    pub python_depends: Depends<PythonDependency>,
    /// CUDA toolkits to build for.
    pub cuda: Bounds,
    /// How the kernel is bound to Python.
    pub framework: Framework,
    /// Libraries of headers in archives, by the names in `depends`.
    pub header_archives: BTreeMap<String, HeaderArchive>,
    /// The sections to compile, in the order of their names; empty for Python-only kernels.
    pub sections: Vec<Section>,
}

/// Where a kernel is published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hub {
    /// `organisation/name`
    pub repo_id: Option<String>,
    /// Branch to upload to, if not the usual one.
    pub branch: Option<String>,
}

/// Dependencies of every backend, and dependencies of one backend only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depends<T> {
    /// Dependencies of every backend.
    pub general: Vec<T>,
    /// Further dependencies by backend; backends without any are left out.
    pub backend: BTreeMap<Backend, Vec<T>>,
}

impl<T> Depends<T> {
    /// The dependencies on `backend`, the general ones first.
    pub fn on_backend(&self, backend: Backend) -> impl Iterator<Item = &T> {
        let own = self.backend.get(&backend).into_iter().flatten();
        self.general.iter().chain(own)
    }
}

/// Another kernel needed at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelDependency {
    /// `organisation/name`
    pub repo_id: String,
    /// The version or revision of that repository.
    pub pin: KernelPin,
}

/// The oldest and the newest release to build for. Both are inclusive, and both have two
/// components.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Oldest release.
    pub minver: Option<Version>,
    /// Newest release.
    pub maxver: Option<Version>,
}

impl Bounds {
    /// Whether a version is not below the oldest and not above the newest release. Components after
    /// the second are not compared: 2.9.1 is within a `maxver` of 2.9.
    pub fn contains(&self, version: &Version) -> bool {
        let version = version.major_minor();
        let above = |bound: &Version| bound.major_minor() <= version;
        let below = |bound: &Version| version <= bound.major_minor();
        self.minver.as_ref().is_none_or(above) && self.maxver.as_ref().is_none_or(below)
    }
}

/// Sources compiled with the same flags for one backend: a `[kernel.<name>]`, or the sources that
/// several sections share (`kernel/shared.rs`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name, fit for a file name: `gemm`, or `gemm+gemm_sm100` for sources that two sections share.
    pub name: String,
    /// Name of the section in build.toml, for the keys in messages. Sources that several sections
    /// list have the name of the first section.
    pub written_name: String,
    /// The backend, with the keys that only sections of this backend have.
    pub backend: SectionBackend,
    /// Libraries to compile against, without repetition, in the order of the enum. A library
    /// without a fixed word is a key of `Kernel::header_archives`.
    pub depends: BTreeSet<Dependency>,
    /// Sources and headers, in the order written, without repetition. A source is in one section of
    /// its backend only, and not in the binding too. If the sections hold headers alone, only the
    /// binding is compiled.
    pub src: Vec<Utf8PathBuf>,
    /// Include directories; `.` is the kernel's directory.
    pub include: Vec<Utf8PathBuf>,
    /// Flags for the C++ compiler.
    pub cxx_flags: Vec<String>,
    /// Whether units get lean headers of torch.
    pub lean_headers: bool,
}

impl Section {
    /// The release of CUTLASS that the section depends on.
    pub fn cutlass(&self) -> Option<KnownDependency> {
        self.depends.iter().find_map(|dependency| match dependency {
            Dependency::Known(known) => known.is_cutlass().then_some(*known),
            Dependency::Own(_) => None,
        })
    }

    /// The files that are compiled, with their languages.
    pub fn units(&self) -> impl Iterator<Item = (&Utf8Path, Language)> {
        source::units(&self.src)
    }
}

/// The backend of a section, with the keys that only sections of this backend have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionBackend {
    /// The host processor.
    Cpu,
    /// NVIDIA GPUs.
    Cuda {
        /// The targets that the section is compiled for, all of them; never empty.
        targets: Vec<Target<Capability>>,
        /// Flags for nvcc.
        flags: Vec<String>,
    },
    /// Apple GPUs.
    Metal,
    /// AMD GPUs.
    Rocm {
        /// The targets that the section is compiled for, all of them; never empty.
        targets: Vec<Target<RocmArch>>,
        /// Flags for hipcc.
        flags: Vec<String>,
    },
    /// Intel GPUs.
    Xpu {
        /// Flags for the SYCL compiler.
        flags: Vec<String>,
    },
}

/// The GPUs that one `[kernel.<name>]` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<Arch> {
    /// The section of build.toml that asks for these GPUs.
    pub section: String,
    /// Architectures to compile for, sorted, without repetition; empty for the default
    /// architectures.
    pub archs: Vec<Arch>,
    /// Oldest toolkit that compiles for these GPUs.
    pub minver: Option<Version>,
}

impl<Arch> Target<Arch> {
    /// Whether a toolkit compiles for the target.
    pub fn is_active(&self, toolkit: &Version) -> bool {
        self.minver.as_ref().is_none_or(|minver| minver <= toolkit)
    }
}

impl SectionBackend {
    /// Flags that build.toml adds for device code.
    pub fn flags(&self) -> &[String] {
        match self {
            SectionBackend::Cpu | SectionBackend::Metal => &[],
            SectionBackend::Cuda { flags, .. }
            | SectionBackend::Rocm { flags, .. }
            | SectionBackend::Xpu { flags } => flags,
        }
    }

    /// The backend without its keys.
    pub fn backend(&self) -> Backend {
        match self {
            SectionBackend::Cpu => Backend::Cpu,
            SectionBackend::Cuda { .. } => Backend::Cuda,
            SectionBackend::Metal => Backend::Metal,
            SectionBackend::Rocm { .. } => Backend::Rocm,
            SectionBackend::Xpu { .. } => Backend::Xpu,
        }
    }
}

impl Kernel {
    /// Checks a manifest against the files under `root` and the known CUDA toolkits. The problems
    /// include those of the manifest itself; the kernel is `None` exactly if one of them is an
    /// error.
    pub fn check(
        manifest: &Manifest,
        root: &Utf8Path,
        toolkits: &CudaToolkits,
    ) -> (Option<Kernel>, Problems) {
        let edition = manifest.edition.as_ref().map(|detected| detected.edition);
        let older = edition.is_some_and(|edition| edition != Edition::V5);
        Self::check_as(manifest, root, toolkits, older)
    }

    /// Checks with the rules of edition 5, whatever the edition of the file.
    pub fn check_strictly(
        manifest: &Manifest,
        root: &Utf8Path,
        toolkits: &CudaToolkits,
    ) -> (Option<Kernel>, Problems) {
        Self::check_as(manifest, root, toolkits, false)
    }

    fn check_as(
        manifest: &Manifest,
        root: &Utf8Path,
        toolkits: &CudaToolkits,
        older: bool,
    ) -> (Option<Kernel>, Problems) {
        let mut check = Check::new(root, toolkits, older, manifest.problems.clone());
        let Some(body) = &manifest.body else {
            return (None, check.problems);
        };
        let (file, problems) = body.upgrade();
        let file = file.as_ref();
        for problem in problems {
            check.report(problem);
        }
        let general = general::check(&mut check, file);
        let backends = backends::check(&mut check, file);
        let framework = framework::check(&mut check, file, &backends);
        let header_archives = dependencies::check(&mut check, file);
        let sections = sections::check(&mut check, file);
        if let (Some(general), Some(framework)) = (&general, &framework) {
            let is_old = manifest
                .edition
                .as_ref()
                .is_some_and(|detected| detected.edition < Edition::V5);
            if let Some(written) = &file.general.name {
                package_files::check(&mut check, written, &general.name, framework);
            }
            python_ops::check(&mut check, &general.name, framework, is_old);
        }
        let problems = check.problems;
        if problems.has_errors() {
            return (None, problems);
        }
        let kernel = general.zip(framework).map(|(general, framework)| Kernel {
            root: root.to_owned(),
            build_toml_sha256: manifest.sha256.clone(),
            name: general.name,
            version: general.version,
            license: general.license,
            upstream: general.upstream,
            source: general.source,
            backends,
            hub: general.hub,
            kernel_depends: general.kernel_depends,
            python_depends: general.python_depends,
            cuda: general.cuda,
            framework,
            header_archives,
            sections,
        });
        (kernel, problems)
    }

    /// Reads and checks the kernel at `path`, a directory or its build.toml.
    pub fn load(path: &Utf8Path, toolkits: &CudaToolkits) -> Result<LoadedKernel, LoadError> {
        load::load(path, toolkits)
    }

    /// The files that are compiled, with their languages: the binding's, then those of the
    /// sections.
    pub fn units(&self) -> impl Iterator<Item = (&Utf8Path, Language)> {
        let sections = self.sections.iter().flat_map(Section::units);
        self.framework.units().chain(sections)
    }
}
