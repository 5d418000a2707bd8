//! nix/release-table.json: the release table with all values that follow from it, so that Nix reads
//! names and flags and derives none. nix/release-table.nix reads it.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::hex;
use crate::kernel::{Backend, Capability};
use crate::matrix::{CxxAbi, FrameworkToolchain, Row, Table, Toolchain, Variant, better_backends};
use crate::plan::flags::{ArchFlags, DriverFlags, HeaderDemands, architecture, driver_flags};
use crate::plan::{DeviceArch, Driver, RowLink, SourceKind};

/// The path of the file in the repository.
pub const PATH: &str = "nix/release-table.json";

/// The release table as Nix reads it.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseTable {
    #[serde(rename = "@generated")]
    generated: &'static str,
    /// Backends, the best first.
    backends: Vec<&'static str>,
    /// Flags by driver and architecture.
    architectures: BTreeMap<Driver, BTreeMap<String, ArchFlags>>,
    /// Compilers by name ([`Row::compilers`]).
    pub compilers: BTreeMap<String, Compilers>,
    /// Rows, the best first.
    pub rows: Vec<ReleaseRow>,
}

/// The properties that rows share if they differ only in the release of their framework.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Compilers {
    backend: &'static str,
    /// Name of the compute, e.g. `cu130`, `cpu`.
    compute: String,
    /// Version of the compute toolkit; `None` for backends without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    compute_version: Option<String>,
    /// The driver of device code; `None` on backends without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_compiler: Option<Driver>,
    drivers: BTreeMap<SourceKind, DriverFlags>,
    link: RowLink,
    /// `linux` or `darwin`.
    os: String,
    /// The newest version of each symbol family that a library may need.
    policy: BTreeMap<String, String>,
    /// C++ standard of units that include no header of a framework.
    pub standard: u32,
    system: String,
    toolchain: Toolchain,
}

/// One row of the release table, as Nix reads it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseRow {
    /// The name of the variant of a kernel for this row, with the C++ ABI of the row.
    pub name: String,
    pub profile: String,
    /// A key of [`ReleaseTable::compilers`].
    compilers: String,
    /// Major and minor of torch; `None` for tvm-ffi.
    #[serde(skip_serializing_if = "Option::is_none")]
    torch: Option<String>,
    cxx11_abi: bool,
    bundle: bool,
    /// Flags that headers of the framework need.
    defines: Vec<String>,
    /// C++ standard of units with headers of the framework.
    standard: u32,
    toolchain: FrameworkToolchain,
    /// Digest of the row with its compilers. build.nix holds it, so that Nix notices a row whose
    /// meaning has changed.
    pub digest: String,
}

impl ReleaseTable {
    /// The table of all rows.
    pub fn new(table: &Table) -> Self {
        let compilers: BTreeMap<String, Compilers> = table
            .rows
            .iter()
            .map(|row| (row.compilers(), Compilers::new(row, table)))
            .collect();
        let mut variants: Vec<Variant> = table.rows.iter().map(Variant::from_row).collect();
        variants.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let mut backends = Backend::ALL.to_vec();
        backends.sort_by_key(|backend| better_backends(*backend));
        let rows = variants.iter().filter_map(|variant| {
            let row = variant.row()?;
            Some(ReleaseRow::new(variant, row, table, &compilers))
        });
        Self {
            generated: "by kernel-builder from src/matrix/toolchains.toml: do not edit, run `UPDATE_GOLDEN=1 cargo test`",
            backends: backends.into_iter().map(Backend::as_str).collect(),
            architectures: architectures(table),
            rows: rows.collect(),
            compilers,
        }
    }

    /// The entry of a row of the release table.
    pub fn row(&self, row: &Row) -> Option<&ReleaseRow> {
        let (name, profile) = (Variant::from_row(row).name, row.profile.to_string());
        let mut rows = self.rows.iter();
        rows.find(|known| known.name == name && known.profile == profile)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        // NB: maps whose keys are strings can always be printed as JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Compilers {
    fn new(row: &Row, table: &Table) -> Self {
        let mut kinds = vec![SourceKind::C, SourceKind::Cxx];
        let has_device = matches!(row.backend, Backend::Cuda | Backend::Rocm);
        kinds.extend(has_device.then_some(SourceKind::Device));
        kinds.extend((row.backend == Backend::Metal).then_some(SourceKind::Metal));
        let driver = |kind| Driver::for_source(row, kind);
        Self {
            backend: row.backend.as_str(),
            compute: row.compute_name(),
            compute_version: row.compute.as_ref().map(ToString::to_string),
            device_compiler: has_device.then(|| driver(SourceKind::Device)),
            drivers: kinds
                .into_iter()
                .map(|kind| (kind, driver_flags(row, driver(kind))))
                .collect(),
            link: RowLink::new(row),
            os: row.os().to_owned(),
            policy: table.policy(row).cloned().unwrap_or_default(),
            standard: HeaderDemands::without_framework(row, &table.rows, table).standard,
            system: row.system.clone(),
            toolchain: row.toolchain.without_framework(),
        }
    }
}

impl ReleaseRow {
    fn new(
        variant: &Variant,
        row: &Row,
        table: &Table,
        compilers: &BTreeMap<String, Compilers>,
    ) -> Self {
        let demands = HeaderDemands::by_framework(row, table);
        let key = row.compilers();
        let mut entry = Self {
            name: variant.name.clone(),
            profile: row.profile.to_string(),
            torch: row.torch().map(ToString::to_string),
            cxx11_abi: row.cxx_abi().is_none_or(|abi| abi == CxxAbi::Cxx11),
            bundle: row.bundle,
            defines: demands.defines,
            standard: demands.standard,
            toolchain: row.toolchain.of_framework(),
            digest: String::new(),
            compilers: key.clone(),
        };
        let whole = serde_json::to_string(&(&entry, compilers.get(&key))).unwrap_or_default();
        entry.digest = hex(&Sha256::digest(whole))[..8].to_owned();
        entry
    }
}

/// The flags of every architecture that a toolkit knows, with and without PTX.
fn architectures(table: &Table) -> BTreeMap<Driver, BTreeMap<String, ArchFlags>> {
    let capabilities = table.toolkits.capabilities().into_iter();
    let cuda: Vec<DeviceArch> = capabilities
        .flat_map(|known| [false, true].map(|ptx| Capability { ptx, ..known }))
        .map(DeviceArch::Cuda)
        .collect();
    let rocm: Vec<DeviceArch> = table
        .rocm_archs()
        .into_iter()
        .map(DeviceArch::Rocm)
        .collect();
    let flags = |driver, archs: &[DeviceArch]| {
        let flags = |arch: &DeviceArch| (arch.to_string(), architecture(driver, arch));
        (driver, archs.iter().map(flags).collect())
    };
    BTreeMap::from([
        flags(Driver::Nvcc, &cuda),
        flags(Driver::Clang, &cuda),
        flags(Driver::Hip, &rocm),
    ])
}
