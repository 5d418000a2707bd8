//! Edition 5 of build.toml: every key, as written. A value that could not be read, or a required
//! value that is missing, is `None` and has been reported.

use schemars::JsonSchema;

use super::dependency::{self, Dependency, WrittenHeaderArchive, read_dependencies};
use super::framework::{WrittenTorch, WrittenTorchNoarch, WrittenTvmFfi, report_unless_one};
use super::reader::Reader;
use super::schema;
use super::section::{WrittenSection, read_sections};
use super::table::TomlTable;
use super::value::{FromValue, List, Spanned, Value};
use crate::problem::{Place, Problem, code};
use crate::version::Version;
use crate::words::Backend;

/// The number in `general.edition`.
pub const EDITION: u64 = 5;

/// A PyTorch kernel: what to compile and for what.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, transform = schema::whole)]
pub struct BuildToml {
    /// The kernel as a whole.
    pub general: General,
    /// A kernel with a C++ binding for torch.
    pub torch: Option<Spanned<WrittenTorch>>,
    /// A kernel for torch that is written in Python only.
    pub torch_noarch: Option<Spanned<WrittenTorchNoarch>>,
    /// A kernel with a C++ binding through TVM FFI.
    pub tvm_ffi: Option<Spanned<WrittenTvmFfi>>,
    /// Libraries of headers that sections name in `depends`, in the order of their names.
    #[schemars(schema_with = "dependency::schema")]
    pub dependencies: Vec<WrittenHeaderArchive>,
    /// Sources to compile: one section per backend or more. In the order of their names.
    #[schemars(schema_with = "schema::sections")]
    pub kernel: Vec<WrittenSection>,
}

/// The kernel as a whole.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, transform = schema::general)]
pub struct General {
    /// Name of the kernel, with dashes.
    #[schemars(extend("pattern" = "^[a-z][-a-z0-9]*[a-z0-9]$"))]
    pub name: Option<Spanned<String>>,
    /// Version of the kernel's interface.
    pub version: Option<Spanned<u64>>,
    /// Licence, usually an SPDX identifier.
    #[schemars(extend("minLength" = 1))]
    pub license: Option<Spanned<String>>,
    /// Git URL of the project that the kernel was taken from.
    pub upstream: Option<Spanned<String>>,
    /// Git URL of the sources of this kernel.
    pub source: Option<Spanned<String>>,
    /// Backends to build for.
    #[schemars(extend("minItems" = 1, "uniqueItems" = true))]
    pub backends: Option<List<Backend>>,
    /// Other kernels needed at run time.
    pub kernel_depends: Option<List<WrittenKernelDependency>>,
    /// Python packages needed at run time.
    pub python_depends: Option<List<String>>,
    /// On NVIDIA GPUs only.
    #[schemars(schema_with = "schema::cuda_options")]
    pub cuda: BackendOptions,
    /// On AWS Trainium and Inferentia only.
    #[schemars(schema_with = "schema::neuron_options")]
    pub neuron: BackendOptions,
    /// On Google TPUs only.
    #[schemars(schema_with = "schema::tpu_options")]
    pub tpu: BackendOptions,
    /// On Intel GPUs only.
    #[schemars(schema_with = "schema::xpu_options")]
    pub xpu: BackendOptions,
    /// Where the kernel is published.
    pub hub: WrittenHub,
}

/// A table such as `[general.cuda]`. Which keys a backend has is checked when reading.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackendOptions {
    /// Oldest toolkit (cuda only).
    pub minver: Option<Spanned<Version>>,
    /// Newest toolkit (cuda only).
    pub maxver: Option<Spanned<Version>>,
    /// Other kernels needed on this backend.
    pub kernel_depends: Option<List<WrittenKernelDependency>>,
    /// The place of the table, if the file has it.
    #[schemars(skip)]
    pub place: Option<Place>,
    /// Python packages needed on this backend.
    pub python_depends: Option<List<String>>,
}

/// Where the kernel is published.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WrittenHub {
    /// `organisation/name` on the Hub.
    pub repo_id: Option<Spanned<String>>,
    /// Branch to upload to.
    pub branch: Option<Spanned<String>>,
}

/// Another kernel needed at run time.
#[derive(Debug, Clone)]
pub struct WrittenKernelDependency {
    /// `organisation/name` on the Hub.
    pub repo_id: Spanned<String>,
    /// Which state of that repository.
    pub pin: KernelPin,
}

