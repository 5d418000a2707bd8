//! Exit 0 means that the requested result is there: every command on kernels with few or no
//! variants that can be built here.

mod common;

use std::process::{Command, Output};

use common::folder::Folder;
use common::kernel::Sample;
use common::program::{printed, store};

/// A kernel for AMD GPUs alone, in the format of 2025: all of its toolchains are vendors' archives.
fn for_amd() -> Sample {
    let build_toml = r#"[general]
name = "sample"
universal = false

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.scale]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["csrc/scale.h", "csrc/scale.hip"]
"#;
    let source = "#include \"scale.h\"\n__global__ void scale(float *x) { x[threadIdx.x] *= 2; }\n";
    Sample::new(
        build_toml,
        &[("csrc/scale.hip", source), ("csrc/scale.h", "")],
    )
}

const BEST: &str =
    "built by default: torch213-cxx11-rocm71-x86_64-linux, the best of 9 rocm variants";

fn for_cpu() -> Sample {
    let build_toml = r#"[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]
"#;
    Sample::new(build_toml, &[("csrc/host.cpp", "")])
}

/// Runs the program on a kernel and a store, without a network; Nix has no other machines but those
/// of `builders`.
fn on(sample: &Sample, arguments: &str, builders: &str, store: &str) -> Output {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let config = std::env::var("NIX_CONFIG").unwrap_or_default();
    Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
        .args(arguments.split(' '))
        .current_dir(sample.path())
        .env("KERNEL_BUILDER_CACHE", cache.path())
        .env("NIX_REMOTE", store)
        .env("NIX_CONFIG", format!("{config}\nbuilders = {builders}"))
        // No server listens at this address.
        .env("http_proxy", "http://127.0.0.1:9")
        .env("https_proxy", "http://127.0.0.1:9")
        .output()
        .expect("start the program")
}

/// Runs commands and compares their exit codes and words; `!` precedes words that must be absent.
fn all_end(sample: &Sample, expected: &[(&str, i32, &[&str])]) {
    for (arguments, code, says) in expected {
        let output = on(sample, arguments, "", &store());
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // Messages are wrapped.
        let flat = text.replace("\n  │ ", " ").replace("\n        ", " ");
        assert_eq!(output.status.code(), Some(*code), "{arguments}: {text}");
        for words in *says {
            match words.strip_prefix('!') {
                Some(words) => assert!(!flat.contains(words), "{arguments}: {text}"),
                None => assert!(flat.contains(words), "{arguments}: no {words:?} in {text}"),
            }
        }
    }
}

#[test]
#[ignore = "needs the Nix store: run by `make test`"]
fn a_kernel_for_amd_gpus_alone_is_built_or_refused_in_words() {
    let read_as = "build.toml: format v2, read as edition 5; 1 warning: `kernel-builder check-config` shows it";
    let (best, failed) = (BEST, "of the toolchains' files");
    let unpinned = "torch28-cxx11-rocm63-x86_64-linux cannot be built: rocm-6.3: no hashes of ROCm 6.3.4 are recorded";
    let sample = for_amd();
    all_end(
        &sample,
        &[
            (
                "check-config",
                0,
                &[
                    "2 sources, 9 variants, 1 by default on x86_64-linux",
                    "╭─[build.toml:3:13]",
                ],
            ),
            (
                "generate",
                0,
                &[read_as, "build.nix created: 9 variants", "!╭─"],
            ),
            (
                "list-variants",
                0,
                &["torch213-cxx11-rocm71-x86_64-linux", "!╭─"],
            ),
            (
                "list-variants --all --why",
                0,
                &["no kernel.*.backend is for cuda", "!general.backends"],
            ),
            (
                "list-variants --json",
                0,
                &["\"pinned\": false", "\"bundle\": true"],
            ),
            (
                "plan",
                0,
                &[best, read_as, "steps to build", "!nothing to build", "!╭─"],
            ),
            ("graph", 0, &[best, "label = \"rocm-7.1\""]),
            ("fetch --offline", 3, &[best, failed]),
            ("build --offline", 3, &[best, failed, "!seconds"]),
            (
                "plan --variant torch28-cxx11-rocm63-x86_64-linux",
                0,
                &["cannot be built: rocm-6.3: no hashes of ROCm 6.3.4 are recorded"],
            ),
            (
                "build --variant torch28-cxx11-rocm63-x86_64-linux",
                3,
                &[unpinned, "!fetching"],
            ),
            (
                "fetch --variant torch28-cxx11-rocm63-x86_64-linux",
                3,
                &[unpinned, "!fetching"],
            ),
            (
                "verify-reproducible --variant torch28-cxx11-rocm63-x86_64-linux",
                3,
                &[unpinned, "!fetching"],
            ),
            (
                "devshell --variant torch28-cxx11-rocm63-x86_64-linux",
                3,
                &[unpinned, "!fetching"],
            ),
            (
                "testshell --variant torch28-cxx11-rocm63-x86_64-linux",
                3,
                &[unpinned, "!fetching"],
            ),
            // A glob selects among the variants that exist.
            (
                "build --offline --variant torch28-*",
                3,
                &[unpinned, "!fetching"],
            ),
            (
                "build --offline --variant *",
                3,
                &[
                    "left out: torch28-cxx11-rocm64-x86_64-linux cannot be built: rocm-6.4: ",
                    failed,
                ],
            ),
        ],
    );
    // Its flake builds the same variant by default, and never an empty folder.
    let outputs = |more: &str| {
        format!(
            "((import {}/lib).genFlakeOutputs {{ self = {{ }}; path = {}; {more} }}).packages.x86_64-linux",
            env!("CARGO_MANIFEST_DIR"),
            sample.path().display()
        )
    };
    let names = |more: &str| {
        let variants = outputs(more);
        printed(
            nix("nix-instantiate")
                .args(["--eval", "--strict", "--json", "-E"])
                .arg(format!(
                    "map (drv: drv.name) {variants}.redistributable.drvAttrs.variants"
                )),
        )
    };
    assert_eq!(
        names("").trim(),
        r#"["sample-torch213-cxx11-rocm71-x86_64-linux"]"#
    );
    let chosen = names("torchVersions = [ \"torch212-*\" ];");
    assert_eq!(
        chosen.matches("sample-torch212-cxx11-rocm7").count(),
        2,
        "{chosen}"
    );
    let build_nix = sample.path().join("build.nix");
    let text = std::fs::read_to_string(&build_nix).expect("build.nix");
    let (before, rest) = text.split_once("bundled = [").expect("bundled variants");
    let (_, after) = rest.split_once("];").expect("a list");
    std::fs::write(&build_nix, format!("{before}bundled = [ ];{after}")).expect("write");
    for name in ["default", "redistributable", "build-and-copy"] {
        let nothing = format!("{}.{name}", outputs(""));
        let mut build = nix("nix-build");
        let output = build
            .args(["--no-out-link", "-E", &nothing])
            .output()
            .expect("nix-build");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{name}");
        let why = "no variant of sample is built by default on x86_64-linux";
        assert!(words.contains(why), "{name}: {words}");
    }
}

