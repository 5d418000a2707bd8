//! Checks of kernels that are Python alone, for real: each backend's variant is imported by the
//! client, and mistakes of a kernel fail. No unit is compiled.

mod common;

use std::path::Path;
use std::process::Output;

use common::clone::{Clone, nix};
use common::folder::{Folder, fixture};
use common::program::{kernel_builder, run};

/// A copy of tests/fixtures/python-only as a flake.
fn kernel(clone: &Clone) -> Folder {
    let dir = fixture("python-only");
    let flake = format!(
        "{{\n  inputs.kernel-builder.url = \"path:{}\";\n  outputs = {{ self, kernel-builder }}:\n    \
         kernel-builder.lib.genFlakeOutputs {{ inherit self; path = ./.; }};\n}}\n",
        clone.path().display()
    );
    std::fs::write(dir.path().join("flake.nix"), flake).expect("write");
    run(kernel_builder("generate").arg(dir.path()));
    dir
}

fn check(dir: &Path, variant: &str) -> Output {
    let attribute = format!(".#checks.x86_64-linux.{variant}");
    nix(&["build", "--no-link", "--print-build-logs", &attribute])
        .current_dir(dir)
        .output()
        .expect("start nix")
}

fn append(dir: &Path, file: &str, text: &str) {
    let path = dir.join("torch-ext/python_only").join(file);
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, old + text).expect("write");
}

#[test]
#[ignore = "takes torch and Triton: run by `make full-test`"]
fn checks_import_kernels_of_python_alone_for_every_backend() {
    let clone = Clone::new();
    let dir = kernel(&clone);
    for (variant, says) in [
        ("torch-cpu", "loaded _python_only_cpu_"),
        ("torch-cuda", "loaded _python_only_cuda_"),
        ("torch-metal", "loaded _python_only_metal_"),
        ("torch-neuron", "not tried: importing it; nki comes with"),
        ("torch-npu", "loaded _python_only_cann_"),
        ("torch-rocm", "loaded _python_only_rocm_"),
        ("torch-tpu", "loaded _python_only_tpu_"),
        ("torch-xpu", "loaded _python_only_xpu_"),
    ] {
        let output = check(dir.path(), variant);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variant}: {words}");
        assert!(words.contains(says), "{variant}: {words}");
        let tested = match variant {
            "torch-cpu" => "1 passed",
            _ => "not tried: its tests",
        };
        assert!(words.contains(tested), "{variant}: {words}");
    }

    // A kernel's mistakes, each in a file of its own; the last is in one that nothing imports.
    for (file, text, variants, says) in [
        (
            "__init__.py",
            "import doesnotexist\n",
            &["torch-cuda", "torch-rocm", "torch-cpu"][..],
            "No module named 'doesnotexist'",
        ),
        (
            "gpu.py",
            "tl.no_such_function\n",
            &["torch-cuda", "torch-xpu"],
            "no_such_function",
        ),
        (
            "unused.py",
            "def f(:\n    pass\n",
            &["torch-cuda", "torch-neuron"],
            "unused.py:1:7: invalid syntax",
        ),
    ] {
        let dir = kernel(&clone);
        append(dir.path(), file, text);
        for variant in variants {
            let output = check(dir.path(), variant);
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{variant}: {words}");
            assert!(words.contains(says), "{variant}: {words}");
        }
    }
}
