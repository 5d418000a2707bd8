//! Libraries of headers that build.toml names in `depends`: CUTLASS from the package index, and
//! archives that a `[dependencies.*]` describes. Real builds; tests/loopback_index.py serves the
//! archives.

mod common;

use std::ops::Deref;
use std::path::Path;
use std::process::Output;

use common::archives::wheel;
use common::attested::{assert_same, write_flake};
use common::clone::Clone;
use common::folder::fixture;
use common::kernel::Sample;
use common::program::{build, built_library, kernel_builder, printed, python, run, words};
use common::world::World;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";
const WHEEL: &str = "half_headers-1.0-py3-none-any.whl";
const TARBALL: &str = "answer-2.0.tar.gz";

/// An index on this machine that has two archives of headers.
struct Index {
    world: World,
}

impl Deref for Index {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Index {
    fn new() -> Self {
        let world = World::new();
        let header =
            "#pragma once\n#include <answer.h>\ninline int half() { return answer() / 2; }\n";
        let members = [("half/include/half.h", header)];
        world.write(&format!("files/{WHEEL}"), wheel(&members));
        let tarball = std::fs::File::create(world.path("files").join(TARBALL)).expect("a file");
        let gzip = flate2::write::GzEncoder::new(tarball, flate2::Compression::default());
        let mut tarball = tar::Builder::new(gzip);
        let content = b"#pragma once\ninline int answer() { return 42; }\n";
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tarball
            .append_data(&mut header, "answer-2.0/include/answer.h", &content[..])
            .expect("a member");
        let gzip = tarball.into_inner().expect("a tar file");
        gzip.finish().expect("a tar.gz file");
        Self { world }
    }

    /// A kernel for the CPU that needs both archives.
    fn kernel(&self, half: &str) -> Sample {
        let build_toml = format!(
            r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.halves]
backend = "cpu"
depends = ["half", "answer"]
src = ["csrc/halves.cpp"]

[dependencies.half]
package = "half-headers"
file = "{WHEEL}"
sha256 = "{}"
include = ["{half}"]

[dependencies.answer]
url = "{}"
sha256 = "{}"
include = ["answer-2.0/include"]
"#,
            self.sha256(WHEEL),
            self.url(&format!("files/{TARBALL}")),
            self.sha256(TARBALL),
        );
        let source = "#include <cstdlib>\n#include <half.h>\n\
            extern \"C\" int halves() { return std::getenv(\"HALVES_OF_NOTHING\") ? 0 : half(); }\n";
        let binding = "#include \"registration.h\"\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n";
        Sample::new(
            &build_toml,
            &[
                ("csrc/halves.cpp", source),
                ("torch-ext/binding.cpp", binding),
            ],
        )
    }

    fn kernel_builder(&self, kernel: &Sample, command: &str, arguments: &[&str]) -> Output {
        let mut program = self.command(command);
        program.arg(kernel.path()).args(arguments);
        program.output().expect("start kernel-builder")
    }
}

/// The value of a function of a built library that takes nothing, beside a real torch.
fn call(library: &Path, function: &str) -> i32 {
    let script = format!("import ctypes, sys, torch; print(ctypes.CDLL(sys.argv[1]).{function}())");
    let output = printed(python().args(["-c", &script]).arg(library));
    output.trim().parse().expect("a number")
}

/// From an index and by URL, both of which `fetch --to` carries to a machine without a network.
/// metadata.json tells.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn archives_of_headers_are_fetched_and_searched() {
    let index = Index::new();
    let kernel = index.kernel("half/include");
    let output = index.kernel_builder(&kernel, "build", &["--variant", CPU]);
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(call(&built_library(kernel.path(), CPU), "halves"), 21);

    let metadata = kernel.path().join("build").join(CPU).join("metadata.json");
    let metadata = std::fs::read(metadata).expect("metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).expect("JSON");
    let expected = serde_json::json!([
        { "name": "answer", "sha256": index.sha256(TARBALL) },
        { "name": "half", "sha256": index.sha256(WHEEL) },
    ]);
    assert_eq!(metadata["header-depends"], expected);
    run(kernel_builder("generate").arg(kernel.path()));
    let library = Clone::new();
    write_flake(kernel.path(), &library);
    let by_flake = assert_same(kernel.path(), CPU);
    let packages = std::fs::read_to_string(by_flake.join("sbom.cdx.json")).expect("packages");
    assert!(
        packages.contains(TARBALL) && packages.contains(WHEEL),
        "{packages}"
    );

    let carried = tempfile::tempdir().expect("a temporary folder");
    let to = carried.path().to_str().expect("UTF-8");
    let output = index.kernel_builder(&kernel, "fetch", &["--variant", CPU, "--to", to]);
    assert!(output.status.success(), "{}", words(&output));
    for name in [WHEEL, TARBALL] {
        let file = carried
            .path()
            .join(format!("{}-{name}", index.sha256(name)));
        assert!(file.exists(), "{}", file.display());
    }
}

