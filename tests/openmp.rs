//! OpenMP in real builds: a kernel runs in the threads of torch's own runtime. Runs where
//! tests/end_to_end runs, and is left out of a bare `cargo test` like it.

mod common;

use std::path::Path;
use std::process::Command;

use common::folder::fixture;
use common::program::{build, printed, store, venv};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

/// The words of the fixture's run.py, in a virtual environment.
fn loaded(kernel: &Path, venv: &Path, backend: &str) -> String {
    let mut python = Command::new(venv.join("bin/python"));
    printed(python.current_dir(kernel).args(["run.py", backend]))
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_kernel_runs_in_the_threads_of_torchs_own_openmp() {
    let kernel = fixture("openmp");
    printed(&mut build(kernel.path(), &[CPU, CUDA]));
    let venv = venv();
    for backend in ["cpu", "cuda"] {
        let words = loaded(kernel.path(), &venv, backend);
        let by_avx2 = backend == "cpu" && is_x86_feature_detected!("avx2");
        assert_eq!(words.contains(" avx2 "), by_avx2, "{words}");
        assert!(words.contains("/torch/lib/libgomp"), "{words}");
    }
}

/// Wheels of torch call their OpenMP runtime differently, so a library must not name it.
#[test]
#[ignore = "downloads two releases of torch: run by `make full-test`"]
fn the_openmp_of_the_oldest_and_the_newest_torch_is_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kernel = fixture("openmp");
    for (torch, variant) in [
        ("2.7.1", "torch27-cxx11-cpu-x86_64-linux"),
        ("2.15.0", "torch215-cxx11-cpu-x86_64-linux"),
    ] {
        printed(&mut build(kernel.path(), &[variant]));
        let venv = root.join("target").join(format!("venv-torch-{torch}"));
        let mut make = Command::new(root.join("scripts/venv.sh"));
        printed(make.arg(&venv).arg(torch));
        let words = loaded(kernel.path(), &venv, "cpu");
        assert!(words.starts_with(&format!("torch {torch}")), "{words}");
    }
}

/// No library of torch has these functions, so the kernel's library could not be loaded.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn what_torchs_openmp_lacks_is_refused_at_the_link() {
    store();
    let kernel = fixture("openmp");
    let refused = |lines: &[&str]| {
        let output = build(kernel.path(), &[CPU]).output().expect("start");
        assert_eq!(output.status.code(), Some(1));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        for line in lines {
            assert!(words.contains(line), "{line}\n{words}");
        }
    };
    let write = |path: &str, change: &dyn Fn(String) -> String| {
        let path = kernel.path().join(path);
        let text = std::fs::read_to_string(&path).expect("a file of the fixture");
        std::fs::write(path, change(text)).expect("written");
    };

    let used = "#include <omp.h>\nvoid use() {\n  omp_nest_lock_t lock;\n  omp_init_nest_lock(&lock);\n  \
                omp_set_num_teams(1);\n}\n";
    write("csrc/portable.cpp", &|text| used.to_owned() + &text);
    refused(&[
        "omp_init_nest_lock, used in\n",
        "omp_set_num_teams, used in\n",
        "    openmp-csrc-portable.cpp.o\n",
        "nothing defines these: torch's OpenMP has no nested locks and no function newer than GOMP_5.0",
    ]);

    write("csrc/portable.cpp", &|text| text.replace(used, ""));
    write("build.toml", &|text| {
        text.replace("\"-fopenmp\"", "\"-Wall\"")
    });
    refused(&[
        "omp_get_max_threads, used in\n",
        "    openmp-csrc-avx2.cpp.o\n",
        "nothing defines these: is \"-fopenmp\" missing from the cxx-flags of these files?",
    ]);
}
