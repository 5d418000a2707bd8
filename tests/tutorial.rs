//! The kernel of the 2025 tutorial, as printed: an old build.toml, a binding that registers
//! operators under a fixed name and writes no Python module. Runs where tests/end_to_end runs,
//! and is left out of a bare `cargo test` like it.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::clone::{Clone, nix};
use common::folder::fixture;
use common::program::{kernel_builder, python, run};

/// Checks a build with the real client, on the device that it is given.
const CHECK: &str = "\
import pathlib, sys, kernels, torch
device = sys.argv[1]
kernel = kernels.get_local_kernel(pathlib.Path('.'), backend=device)
assert kernel._ops.ops is torch.ops.img2gray
assert kernel._ops.add_op_namespace_prefix('img2gray') == 'img2gray::img2gray'
if device == 'cpu' or torch.cuda.is_available():
    image = torch.randint(0, 256, (37, 53, 3), dtype=torch.uint8, device=device)
    weights = torch.tensor([0.21, 0.72, 0.07], dtype=torch.float64, device=device)
    gray = (image.double() * weights).sum(dim=2)
    assert (kernel.img2gray(image).double() - gray).abs().max() <= 1
";

fn build(kernel: &Path, variant: &str) -> Output {
    run(kernel_builder("build")
        .arg(kernel)
        .args(["--variant", variant]))
}

fn load(kernel: &Path, backend: &str) {
    run(python().current_dir(kernel).args(["-c", CHECK, backend]));
}

fn replace(kernel: &Path, file: &str, pairs: &[(&str, &str)]) {
    let path = kernel.join(file);
    let mut text = std::fs::read_to_string(&path).expect("a file of the fixture");
    for (old, new) in pairs {
        assert!(text.contains(old), "{old} in {file}");
        text = text.replace(old, new);
    }
    std::fs::write(path, text).expect("written");
}

/// NB: its .cu includes all of torch, which takes minutes for all architectures.
#[test]
#[ignore = "builds with Nix for minutes: run by `make full-test`"]
fn the_kernel_of_the_tutorial_builds_and_loads() {
    let kernel = fixture("tutorials/img2gray");
    build(kernel.path(), "torch211-cxx11-cu130-x86_64-linux");
    load(kernel.path(), "cuda");
}

/// The commands that the tutorial has its reader type in the shell of its variant, then an edit and
/// the last one again. No machine of tests has a GPU, so nothing is computed.
const IN_THE_SHELL: &str = "\
build2cmake generate-torch build.toml
python -m venv .venv && source .venv/bin/activate
pip install --no-build-isolation -e .
import() { (cd / && python -c 'import img2gray, torch; print(torch.__version__, torch.ops.img2gray.img2gray)'); }
import
before=$(sha256sum build/cmake/tree/_img2gray*.so)
sed -i s/0.21f/0.22f/ csrc/img2gray.cu
pip install --no-build-isolation -e .
import
[ \"$before\" != \"$(sha256sum build/cmake/tree/_img2gray*.so)\" ]
";

#[test]
#[ignore = "takes a torch with its CUDA whole: run by `make full-test`"]
fn the_tutorial_runs_in_its_shell() {
    const VARIANT: &str = "torch27-cxx11-cu126-x86_64-linux";
    let clone = Clone::new();
    let kernel = clone.add_tutorial();
    run(kernel_builder("fetch")
        .arg(&kernel)
        .args(["--shell", "--variant", VARIANT]));
    // NB: without it, Nix compiles this program for ten minutes; tests/flake.rs sees that.
    run(kernel_builder("generate").arg(&kernel));
    run(Command::new("git").args(["add", "."]).current_dir(&kernel));
    let program = Path::new(env!("CARGO_BIN_EXE_kernel-builder"));
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{path}", program.parent().expect("a folder").display());
    let mut shell = nix(&["develop", &format!(".#devShells.{VARIANT}")]);
    shell.args(["--no-use-registries", "--override-input", "kernel-builder"]);
    shell.arg(format!("path:{}", clone.path().display()));
    let output = run(shell
        .args(["--command", "bash", "-euxc", IN_THE_SHELL])
        .env("PATH", path)
        .current_dir(&kernel));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let imported = said
        .lines()
        .filter(|line| line.starts_with("2.7.1+cu126 img2gray."));
    assert_eq!(imported.count(), 2, "{said}");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn operators_of_a_fixed_namespace_are_found() {
    let dir = fixture("tutorials/img2gray");
    let kernel = dir.path();
    let loop_of_cpu = "#include \"../torch-ext/torch_binding.h\"\n\
        void img2gray_cpu(torch::Tensor const &input, torch::Tensor &output) {\n  \
          const uint8_t *from = input.data_ptr<uint8_t>();\n  \
          for (int64_t at = 0; at < output.numel(); ++at) {\n    \
            const float gray = 0.21f * from[3 * at] + 0.72f * from[3 * at + 1] + 0.07f * from[3 * at + 2];\n    \
            output.data_ptr<uint8_t>()[at] = static_cast<uint8_t>(gray);\n  }\n}\n";
    std::fs::write(kernel.join("csrc/img2gray.cpp"), loop_of_cpu).expect("written");
    replace(
        kernel,
        "build.toml",
        &[("\"cuda\"", "\"cpu\""), ("img2gray.cu", "img2gray.cpp")],
    );
    let header = ("img2gray_cuda", "img2gray_cpu");
    let lean = ("torch/torch.h", "ATen/ATen.h>\n#include <torch/types.h");
    replace(kernel, "torch-ext/torch_binding.h", &[header, lean]);
    replace(
        kernel,
        "torch-ext/torch_binding.cpp",
        &[header, ("CUDA", "CPU")],
    );
    let output = build(kernel, "torch211-cxx11-cpu-x86_64-linux");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("torch_binding.cpp: 1 warning: `kernel-builder check-config"),
        "{words}"
    );
    let shown = kernel_builder("check-config").arg(kernel).output();
    let shown = String::from_utf8_lossy(&shown.expect("the program").stderr).into_owned();
    assert!(
        shown.contains("KB1101") && shown.contains("torch_binding.cpp:4:15"),
        "{shown}"
    );
    load(kernel, "cpu");
}
