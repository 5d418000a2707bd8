//! Compiler flags per driver: those that a Release build of the reference's generated CMake project passes, in its
//! order. The folders of the toolchain are not among them; only Nix knows where those lie.

use super::{DeviceArch, Driver};
use crate::kernel::{Backend, Capability, Kernel, Language};
use crate::matrix::clang;
use crate::matrix::table::PYTHON_DEFINE;
use crate::matrix::{Compilation, CxxAbi, Matrix, Row, Table, Variant};
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

/// What headers ask of the files that include them.
#[derive(Clone, Debug)]
pub struct Asked {
    /// C++ standard: 17, 20.
    cxx: u32,
    /// Macros, with their values.
    defines: Vec<String>,
}

impl Asked {
    /// By the framework of a row, and by Python.
    pub fn by_framework(row: &Row, table: &Table) -> Self {
        let Some(facts) = table.torch(row) else {
            return Self {
                cxx: TVM_FFI_CXX,
                defines: Vec::new(),
            };
        };
        let mut defines = vec![PYTHON_DEFINE.to_owned()];
        defines.extend(facts.defines.iter().cloned());
        if row.backend == Backend::Cuda {
            defines.extend(facts.cuda_defines.iter().cloned());
        }
        Self {
            cxx: facts.cxx,
            defines,
        }
    }

    /// By neither: nothing, so that an object serves every framework's release. Its C++ standard is the oldest of those
    /// that are built with the same compilers, which the author's code has to make do with anyway.
    pub fn by_nobody(row: &Row, matrix: &Matrix, table: &Table) -> Self {
        let compilers = |row: &Row| (row.system.clone(), row.toolchain.without_framework());
        let own = compilers(row);
        let rows = matrix.variants.iter().filter_map(Variant::row);
        let same = rows.filter(|other| compilers(other) == own);
        let standards = same.map(|other| Self::by_framework(other, table).cxx);
        Self {
            cxx: standards.min().unwrap_or(TVM_FFI_CXX),
            defines: Vec::new(),
        }
    }
}

/// What clang is told beside that. Its releases know the CUDA toolkits before them, and take a newer one for the last of these.
const CLANG: [&str; 5] = [
    "-O3",
    "-DNDEBUG",
    "-fPIC",
    "-Wno-unknown-cuda-version",
    "-Wno-unknown-warning-option",
];

/// What torch's own CMake files tell every file of an extension for ROCm, less those that hide operators of half types:
/// CUDA files see theirs, too.
const HIP_DEFINES: [&str; 4] = [
    "CUDA_HAS_FP16=1",
    "HIPBLAS_V2",
    "HIP_ENABLE_WARP_SYNC_BUILTINS=1",
    "__HIP_PLATFORM_AMD__=1",
];

/// What makes C++ SYCL, and keeps icpx to the arithmetic of the other compilers.
/// NB: code for Intel's GPUs is made when it is first run (spir64). To make it ahead of time, icpx needs Intel's ocloc,
/// which no pins have.
pub const SYCL: [&str; 8] = [
    "-fsycl",
    "-fhonor-nans",
    "-fhonor-infinities",
    "-fno-associative-math",
    "-fno-approx-func",
    "-fno-sycl-instrument-device-code",
    "--offload-compress",
    "-fsycl-targets=spir64",
];

/// g++'s flags, before the user's own.
pub fn cxx(compilation: &Compilation, asked: &Asked) -> Vec<String> {
    let mut flags = cxx_defines(compilation, asked);
    flags.extend(["-O3", "-DNDEBUG"].map(str::to_owned));
    flags.push(format!("-std=gnu++{}", asked.cxx));
    flags.extend(["-fPIC", "-fno-gnu-unique"].map(str::to_owned));
    flags
}

/// gcc's flags for C sources.
pub fn c(compilation: &Compilation, asked: &Asked) -> Vec<String> {
    let mut flags = defines(compilation, asked);
    flags.extend(["-O3", "-DNDEBUG", "-fPIC"].map(str::to_owned));
    flags
}

