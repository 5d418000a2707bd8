//! Compiler flags per driver: the flags that a Release build of the reference's generated CMake
//! project passes, in its order. Only Nix knows where toolchains lie, so flags for their folders
//! are added there.

use serde::Serialize;

use super::{DeviceArch, Driver};
use crate::kernel::Backend;
use crate::matrix::clang;
use crate::matrix::table::PYTHON_DEFINE;
use crate::matrix::{CxxAbi, Row, Table};
use crate::version::Version;

/// The flags that torch's own CMake files pass to nvcc, mostly about warnings in torch's headers.
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

/// The demands of headers on the files that include them.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct HeaderDemands {
    /// C++ standard, such as 17 or 20.
    pub standard: u32,
    /// Flags that define macros, sorted.
    pub defines: Vec<String>,
}

impl HeaderDemands {
    /// The demands of the framework of a row, and of Python.
    pub fn by_framework(row: &Row, table: &Table) -> Self {
        let Some(facts) = table.torch(row) else {
            return Self {
                standard: TVM_FFI_CXX,
                defines: Vec::new(),
            };
        };
        let mut defines = vec![PYTHON_DEFINE.to_owned()];
        defines.extend(facts.defines.iter().cloned());
        if row.backend == Backend::Cuda {
            defines.extend(facts.cuda_defines.iter().cloned());
        }
        defines.sort();
        Self {
            standard: facts.cxx,
            defines: defines.iter().map(|name| format!("-D{name}")).collect(),
        }
    }

    /// The demands on units that include no header of a framework: no macros, and the oldest C++
    /// standard among rows with the same compilers. The author's code has to compile with that
    /// standard anyway, and an object serves every release of the framework.
    pub fn without_framework<'a>(
        row: &Row,
        rows: impl IntoIterator<Item = &'a Row>,
        table: &Table,
    ) -> Self {
        let compilers = row.compilers();
        let same = rows
            .into_iter()
            .filter(|other| other.compilers() == compilers);
        let standards = same.map(|other| Self::by_framework(other, table).standard);
        Self {
            standard: standards.min().unwrap_or(TVM_FFI_CXX),
            defines: Vec::new(),
        }
    }
}

/// The flags that a driver gets for every unit of a row. Demands of headers, architectures and
/// flags of build.toml come on top.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct DriverFlags {
    pub driver: Driver,
    pub flags: Vec<String>,
    /// The flag of the C++ standard, without its number; `None` if the language has no C++
    /// standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<&'static str>,
}

impl DriverFlags {
    /// All flags of a unit. Demands of headers come first, so that flags of build.toml prevail.
    pub fn unit(
        &self,
        demands: &HeaderDemands,
        defines: &[String],
        own_flags: &[String],
    ) -> Vec<String> {
        let mut flags = Vec::new();
        // Shaders include no header of a framework, and are not C++.
        if self.driver != Driver::Metal {
            flags.extend_from_slice(&demands.defines);
            let standard = self.standard.iter();
            flags.extend(standard.map(|flag| format!("{flag}{}", demands.standard)));
            flags.extend_from_slice(defines);
        }
        flags.extend_from_slice(&self.flags);
        flags.extend_from_slice(own_flags);
        flags
    }
}

/// The flags that clang gets in addition. A release of clang knows the CUDA toolkits that are older
/// than it, and treats a newer one like the last that it knows.
const CLANG: [&str; 5] = [
    "-O3",
    "-DNDEBUG",
    "-fPIC",
    "-Wno-unknown-cuda-version",
    "-Wno-unknown-warning-option",
];

/// The macros that torch's own CMake files define for every file of an extension for ROCm. Macros
/// that hide operators of half types are not among them: CUDA files see these operators, too.
const HIP_DEFINES: [&str; 4] = [
    "CUDA_HAS_FP16=1",
    "HIPBLAS_V2",
    "HIP_ENABLE_WARP_SYNC_BUILTINS=1",
    "__HIP_PLATFORM_AMD__=1",
];

