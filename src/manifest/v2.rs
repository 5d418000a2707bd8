//! v2, the format of most of 2025: every section names its backend, and the kernel is for the
//! backends of its sections, or for all if it is `universal`.

use super::backend::OldDependency;
use super::framework::WrittenTorch;
use super::reader::Reader;
use super::section::{WrittenSection, read_sections};
use super::table::TomlTable;
use super::upgrade::{Universal, Upgrade, python_depends};
use super::v5::{self, BackendOptions, WrittenHub};
use super::value::{List, Spanned};
use crate::problem::Place;
use crate::version::Version;

/// A whole file.
#[derive(Debug, Clone)]
pub struct BuildTomlV2 {
    /// `[general]`
    pub general: GeneralV2,
    /// `[torch]`
    pub torch: Option<Spanned<WrittenTorch>>,
    /// `[kernel.*]`, in the order of their names.
    pub kernel: Vec<WrittenSection>,
}

/// `[general]`
#[derive(Debug, Clone, Default)]
pub struct GeneralV2 {
    /// Where the section stands.
    pub place: Place,
    /// Name of the kernel; may hold underscores.
    pub name: Option<Spanned<String>>,
    /// Whether the kernel is Python-only and for every backend.
    pub universal: Universal,
    /// Oldest CUDA toolkit.
    pub cuda_minver: Option<Spanned<Version>>,
    /// Newest CUDA toolkit.
    pub cuda_maxver: Option<Spanned<Version>>,
    /// `[general.hub]`
    pub hub: WrittenHub,
    /// Python packages needed at run time, those for CUDA among them.
    pub python_depends: Option<List<String>>,
}

impl BuildTomlV2 {
    pub(super) fn read(mut root: TomlTable<'_, '_>, reader: &Reader) -> Self {
        let general = root.table("general", |table| GeneralV2 {
            place: table.place.clone(),
            name: table.required("name", "add `name = \"my-kernel\"`"),
            universal: Universal::read(table),
            cuda_minver: table.optional("cuda-minver"),
            cuda_maxver: table.optional("cuda-maxver"),
            hub: table.optional("hub").map(|h| h.value).unwrap_or_default(),
            python_depends: table.optional("python-depends"),
        });
        let torch = root.table("torch", WrittenTorch::read_plain);
        let kernel = root.value("kernel");
        root.finish();
        Self {
            general: general.map(|general| general.value).unwrap_or_default(),
            torch,
            kernel: read_sections::<OldDependency>(kernel.as_ref(), reader, false),
        }
    }

    /// The same kernel in edition 5.
    pub(super) fn upgrade(&self, upgrade: &mut Upgrade) -> v5::BuildToml {
        let general = self.general.clone();
        let (version, license) = upgrade.defaults(&general.place, None, None);
        let body = upgrade.body(
            &general.universal,
            self.torch.clone(),
            self.kernel.clone(),
            &general.place,
        );
        let (python_depends, cuda_python_depends) = python_depends(general.python_depends);
        v5::BuildToml {
            general: v5::General {
                name: upgrade.name(general.name),
                version,
                license,
                backends: body.backends,
                python_depends,
                cuda: BackendOptions {
                    minver: general.cuda_minver,
                    maxver: general.cuda_maxver,
                    python_depends: cuda_python_depends,
                    ..BackendOptions::default()
                },
                hub: general.hub,
                ..v5::General::default()
            },
            torch: body.torch,
            torch_noarch: body.torch_noarch,
            tvm_ffi: None,
            dependencies: Vec::new(),
            kernel: body.kernel,
        }
    }
}
