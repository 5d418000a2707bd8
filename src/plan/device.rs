//! Device code: the GPU architectures that a section is compiled for. Their flags are made in
//! flags.rs.

use std::collections::BTreeSet;
use std::fmt;

use super::{Component, Driver, UnitGroup};
use crate::kernel::{Capability, RocmArch, Section, SectionBackend, Target};
use crate::matrix::{Row, Table};
use crate::version::Version;

/// A GPU architecture that code is compiled for ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceArch {
    Cuda(Capability),
    Rocm(RocmArch),
}

impl fmt::Display for DeviceArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceArch::Cuda(capability) => capability.fmt(f),
            DeviceArch::Rocm(arch) => arch.fmt(f),
        }
    }
}

/// The architectures that a section is compiled for with the toolkit of a row. They are those that
/// the section asks for and the toolkit knows, or else the toolkit's usual ones. Adds a note that
/// names the architectures left out. The matrix leaves out toolkits that know none of them.
pub(super) fn archs(
    section: &Section,
    row: &Row,
    table: &Table,
    notes: &mut Vec<String>,
) -> Vec<DeviceArch> {
    let Some(toolkit) = &row.compute else {
        return Vec::new();
    };
    let (name, asked, facts) = match &section.backend {
        SectionBackend::Cuda { targets, .. } => {
            let facts = table.cuda(toolkit);
            let facts = facts.map(|facts| (cuda(&facts.known), cuda(&facts.default)));
            ("CUDA", asked_archs(targets, toolkit, cuda), facts)
        }
        SectionBackend::Rocm { targets, .. } => {
            let facts = table.rocm(toolkit);
            let facts = facts.map(|facts| (rocm(&facts.known), rocm(&facts.default)));
            ("ROCm", asked_archs(targets, toolkit, rocm), facts)
        }
        SectionBackend::Cpu | SectionBackend::Metal | SectionBackend::Xpu { .. } => {
            return Vec::new();
        }
    };
    let Some((known, default)) = facts else {
        return asked.into_iter().flatten().collect();
    };
    let all: BTreeSet<DeviceArch> = asked
        .into_iter()
        .flat_map(|archs| {
            if archs.is_empty() {
                default.clone()
            } else {
                archs
            }
        })
        .collect();
    let (kept, dropped): (Vec<_>, Vec<_>) = all.into_iter().partition(|arch| {
        known
            .iter()
            .any(|known| known.without_ptx() == arch.without_ptx())
    });
    if !dropped.is_empty() {
        let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
        notes.push(format!(
            "{name} {toolkit}: kernel.{} is not compiled for {}, which it does not know",
            section.written_name,
            dropped.join(", ")
        ));
    }
    kept
}

/// The architectures that a section asks for and a toolkit compiles for; empty if the usual ones
/// are wanted.
fn asked_archs<Arch>(
    targets: &[Target<Arch>],
    toolkit: &Version,
    archs: impl Fn(&[Arch]) -> Vec<DeviceArch>,
) -> Vec<Vec<DeviceArch>> {
    let active = targets.iter().filter(|target| target.is_active(toolkit));
    active.map(|target| archs(&target.archs)).collect()
}

/// The CUDA architectures that a library of some components holds device code for, and whether
/// flags of build.toml ask for more.
pub(super) fn linked_archs(components: &[Component]) -> (Vec<String>, bool) {
    let mut archs: BTreeSet<DeviceArch> = BTreeSet::new();
    let mut more = false;
    for component in components {
        let mut groups = component.units.iter();
        let compiled = |group: &UnitGroup| matches!(group.driver, Driver::Nvcc | Driver::Clang);
        if groups.any(compiled) {
            archs.extend(&component.archs);
            more |= component.more_archs;
        }
    }
    (archs.iter().map(ToString::to_string).collect(), more)
}

/// Whether flags name architectures.
pub(super) fn flags_name_archs(flags: &[String]) -> bool {
    let named = |flag: &String| flag.contains("sm_") || flag.contains("compute_");
    flags.iter().any(named)
}

pub(super) fn cuda(list: &[Capability]) -> Vec<DeviceArch> {
    list.iter().copied().map(DeviceArch::Cuda).collect()
}

pub(super) fn rocm(list: &[RocmArch]) -> Vec<DeviceArch> {
    list.iter().copied().map(DeviceArch::Rocm).collect()
}

impl DeviceArch {
    /// The architecture without a wish for PTX, which every toolkit can grant.
    fn without_ptx(self) -> Self {
        match self {
            DeviceArch::Cuda(capability) => DeviceArch::Cuda(Capability {
                ptx: false,
                ..capability
            }),
            DeviceArch::Rocm(_) => self,
        }
    }
}
