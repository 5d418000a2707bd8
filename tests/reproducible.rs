//! `verify-reproducible` on real builds: a good one, and drivers that leave in an object what they
//! must not. Runs where tests/end_to_end runs, and is left out of a bare `cargo test` like it.

mod common;
#[path = "../benches/builds/synthetic.rs"]
mod synthetic;

use std::path::Path;
use std::process::{Command, Output};

use common::folder::{Folder, copy_library};
use common::kernel::Sample;
use common::program::{kernel_builder, printed, store};
use synthetic::Synthetic;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// A kernel that compiles in no time: it includes nothing of torch.
fn small() -> Sample {
    let build_toml = r#"
[general]
name = "sample"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.sample]
backend = "cpu"
depends = []
src = ["csrc/sample.cpp", "csrc/binary.h"]
"#;
    let source = "#include <cstdio>\n#include \"binary.h\"\nextern \"C\" void sample() { std::puts(\"sample\"); }\n";
    let binary = "// What no string of Nix can hold: \0\n";
    let files = [("csrc/sample.cpp", source), ("csrc/binary.h", binary)];
    Sample::new(build_toml, &files)
}

/// The library of this repository, whose script for compilations ends with more commands.
fn library(more: &str) -> Folder {
    let dir = Folder::new();
    copy_library(dir.path());
    let script = "nix/kernel/compile.sh";
    dir.write(script, format!("{}{more}\n", dir.read(script)));
    dir
}

fn verify(kernel: &Sample, more: &str) -> (Output, String) {
    let library = library(more);
    let mut program = verify_reproducible(kernel.path());
    program.args(["--variant", CPU]);
    program.env("KERNEL_BUILDER_LIBRARY", library.path());
    let output = program.output().expect("start kernel-builder");
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output, text)
}

fn verify_reproducible(kernel: &Path) -> Command {
    store();
    let mut program = kernel_builder("verify-reproducible");
    program.arg(kernel);
    program
}

/// A kernel of 60 units, ten of them CUDA.
const SIXTY: Synthetic = Synthetic {
    units: 60,
    cuda: 10,
    torch: false,
    instances: synthetic::LIGHT,
};

/// Every default variant of several kernels has the same bytes twice.
#[test]
#[ignore = "builds for half an hour: run by `make full-test`"]
fn examples_and_a_kernel_of_sixty_units_give_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let large = dir.path().join("synthetic");
    synthetic::write(&large, SIXTY, "reproducible");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for kernel in [large, examples.join("relu"), examples.join("img2gray")] {
        print!(
            "{}: {}",
            kernel.display(),
            printed(&mut verify_reproducible(&kernel))
        );
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_same_bytes_twice() {
    let kernel = small();
    let (output, text) = verify(&kernel, "");
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("4 steps of 1 variant: built twice"), "{text}");
    assert!(!kernel.path().join("build.nix").exists());
}

/// A part of a unit is a folder, whose files are compared too.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn parts_of_a_unit_are_built_twice_too() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let kernel = dir.path().join("synthetic");
    let one = Synthetic {
        units: 1,
        cuda: 1,
        torch: false,
        instances: 0,
    };
    synthetic::write(&kernel, one, "parts");
    let mut program = verify_reproducible(&kernel);
    let text = printed(program.args(["--variant", "torch211-cxx11-cu130-x86_64-linux"]));
    // Four parts, the first with host code, and their join; the binding, the library and the
    // package.
    assert!(text.contains("8 steps of 1 variant: built twice"), "{text}");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_first_section_that_differs_is_named() {
    let random =
        "head -c 8 /dev/urandom >../random && objcopy --add-section .random=../random \"$out\"";
    let (output, text) = verify(&small(), random);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for source in ["csrc/sample.cpp", "torch-ext/binding.cpp"] {
        assert!(
            text.contains(&format!("{source} ({CPU}): differs in .random, byte 0")),
            "{text}"
        );
    }
    // Both results are there to be compared.
    let second = text
        .lines()
        .find(|line| line.ends_with(".check"))
        .expect("a path");
    assert!(Path::new(second.trim()).exists(), "{second}");
}

/// Nix does not see in a package the sections that the link throws away.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_path_of_the_store_in_an_object_is_found() {
    let (output, text) = verify(&small(), &with_path(".debug_path"));
    assert_eq!(output.status.code(), Some(1), "{text}");
    let found = format!("csrc/sample.cpp ({CPU}): .debug_path holds /nix/store/");
    assert!(text.contains(&found), "{text}");
    assert!(text.contains("-gcc-12/bin/g++"), "{text}");
    assert!(!text.contains("differs in"), "{text}");
}

/// Nix refuses a package with a path of the store, and cannot say where it comes from.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_path_of_the_store_that_fails_the_package_is_found() {
    let (output, text) = verify(&small(), &with_path(".path"));
    assert_eq!(output.status.code(), Some(1), "{text}");
    let found = format!("csrc/sample.cpp ({CPU}): .path holds /nix/store/");
    assert!(text.contains(&found), "{text}");
    assert!(text.contains("failed to build"), "{text}");
}

/// Commands that put the path of the compiler into a section.
fn with_path(section: &str) -> String {
    format!("command -v g++ >../path && objcopy --add-section {section}=../path \"$out\"")
}

/// Every build is at the same place in Nix's sandbox, where a path of it would never differ.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_place_of_the_build_is_another() {
    // NB: the link refuses the path itself.
    let place = "pwd | tr / : >../place && objcopy --add-section .place=../place \"$out\"";
    let (output, text) = verify(&small(), place);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("differs in .place, byte 1"), "{text}");
}
