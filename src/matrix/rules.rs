//! The rules that exclude a row of the table for a kernel: each gives its `Exclusion`, or `None`.

use super::header_library::{HeaderLibrary, header_libraries};
use super::table::{Row, Table};
use super::{Exclusion, clang, openmp};
use crate::kernel::capability::Feature;
use crate::kernel::{Backend, Capability, Kernel, Section, SectionBackend, Target, knows};
use crate::version::Version;

/// The first rule that excludes a row.
pub(super) fn exclusion(
    kernel: &Kernel,
    table: &Table,
    row: &Row,
    stable_abi: Option<&Version>,
) -> Option<Exclusion> {
    if !kernel.backends.contains(&row.backend) {
        return Some(Exclusion::Backend(row.backend));
    }
    missing_library(kernel, table, row)
        .or_else(|| outside_of_torch(kernel, row))
        .or_else(|| outside_of_cuda(kernel, table, row))
        .or_else(|| outside_of_rocm(kernel, table, row))
        .or_else(|| openmp::exclusion(kernel, row))
        .or_else(|| served_by_another(kernel, table, row, stable_abi))
}

fn outside_of_torch(kernel: &Kernel, row: &Row) -> Option<Exclusion> {
    let (torch, bounds) = (row.torch()?, &kernel.framework.torch()?.bounds);
    if bounds.contains(torch) {
        return None;
    }
    let torch = torch.clone();
    Some(match (&bounds.minver, &bounds.maxver) {
        (Some(minver), _) if &torch < minver => Exclusion::TorchMinver {
            torch,
            minver: minver.clone(),
        },
        (_, maxver) => Exclusion::TorchMaxver {
            torch,
            maxver: maxver.clone()?,
        },
    })
}

fn outside_of_cuda(kernel: &Kernel, table: &Table, row: &Row) -> Option<Exclusion> {
    let cuda = row
        .compute
        .as_ref()
        .filter(|_| row.backend == Backend::Cuda)?;
    if !kernel.cuda.contains(cuda) {
        let cuda = cuda.clone();
        return Some(match (&kernel.cuda.minver, &kernel.cuda.maxver) {
            (Some(minver), _) if &cuda < minver => Exclusion::CudaMinver {
                cuda,
                minver: minver.clone(),
            },
            (_, maxver) => Exclusion::CudaMaxver {
                cuda,
                maxver: maxver.clone()?,
            },
        });
    }
    let sections = || kernel.sections.iter().filter_map(cuda_section);
    let mut targets = sections().flat_map(|(_, targets)| targets);
    if !targets.any(|target| target.is_active(cuda)) {
        let (section, minver) = sections()
            .flat_map(|(_, targets)| targets)
            .filter_map(|target| Some((&target.section, target.minver.as_ref()?)))
            .min_by_key(|(_, minver)| *minver)?;
        return Some(Exclusion::SectionMinver {
            section: section.clone(),
            minver: minver.clone(),
        });
    }
    let known = &table.cuda(cuda)?.known;
    sections().find_map(|(section, targets)| {
        let mut active = targets.iter().filter(|target| target.is_active(cuda));
        active.clone().next()?;
        active
            .find_map(|target| {
                nothing_to_compile(target, known, cuda)
                    .or_else(|| no_grid_constants(section, target, known, row, cuda))
            })
            .or_else(|| flags_without_meaning(section, row, cuda))
    })
}

fn nothing_to_compile(
    target: &Target<Capability>,
    known: &[Capability],
    cuda: &Version,
) -> Option<Exclusion> {
    let asked = &target.archs;
    let compiled = |capability: &_| knows(known, capability);
    if asked.is_empty() || asked.iter().any(compiled) {
        return None;
    }
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    Some(Exclusion::Capabilities {
        section: target.section.clone(),
        cuda: cuda.clone(),
        asked: asked.join(", "),
    })
}

fn flags_without_meaning(section: &Section, row: &Row, cuda: &Version) -> Option<Exclusion> {
    row.toolchain.clang.as_ref()?;
    let SectionBackend::Cuda { flags, .. } = &section.backend else {
        return None;
    };
    let unknown = clang::translate(flags).unknown;
    (!unknown.is_empty()).then(|| Exclusion::CudaFlags {
        section: section.written_name.clone(),
        cuda: cuda.clone(),
        flags: unknown.join(", "),
    })
}