/// The vendors' servers do not answer: it ends soon, with words for all files.
#[test]
#[ignore = "needs the Nix store, and waits for servers: run by `make full-test`"]
fn what_vendors_do_not_serve_fails_in_words() {
    let (best, failed) = (BEST, "of the toolchains' files");
    all_end(
        &for_amd(),
        &[
            (
                "build",
                3,
                &[
                    best,
                    failed,
                    "Connection refused",
                    "missing for this reason: ",
                ],
            ),
            ("verify-reproducible", 3, &[best, failed, "!built twice"]),
            (
                "devshell -- true",
                3,
                &["torch213-cxx11-rocm71-x86_64-linux: ", failed],
            ),
            (
                "testshell -- true",
                3,
                &["torch213-cxx11-rocm71-x86_64-linux: ", failed],
            ),
        ],
    );
}

fn nix(program: &str) -> Command {
    let mut nix = Command::new(program);
    nix.args(["--option", "substituters", ""]);
    nix
}

#[test]
#[ignore = "needs the Nix store: run by `make test`"]
fn what_another_system_builds_is_refused_before_anything_is_fetched() {
    let sample = for_cpu();
    let there = "torch211-cxx11-cpu-aarch64-linux";
    let foreign = "torch211-cxx11-cpu-aarch64-linux cannot be built here: it is for aarch64-linux";
    let cure = "remote builder: `builders` in nix.conf (docs/distribution.md)";
    let refused: &[&str] = &[foreign, cure, "!fetching"];
    all_end(
        &sample,
        &[
            (&format!("build --variant {there}"), 3, refused),
            (
                &format!("verify-reproducible --variant {there}"),
                3,
                refused,
            ),
            (&format!("devshell --variant {there}"), 3, refused),
            (
                &format!("plan --variant {there}"),
                0,
                &[
                    "cannot be built: torch211-cxx11-cpu-aarch64-linux: Nix has no builder for aarch64-linux",
                ],
            ),
        ],
    );
    // A variant for which Nix has a machine is fetched for. The usual store may have its pins.
    let builder = "ssh://nobody@127.0.0.1 aarch64-linux,armv7l-linux";
    let empty = Folder::new();
    let output = on(
        &sample,
        &format!("build --offline --variant {there}"),
        builder,
        empty.path().to_str().expect("UTF-8"),
    );
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("pins::offline"), "{words}");
    assert_eq!(output.status.code(), Some(3));
}

