//! v3, the format of early 2026: the first with `general.backends`. A kernel without sections is
//! Python-only, whatever its framework section; version and licence could be left out.

use super::backend::OldDependency;
use super::framework::{WrittenTorch, WrittenTvmFfi, at_most_one};
use super::reader::Reader;
use super::section::{WrittenSection, read_sections};
use super::table::TomlTable;
use super::upgrade::Upgrade;
use super::v5::{self, BackendOptions, OptionKeys, WrittenHub};
use super::value::{List, Spanned};
use crate::problem::Place;
use crate::words::Backend;

/// A whole file.
#[derive(Debug, Clone)]
pub struct BuildTomlV3 {
    /// `[general]`
    pub general: GeneralV3,
    /// `[torch]`
    pub torch: Option<Spanned<WrittenTorch>>,
    /// `[tvm-ffi]`
    pub tvm_ffi: Option<Spanned<WrittenTvmFfi>>,
    /// `[kernel.*]`, in the order of their names.
    pub kernel: Vec<WrittenSection>,
}

/// `[general]`
#[derive(Debug, Clone, Default)]
pub struct GeneralV3 {
    /// Where the section stands.
    pub place: Place,
    /// Name of the kernel; may hold underscores.
    pub name: Option<Spanned<String>>,
    /// Version of the kernel's interface.
    pub version: Option<Spanned<u64>>,
    /// Licence, usually an SPDX identifier.
    pub license: Option<Spanned<String>>,
    /// Git URL of the project that the kernel was taken from.
    pub upstream: Option<Spanned<String>>,
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

impl BuildTomlV3 {
    pub(super) fn read(mut root: TomlTable<'_, '_>, reader: &Reader) -> Self {
        let general = root.table("general", |table| GeneralV3 {
            place: table.place.clone(),
            name: table.required("name", "add `name = \"my-kernel\"`"),
            version: table.optional("version"),
            license: table.optional("license"),
            upstream: table.optional("upstream"),
            backends: table.required("backends", "add `backends = [\"cuda\"]`"),
            python_depends: table.optional("python-depends"),
            cuda: table.options("cuda", &[OptionKeys::Versions]),
            neuron: table.options("neuron", &[]),
            xpu: table.options("xpu", &[]),
            hub: table.optional("hub").map(|h| h.value).unwrap_or_default(),
        });
        let torch = root.table("torch", WrittenTorch::read_plain);
        let tvm_ffi = root.table("tvm-ffi", WrittenTvmFfi::read_plain);
        let kernel = root.value("kernel");
        at_most_one(&mut root, reader);
        root.finish();
        Self {
            general: general.map(|general| general.value).unwrap_or_default(),
            torch,
            tvm_ffi,
            kernel: read_sections::<OldDependency>(kernel.as_ref(), reader, false),
        }
    }

    /// The same kernel in edition 5.
    pub(super) fn upgrade(&self, upgrade: &mut Upgrade) -> v5::BuildToml {
        let general = self.general.clone();
        let (version, license) = upgrade.defaults(&general.place, general.version, general.license);
        let (torch, torch_noarch) = match (&self.tvm_ffi, self.kernel.is_empty()) {
            (Some(_), _) => (self.torch.clone(), None),
            (None, false) => (upgrade.torch(self.torch.clone(), &self.kernel), None),
            (None, true) => (
                None,
                Some(upgrade.noarch(self.torch.as_ref(), &general.place)),
            ),
        };
        v5::BuildToml {
            general: v5::General {
                name: upgrade.name(general.name),
                version,
                license,
                upstream: general.upstream,
                backends: general.backends,
                python_depends: general.python_depends,
                cuda: general.cuda,
                neuron: general.neuron,
                xpu: general.xpu,
                hub: general.hub,
                ..v5::General::default()
            },
            torch,
            torch_noarch,
            tvm_ffi: self.tvm_ffi.clone(),
            dependencies: Vec::new(),
            kernel: self.kernel.clone(),
        }
    }
}
