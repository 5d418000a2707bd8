//! Small libraries, each of which breaks one rule or none, made with the machine's compiler and
//! several linkers, plain and stripped.

mod files;
mod names;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::folder::write;
use crate::common::program::printed;

/// The variant that a file is judged by: the name of its folder.
const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";
const CU132: &str = "torch215-cxx11-cu132-x86_64-linux";
/// A variant of a vendor's torch: that of the package indexes is for CUDA 13.0.
const CU126: &str = "torch211-cxx11-cu126-x86_64-linux";
const STABLE: &str = "torch-stable-abi211-cpu-x86_64-linux";
const PYTHON_ONLY: &str = "torch-cuda";
const NONE: &str = "none";

/// A library by its source.
pub struct Case {
    /// The name of the file, with its extension.
    pub file: &'static str,
    folder: &'static str,
    source: &'static str,
    compile: &'static [&'static str],
    link: &'static [&'static str],
    /// The rules that it breaks.
    pub rules: &'static [&'static str],
}

/// A case of C++ without options.
const fn case(
    folder: &'static str,
    file: &'static str,
    source: &'static str,
    rules: &'static [&'static str],
) -> Case {
    Case {
        file,
        folder,
        source,
        compile: &[],
        link: &[],
        rules,
    }
}

impl Case {
    const fn compile(mut self, flags: &'static [&'static str]) -> Self {
        self.compile = flags;
        self
    }

    const fn link(mut self, flags: &'static [&'static str]) -> Self {
        self.link = flags;
        self
    }
}

/// The libraries that cases are linked with, which define `helper`.
const HELPERS: [&str; 6] = [
    "libhelper.so",
    "libcuda.so.1",
    "libcudart.so.13",
    "libnvrtc.so.13",
    "libgomp.so.1",
    "libpython3.11.so.1.0",
];

/// How a file is changed after its link.
const FORMS: [&str; 3] = ["plain", "stripped", "headerless"];

/// Makes every case with every linker below a folder, and returns the cases by their files.
pub fn make(folder: &Path, linkers: &[(&str, PathBuf)]) -> BTreeMap<PathBuf, &'static Case> {
    let objects = folder.join("objects");
    write(
        &objects.join("helper.cpp"),
        "extern \"C\" int helper() { return 1; }",
    );
    for name in HELPERS {
        let mut gcc = compiler();
        gcc.args(["-shared", "-fPIC", "helper.cpp", "-o", name]);
        printed(gcc.arg(format!("-Wl,-soname,{name}")).current_dir(&objects));
    }
    let mut made = BTreeMap::new();
    for case in files::CASES.iter().chain(names::CASES) {
        let source = objects.join(format!("{}.cpp", case.file));
        write(&source, case.source);
        let object = source.with_extension("o");
        let mut gcc = compiler();
        gcc.args(["-c", "-O1", "-fPIC"]).args(case.compile);
        printed(gcc.arg(&source).arg("-o").arg(&object));
        for (name, path) in linkers {
            let plain = folder
                .join(name)
                .join(FORMS[0])
                .join(case.folder)
                .join(case.file);
            std::fs::create_dir_all(plain.parent().expect("a folder")).expect("created");
            let mut gcc = compiler();
            gcc.arg(format!("-B{}", path.display()))
                .arg(format!("-fuse-ld={name}"));
            // Libraries of the linkers that this machine lacks.
            gcc.env("LD_LIBRARY_PATH", path.join("../lib/x86_64-linux-gnu"));
            gcc.args(["-shared", "-Wl,--no-as-needed", "-o"])
                .arg(&plain)
                .arg(&object);
            gcc.arg("-L").arg(&objects).args(case.link);
            printed(&mut gcc);
            for form in &FORMS[1..] {
                let file = folder
                    .join(name)
                    .join(form)
                    .join(case.folder)
                    .join(case.file);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
                std::fs::copy(&plain, &file).expect("copied");
                match *form {
                    "stripped" => {
                        printed(Command::new("strip").arg("-s").arg(&file));
                    }
                    _ => remove_section_headers(&file),
                }
                made.insert(file, case);
            }
            made.insert(plain, case);
        }
    }
    made
}

fn compiler() -> Command {
    let mut gcc = Command::new("g++");
    gcc.env_remove("LDFLAGS").env_remove("CXXFLAGS");
    gcc
}

/// Makes a file say that it has no sections, as `objcopy --strip-section-headers` of newer binutils
/// does.
fn remove_section_headers(path: &Path) {
    let mut data = std::fs::read(path).expect("a library");
    let (offset, counts) = match data[4] {
        2 => (40..48, 60..64),
        _ => (32..36, 48..52),
    };
    data[offset].fill(0);
    data[counts].fill(0);
    std::fs::write(path, data).expect("written");
}