/// Variants that only another system builds are named, and so are requested ones that do not exist.
#[test]
#[ignore = "needs the Nix store: run by `make test`"]
fn a_kernel_for_another_system_is_refused() {
    let build_toml = r#"[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["metal"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.gpu]
backend = "metal"
depends = []
src = ["csrc/gpu.metal"]
"#;
    let sample = Sample::new(build_toml, &[("csrc/gpu.metal", "")]);
    let nothing =
        "nothing is built on x86_64-linux: the kernel has 10 variants, for aarch64-darwin";
    let refused: &[&str] = &[nothing, "list-variants --all"];
    all_end(
        &sample,
        &[
            (
                "check-config",
                0,
                &["10 variants, none by default on x86_64-linux"],
            ),
            ("generate", 0, &["build.nix created: 10 variants"]),
            (
                "list-variants",
                0,
                &[
                    "no variant is built on x86_64-linux; `--all` lists 10 variants of other systems",
                ],
            ),
            ("plan", 3, refused),
            ("graph", 3, refused),
            ("fetch", 3, refused),
            ("build", 3, refused),
            ("verify-reproducible", 3, refused),
            ("devshell", 3, refused),
            ("testshell", 3, refused),
        ],
    );
    // Nobody has a toolchain for this library.
    let text = build_toml.replace("depends = []", "depends = [\"metal-cpp\"]");
    sample.write("build.toml", &text);
    let left_out = "left out: 10 metal variants: kernel.gpu.depends has metal-cpp, which has no pins: nobody has recorded its hash";
    let none = "nothing to build: kernel.gpu.depends has metal-cpp";
    all_end(
        &sample,
        &[
            ("check-config", 0, &["0 variants", left_out]),
            ("generate", 3, &[none]),
            (
                "list-variants --all --why",
                0,
                &["torch211-metal-aarch64-darwin: kernel.gpu.depends"],
            ),
            ("plan", 3, &[none]),
            ("fetch", 3, &[none]),
            ("build", 3, &[none]),
            ("verify-reproducible", 3, &[none]),
            ("devshell", 3, &[none]),
        ],
    );
}

const GPU: &str = "torch211-cxx11-cu130-x86_64-linux";

/// A manifest that older builders accept: the library has each source once, for the GPUs of all
/// sections (the link compares).
const ACCEPTED: &str = r#"[general]
name = "sample"
version = 1
backends = ["cuda"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.headers]
backend = "cuda"
depends = []
src = ["csrc/twice.cuh", "csrc/twice.cuh"]

[kernel.sm100]
backend = "cuda"
depends = []
src = ["csrc/twice.cuh", "csrc/common.cu", "csrc/new.cu"]
cuda-capabilities = ["10.0a", "11.8"]

[kernel.sm90]
backend = "cuda"
depends = []
src = ["csrc/common.cu", "torch-ext/binding.cpp"]
cuda-capabilities = ["9.0a"]
cuda-flags = ["-DSM90"]
"#;

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn what_older_builders_accept_is_built() {
    let binding = "#include \"registration.h\"\n\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n";
    let common = "#include \"twice.cuh\"\n#ifndef SM90\n#error flags of the other section\n#endif\n\
                  __global__ void common(float *x) { *x = twice(*x); }\n";
    let sample = Sample::new(
        ACCEPTED,
        &[
            ("torch-ext/binding.cpp", binding),
            (
                "csrc/twice.cuh",
                "__device__ inline float twice(float x) { return 2 * x; }\n",
            ),
            ("csrc/common.cu", common),
            (
                "csrc/new.cu",
                "#include \"twice.cuh\"\n__global__ void again(float *x) { *x = twice(*x); }\n",
            ),
        ],
    );
    let output = on(&sample, &format!("build --variant {GPU}"), "", &store());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("5 warnings: `kernel-builder check-config` shows them"),
        "{words}"
    );
    assert!(!words.contains("hint: "), "{words}");
    let metadata = sample.path().join("build").join(GPU).join("metadata.json");
    let metadata = std::fs::read_to_string(metadata).expect("metadata.json");
    assert!(
        metadata.contains("9.0a") && metadata.contains("10.0a"),
        "{metadata}"
    );
}

/// A failure shows the compiler's words alone and last, once for sources of one mistake, and the
/// command that shows all of them. A compilation of seconds gets no hint.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_failed_compilation_shows_the_compilers_words_alone() {
    let wrong = "#error wrong on purpose\n#include <torch/all.h>\n";
    let build_toml = ACCEPTED
        .split("[kernel.headers]")
        .next()
        .expect("the head")
        .to_owned()
        + "[kernel.wrong]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = [\"csrc/a.cu\", \"csrc/b.cu\"]\n\
           cuda-capabilities = [\"9.0\"]\n";
    let sample = Sample::new(&build_toml, &[("csrc/a.cu", wrong), ("csrc/b.cu", wrong)]);
    let output = on(&sample, &format!("build --variant {GPU}"), "", &store());
    // The help is wrapped.
    let words = String::from_utf8_lossy(&output.stderr).replace("\n        x86", "x86");
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("wrong on purpose"), "{words}");
    for noise in ["exited with", "terminated", "peak memory", ".drv", "hint: "] {
        assert!(!words.contains(noise), "{noise}: {words}");
    }
    let (_, last) = words.split_once("\nfailed: ").expect("a step");
    let (reasons, summary) = last.split_once("build::failed").expect("a summary");
    for source in ["csrc/a.cu", "csrc/b.cu"] {
        let place = format!("./{source}:1:2: error: ");
        assert_eq!(reasons.matches(&place).count(), 1, "{words}");
    }
    let again = format!("`kernel-builder build --variant {GPU} -L`");
    // The help is wrapped.
    assert!(
        summary.replace("\n        ", " ").contains(&again),
        "{words}"
    );
}