/// The flags that make C++ SYCL, and keep icpx to the arithmetic of the other compilers.
/// NB: code for Intel's GPUs is compiled when it is first run (spir64). icpx needs Intel's ocloc to
/// compile it ahead of time, which no pins have.
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

/// The flags of a driver for the units of a row.
pub fn driver_flags(row: &Row, driver: Driver) -> DriverFlags {
    let torch = row.torch().is_some();
    let mut flags = match driver {
        Driver::Metal => Vec::new(),
        Driver::Gcc | Driver::Icx | Driver::AppleClang => row_defines(row),
        _ => cxx_defines(row),
    };
    let mut push = |more: &[&str]| flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    let standard = match driver {
        Driver::Gcc | Driver::Icx | Driver::AppleClang => {
            push(&["-O3", "-DNDEBUG", "-fPIC"]);
            None
        }
        Driver::Gxx => {
            push(&["-O3", "-DNDEBUG", "-fPIC", "-fno-gnu-unique"]);
            Some("-std=gnu++")
        }
        Driver::Icpx | Driver::AppleClangxx => {
            push(&["-O3", "-DNDEBUG", "-fPIC"]);
            Some("-std=gnu++")
        }
        Driver::Hip => {
            push(if torch { &["-DENABLE_FP8"] } else { &[] });
            push(&["-O3", "-DNDEBUG", "-fPIC"]);
            Some("-std=gnu++")
        }
        Driver::Nvcc => {
            push(&["-forward-unknown-to-host-compiler"]);
            if torch {
                push(&NVCC_TORCH);
                push(&["-DENABLE_FP8"]);
            }
            push(&["-O3", "-DNDEBUG", "-Xcompiler=-fPIC,-fno-gnu-unique"]);
            Some("-std=c++")
        }
        Driver::Clang => {
            if torch {
                push(&["-DONNX_NAMESPACE=onnx_c2", "-DENABLE_FP8"]);
            }
            push(&CLANG);
            Some("-std=c++")
        }
        Driver::Metal => {
            push(&["-std=metal4.0", "-O2"]);
            None
        }
    };
    match driver {
        Driver::Clang => flags.extend(clang_for(row)),
        Driver::AppleClang | Driver::AppleClangxx => flags.push(oldest_macos(row)),
        _ => {}
    }
    DriverFlags {
        driver,
        flags,
        standard,
    }
}

/// Flags of clang that depend on the toolkit and on clang's release.
fn clang_for(row: &Row) -> Vec<String> {
    let mut flags: Vec<String> = nvcc_version(row).collect();
    let family = row.toolchain.clang.as_deref();
    if family.is_some_and(clang::knows_grid_constants) {
        // NB: CUTLASS assumes that clang does not know grid constants. Its kernels for sm_90 then
        // read copies of descriptors, which fails when they run.
        flags.push("-DCUTLASS_GRID_CONSTANT=__grid_constant__".to_owned());
    }
    flags.push("--no-cuda-include-ptx=all".to_owned());
    flags
}

/// The macros that hold nvcc's version, which is the toolkit's. Authors and CUTLASS read them to
/// learn the abilities of the toolkit.
fn nvcc_version(row: &Row) -> impl Iterator<Item = String> {
    let versions = row.compute.iter().map(Version::major_minor);
    versions.flat_map(|(major, minor)| {
        [
            format!("-D__CUDACC_VER_MAJOR__={major}"),
            format!("-D__CUDACC_VER_MINOR__={minor}"),
        ]
    })
}

/// Flags for all of some architectures, for units that are compiled in one piece.
pub fn architectures(driver: Driver, archs: &[DeviceArch]) -> Vec<String> {
    let of_one = archs.iter().flat_map(|arch| {
        let ArchFlags { flags, ptx, .. } = architecture(driver, arch);
        flags.into_iter().chain(ptx)
    });
    of_one.collect()
}

/// The flags that tell a driver to compile for an architecture.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct ArchFlags {
    /// The architecture's name in compilers: `90a`, `gfx942`.
    pub sm: String,
    /// Flags that ask for machine code.
    pub flags: Vec<String>,
    /// Flags that ask for PTX in addition; empty if no PTX is wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ptx: Vec<String>,
    /// The architecture's number in `__CUDA_ARCH_LIST__`; `None` for ROCm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

