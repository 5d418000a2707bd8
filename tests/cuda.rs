//! Device code of real builds: compiled by clang for CUDA 12, by nvcc for later toolkits, and for the GPUs that were asked
//! for. Runs where tests/end_to_end.rs runs, and is left out of a bare `cargo test` like it.

#[path = "common/fixture.rs"]
mod fixture;
#[path = "common/run.rs"]
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_builder::artifact::fatbin;
use run::{printed, store};

/// Builds a variant and gives its library.
fn build(kernel: &Path, variant: &str) -> PathBuf {
    store();
    let output = Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
        .arg("build")
        .arg(kernel)
        .args(["--variant", variant])
        .output()
        .expect("start kernel-builder");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    let files = std::fs::read_dir(kernel.join("build").join(variant)).expect("the variant");
    let mut files = files.map(|file| file.expect("a file").path());
    files
        .find(|file| file.extension().is_some_and(|extension| extension == "so"))
        .expect("a library")
}

fn architectures(library: &Path) -> Vec<String> {
    let content = std::fs::read(library).expect("a library");
    let found = fatbin::capabilities(&content).expect("fatbins");
    found.iter().map(ToString::to_string).collect()
}

/// What the fixture asks for, less what the toolkit does not know. NB: one toolkit only; each takes 100 MB of downloads.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn clang_compiles_for_what_was_asked_and_always_the_same() {
    let kernel = fixture::copy("device");
    let library = build(kernel.path(), "torch27-cxx11-cu126-x86_64-linux");
    assert_eq!(architectures(&library), ["8.0", "9.0a+PTX"]);

    // Nix builds the unit again and compares.
    let expression = format!(
        "builtins.head (builtins.filter (object: object.name == \"device-csrc-device.cu.o\")
           (builtins.head (builtins.filter (variant: variant.variant == \"torch27-cxx11-cu126-x86_64-linux\")
             (import {} {{ kernelBuilder = import {}/lib // {{ kernel = {{ variants, ... }}: variants; }}; }}))).objects)",
        kernel.path().join("build.nix").display(),
        env!("CARGO_MANIFEST_DIR")
    );
    let derivation = printed(Command::new("nix-instantiate").args(["--expr", &expression]));
    printed(
        Command::new("nix-store")
            .args(["--realise", "--check", derivation.trim()])
            .args(["--option", "sandbox", "true"])
            .args(["--option", "substituters", ""]),
    );
}
