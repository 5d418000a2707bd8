//! A small kernel on disk. Its build.toml is not written: tests hand over the text.

use camino::Utf8Path;
use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;
use kernel_builder::matrix::table;
use kernel_builder::problem::Problems;

/// A kernel without a mistake, for two backends.
pub const RELU: &str = r#"[general]
name = "relu"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu", "cuda"]

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]

[kernel.relu]
backend = "cuda"
depends = ["torch"]
src = ["csrc/relu.cu"]

[kernel.relu-cpu]
backend = "cpu"
depends = ["torch"]
src = ["csrc/relu_cpu.cpp"]
"#;

/// A kernel without a mistake for every backend that has sections.
pub const WIDE: &str = r#"[general]
name = "relu"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cuda", "rocm", "xpu", "metal"]

[general.cuda]
maxver = "12.9"

[torch]
src = ["torch-ext/torch_binding.cpp"]

[kernel.relu]
backend = "cuda"
depends = ["torch", "cutlass_4_0"]
src = ["csrc/relu.cu"]
cuda-minver = "12.8"

[kernel.relu-rocm]
backend = "rocm"
depends = ["torch"] # rocm
src = ["csrc/relu.cu", "csrc/relu.hip"]
rocm-archs = ["gfx942"]
hip-flags = ["-O3"]

[kernel.relu-xpu]
backend = "xpu"
depends = ["sycl_tla"]
src = ["csrc/relu_shared.cpp"]
sycl-flags = ["-O2"]

[kernel.relu-metal]
backend = "metal"
depends = ["metal-cpp"]
src = ["csrc/relu.metal", "csrc/relu.mm"]
"#;

const FILES: &[&str] = &[
    "README.md",
    "csrc/helpers.cuh",
    "csrc/include/relu.h",
    "csrc/relu.cu",
    "csrc/relu.hip",
    "csrc/relu.metal",
    "csrc/relu.mm",
    "csrc/relu_cpu.cpp",
    "csrc/relu_shared.cpp",
    "csrc/table.txt",
    "torch-ext/relu/__init__.py",
    "torch-ext/torch_binding.cpp",
    "torch-ext/torch_binding.h",
    "tvm-ffi-ext/relu/__init__.py",
];

/// The kernel's files in a directory of their own.
pub struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let fixture = Self { directory };
        for file in FILES {
            fixture.write(file, "");
        }
        fixture
    }

    pub fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.directory.path()).expect("a UTF-8 path")
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        let parent = path.parent().expect("a parent");
        std::fs::create_dir_all(parent).expect("a directory");
        std::fs::write(path, content).expect("a file");
    }

    pub fn check(&self, text: &[u8]) -> (Option<Kernel>, Problems) {
        Kernel::check(
            &Manifest::read("build.toml", text),
            self.root(),
            &table().toolkits,
        )
    }
}
