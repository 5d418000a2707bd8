//! releases.cmake: the release table as CMake needs it. It depends on the kernel's framework and on
//! nothing else of the kernel.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{ProjectError, quote_words};
use crate::kernel::{Backend, Capability, Framework};
use crate::matrix::{CxxAbi, Row, Table};
use crate::plan::flags::{HeaderDemands, architecture, driver_flags};
use crate::plan::{DeviceArch, Driver, RowLink};
use crate::version::Version;
use crate::words::rocm_arch::{KNOWN, RocmArch};

/// Flags that the build type gives.
const OF_BUILD_TYPE: [&str; 2] = ["-O3", "-DNDEBUG"];

/// The release table of one framework.
#[derive(Debug, Serialize)]
pub struct Releases {
    generated: &'static str,
    releases: Vec<Release>,
    /// Flags by backend and driver.
    flags: BTreeMap<String, String>,
    standard_flags: BTreeMap<String, &'static str>,
    /// Links by backend and operating system; for CUDA, by driver of device code.
    links: BTreeMap<String, LinkText>,
    /// Flags by driver and architecture.
    archs: BTreeMap<String, String>,
}

/// A release of the framework.
#[derive(Debug, Serialize)]
struct Release {
    version: String,
    standard: u32,
    /// Macros by backend.
    defines: BTreeMap<&'static str, String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct LinkText {
    extension: &'static str,
    flags: String,
    libraries: String,
}

/// A driver's name, as build.nix has it.
pub fn driver_name(driver: Driver) -> String {
    let name = serde_json::json!(driver);
    name.as_str().unwrap_or_default().to_owned()
}

/// Flags without those that the build type gives.
pub fn without_build_type(flags: &[String]) -> Vec<String> {
    let is_own = |flag: &&String| !OF_BUILD_TYPE.contains(&flag.as_str());
    flags.iter().filter(is_own).cloned().collect()
}

/// The drivers that may compile for a row, whichever of them our own toolchain has.
fn drivers(row: &Row) -> Vec<Driver> {
    let mut drivers = match Driver::for_link(row) {
        Driver::AppleClangxx => vec![Driver::AppleClang, Driver::AppleClangxx],
        Driver::Icpx => vec![Driver::Icx, Driver::Icpx],
        _ => vec![Driver::Gcc, Driver::Gxx],
    };
    let of_device: &[Driver] = match row.backend {
        Backend::Cuda => &[Driver::Nvcc, Driver::Clang],
        Backend::Rocm => &[Driver::Hip],
        Backend::Metal => &[Driver::Metal],
        _ => &[],
    };
    drivers.extend_from_slice(of_device);
    drivers
}

/// Inserts a value that must be the same for all rows with the same key.
fn insert<T: PartialEq>(
    map: &mut BTreeMap<String, T>,
    key: String,
    value: T,
) -> Result<(), ProjectError> {
    match map.get(&key) {
        Some(known) if *known != value => Err(ProjectError::Table { key }),
        Some(_) => Ok(()),
        None => {
            map.insert(key, value);
            Ok(())
        }
    }
}

impl Releases {
    /// The table of the framework of a kernel.
    ///
    /// # Errors
    /// `ProjectError::Table` if rows differ in a way that releases.cmake cannot say.
    pub fn new(framework: &Framework, table: &Table) -> Result<Self, ProjectError> {
        let is_torch = framework.torch().is_some();
        let rows = table.rows.iter();
        let rows: Vec<&Row> = rows
            .filter(|row| row.torch().is_some() == is_torch)
            .collect();
        let mut releases: BTreeMap<&Version, Release> = BTreeMap::new();
        let mut flags = BTreeMap::new();
        let mut standard_flags = BTreeMap::new();
        let mut links = BTreeMap::new();
        for row in &rows {
            let demands = HeaderDemands::by_framework(row, table);
            let backend = row.backend.as_str();
            let release = releases
                .entry(row.release.version())
                .or_insert_with(|| Release {
                    version: row.release.version().to_string(),
                    standard: demands.standard,
                    defines: BTreeMap::new(),
                });
            if !demands.defines.is_empty() {
                let defines = quote_words(&demands.defines);
                release.defines.insert(backend, defines);
            }
            for driver in drivers(row) {
                let known = driver_flags(row, driver);
                let name = driver_name(driver);
                let mut key = format!("{backend}_{name}");
                if driver == Driver::Clang || row.backend == Backend::Rocm {
                    // The default stands for no row: tables of GPU rows name their toolkit.
                    let toolkit = row.compute.as_ref().map(ToString::to_string);
                    key = format!("{key}_{}", toolkit.unwrap_or_default());
                }
                if row.cxx_abi() == Some(CxxAbi::Cxx98) && driver != Driver::Gcc {
                    key.push_str("_cxx98");
                }
                // NB: some flags are for one release of clang; a row that another compiler of ours
                // compiles does not know clang's release.
                let is_ours = driver != Driver::Clang || row.toolchain.clang.is_some();
                if is_ours {
                    let words = quote_words(&without_build_type(&known.flags));
                    insert(&mut flags, key, words)?;
                }
                if let Some(standard) = known.standard {
                    insert(&mut standard_flags, name, standard)?;
                }
            }
            let link = RowLink::new(row);
            let device = match (row.backend, &row.toolchain.clang) {
                (Backend::Cuda, Some(_)) => driver_name(Driver::Clang),
                (Backend::Cuda, None) => driver_name(Driver::Nvcc),
                _ => row.os().to_owned(),
            };
            let text = LinkText {
                extension: link.extension,
                flags: quote_words(&without_build_type(&link.flags)),
                libraries: quote_words(&link.libraries),
            };
            insert(&mut links, format!("{backend}_{device}"), text)?;
        }
        Ok(Self {
            generated: super::GENERATED,
            releases: releases.into_values().collect(),
            flags,
            standard_flags,
            links,
            archs: archs(table),
        })
    }
}

/// The flags of every GPU architecture that a toolkit knows, for CUDA with and without PTX.
fn archs(table: &Table) -> BTreeMap<String, String> {
    let capabilities = table.toolkits.capabilities().into_iter();
    let all = capabilities.flat_map(|known| [false, true].map(|ptx| Capability { ptx, ..known }));
    let of_driver = |driver, arch: &DeviceArch| {
        let flags = architecture(driver, arch);
        let words: Vec<String> = flags.flags.into_iter().chain(flags.ptx).collect();
        let key = format!("{}_{arch}", driver_name(driver));
        (key, quote_words(&words))
    };
    let cuda = all
        .map(DeviceArch::Cuda)
        .flat_map(|arch| [Driver::Nvcc, Driver::Clang].map(|driver| of_driver(driver, &arch)));
    let rocm = KNOWN
        .iter()
        .filter_map(|name| name.parse::<RocmArch>().ok());
    let rocm = rocm.map(DeviceArch::Rocm);
    let rocm = rocm.map(|arch| of_driver(Driver::Hip, &arch));
    cuda.chain(rocm).collect()
}
