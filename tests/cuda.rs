//! Device code of real builds: compiled by clang for CUDA 12, by nvcc for later toolkits, and for
//! the GPUs that were asked for. Runs where tests/end_to_end runs, and is left out of a bare
//! `cargo test` like it.

mod common;

use std::path::Path;
use std::process::Command;

use common::folder::fixture;
use common::program::{SANDBOXED, build, built_library, printed};
use kernel_builder::artifact::fatbin;

const CLANG: &str = "torch27-cxx11-cu126-x86_64-linux";

/// The architectures in the fatbins of a library.
fn architectures(library: &Path) -> Vec<String> {
    let content = std::fs::read(library).expect("a library");
    let found = fatbin::capabilities(&content).expect("fatbins");
    found.iter().map(ToString::to_string).collect()
}

/// The library has code for the architectures that the fixture asks for and the toolkit knows. NB:
/// one toolkit only; each takes 100 MB of downloads.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn clang_compiles_for_what_was_asked_and_always_the_same() {
    let kernel = fixture("device");
    printed(&mut build(kernel.path(), &[CLANG]));
    let library = built_library(kernel.path(), CLANG);
    assert_eq!(architectures(&library), ["8.0", "9.0a+PTX"]);

    // Nix builds the unit again and compares the bytes.
    let expression = format!(
        "builtins.head (builtins.filter (object: object.name == \"device-csrc-device.cu.o\")
           (builtins.head (builtins.filter (variant: variant.variant == \"torch27-cxx11-cu126-x86_64-linux\")
             (import {} {{ kernelBuilder = import {}/lib; }}).variants)).objects)",
        kernel.path().join("build.nix").display(),
        env!("CARGO_MANIFEST_DIR")
    );
    let derivation = printed(Command::new("nix-instantiate").args(["--expr", &expression]));
    printed(
        Command::new("nix-store")
            .args(["--realise", "--check", derivation.trim()])
            .args(SANDBOXED),
    );
}
