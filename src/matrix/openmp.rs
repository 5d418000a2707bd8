//! OpenMP: the flags of build.toml that ask for it, and the compilers whose OpenMP code needs a
//! runtime that is missing when a kernel is loaded.
//!
//! torch loads a libgomp into every process, and all OpenMP code of a process must use the same
//! runtime: a second one has threads of its own, and does not know how many torch was told to use.
//! Code of g++ calls that libgomp, and so does code of nvcc, whose host code g++ compiles. On
//! macOS, torch brings libomp, which Xcode's clang makes code for.
//! NB: clang's `-fopenmp=libgomp` makes no code for libgomp. It ignores pragmas without a warning.

use super::{Exclusion, Row};
use crate::kernel::{Backend, Kernel, Section, SectionBackend};

/// Flags for code that calls a runtime; code of `-fopenmp-simd` does not.
const FLAGS: [&str; 3] = ["-fopenmp", "-qopenmp", "-fiopenmp"];

const CLANG: &str = "makes it for libomp, but torch brings libgomp: move that code to a C++ file";
const ICPX: &str = "icpx makes it for Intel's libiomp5, but torch brings libgomp";
const TVM_FFI: &str =
    "tvm-ffi brings no OpenMP runtime, and not every system has one: use std::thread, or `[torch]`";

/// Whether flags of any driver ask for OpenMP: `-fopenmp`, `-Xcompiler=-Wall,-fopenmp`.
pub fn is_asked_for(flags: &[String]) -> bool {
    let mut parts = flags.iter().flat_map(|flag| flag.split([',', '=']));
    parts.any(|part| FLAGS.contains(&part))
}

/// The arguments for a C++ flag with Xcode's clang, whose driver refuses `-fopenmp` although its
/// compiler knows the flag.
pub fn apple_flags(flag: &str) -> Vec<String> {
    match flag {
        "-fopenmp" => vec!["-Xclang".to_owned(), flag.to_owned()],
        _ => vec![flag.to_owned()],
    }
}

/// The reason why a row cannot build a kernel that asks for OpenMP; `None` if the row can, or if
/// the kernel does not ask.
pub(super) fn exclusion(kernel: &Kernel, row: &Row) -> Option<Exclusion> {
    let toolkit = row
        .compute
        .iter()
        .map(ToString::to_string)
        .collect::<String>();
    let by_clang = row.toolchain.clang.is_some();
    let [cxx, device] = asking_keys(kernel, row);
    let (key, reason) = match row.backend {
        _ if row.torch().is_none() => (cxx.or(device)?, TVM_FFI.to_owned()),
        Backend::Cuda if by_clang => (
            device?,
            format!("clang, which compiles CUDA {toolkit}, {CLANG}"),
        ),
        Backend::Rocm => (
            device?,
            format!("clang, which compiles ROCm {toolkit}, {CLANG}"),
        ),
        Backend::Xpu => (cxx.or(device)?, ICPX.to_owned()),
        _ => return None,
    };
    Some(Exclusion::OpenMp { key, reason })
}

/// The first keys of build.toml that ask for OpenMP in the builds of a row: for C++, and for device
/// code.
fn asking_keys(kernel: &Kernel, row: &Row) -> [Option<String>; 2] {
    let framework = &kernel.framework;
    let binding =
        is_asked_for(framework.cxx_flags()).then(|| format!("{}.cxx-flags", framework.name()));
    let sections = || {
        kernel
            .sections
            .iter()
            .filter(|section| is_compiled(section, row))
    };
    let mut cxx = sections().filter(|section| is_asked_for(&section.cxx_flags));
    let mut device = sections().filter(|section| is_asked_for(section.backend.flags()));
    let device_key = match row.backend {
        Backend::Rocm => "hip-flags",
        Backend::Xpu => "sycl-flags",
        _ => "cuda-flags",
    };
    [
        binding.or_else(|| Some(format!("kernel.{}.cxx-flags", cxx.next()?.written_name))),
        device
            .next()
            .map(|section| format!("kernel.{}.{device_key}", section.written_name)),
    ]
}

fn is_compiled(section: &Section, row: &Row) -> bool {
    match (&section.backend, &row.compute) {
        (SectionBackend::Cuda { targets, .. }, Some(toolkit)) => {
            row.backend == Backend::Cuda && targets.iter().any(|target| target.is_active(toolkit))
        }
        (backend, _) => backend.backend() == row.backend,
    }
}

#[cfg(test)]
mod tests {
    use super::is_asked_for;

    #[test]
    fn flags_of_every_driver_are_known() {
        let asked = |flags: &str| {
            let flags: Vec<String> = flags.split(' ').map(str::to_owned).collect();
            is_asked_for(&flags)
        };
        for flags in [
            "-O3 -fopenmp",
            "-Xcompiler -fopenmp",
            "-Xcompiler=-fopenmp",
            "--compiler-options=-Wall,-fopenmp",
            "-fopenmp=libomp",
            "-qopenmp",
        ] {
            assert!(asked(flags), "{flags}");
        }
        for flags in [
            "-fopenmp-simd",
            "-DUSE=fopenmp",
            "-DUSE_OPENMP",
            "-fno-openmp",
        ] {
            assert!(!asked(flags), "{flags}");
        }
    }
}
