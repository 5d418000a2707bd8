//! `benchmark --measured`: shows measurements of another machine. tests/init.rs measures builds.

mod common;

use std::process::Output;

use common::folder::{Folder, example};
use common::program::{kernel_builder, words};
use serde_json::{Value, json};

/// A kernel with a file of measurements beside it.
fn measured(matches: bool) -> Folder {
    let kernel = example("silu-and-mul");
    let workload = json!({
        "name": "SiluAndMul.rows",
        "samples": [2e-3, 1e-3, 3e-3],
        "reference": [4e-3],
        "matches": matches,
        "largest_difference": 0.5,
    });
    let build = json!({
        "build": "torch-cuda",
        "module": "_silu_and_mul_cuda_0a",
        "torch": "2.11.0+cu130",
        "device": "cuda",
        "gpu": "NVIDIA H200",
        "workloads": [workload],
    });
    kernel.write("measured.json", build.to_string());
    kernel
}

fn benchmark(kernel: &Folder, arguments: &[&str]) -> Output {
    let mut command = kernel_builder("benchmark");
    command.current_dir(kernel.path());
    command
        .args(["--measured", "measured.json"])
        .args(arguments);
    command.output().expect("started")
}

#[test]
fn measurements_are_shown_as_a_table_as_json_and_as_a_plot() {
    let kernel = measured(true);
    let output = benchmark(&kernel, &["--plot", "times.svg"]);
    assert!(output.status.success(), "{}", words(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        table.contains("2.00 ms  1.50 ms to 2.50 ms    4.00 ms  2.00x  within 5.0e-1"),
        "{table}"
    );
    assert!(
        kernel
            .read("times.svg")
            .contains("torch 2.11.0+cu130 on NVIDIA H200")
    );
    let output = benchmark(&kernel, &["--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        found["builds"][0]["workloads"][0]["seconds"]["median"],
        2e-3
    );

    // Our own plot is replaced, a file of the user's is not.
    assert!(
        benchmark(&kernel, &["--plot", "times.svg"])
            .status
            .success()
    );
    let output = benchmark(&kernel, &["--plot", "README.md"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(kernel.read("README.md").starts_with("# silu-and-mul"));
}

#[test]
fn a_wrong_result_is_a_failure() {
    let output = benchmark(&measured(false), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        words(&output).contains("SiluAndMul.rows of torch-cuda"),
        "{}",
        words(&output)
    );
}

#[test]
fn files_that_hold_no_measurements_are_named() {
    let kernel = measured(true);
    kernel.write("measured.json", "{}");
    let output = benchmark(&kernel, &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        words(&output).contains("failed to read the measurements in measured.json"),
        "{}",
        words(&output)
    );
    // A kernel without benchmarks has nothing to measure.
    std::fs::remove_dir_all(kernel.path().join("benchmarks")).expect("removed");
    let output = kernel_builder("benchmark")
        .arg(kernel.path())
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        words(&output).contains("anything to measure"),
        "{}",
        words(&output)
    );
}