/// The flags of a driver for an architecture.
pub fn architecture(driver: Driver, arch: &DeviceArch) -> ArchFlags {
    let capability = match arch {
        DeviceArch::Cuda(capability) => capability,
        DeviceArch::Rocm(arch) => {
            return ArchFlags {
                sm: arch.to_string(),
                flags: vec![format!("--offload-arch={arch}")],
                ptx: Vec::new(),
                number: None,
            };
        }
    };
    let sm = capability.sm();
    let (flags, ptx) = match driver {
        Driver::Clang => clang::architecture(&sm),
        _ => {
            let gencode = |code: &str| {
                let value = format!("arch=compute_{sm},code={code}_{sm}");
                vec!["-gencode".to_owned(), value]
            };
            (gencode("sm"), gencode("compute"))
        }
    };
    ArchFlags {
        flags,
        ptx: if capability.ptx { ptx } else { Vec::new() },
        number: Some(capability.major * 100 + capability.minor * 10),
        sm,
    }
}

/// Flags with which Objective-C++ finds shaders under the names that the reference generates
/// (templates/torch/metallib.h).
pub const METALLIB: [&str; 2] = [
    "-DEMBEDDED_METALLIB_HEADER=\"kernel_builder_metallib.h\"",
    "-DEMBEDDED_METALLIB_NAMESPACE=kernel_builder_metallib",
];

/// An object of assembly that does not say whether it needs an executable stack would give the
/// whole process one.
const NO_EXECUTABLE_STACK: &str = "-Wl,-z,noexecstack";

/// Code that the loader would have to write to cannot be shared, and hardened systems refuse it.
const NO_TEXT_RELOCATIONS: &str = "-Wl,-z,text";

/// The flags of a link that stand before the objects.
pub fn link(row: &Row) -> Vec<String> {
    let mut flags = ["-O3", "-DNDEBUG"].map(str::to_owned).to_vec();
    let more: &[&str] = match (Driver::for_link(row), row.backend) {
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
            NO_EXECUTABLE_STACK,
            NO_TEXT_RELOCATIONS,
            "-fsycl",
            "--offload-compress",
            "-fsycl-targets=spir64",
        ],
        _ => &["-Wl,--as-needed", NO_EXECUTABLE_STACK, NO_TEXT_RELOCATIONS],
    };
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    if row.system.ends_with("-darwin") {
        flags.push(oldest_macos(row));
    }
    flags
}

/// The oldest macOS that a library loads on. The client wants 26 for metal.
fn oldest_macos(row: &Row) -> String {
    let oldest = if row.backend == Backend::Metal {
        "26.0"
    } else {
        "15.0"
    };
    format!("-mmacosx-version-min={oldest}")
}

/// The macros that every C++ file of a row gets.
/// NB: files without headers of torch get them, too. All files of a library must have the same C++
/// ABI, or the binding does not find functions of the library that take a std::string.
fn cxx_defines(row: &Row) -> Vec<String> {
    let mut flags = row_defines(row);
    let define = row.cxx_abi().and_then(CxxAbi::define);
    flags.extend(define.map(|define| format!("-D{define}")));
    flags
}

/// The macros that every file of a row gets.
fn row_defines(row: &Row) -> Vec<String> {
    let mut names = Vec::new();
    if row.torch().is_some() {
        match row.backend {
            Backend::Cuda => names.push("USE_CUDA=1".to_owned()),
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
    names.sort();
    names.into_iter().map(|name| format!("-D{name}")).collect()
}

/// The macros that every file of a variant gets: the oldest torch whose stable ABI the variant
/// keeps. The major version is in the highest byte, the minor in the next.
pub fn stable_abi_defines(stable_abi: Option<&Version>) -> Vec<String> {
    let define = |abi: &Version| {
        let (major, minor) = abi.major_minor();
        format!(
            "-DTORCH_TARGET_VERSION=0x{:016x}",
            major << 56 | minor << 48
        )
    };
    stable_abi.map(define).into_iter().collect()
}