/// Which state of a kernel repository is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelPin {
    /// The newest build of this interface version.
    Version(u64),
    /// A branch, tag or commit.
    Revision(String),
}

impl BuildToml {
    /// Reads a file whose edition is known to be 5.
    pub(super) fn read(mut root: TomlTable<'_, '_>, reader: &Reader) -> Self {
        let general = root.optional("general").map(|g| g.value);
        let torch = root.table("torch", WrittenTorch::read);
        let torch_noarch = root.table("torch-noarch", WrittenTorchNoarch::read);
        let tvm_ffi = root.table("tvm-ffi", WrittenTvmFfi::read);
        let dependencies = root.value("dependencies");
        let kernel = root.value("kernel");
        report_unless_one(&mut root, reader);
        root.finish();
        Self {
            general: general.unwrap_or_default(),
            torch,
            torch_noarch,
            tvm_ffi,
            dependencies: read_dependencies(dependencies.as_ref(), reader),
            kernel: read_sections::<Dependency>(kernel.as_ref(), reader, true),
        }
    }
}

impl FromValue for General {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        // The edition was read before and chose this reader.
        table.value("edition");
        let general = Self {
            name: table.required("name", "add `name = \"my-kernel\"`"),
            version: table.required("version", "add `version = 1`"),
            license: table.required("license", "add `license = \"Apache-2.0\"` or what applies"),
            upstream: table.optional("upstream"),
            source: table.optional("source"),
            backends: table.required("backends", "add `backends = [\"cuda\"]`"),
            kernel_depends: table.optional("kernel-depends"),
            python_depends: table.optional("python-depends"),
            cuda: table.options("cuda", &[OptionKeys::Versions, OptionKeys::Kernels]),
            neuron: table.options("neuron", &[OptionKeys::Kernels]),
            tpu: table.options("tpu", &[]),
            xpu: table.options("xpu", &[OptionKeys::Kernels]),
            hub: table.optional("hub").map(|h| h.value).unwrap_or_default(),
        };
        table.finish();
        Some(general)
    }
}

impl General {
    /// The tables `[general.<backend>]`, written or not.
    pub fn options(&self) -> [(Backend, &BackendOptions); 4] {
        [
            (Backend::Cuda, &self.cuda),
            (Backend::Neuron, &self.neuron),
            (Backend::Tpu, &self.tpu),
            (Backend::Xpu, &self.xpu),
        ]
    }
}

/// Keys of a table such as `[general.cuda]` besides the Python packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionKeys {
    /// `minver` and `maxver`.
    Versions,
    /// `kernel-depends`.
    Kernels,
}

impl TomlTable<'_, '_> {
    /// The table `key` of `[general]`; empty if it is not there.
    pub(super) fn options(&mut self, key: &'static str, holds: &[OptionKeys]) -> BackendOptions {
        let read = self.table(key, |table| {
            let mut options = BackendOptions::default();
            if holds.contains(&OptionKeys::Versions) {
                options.minver = table.optional("minver");
                options.maxver = table.optional("maxver");
            }
            if holds.contains(&OptionKeys::Kernels) {
                options.kernel_depends = table.optional("kernel-depends");
            }
            options.python_depends = table.optional("python-depends");
            options
        });
        let Some(Spanned { value, place }) = read else {
            return BackendOptions::default();
        };
        BackendOptions {
            place: Some(place),
            ..value
        }
    }
}

impl FromValue for WrittenHub {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        let hub = Self {
            repo_id: table.optional("repo-id"),
            branch: table.optional("branch"),
        };
        table.finish();
        Some(hub)
    }
}

impl FromValue for WrittenKernelDependency {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let mut table = value.table(reader)?;
        let repo_id = table.required("repo-id", "add `repo-id = \"organisation/name\"`");
        let (has_version, has_revision) = (table.has_key("version"), table.has_key("revision"));
        let version = table.optional("version");
        let revision = table.optional("revision");
        table.finish();
        if has_version == has_revision {
            let message = match has_version {
                true => "`version` and `revision` exclude each other",
                false => "one of `version` and `revision` is needed",
            };
            reader.report(
                Problem::error(code::KERNEL_DEPENDENCY_PIN, &value.place, message)
                    .label("which state of the repository?")
                    .help("write { repo-id = \"organisation/name\", version = 1 }"),
            );
            return None;
        }
        let version = version.map(|v| KernelPin::Version(v.value));
        let revision = revision.map(|r| KernelPin::Revision(r.value));
        Some(Self {
            repo_id: repo_id?,
            pin: version.or(revision)?,
        })
    }
}
