//! The types of the plan, from the whole to its parts. Read this file first: the other files of
//! src/plan/ compute these values. src/emit/build_nix.rs writes the kernel's own values to
//! build.nix; nix/kernel/resolve.nix makes the same plan of build.nix (tests/plan/agreement.rs
//! compares them).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::DeviceArch;
use super::flags::ArchFlags;
use crate::kernel::Backend;
use crate::matrix::{Row, Toolchain};
use crate::problem::Problems;
use crate::scan::{Namespace, Operators, Search};

/// A kernel with everything that its build needs, decided.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub name: String,
    /// sha256 (hex) of the build.toml that the plan is made from.
    pub manifest: String,
    /// The place where the kernel is published: `repo-id` and `branch`, if build.toml names them.
    pub hub: BTreeMap<&'static str, String>,
    /// Whether `variants` are for `[tvm-ffi]`, not torch extensions.
    pub tvm_ffi: bool,
    pub python: PythonFiles,
    /// A digest of the names of the files in the folders where compilers look for headers.
    pub listing: HeaderListing,
    /// The includes of each file, for each list of folders that compilers search.
    pub searches: Vec<Search>,
    /// Archives of headers that units are compiled against, by their name in build.toml.
    pub archives: BTreeMap<String, ArchivePlan>,
    /// Variants with native code.
    pub variants: Vec<VariantPlan>,
    /// Variants of Python files alone.
    pub noarch: Vec<NoarchPlan>,
    /// Names of the sections, in the order of build.toml.
    #[serde(skip)]
    pub sections: Vec<String>,
    /// Notes for the user: settings of build.toml that are left out, or surely not meant. build.nix
    /// does not hold them.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Warnings about sources, by file. build.nix does not hold them.
    #[serde(skip)]
    pub warnings: Vec<Problems>,
}

/// The Python files of the package.
#[derive(Clone, Debug, Serialize)]
pub struct PythonFiles {
    pub dir: String,
    /// File name extensions, without a dot.
    pub extensions: Vec<String>,
}

/// An archive of headers that build.toml describes.
#[derive(Clone, Debug, Serialize)]
pub struct ArchivePlan {
    pub file: String,
    /// Hexadecimal.
    pub sha256: String,
    /// URLs of the archive, for machines without a package index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Folders of the archive that compilers search, in order.
    pub include: Vec<String>,
}

/// The names of the files that compilers may find when they look for headers. A new file among them
/// may be found before the files that build.nix lists, although no include has changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeaderListing {
    /// Folders, sorted; none lies below another.
    pub folders: Vec<String>,
    /// sha256 (hex) of the names. `listing` of nix/kernel/sources.nix computes the same digest.
    pub digest: String,
}

/// One variant with native code, with every unit, flag and library of its build.
#[derive(Clone, Debug, Serialize)]
pub struct VariantPlan {
    pub variant: String,
    /// The row of the release table that the variant is compiled for.
    #[serde(skip)]
    pub row: Row,
    /// Flags that define macros for every unit.
    #[serde(skip)]
    pub defines: Vec<String>,
    /// C++ standard of units that include no header of a framework.
    #[serde(skip)]
    pub standard: u32,
    pub system: String,
    /// Whether the variant is built when the user names none.
    pub bundle: bool,
    pub toolchain: Toolchain,
    pub id: Identity,
    pub components: Vec<Component>,
    pub link: Link,
    pub metadata: Metadata,
    /// The op namespace of its operators; `None` if it is the build's own, which the id names.
    #[serde(rename = "opNamespace", skip_serializing_if = "Option::is_none")]
    pub op_namespace: Option<String>,
    /// The namespaces of its operators.
    #[serde(skip)]
    pub(super) operators: Operators,
}

/// One variant of Python files alone.
#[derive(Clone, Debug, Serialize)]
pub struct NoarchPlan {
    pub variant: String,
    /// Whether the variant is built when the user names none.
    pub bundle: bool,
    pub id: Identity,
    pub metadata: Metadata,
}

/// Units that search the same folders for headers.
#[derive(Clone, Debug, Serialize)]
pub struct Component {
    /// The framework's name for the binding, or the name of the section.
    pub name: String,
    /// The backend of its section; `None` for the binding, which every backend has.
    #[serde(skip)]
    pub backend: Option<Backend>,
    /// Folders searched for headers, in order.
    pub include: Vec<String>,
    /// Every header that its units include, directly or not.
    #[serde(skip)]
    pub headers: BTreeSet<String>,
    pub units: Vec<UnitGroup>,
    /// Flags of build.toml for each driver that compiles some of its units.
    #[serde(skip)]
    pub own_flags: BTreeMap<Driver, Vec<String>>,
    /// Architectures of its device code, in order.
    #[serde(skip)]
    pub archs: Vec<DeviceArch>,
    /// Whether its flags name architectures beyond `archs`.
    #[serde(skip)]
    pub more_archs: bool,
    /// Whether its flags ask for OpenMP.
    #[serde(skip)]
    pub openmp: bool,
    /// Whether build.toml lets its units get lean headers of torch.
    #[serde(skip)]
    pub lean_headers: bool,
    /// The namespaces in which its units define operators.
    #[serde(skip)]
    pub operators: Operators,
}