/// CUTLASS's kernels for one architecture alone (9.0a) pass descriptors in a way that older clangs
/// miscompile: the code fails when it runs.
fn no_grid_constants(
    section: &Section,
    target: &Target<Capability>,
    known: &[Capability],
    row: &Row,
    cuda: &Version,
) -> Option<Exclusion> {
    let family = row.toolchain.clang.as_ref()?;
    let needs_them = |capability: &&Capability| {
        capability.feature == Feature::Architecture && knows(known, capability)
    };
    let capability = target.archs.iter().find(needs_them)?;
    let dependency = section.cutlass()?;
    (!clang::knows_grid_constants(family)).then(|| Exclusion::GridConstants {
        section: target.section.clone(),
        cuda: cuda.clone(),
        dependency,
        capability: *capability,
    })
}

fn outside_of_rocm(kernel: &Kernel, table: &Table, row: &Row) -> Option<Exclusion> {
    let rocm = row
        .compute
        .as_ref()
        .filter(|_| row.backend == Backend::Rocm)?;
    let known = &table.rocm(rocm)?.known;
    let targets = kernel.sections.iter().flat_map(|section| {
        let targets: &[_] = match &section.backend {
            SectionBackend::Rocm { targets, .. } => targets,
            _ => &[],
        };
        targets
    });
    let compiles_nothing = |target: &&Target<_>| {
        let archs = &target.archs;
        !archs.is_empty() && !archs.iter().any(|arch| known.contains(arch))
    };
    let target = { targets }.find(compiles_nothing)?;
    let asked: Vec<String> = target.archs.iter().map(ToString::to_string).collect();
    Some(Exclusion::RocmArchs {
        section: target.section.clone(),
        rocm: rocm.clone(),
        asked: asked.join(", "),
    })
}

/// A CUDA section with its targets.
fn cuda_section(section: &Section) -> Option<(&Section, &[Target<Capability>])> {
    match &section.backend {
        SectionBackend::Cuda { targets, .. } => Some((section, targets)),
        SectionBackend::Cpu
        | SectionBackend::Metal
        | SectionBackend::Rocm { .. }
        | SectionBackend::Xpu { .. } => None,
    }
}

/// One library with the stable ABI serves every torch, so it is built once per compute and system:
/// with the newest torch of the first profile that can build it, from a bundled row if there is
/// one.
fn served_by_another(
    kernel: &Kernel,
    table: &Table,
    row: &Row,
    stable_abi: Option<&Version>,
) -> Option<Exclusion> {
    let abi = stable_abi?;
    let torch = row.torch()?;
    if torch < abi {
        return Some(Exclusion::OlderThanStableAbi {
            torch: torch.clone(),
            abi: abi.clone(),
        });
    }
    let bounds = &kernel.framework.torch()?.bounds;
    let rank = |row: &Row| {
        (
            std::cmp::Reverse(row.profile),
            row.bundle,
            row.torch().cloned(),
            row.cxx_abi(),
        )
    };
    let best = table
        .rows
        .iter()
        .filter(|other| {
            let same = |row: &Row| (row.system.clone(), row.backend, row.compute.clone());
            let fits = |torch: &Version| bounds.contains(torch) && torch >= abi;
            same(other) == same(row) && other.torch().is_some_and(fits)
        })
        .max_by_key(|other| rank(other))?;
    (rank(best) != rank(row)).then(|| Exclusion::StableAbi {
        built_with: best.torch().unwrap_or(abi).clone(),
    })
}

/// The first library without pins that a section of the backend depends on.
fn missing_library(kernel: &Kernel, table: &Table, row: &Row) -> Option<Exclusion> {
    header_libraries(kernel, table, row).find_map(|(section, dependency, library)| {
        let unpinned = match library.map(HeaderLibrary::family) {
            Some(Ok(_)) => return None,
            Some(Err(unpinned)) => unpinned.to_owned(),
            None => "it has no release for this toolkit".to_owned(),
        };
        Some(Exclusion::Dependency {
            section: section.written_name.clone(),
            dependency,
            unpinned,
        })
    })
}
