//! A kernel in a folder of its own, for tests that start where a user does: at a build.toml and the files it names.

// Not every test file uses all of it.
#![allow(dead_code)]

use camino::Utf8Path;
use kernel_builder::kernel::Kernel;

/// Lives as long as its folder.
pub struct Sample {
    dir: tempfile::TempDir,
}

impl Sample {
    /// Writes build.toml, what every kernel named `sample` has (its Python package, its binding), and more files.
    pub fn new(build_toml: &str, files: &[(&str, &str)]) -> Self {
        let sample = Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
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
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("create a folder");
        std::fs::write(path, content).expect("write a file");
    }

    /// The kernel's folder.
    pub fn path(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The checked kernel; its build.toml must be right.
    pub fn kernel(&self) -> Kernel {
        let root = Utf8Path::from_path(self.dir.path()).expect("a UTF-8 path");
        Kernel::load(root).expect("a good build.toml").kernel
    }
}