/// Units that are compiled with the same driver and flags.
#[derive(Clone, Debug, Serialize)]
pub struct UnitGroup {
    pub driver: Driver,
    pub namespace: Namespace,
    /// Whether the units include headers of the framework or of Python. An object of units without
    /// them serves all releases of the framework.
    pub framework: bool,
    /// Whether the units ask Nix for a machine with `big-parallel` (docs/distribution.md has the
    /// rule).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub heavy: bool,
    /// Whether the units get lean headers of torch.
    #[serde(rename = "leanHeaders", skip_serializing_if = "bool::clone")]
    pub lean_headers: bool,
    /// Pin families of libraries of headers, from `depends`.
    #[serde(rename = "headerLibraries", skip_serializing_if = "Vec::is_empty")]
    pub header_families: Vec<String>,
    /// Names of archives of headers that build.toml describes: keys of [`Plan::archives`].
    #[serde(rename = "headerArchives", skip_serializing_if = "Vec::is_empty")]
    pub header_archives: Vec<String>,
    pub flags: Vec<String>,
    /// The parts of units that are compiled for each architecture apart. `flags` has none of the
    /// flags of parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub sources: Vec<String>,
    #[serde(skip)]
    pub kind: SourceKind,
    /// Whether device code may depend on the architecture that it is compiled for.
    #[serde(skip)]
    pub depends_on_arch: bool,
    /// Whether device code may read the list of all architectures.
    #[serde(skip)]
    pub lists_archs: bool,
}

/// The kind of a source. Kind and row decide about the driver.
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

/// The compiler driver that turns a source into an object.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Driver {
    #[serde(rename = "gcc")]
    Gcc,
    #[serde(rename = "g++")]
    Gxx,
    #[serde(rename = "nvcc")]
    Nvcc,
    /// clang for CUDA sources; never for C++.
    #[serde(rename = "clang")]
    Clang,
    /// ROCm's clang, which compiles CUDA sources after hipify has translated them.
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

/// A unit in parts: a host part, and one for each architecture.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Split {
    /// The part of each architecture.
    pub archs: Vec<ArchFlags>,
    /// The architecture that the host part is compiled with, as in [`ArchFlags::sm`]. With nvcc,
    /// the host part also holds the device code of this architecture.
    pub host: String,
    /// Options that tell fatbinary how to store device code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fatbinary: Vec<String>,
    /// The list of all architectures (`__CUDA_ARCH_LIST__`) that each part is told. `None` if the
    /// unit does not read the list, so that a new architecture leaves the other parts as they are.
    #[serde(rename = "archList", skip_serializing_if = "Option::is_none")]
    pub arch_list: Option<String>,
}

/// The link of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    pub driver: Driver,
    /// File name extension of the library. Its stem is the build's id.
    pub extension: &'static str,
    /// Flags before the objects.
    pub flags: Vec<String>,
    /// Flags after the objects.
    pub libraries: Vec<String>,
    /// CUDA architectures that the library must hold device code for; empty if none of its units
    /// has device code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archs: Vec<String>,
    /// Whether flags of build.toml ask for more architectures than `archs`.
    #[serde(rename = "moreArchs", skip_serializing_if = "std::ops::Not::not")]
    pub more_archs: bool,
    /// Whether the library may call an OpenMP runtime.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub openmp: bool,
    /// Newest allowed version of each symbol family.
    pub policy: BTreeMap<String, String>,
}

/// The parts of the id `<prefix>_<hash of salt and files>`. The hash also covers the Python files,
/// which are found when the id is computed.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// `_<python name>_<backend>`
    pub prefix: String,
    /// Hash of the settings of build.toml for the native code of this backend.
    pub salt: String,
    /// Sources and headers, sorted.
    pub files: Vec<String>,
}

/// The fixed part of metadata.json. Keys are spelled as the client spells them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Metadata {
    pub name: String,
    pub version: u64,
    pub license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Keys of the client's table of Python dependencies.
    pub python_depends: Vec<String>,
    pub kernel_depends: Vec<KernelDepend>,
    /// Libraries of headers that the kernel was compiled against. The client ignores them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header_depends: Vec<HeaderDepend>,
    /// `Some(false)` if build.toml switches lean headers off for a unit. The client ignores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lean_headers: Option<bool>,
    /// The oldest client that can load the kernel.
    pub kernels_minver: &'static str,
    pub backend: BackendMetadata,
}

/// A kernel that this one needs, with either a version or a revision.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct KernelDepend {
    pub repo_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// A library of headers, under its name in `depends` of build.toml.
#[derive(Clone, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderDepend {
    pub name: String,
    /// The release of the library; `None` if build.toml describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The archive's hash (hexadecimal); `None` unless build.toml describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The backend that a variant needs to run.
#[derive(Clone, Debug, Serialize)]
pub struct BackendMetadata {
    pub r#type: &'static str,
    /// GPU architectures, in order of their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archs: Vec<String>,
}
