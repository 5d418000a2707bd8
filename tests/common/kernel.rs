//! A kernel in a folder of its own, for tests that start where a user does: at a build.toml and the
//! files it names.

use camino::Utf8Path;
use kernel_builder::kernel::{Kernel, SectionBackend, Target};
use kernel_builder::matrix::table;

use super::folder::Folder;

/// A kernel whose folder is removed with it.
pub struct Sample {
    folder: Folder,
}

impl Sample {
    /// Writes build.toml, the Python package and the binding of a kernel named `sample`, and more
    /// files.
    pub fn new(build_toml: &str, files: &[(&str, &str)]) -> Self {
        let sample = Self {
            folder: Folder::new(),
        };
        sample.write("build.toml", build_toml);
        sample.write("torch-ext/sample/__init__.py", "");
        sample.write("torch-ext/binding.cpp", "");
        for (path, content) in files {
            sample.write(path, content);
        }
        sample
    }

    /// Writes one more file.
    pub fn write(&self, path: &str, content: &str) {
        self.folder.write(path, content);
    }

    /// The kernel's folder.
    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The checked kernel; its build.toml must be right.
    pub fn kernel(&self) -> Kernel {
        let root = Utf8Path::from_path(self.folder.path()).expect("a UTF-8 path");
        Kernel::load(root, &table().toolkits)
            .expect("a good build.toml")
            .kernel
    }
}

/// A torch kernel for CPU and CUDA, without bounds.
pub fn cpu_and_cuda() -> Kernel {
    let build_toml = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu", "cuda"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]

[kernel.gpu]
backend = "cuda"
depends = []
src = ["csrc/gpu.cu"]
"#;
    Sample::new(build_toml, &[("csrc/host.cpp", ""), ("csrc/gpu.cu", "")]).kernel()
}

/// The same with a section for every backend that can have one.
pub fn all_backends() -> Kernel {
    let mut kernel = cpu_and_cuda();
    let rocm = SectionBackend::Rocm {
        targets: vec![Target {
            section: "host".to_owned(),
            archs: Vec::new(),
            minver: None,
        }],
        flags: Vec::new(),
    };
    let xpu = SectionBackend::Xpu { flags: Vec::new() };
    for backend in [rocm, xpu, SectionBackend::Metal] {
        let mut section = kernel.sections[0].clone();
        kernel.backends.insert(backend.backend());
        section.backend = backend;
        kernel.sections.push(section);
    }
    kernel
}
