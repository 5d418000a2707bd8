//! Files without errors, and the kernels they give.

use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;

use crate::compact::compact;
use crate::fixture::{Fixture, RELU, WIDE};
use crate::valid_cases::{V1, V2, V3, V4, V5};

/// The kernel of a file without errors; the root, which differs on every run, is blanked.
fn kernel(fixture: &Fixture, text: &str) -> Kernel {
    let (kernel, problems) = fixture.check(text.as_bytes());
    assert!(
        !problems.has_errors(),
        "{}",
        problems.render(Default::default())
    );
    let mut kernel = kernel.expect("no errors, so there is a kernel");
    kernel.root = "[root]".into();
    kernel
}

#[test]
fn two_backends() {
    insta::assert_debug_snapshot!("two-backends", kernel(&Fixture::new(), RELU));
}

#[test]
fn every_key() {
    let text = r#"
[general]
name = "relu"
version = 0
edition = 5
license = "Apache-2.0 OR MIT"
upstream = "https://example.org/relu.git"
source = "git@example.org:org/relu.git"
backends = ["cuda", "cpu"]
kernel-depends = [{ repo-id = "org/activation", version = 1 }]
python-depends = ["einops", "tvm-ffi"]

[general.cuda]
minver = "12.6"
maxver = "13.0"
kernel-depends = [{ repo-id = "org/gemm", revision = "main" }]
python-depends = ["nvidia-cutlass-dsl"]

[general.neuron]
kernel-depends = []
python-depends = ["nki"]

[general.tpu]
python-depends = []

[general.xpu]
python-depends = ["onednn"]

[general.hub]
repo-id = "org/relu"
branch = "main"

[torch]
src = ["./torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]
pyext = ["py", "json"]
include = [".", "csrc/include"]
minver = "2.9"
maxver = "2.10"
stable-abi = { cuda = "2.10" }
cxx-flags = ["-O3", "-DNAME=\"a;b ${c}\"\n"]

[kernel.relu]
backend = "cuda"
depends = ["torch", "torch"]
src = ["csrc/relu.cu", "csrc/helpers.cuh"]
include = ["csrc/include/"]
cxx-flags = ["-DRELU"]
cuda-capabilities = ["12.0a", "8.0+PTX", "10.0", "8.0+PTX"]
cuda-flags = ["--use_fast_math"]
cuda-minver = "12.8"

[kernel."relu.cpu"]
backend = "cpu"
depends = []
src = ["csrc/relu_cpu.cpp"]
"#;
    insta::assert_debug_snapshot!("every-key", kernel(&Fixture::new(), text));
}

#[test]
fn one_backend_with_a_stable_abi_for_all() {
    let text = r#"
[general]
name = "relu"
version = 3
edition = 5
license = "mit"
backends = ["cpu"]

[torch]
src = ["torch-ext/torch_binding.cpp"]
stable-abi = "2.9"

[kernel.relu_cpu]
backend = "cpu"
depends = ["torch"]
src = ["csrc/relu_cpu.cpp"]
"#;
    insta::assert_debug_snapshot!("stable-abi", kernel(&Fixture::new(), text));
}

/// Inline tables and dotted keys are the same file to TOML, and so they are to us.
#[test]
fn unusual_layout() {
    let text = r#"
torch = { src = ['torch-ext/torch_binding.cpp'] }
general.name = "relu"
general.version = 0x10
general.edition = 5
general.license = "MIT"
general.backends = [
    "cuda", # a comment
]
kernel.relu.backend = 'cuda'
kernel.relu.depends = []
kernel.relu.src = ["""csrc/relu.cu"""]
"#;
    insta::assert_debug_snapshot!("unusual-layout", kernel(&Fixture::new(), text));
}

/// The edition of each file, its warnings, and its kernel.
#[test]
fn every_edition() {
    let fixture = Fixture::new();
    for package in [
        "torch-ext/re_lu/__init__.py",
        "torch-ext/re__lu/__init__.py",
    ] {
        fixture.write(package, "");
    }
    let editions = [("v1", V1), ("v2", V2), ("v3", V3), ("v4", V4), ("v5", V5)];
    for (edition, cases) in editions {
        let mut shown = String::new();
        for (name, text) in cases {
            let kernel = kernel(&fixture, text);
            let (_, problems) = fixture.check(text.as_bytes());
            let read = Manifest::read("build.toml", text.as_bytes());
            let detected = read.edition.expect("a known edition");
            assert!(
                name.starts_with("v0") || name.starts_with(edition),
                "{name}"
            );
            shown += &format!(
                "# {name}: {}, because {}\n",
                detected.edition, detected.because
            );
            for problem in problems.iter() {
                shown += &format!("{} {}\n", problem.code, problem.message);
            }
            shown += &format!("{}\n", compact(&kernel));
        }
        insta::assert_snapshot!(format!("edition-{edition}"), shown);
    }
}

/// Backends that nothing is built for yet are part of the kernel like any other.
#[test]
fn every_backend_with_sections() {
    insta::assert_snapshot!("wide", compact(&kernel(&Fixture::new(), WIDE)));
}

/// Two published files, as they stand.
#[test]
fn tutorials() {
    let img2gray = include_str!("../fixtures/tutorials/img2gray/build.toml");
    let gemm = include_str!("../fixtures/tutorials/gemm/build.toml");
    let fixture = Fixture::new();
    for file in [
        "csrc/img2gray.cu",
        "gemm/gemm_kernel.h",
        "gemm/gemm_launcher.hip",
        "include/gpu_types.h",
        "torch-ext/gemm/__init__.py",
        "torch-ext/img2gray/__init__.py",
    ] {
        fixture.write(file, "");
    }
    let shown = [img2gray, gemm].map(|text| {
        let (_, problems) = fixture.check(text.as_bytes());
        let kernel = compact(&kernel(&fixture, text));
        format!("{kernel}\n{}", problems.render(Default::default()))
    });
    insta::assert_snapshot!("tutorials", shown.join("\n"));
}

/// Headers may be listed in several sections, and the binding may serve several backends.
#[test]
fn shared_files() {
    let text = RELU
        .replace(
            r#"["csrc/relu.cu"]"#,
            r#"["csrc/relu.cu", "csrc/include/relu.h", "csrc/relu_shared.cpp"]"#,
        )
        .replace(
            r#"["csrc/relu_cpu.cpp"]"#,
            r#"["csrc/relu_shared.cpp", "csrc/include/relu.h"]"#,
        );
    insta::assert_debug_snapshot!("shared-files", kernel(&Fixture::new(), &text));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark() {
    let text = format!("\u{feff}{}", RELU.replace('\n', "\r\n"));
    let unix = kernel(&Fixture::new(), RELU);
    let mut windows = kernel(&Fixture::new(), &text);
    // The hash is that of the exact bytes.
    assert_ne!(windows.build_toml_sha256, unix.build_toml_sha256);
    windows
        .build_toml_sha256
        .clone_from(&unix.build_toml_sha256);
    assert_eq!(windows, unix);
}