/// nvcc's flags, before the user's own.
pub fn nvcc(compilation: &Compilation, asked: &Asked, archs: &[DeviceArch]) -> Vec<String> {
    let row = &compilation.row;
    let mut flags = vec!["-forward-unknown-to-host-compiler".to_owned()];
    flags.extend(cxx_defines(compilation, asked));
    if row.torch().is_some() {
        flags.extend(NVCC_TORCH.map(str::to_owned));
    }
    flags.extend(["-O3", "-DNDEBUG", "-Xcompiler=-fPIC,-fno-gnu-unique"].map(str::to_owned));
    flags.push(format!("-std=c++{}", asked.cxx));
    if row.torch().is_some() {
        flags.push("-DENABLE_FP8".to_owned());
    }
    flags.extend(architectures(Driver::Nvcc, archs));
    flags
}

/// clang's flags for CUDA sources, before the user's own: what nvcc's mean to it.
pub fn clang(compilation: &Compilation, asked: &Asked, archs: &[DeviceArch]) -> Vec<String> {
    let row = &compilation.row;
    let mut flags = cxx_defines(compilation, asked);
    if row.torch().is_some() {
        flags.extend(["-DONNX_NAMESPACE=onnx_c2", "-DENABLE_FP8"].map(str::to_owned));
    }
    flags.extend(CLANG.map(str::to_owned));
    flags.extend(nvcc_version(row));
    let family = row.toolchain.clang.as_deref();
    if family.is_some_and(clang::knows_grid_constants) {
        // NB: CUTLASS takes clang for one that does not know them. Its kernels for sm_90 then read copies of descriptors,
        // which fails when they run.
        flags.push("-DCUTLASS_GRID_CONSTANT=__grid_constant__".to_owned());
    }
    flags.push(format!("-std=c++{}", asked.cxx));
    flags.push("--no-cuda-include-ptx=all".to_owned());
    flags.extend(architectures(Driver::Clang, archs));
    flags
}

/// The macros that hold nvcc's version, which is the toolkit's: authors, and CUTLASS, ask them what the toolkit can do.
fn nvcc_version(row: &Row) -> impl Iterator<Item = String> {
    let versions = row.compute.iter().map(Version::major_minor);
    versions.flat_map(|(major, minor)| {
        [
            format!("-D__CUDACC_VER_MAJOR__={major}"),
            format!("-D__CUDACC_VER_MINOR__={minor}"),
        ]
    })
}

fn architectures(driver: Driver, archs: &[DeviceArch]) -> impl Iterator<Item = String> {
    capabilities(archs).flat_map(move |capability| {
        let (machine, ptx) = architecture(driver, capability);
        machine.into_iter().chain(ptx)
    })
}

/// Flags for an architecture: what makes its machine code, and what keeps PTX, if it is wanted.
pub fn architecture(driver: Driver, capability: &Capability) -> (Vec<String>, Vec<String>) {
    let sm = capability.sm();
    let (machine, ptx) = match driver {
        Driver::Clang => clang::architecture(&sm),
        _ => {
            let gencode = |code: &str| {
                let value = format!("arch=compute_{sm},code={code}_{sm}");
                vec!["-gencode".to_owned(), value]
            };
            (gencode("sm"), gencode("compute"))
        }
    };
    (machine, if capability.ptx { ptx } else { Vec::new() })
}

/// The CUDA capabilities among some architectures.
pub fn capabilities(archs: &[DeviceArch]) -> impl Iterator<Item = &Capability> {
    archs.iter().filter_map(|arch| match arch {
        DeviceArch::Cuda(capability) => Some(capability),
        DeviceArch::Rocm(_) => None,
    })
}

/// The flags of ROCm's clang, before the user's own.
pub fn hip(compilation: &Compilation, asked: &Asked, archs: &[DeviceArch]) -> Vec<String> {
    let row = &compilation.row;
    let mut flags = cxx_defines(compilation, asked);
    if row.torch().is_some() {
        flags.push("-DENABLE_FP8".to_owned());
    }
    flags.extend(optimized(asked));
    flags.extend(archs.iter().map(|arch| format!("--offload-arch={arch}")));
    flags
}

/// icpx's flags, before the user's own; [`SYCL`] makes them those of device code.
pub fn icpx(compilation: &Compilation, asked: &Asked) -> Vec<String> {
    let mut flags = cxx_defines(compilation, asked);
    flags.extend(optimized(asked));
    flags
}

