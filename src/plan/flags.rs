//! Compiler flags per driver: those that a Release build of the reference's generated CMake project passes, in its
//! order. The folders of the toolchain are not among them; only Nix knows where those lie.

use crate::kernel::{Backend, Capability};
use crate::matrix::table::TorchFacts;
use crate::matrix::{Abi, Row, Table, Variant};
use crate::version::Version;

/// What torch's own CMake files make of nvcc's warnings about its headers.
const NVCC_TORCH: [&str; 8] = [
    "-DONNX_NAMESPACE=onnx_c2",
    "-Xcudafe",
    "--diag_suppress=cc_clobber_ignored,--diag_suppress=field_without_dll_interface,\
     --diag_suppress=base_class_has_different_dll_interface,--diag_suppress=dll_interface_conflict_none_assumed,\
     --diag_suppress=dll_interface_conflict_dllexport_assumed,--diag_suppress=bad_friend_decl",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "-O3",
    "-DNDEBUG",
    "-Xcompiler=-fPIC,-fno-gnu-unique",
];

/// g++'s flags, before the user's own.
pub fn cxx(variant: &Variant, row: &Row, table: &Table) -> Vec<String> {
    let mut flags = defines(variant, row, table);
    flags.extend(["-O3", "-DNDEBUG"].map(str::to_owned));
    flags.extend(facts(row, table).map(|facts| format!("-std=gnu++{}", facts.cxx)));
    flags.extend(["-fPIC", "-fno-gnu-unique"].map(str::to_owned));
    flags
}

/// gcc's flags for C sources.
pub fn c(variant: &Variant, row: &Row, table: &Table) -> Vec<String> {
    let mut flags = defines(variant, row, table);
    flags.extend(["-O3", "-DNDEBUG", "-fPIC"].map(str::to_owned));
    flags
}

/// nvcc's flags, before the user's own.
pub fn nvcc(
    variant: &Variant,
    row: &Row,
    table: &Table,
    capabilities: &[Capability],
) -> Vec<String> {
    let mut flags = vec!["-forward-unknown-to-host-compiler".to_owned()];
    flags.extend(defines(variant, row, table));
    flags.extend(NVCC_TORCH.map(str::to_owned));
    flags.extend(facts(row, table).map(|facts| format!("-std=c++{}", facts.cxx)));
    flags.push("-DENABLE_FP8".to_owned());
    for capability in capabilities {
        let sm = capability.sm();
        flags.extend([
            "-gencode".to_owned(),
            format!("arch=compute_{sm},code=sm_{sm}"),
        ]);
        if capability.ptx {
            flags.extend([
                "-gencode".to_owned(),
                format!("arch=compute_{sm},code=compute_{sm}"),
            ]);
        }
    }
    flags
}

fn facts<'a>(row: &Row, table: &'a Table) -> Option<&'a TorchFacts> {
    table.torch(row)
}

fn defines(variant: &Variant, row: &Row, table: &Table) -> Vec<String> {
    let mut names: Vec<String> = vec!["Py_LIMITED_API=3".to_owned()];
    let cuda = variant.backend == Backend::Cuda;
    if let Some(facts) = facts(row, table) {
        names.extend(facts.defines.iter().cloned());
        if cuda {
            names.extend(facts.cuda_defines.iter().cloned());
        }
    }
    if cuda {
        names.extend(["CUDA_KERNEL", "USE_CUDA=1"].map(str::to_owned));
    } else {
        names.push("CPU_KERNEL".to_owned());
    }
    if let Abi::StableTorch(abi) = &variant.abi {
        names.push(format!("TORCH_TARGET_VERSION={}", target_version(abi)));
    }
    names.sort();
    names.into_iter().map(|name| format!("-D{name}")).collect()
}

/// A torch release as the stable ABI's headers want it: major in the highest byte, minor in the next.
fn target_version(version: &Version) -> String {
    let at = |index: usize| version.components().get(index).copied().unwrap_or(0);
    format!("0x{:016x}", at(0) << 56 | at(1) << 48)
}
