//! CUDA units that are compiled for each architecture apart, built for real: their objects are
//! those of the compiler's own run for all architectures, and parts that do not fit together are
//! not used. What is split is tested in src/plan/split.rs.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::folder::fixture;
use common::program::{SANDBOXED, kernel_builder, on_disk, printed, store};
use kernel_builder::artifact::fatbin;
use serde::Deserialize;

const NVCC: &str = "torch211-cxx11-cu130-x86_64-linux";
/// NB: one toolkit of clang's only; each takes 100 MB of downloads.
const CLANG: &str = "torch27-cxx11-cu126-x86_64-linux";
/// A variant that another release of clang compiles.
const NEWER_CLANG: &str = "torch29-cxx11-cu128-x86_64-linux";

/// Units of the fixture, and why their parts do not fit together.
const UNITS: [(&str, &str); 7] = [
    ("external", ""),
    ("hidden_list", "looks at __CUDA_ARCH_LIST__"),
    ("hidden_some", "the host code does not know _Z"),
    ("internal", ""),
    ("library", ""),
    ("module_id", "sm_80 has the module id _"),
    ("some", ""),
];

/// The value of the fixture's derivations.nix.
#[derive(Deserialize)]
struct Derivations {
    objects: Vec<Object>,
    wrong: String,
}

