//! Variants of examples/relu with each CUDA toolkit, and of the oldest and the newest torch, built
//! for real.

mod common;

use std::path::Path;
use std::process::Command;

use common::program::{build, built_library, kernel_builder, printed};
use kernel_builder::artifact::fatbin::capabilities;
use serde_json::Value;

const VARIANTS: [&str; 8] = [
    "torch26-cxx98-cu124-x86_64-linux",
    "torch27-cxx11-cu126-x86_64-linux",
    "torch29-cxx11-cu128-x86_64-linux",
    "torch211-cxx11-cu130-x86_64-linux",
    "torch215-cxx11-cu132-x86_64-linux",
    "torch26-cxx98-cpu-x86_64-linux",
    "torch27-cxx11-cpu-x86_64-linux",
    "torch215-cxx11-cpu-x86_64-linux",
];

/// The architectures in the fatbins of a library are those of its metadata.json.
#[test]
#[ignore = "downloads five toolkits and builds for minutes: run by `make full-test`"]
fn toolkits_compile_for_the_architectures_that_were_asked() {
    let relu = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu");
    printed(&mut build(&relu, &VARIANTS));
    for variant in VARIANTS {
        let dir = relu.join("build").join(variant);
        let metadata = std::fs::read_to_string(dir.join("metadata.json")).expect("metadata.json");
        let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
        let asked: Vec<&str> = metadata["backend"]["archs"]
            .as_array()
            .map(|archs| archs.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let library = built_library(&relu, variant);
        let found = capabilities(&std::fs::read(library).expect("a library")).expect("fatbins");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        println!("{variant}: {}", found.join(" "));
        assert_eq!(found, asked, "{variant}");
        assert_eq!(found.is_empty(), variant.contains("-cpu-"));
    }
}

/// The kernel's own tests pass with the torch that a variant is for, through the unmodified client.
#[test]
#[ignore = "downloads two releases of torch: run by `make full-test`"]
fn the_oldest_and_the_newest_torch_load_their_variant() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let relu = root.join("examples/relu");
    for (torch, variant) in [
        ("2.6.0", "torch26-cxx98-cpu-x86_64-linux"),
        ("2.15.0", "torch215-cxx11-cpu-x86_64-linux"),
    ] {
        printed(
            kernel_builder("build")
                .arg(&relu)
                .args(["--variant", variant]),
        );
        let venv = root.join("target").join(format!("venv-torch-{torch}"));
        printed(
            Command::new(root.join("scripts/venv.sh"))
                .arg(&venv)
                .arg(torch),
        );
        let python = |arguments: &[&str]| {
            let mut python = Command::new(venv.join("bin/python"));
            printed(python.current_dir(&relu).args(arguments))
        };
        let loaded = python(&[
            "-c",
            "import kernels, pathlib; print(kernels.get_local_kernel(pathlib.Path('.'), backend='cpu').__file__)",
        ]);
        assert!(loaded.contains(&format!("/{variant}/")), "{loaded}");
        let report = python(&["-m", "pytest", "-q", "tests"]);
        println!("{variant}: {}", report.lines().last().unwrap_or_default());
        assert!(report.contains(" passed"), "{report}");
    }
}