/// The flags of Xcode's clang, before the user's own.
pub fn apple(
    compilation: &Compilation,
    asked: &Asked,
    driver: Driver,
    kernel: &Kernel,
) -> Vec<String> {
    let row = &compilation.row;
    let mut flags = match driver {
        Driver::AppleClangxx => icpx(compilation, asked),
        _ => c(compilation, asked),
    };
    let metal = row.backend == Backend::Metal;
    let mut sections = kernel.sections.iter().filter(|_| metal);
    if sections.any(|section| section.units().any(|unit| unit.1 == Language::Metal)) {
        // Authors include what the reference generates by these names (templates/torch/metallib.h).
        flags.extend(
            [
                "-DEMBEDDED_METALLIB_HEADER=\"kernel_builder_metallib.h\"",
                "-DEMBEDDED_METALLIB_NAMESPACE=kernel_builder_metallib",
            ]
            .map(str::to_owned),
        );
    }
    flags.push(oldest_macos(row));
    flags
}

/// The flags of the compiler of shaders.
pub fn metal() -> Vec<String> {
    ["-std=metal4.0", "-O2"].map(str::to_owned).to_vec()
}

/// The flags of a link, before the objects.
pub fn link(row: &Row) -> Vec<String> {
    let mut flags = ["-O3", "-DNDEBUG"].map(str::to_owned).to_vec();
    let more: &[&str] = match (Driver::linker(row), row.backend) {
        (Driver::AppleClangxx, Backend::Metal) => &[
            "-bundle",
            "-Wl,-undefined,dynamic_lookup",
            "-framework",
            "Foundation",
            "-framework",
            "Metal",
        ],
        (Driver::AppleClangxx, _) => &["-bundle", "-Wl,-undefined,dynamic_lookup"],
        (Driver::Icpx, _) => &[
            "-Wl,--as-needed",
            "-Wl,-z,noexecstack",
            "-fsycl",
            "--offload-compress",
            "-fsycl-targets=spir64",
        ],
        _ => &["-Wl,--as-needed"],
    };
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    if row.system.ends_with("-darwin") {
        flags.push(oldest_macos(row));
    }
    flags
}

/// The oldest macOS that a library loads on: the client wants 26 for metal.
fn oldest_macos(row: &Row) -> String {
    let oldest = if row.backend == Backend::Metal {
        "26.0"
    } else {
        "15.0"
    };
    format!("-mmacosx-version-min={oldest}")
}

/// What every clang gets for C++.
fn optimized(asked: &Asked) -> Vec<String> {
    let mut flags = ["-O3", "-DNDEBUG"].map(str::to_owned).to_vec();
    flags.push(format!("-std=gnu++{}", asked.cxx));
    flags.push("-fPIC".to_owned());
    flags
}

/// The macros that every C++ file gets.
/// NB: those without headers of torch, too. A library is of one C++ ABI, or the binding does not find functions of its
/// own that take a std::string.
fn cxx_defines(compilation: &Compilation, asked: &Asked) -> Vec<String> {
    let row = &compilation.row;
    let mut flags = defines(compilation, asked);
    let define = row.cxx_abi().and_then(CxxAbi::define);
    flags.extend(define.map(|define| format!("-D{define}")));
    flags
}

fn defines(compilation: &Compilation, asked: &Asked) -> Vec<String> {
    let row = &compilation.row;
    let mut names = asked.defines.clone();
    if row.torch().is_some() {
        match row.backend {
            Backend::Cuda => {
                names.push("USE_CUDA=1".to_owned());
            }
            Backend::Rocm => {
                names.push("USE_ROCM=1".to_owned());
                names.extend(HIP_DEFINES.map(str::to_owned));
                names.extend(row.compute.as_ref().map(|toolkit| {
                    let (major, minor) = toolkit.major_minor();
                    format!("TORCH_HIP_VERSION={}", major * 100 + minor)
                }));
            }
            Backend::Xpu => names.push("USE_XPU".to_owned()),
            _ => {}
        }
    }
    names.push(format!("{}_KERNEL", row.backend.as_str().to_uppercase()));
    if let Some(abi) = &compilation.stable_abi {
        names.push(format!("TORCH_TARGET_VERSION={}", target_version(abi)));
    }
    names.sort();
    names.into_iter().map(|name| format!("-D{name}")).collect()
}

/// A torch release as the stable ABI's headers want it: major in the highest byte, minor in the next.
fn target_version(version: &Version) -> String {
    let (major, minor) = version.major_minor();
    format!("0x{:016x}", major << 56 | minor << 48)
}
