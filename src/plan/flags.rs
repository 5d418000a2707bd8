//! Compiler flags per driver: those that a Release build of the reference's generated CMake project passes, in its
//! order. The folders of the toolchain are not among them; only Nix knows where those lie.

use crate::kernel::{Backend, Capability};
use crate::matrix::clang;
use crate::matrix::{Abi, Row, Table, Variant};
use crate::version::Version;

/// What torch's own CMake files tell nvcc, mostly about warnings of its headers.
const NVCC_TORCH: [&str; 5] = [
    "-DONNX_NAMESPACE=onnx_c2",
    "-Xcudafe",
    "--diag_suppress=cc_clobber_ignored,--diag_suppress=field_without_dll_interface,\
     --diag_suppress=base_class_has_different_dll_interface,--diag_suppress=dll_interface_conflict_none_assumed,\
     --diag_suppress=dll_interface_conflict_dllexport_assumed,--diag_suppress=bad_friend_decl",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
];

/// The C++ standard that tvm-ffi's headers need (its CMake target asks for it).
const TVM_FFI_CXX: u32 = 17;

/// What clang is told beside that. Its releases know the CUDA toolkits before them, and take a newer one for the last of these.
const CLANG: [&str; 5] = [
    "-O3",
    "-DNDEBUG",
    "-fPIC",
    "-Wno-unknown-cuda-version",
    "-Wno-unknown-warning-option",
];

/// g++'s flags, before the user's own.
pub fn cxx(variant: &Variant, row: &Row, table: &Table) -> Vec<String> {
    let mut flags = defines(variant, row, table);
    flags.extend(["-O3", "-DNDEBUG"].map(str::to_owned));
    flags.push(format!("-std=gnu++{}", standard(row, table)));
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
    if row.torch.is_some() {
        flags.extend(NVCC_TORCH.map(str::to_owned));
    }
    flags.extend(["-O3", "-DNDEBUG", "-Xcompiler=-fPIC,-fno-gnu-unique"].map(str::to_owned));
    flags.push(format!("-std=c++{}", standard(row, table)));
    if row.torch.is_some() {
        flags.push("-DENABLE_FP8".to_owned());
    }
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

/// clang's flags for CUDA sources, before the user's own: what nvcc's mean to it.
pub fn clang(
    variant: &Variant,
    row: &Row,
    table: &Table,
    capabilities: &[Capability],
) -> Vec<String> {
    let mut flags = defines(variant, row, table);
    if row.torch.is_some() {
        flags.extend(["-DONNX_NAMESPACE=onnx_c2", "-DENABLE_FP8"].map(str::to_owned));
    }
    flags.extend(CLANG.map(str::to_owned));
    flags.push(format!("-std=c++{}", standard(row, table)));
    flags.push("--no-cuda-include-ptx=all".to_owned());
    for capability in capabilities {
        flags.extend(clang::architecture(&capability.sm(), capability.ptx));
    }
    flags
}

fn standard(row: &Row, table: &Table) -> u32 {
    table.torch(row).map_or(TVM_FFI_CXX, |facts| facts.cxx)
}

fn defines(variant: &Variant, row: &Row, table: &Table) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let cuda = variant.backend == Backend::Cuda;
    if let Some(facts) = table.torch(row) {
        names.push("Py_LIMITED_API=3".to_owned());
        names.extend(facts.defines.iter().cloned());
        if cuda {
            names.push("USE_CUDA=1".to_owned());
            names.extend(facts.cuda_defines.iter().cloned());
        }
    }
    names.push(if cuda { "CUDA_KERNEL" } else { "CPU_KERNEL" }.to_owned());
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