/// A folder that the archive does not have is named, with those that it has.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_folder_that_the_archive_lacks_is_an_error() {
    let index = Index::new();
    let kernel = index.kernel("include");
    let output = index.kernel_builder(&kernel, "build", &["--variant", CPU]);
    assert_eq!(output.status.code(), Some(1));
    let words = words(&output);
    assert!(
        words.contains("dependencies.half.include of build.toml") && words.contains("half/include"),
        "{words}"
    );
}

/// An archive of another content than build.toml says is refused, and nothing is built.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn an_archive_of_another_content_is_refused() {
    let index = Index::new();
    let kernel = index.kernel("half/include");
    let text = std::fs::read_to_string(kernel.path().join("build.toml")).expect("build.toml");
    let other = "0".repeat(64);
    kernel.write("build.toml", &text.replace(&index.sha256(WHEEL), &other));
    let output = index.kernel_builder(&kernel, "build", &["--variant", CPU]);
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(words(&output).contains(WHEEL), "{}", words(&output));
}

/// A unit of one section sees the CUTLASS that it names. NB: the smallest headers; products are for
/// `make full-test`.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn cutlass_is_found_by_its_word() {
    let build_toml = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.sizes]
backend = "cuda"
depends = ["cutlass_3_5"]
src = ["csrc/sizes.cu"]
cuda-capabilities = ["9.0"]
"#;
    let source = "#include <cutlass/numeric_types.h>\n#include <cutlass/version.h>\n\
        extern \"C\" int version() { return CUTLASS_MAJOR * 100 + CUTLASS_MINOR * 10 + CUTLASS_PATCH; }\n\
        __global__ void size(int *out) { *out = sizeof(cutlass::half_t); }\n";
    let binding = "#include \"registration.h\"\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n";
    let kernel = Sample::new(
        build_toml,
        &[
            ("csrc/sizes.cu", source),
            ("torch-ext/binding.cpp", binding),
        ],
    );
    run(&mut build(kernel.path(), &[CUDA]));
    let metadata = kernel.path().join("build").join(CUDA).join("metadata.json");
    let metadata = std::fs::read(metadata).expect("metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).expect("JSON");
    let expected = serde_json::json!([{ "name": "cutlass_3_5", "version": "3.5.1" }]);
    assert_eq!(metadata["header-depends"], expected);
}

/// Products with CUTLASS for the tensor cores of sm_80 and sm_90a, compiled by nvcc and by clang. A
/// GPU says whether they are right: tests/fixtures/cutlass/run.py.
#[test]
#[ignore = "builds with Nix for minutes: run by `make full-test`"]
fn products_with_every_cutlass_build() {
    const CLANG: &str = "torch29-cxx11-cu128-x86_64-linux";
    const NEWEST: [&str; 2] = ["cutlass_4_4", "cutlass_4_5"];
    const OLDER: [&str; 4] = ["cutlass_3_6", "cutlass_3_8", "cutlass_3_9", "cutlass_4_0"];
    let nvcc = OLDER.into_iter().chain(NEWEST).map(|word| (word, CUDA));
    for (word, variant) in nvcc.chain(OLDER.map(|word| (word, CLANG))) {
        let kernel = fixture("cutlass");
        let mut text = kernel.read("build.toml");
        text = text.replace("cutlass_4_0", word);
        if NEWEST.contains(&word) {
            text = text.replace("[\"8.0\", \"9.0a\"]", "[\"9.0a\"]");
        }
        if variant == CLANG {
            text = text.replace("binding.cpp", "plain.cpp");
        }
        kernel.write("build.toml", text);
        run(&mut build(kernel.path(), &[variant]));
    }
}
