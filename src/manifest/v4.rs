//! v4, the format of spring 2026: edition 5 without its number, without kernel dependencies and
//! with one stable ABI for every backend.

use super::dependency::Dependency;
use super::framework::{WrittenTorch, WrittenTorchNoarch, WrittenTvmFfi, report_unless_one};
use super::reader::Reader;
use super::section::{WrittenSection, read_sections};
use super::table::TomlTable;
use super::v5::{self, BackendOptions, OptionKeys, WrittenHub};
use super::value::{List, Spanned};
use crate::words::Backend;

/// A whole file.
#[derive(Debug, Clone)]
pub struct BuildTomlV4 {
    /// `[general]`
    pub general: GeneralV4,
    /// `[torch]`
    pub torch: Option<Spanned<WrittenTorch>>,
    /// `[torch-noarch]`
    pub torch_noarch: Option<Spanned<WrittenTorchNoarch>>,
    /// `[tvm-ffi]`
    pub tvm_ffi: Option<Spanned<WrittenTvmFfi>>,
    /// `[kernel.*]`, in the order of their names.
    pub kernel: Vec<WrittenSection>,
}

/// `[general]`
#[derive(Debug, Clone, Default)]
pub struct GeneralV4 {
    /// Name of the kernel, with dashes.
    pub name: Option<Spanned<String>>,
    /// Version of the kernel's interface.
    pub version: Option<Spanned<u64>>,
    /// Licence, usually an SPDX identifier.
    pub license: Option<Spanned<String>>,
    /// Git URL of the project that the kernel was taken from.
    pub upstream: Option<Spanned<String>>,
    /// Git URL of the sources of this kernel.
    pub source: Option<Spanned<String>>,
    /// The backends to build for.
    pub backends: Option<List<Backend>>,
    /// Python packages needed at run time.
    pub python_depends: Option<List<String>>,
    /// `[general.cuda]`
    pub cuda: BackendOptions,
    /// `[general.neuron]`
    pub neuron: BackendOptions,
    /// `[general.xpu]`
    pub xpu: BackendOptions,
    /// `[general.hub]`
    pub hub: WrittenHub,
}

impl BuildTomlV4 {
    pub(super) fn read(mut root: TomlTable<'_, '_>, reader: &Reader) -> Self {
        let general = root.table("general", |table| GeneralV4 {
            name: table.required("name", "add `name = \"my-kernel\"`"),
            version: table.required("version", "add `version = 1`"),
            license: table.required("license", "add `license = \"Apache-2.0\"` or what applies"),
            upstream: table.optional("upstream"),
            source: table.optional("source"),
            backends: table.required("backends", "add `backends = [\"cuda\"]`"),
            python_depends: table.optional("python-depends"),
            cuda: table.options("cuda", &[OptionKeys::Versions]),
            neuron: table.options("neuron", &[]),
            xpu: table.options("xpu", &[]),
            hub: table.optional("hub").map(|h| h.value).unwrap_or_default(),
        });
        let torch = root.table("torch", WrittenTorch::read_v4);
        let torch_noarch = root.table("torch-noarch", WrittenTorchNoarch::read);
        let tvm_ffi = root.table("tvm-ffi", WrittenTvmFfi::read);
        let kernel = root.value("kernel");
        report_unless_one(&mut root, reader);
        root.finish();
        Self {
            general: general.map(|general| general.value).unwrap_or_default(),
            torch,
            torch_noarch,
            tvm_ffi,
            kernel: read_sections::<Dependency>(kernel.as_ref(), reader, false),
        }
    }

    /// The same kernel in edition 5: every key of v4 is one of edition 5.
    pub(super) fn upgrade(&self) -> v5::BuildToml {
        let general = self.general.clone();
        v5::BuildToml {
            general: v5::General {
                name: general.name,
                version: general.version,
                license: general.license,
                upstream: general.upstream,
                source: general.source,
                backends: general.backends,
                python_depends: general.python_depends,
                cuda: general.cuda,
                neuron: general.neuron,
                xpu: general.xpu,
                hub: general.hub,
                ..v5::General::default()
            },
            torch: self.torch.clone(),
            torch_noarch: self.torch_noarch.clone(),
            tvm_ffi: self.tvm_ffi.clone(),
            dependencies: Vec::new(),
            kernel: self.kernel.clone(),
        }
    }
}
