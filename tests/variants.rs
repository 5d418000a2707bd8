//! Variants of examples/relu with each CUDA toolkit, and of the oldest and the newest torch, built for real.

use std::path::Path;
use std::process::Command;

use kernel_builder::artifact::fatbin::capabilities;
use serde_json::Value;

const VARIANTS: [&str; 6] = [
    "torch27-cxx11-cu126-x86_64-linux",
    "torch29-cxx11-cu128-x86_64-linux",
    "torch211-cxx11-cu130-x86_64-linux",
    "torch215-cxx11-cu132-x86_64-linux",
    "torch27-cxx11-cpu-x86_64-linux",
    "torch215-cxx11-cpu-x86_64-linux",
];

/// What is in the fatbins of a library is what metadata.json says that it was compiled for.
#[test]
#[ignore = "downloads four toolkits and builds for minutes: run by `make full-test`"]
fn toolkits_compile_for_the_architectures_that_were_asked() {
    let relu = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
    command.arg("build").arg(&relu);
    for variant in VARIANTS {
        command.args(["--variant", variant]);
    }
    assert!(command.status().expect("run").success());
    for variant in VARIANTS {
        let dir = relu.join("build").join(variant);
        let metadata = std::fs::read_to_string(dir.join("metadata.json")).expect("metadata.json");
        let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
        let asked: Vec<&str> = metadata["backend"]["archs"]
            .as_array()
            .map(|archs| archs.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let entries = dir.read_dir().expect("a variant");
        let mut files = entries.map(|entry| entry.expect("an entry").path());
        let library = files
            .find(|path| path.extension().is_some_and(|extension| extension == "so"))
            .expect("a library");
        let found = capabilities(&std::fs::read(library).expect("a library")).expect("fatbins");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        println!("{variant}: {}", found.join(" "));
        assert_eq!(found, asked, "{variant}");
        assert_eq!(found.is_empty(), variant.contains("-cpu-"));
    }
}