#[derive(Deserialize)]
struct Object {
    object: String,
    parts: Vec<String>,
    whole: String,
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn split_units_of_nvcc_are_what_nvcc_makes_of_whole_ones() {
    for ((unit, why), object) in UNITS.iter().zip(derivations(NVCC).objects) {
        check(unit, why, 2, &object);
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn split_units_of_clang_are_what_clang_makes_of_whole_ones() {
    compare_with_clang(CLANG);
}

#[test]
#[ignore = "downloads a compiler and builds with Nix: run by `make full-test`"]
fn split_units_of_a_newer_clang_are_what_it_makes_of_whole_ones() {
    compare_with_clang(NEWER_CLANG);
}

fn compare_with_clang(variant: &str) {
    for ((unit, why), object) in UNITS.iter().zip(derivations(variant).objects) {
        // clang has no such id, and host code that is the same for all architectures.
        let fits = ["hidden_some", "module_id"].contains(unit);
        let why = if fits { "" } else { why };
        check(unit, why, 3, &object);
    }
}

fn check(unit: &str, why: &str, parts: usize, object: &Object) {
    assert_eq!(object.parts.len(), parts, "{unit}");
    let joined = realise(&object.object);
    let log = printed(Command::new("nix-store").args(["--read-log", &object.object]));
    assert_eq!(
        log.contains("whole, since its parts"),
        !why.is_empty(),
        "{unit}: {log}"
    );
    assert!(log.contains(why), "{unit}: {log}");
    let whole = realise(&object.whole);
    assert_eq!(stripped(&joined), stripped(&whole), "{unit}");
    let archs = fatbin::capabilities(&std::fs::read(&joined).expect("an object")).expect("fatbins");
    let archs: Vec<String> = archs.iter().map(ToString::to_string).collect();
    assert_eq!(archs, ["8.0+PTX", "9.0"], "{unit}");

    // Nix builds the object again and compares the bytes.
    if unit == "internal" {
        for derivation in object.parts.iter().chain([&object.object]) {
            printed(&mut nix_store(&["--check", derivation]));
        }
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_build_says_which_units_it_compiled_whole() {
    store();
    let kernel = fixture("split");
    // NB: a unit that was never built, so that the store has no part of it.
    let unit = kernel.path().join("csrc/module_id.cu");
    let text = std::fs::read_to_string(&unit).expect("a unit");
    std::fs::write(&unit, format!("{text}// {:?}\n", kernel.path())).expect("written");
    let output = kernel_builder("build")
        .args(["--offline", "--variant", NVCC])
        .arg(kernel.path())
        .output()
        .expect("start kernel-builder");
    let words = String::from_utf8_lossy(&output.stderr);
    let mut notes = words
        .lines()
        .filter(|line| line.starts_with("note: csrc/module_id.cu "));
    let note = notes.next().unwrap_or_default();
    assert!(
        note.contains("whole, since its parts do not fit together: sm_80 has"),
        "{words}"
    );
    assert_eq!(notes.next(), None, "{words}");
}

/// A new architecture adds one part, and joins the unit again. With nvcc, a new last one also
/// compiles host code, and the former last one again, if the unit looks at architectures.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_new_architecture_is_compiled_alone() {
    let compiled = |variant: &str, capabilities: &str| {
        let kernel = fixture("split");
        let file = kernel.path().join("build.toml");
        let text = std::fs::read_to_string(&file).expect("build.toml");
        let known = "\"8.0+PTX\", \"9.0\"";
        assert!(text.contains(known));
        std::fs::write(&file, text.replace(known, capabilities)).expect("written");
        derivations_of(kernel.path(), variant)
            .objects
            .into_iter()
            .map(|object| object.parts)
            .collect::<Vec<_>>()
    };
    for (variant, parts) in [(NVCC, 2), (CLANG, 3)] {
        let before = compiled(variant, "\"8.0+PTX\", \"9.0\"");
        for (arch, part) in [("8.6", "sm_86.o"), ("9.0a", "sm_90a.o")] {
            let after = compiled(variant, &format!("\"8.0+PTX\", \"9.0\", \"{arch}\""));
            for (((unit, _), before), after) in UNITS.iter().zip(&before).zip(&after) {
                let new: Vec<&String> =
                    after.iter().filter(|part| !before.contains(part)).collect();
                let looks = ["library", "module_id", "some"].contains(unit);
                let expected = match (arch, *unit) {
                    // CUB's names hold all of them; that of 9.0a is the one of 9.0.
                    ("8.6", "library") => parts + 1,
                    ("9.0a", _) if looks && variant == NVCC => 2,
                    _ => 1,
                };
                assert_eq!(new.len(), expected, "{variant} {unit}: {new:?}");
                assert!(new.iter().any(|name| name.contains(part)), "{new:?}");
            }
        }
    }
}

fn derivations(variant: &str) -> Derivations {
    derivations_of(fixture("split").path(), variant)
}

fn derivations_of(kernel: &Path, variant: &str) -> Derivations {
    printed(kernel_builder("generate").arg(kernel));
    let variants = ["--variant", variant];
    printed(kernel_builder("fetch").arg(kernel).args(variants));
    let expression = format!(
        "import {}/tests/fixtures/split/derivations.nix {{ build = {}; variant = \"{variant}\"; }}",
        env!("CARGO_MANIFEST_DIR"),
        kernel.join("build.nix").display(),
    );
    let json = printed(
        Command::new("nix-instantiate")
            .args(["--eval", "--strict", "--json", "--read-write-mode"])
            .args(["--expr", &expression]),
    );
    serde_json::from_str(&json).expect("JSON")
}

fn nix_store(arguments: &[&str]) -> Command {
    let mut command = Command::new("nix-store");
    command.arg("--realise").args(arguments).args(SANDBOXED);
    command
}

/// Compilers and linkers drop device code without a word: a link that does not find what was asked
/// for fails.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_library_without_the_device_code_that_was_asked_for_is_an_error() {
    for variant in [NVCC, CLANG] {
        let output = nix_store(&[&derivations(variant).wrong]).output();
        let output = output.expect("start nix-store");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words}");
        let lines = [
            "missing: 9.0a",
            "not asked for: 8.0 PTX",
            "not asked for: 9.0",
            "does not hold the device code that build.toml asks for",
        ];
        for line in lines {
            assert!(words.contains(line), "{words}");
        }
    }
}

/// Builds a derivation and gives where its output lies.
fn realise(derivation: &str) -> PathBuf {
    let output = printed(&mut nix_store(&[derivation]));
    on_disk(&output)
}

/// An object without the sections that no linker or loader reads, such as names of temporary files.
fn stripped(object: &Path) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let target = dir.path().join("stripped.o");
    printed(
        Command::new("strip")
            .arg("--strip-unneeded")
            .arg("-o")
            .arg(&target)
            .arg(object),
    );
    std::fs::read(&target).expect("an object")
}
