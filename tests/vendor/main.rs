//! The recipes of the vendor profile, from vendors' archives to a built variant. Archives that no
//! package index has are made here: packages and wheels as vendors pack them, served on this
//! machine, with compilers in them that stand in for theirs (tests/vendor/stand-ins). All else is
//! real: Nix and its sandbox, the download, the recipes, hipify, torch's headers, the host
//! compiler. Runs where tests/end_to_end runs, and is left out of a bare `cargo test` like it.

#[path = "../common/mod.rs"]
mod common;
mod rpm;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use camino::Utf8Path;
use common::archives::wheel;
use common::folder::{copy, copy_library, fixture_path};
use common::program::{on_disk, run, venv, words};
use common::world::World;
use kernel_builder::emit::release_table;
use kernel_builder::nix::Nix;
use kernel_builder::pins::fetch;
use serde_json::json;

use self::rpm::Member;

const SYSTEM: &str = "x86_64-linux";

/// A copy of the Nix library and of tests/fixtures/all-backends, in which families of pins are
/// replaced.
struct Vendor {
    world: World,
}

impl Vendor {
    /// `families` are made of one archive each: its file name and content.
    fn new(families: &[(&str, &str, Vec<u8>)]) -> Self {
        let world = World::new();
        copy_library(world.root());
        copy(&fixture_path("all-backends"), &world.path("kernel"));
        run(world.command("generate").arg(world.path("kernel")));
        // Its own toolset cannot be had here.
        let table = world.read(release_table::PATH);
        let host = |name: &str| format!("\"host\": \"{name}\"");
        let with_debian = table.replace(&host("gcc-toolset-14"), &host("gcc-12"));
        assert_ne!(with_debian, table);
        world.write(release_table::PATH, with_debian);

        for (family, file, content) in families {
            world.write(&format!("files/{file}"), content);
            let archives = json!([{
                "kind": if file.ends_with(".rpm") { "rpm" } else { "wheel" },
                "name": family,
                "version": "1",
                "file": file,
                "sha256": world.sha256(file),
                "urls": [world.url(&format!("files/{file}"))],
            }]);
            world.write_pins(".", family, &archives, &json!([]));
        }
        Self { world }
    }

    /// Builds the derivation of a Nix expression, which may use `kernel` (variants by name),
    /// `recipes` and `run`.
    fn build(&self, expression: &str) -> Output {
        let root = self.world.root().display();
        let expression = format!(
            r#"
            let
              built = import {root}/kernel/build.nix {{ kernelBuilder = import {root}/lib; }};
              kernel = builtins.listToAttrs
                (map (variant: {{ name = variant.variant; value = variant; }}) built.variants);
              system = "{SYSTEM}";
              recipes = (import {root}/nix/recipes.nix).${{system}};
              pins = import {root}/nix/pins.nix {{ inherit system; }};
              seed = import {root}/nix/seed.nix {{ inherit pins system; }};
              runs = import {root}/nix/run.nix {{ inherit seed system; }};
              run = {{ name, ... }}@attrs: runs attrs {{ inherit name; }};
            in
            {expression}
            "#
        );
        Command::new("nix-build")
            .args(["--no-out-link", "--expr", &expression])
            .args(["--option", "substituters", ""])
            .args(["--option", "sandbox", "true"])
            .args(["--option", "sandbox-fallback", "false"])
            .output()
            .expect("start nix-build")
    }
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", words(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Brings the registry's part of the toolchains into the store.
fn prepare() {
    let families = ["seed", "gcc-12", "python-3.11", "python-3.11-interpreter"].map(str::to_owned);
    let nix = Nix::find().expect("Nix");
    let library = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let pins = fetch::place(&nix, library, SYSTEM, &families, &[]).expect("evaluated");
    let missing = fetch::missing(&nix, &pins).expect("a store");
    if let Err(errors) = fetch::fetch(&nix, &missing, &fetch::FetchOptions::default()) {
        panic!("{errors:?}");
    }
}

fn stand_in(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vendor/stand-ins");
    std::fs::read(dir.join(name)).expect("a stand-in")
}

/// A wheel of torch with its real headers and its real hipify.
fn torch_wheel() -> Vec<u8> {
    let packages = venv().join("lib/python3.11/site-packages");
    let mut members = Vec::new();
    for part in ["torch/include", "torch/utils/hipify"] {
        for entry in walkdir::WalkDir::new(packages.join(part)).sort_by_file_name() {
            let entry = entry.expect("an entry");
            let name = entry.path().strip_prefix(&packages).expect("below");
            let name = name.to_str().expect("UTF-8");
            if entry.file_type().is_file() && !name.contains("__pycache__") {
                let content = std::fs::read(entry.path()).expect("a file");
                members.push((name.to_owned(), content));
            }
        }
    }
    wheel(&members)
}

/// A shared library with one function, by the machine's own compiler.
fn library(soname: &str, function: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (source, library) = (dir.path().join("a.c"), dir.path().join("a.so"));
    std::fs::write(&source, format!("void {function}(void) {{}}\n")).expect("written");
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"])
        .args([&library, &source])
        .output();
    succeeded(&cc.expect("start cc"));
    std::fs::read(library).expect("a library")
}

/// ROCm and oneAPI, each in one package.
fn rocm() -> Vec<u8> {
    rpm::package(&[
        Member::program("opt/rocm-7.2.1/lib/llvm/bin/clang++", stand_in("clang++")),
        Member::file("opt/rocm-7.2.1/amdgcn/bitcode/ocml.bc", "stand-in"),
        Member::file(
            "opt/rocm-7.2.1/include/hip/hip_runtime.h",
            stand_in("hip_runtime.h"),
        ),
        Member::file(
            "opt/rocm-7.2.1/lib/libamdhip64.so.7",
            library("libamdhip64.so.7", "hipStandIn"),
        ),
        Member::link("opt/rocm-7.2.1/lib/libamdhip64.so", "libamdhip64.so.7"),
    ])
}

fn oneapi() -> Vec<u8> {
    let compiler = "opt/intel/oneapi/compiler/2025.3";
    rpm::package(&[
        Member::program(&format!("{compiler}/bin/icpx"), stand_in("icpx")),
        Member::file(
            &format!("{compiler}/include/sycl/sycl.hpp"),
            stand_in("sycl.hpp"),
        ),
        // Found before the host's, it would end every compilation.
        Member::file(
            &format!("{compiler}/include/complex"),
            "#error \"not this one\"\n",
        ),
        Member::file(
            &format!("{compiler}/lib/libsycl.so.8"),
            library("libsycl.so.8", "syclStandIn"),
        ),
        Member::link(&format!("{compiler}/lib/libsycl.so"), "libsycl.so.8"),
        Member::file("opt/intel/oneapi/mkl/2025.3/include/oneapi/mkl.hpp", ""),
    ])
}

/// The library of a built variant, the libraries that it needs, and its metadata.
fn inspect(variant: &str, output: &str) -> (PathBuf, Vec<String>, serde_json::Value) {
    let dir = on_disk(output).join(variant);
    let text = std::fs::read_to_string(dir.join("metadata.json")).expect("metadata.json");
    let metadata: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let id = metadata["id"].as_str().expect("an id");
    let library = dir.join(format!("{id}.abi3.so"));
    let readelf = Command::new("readelf")
        .arg("--dynamic")
        .arg(&library)
        .output();
    let dynamic = succeeded(&readelf.expect("start readelf"));
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let name = |line: &str| line.split(['[', ']']).nth(1).expect("a name").to_owned();
    (library.clone(), needed.map(name).collect(), metadata)
}

#[test]
#[ignore = "needs a Nix store, a virtual environment and a package index: `make test`"]
fn rocm_and_xpu_variants_are_built_from_the_archives_of_vendors() {
    prepare();
    let wheel = torch_wheel();
    let vendor = Vendor::new(&[
        ("rocm-7.2", "rocm-1-1.el8.x86_64.rpm", rocm()),
        ("oneapi-2025.3", "oneapi-1-1.x86_64.rpm", oneapi()),
        (
            "torch-2.11.0-rocm72",
            "torch-1+rocm7.2-cp313-cp313-linux_x86_64.whl",
            wheel.clone(),
        ),
        (
            "torch-2.11.0-xpu20253",
            "torch-1+xpu-cp313-cp313-linux_x86_64.whl",
            wheel,
        ),
    ]);

    let rocm = "torch211-cxx11-rocm72-x86_64-linux";
    let output = succeeded(&vendor.build(&format!("kernel.{rocm}.package")));
    let (library, needed, metadata) = inspect(rocm, &output);
    for name in ["libtorch_hip.so", "libc10_hip.so", "libamdhip64.so.7"] {
        assert!(
            needed.iter().any(|needed| needed == name),
            "{name}: {needed:?}"
        );
    }
    assert_eq!(
        metadata["backend"]["archs"],
        serde_json::json!(["gfx90a", "gfx942"])
    );
    // The CUDA source went through hipify, its launch through HIP's macro.
    let symbols = Command::new("nm")
        .args(["--dynamic", "--undefined-only"])
        .arg(library)
        .output();
    assert!(succeeded(&symbols.expect("start nm")).contains("hipStandIn"));

    let xpu = "torch211-cxx11-xpu20253-x86_64-linux";
    let output = succeeded(&vendor.build(&format!("kernel.{xpu}.package")));
    let (_, needed, metadata) = inspect(xpu, &output);
    for name in ["libtorch_xpu.so", "libc10_xpu.so", "libsycl.so.8"] {
        assert!(
            needed.iter().any(|needed| needed == name),
            "{name}: {needed:?}"
        );
    }
    assert_eq!(metadata["backend"], serde_json::json!({ "type": "xpu" }));
}

/// The packages hold this machine's own libc, and `true` under the names of compilers.
#[test]
#[ignore = "needs a Nix store and a package index: `make test`"]
fn programs_of_a_gcc_toolset_run_from_the_store() {
    prepare();
    let bin = "opt/rh/gcc-toolset-14/root/usr/bin";
    let truth = which::which("true")
        .expect("true")
        .canonicalize()
        .expect("a file");
    let mut members = vec![
        Member::copy(
            "lib64/ld-linux-x86-64.so.2",
            Path::new("/lib64/ld-linux-x86-64.so.2"),
        ),
        Member::copy(
            "usr/lib64/libc.so.6",
            Path::new("/lib/x86_64-linux-gnu/libc.so.6"),
        ),
        // A link that a package makes for its place below /.
        Member::link("usr/lib64/libc.so", "/usr/lib64/libc.so.6"),
    ];
    for program in ["gcc", "g++", "ld.bfd"] {
        members.push(Member::copy(&format!("{bin}/{program}"), &truth));
    }
    let vendor = Vendor::new(&[("gcc-toolset-14", "toolset.rpm", rpm::package(&members))]);
    let run = |attribute: &str| {
        succeeded(&vendor.build(&format!(
            r#"(recipes.toolchain {{ host = "gcc-toolset-14"; torch = "none"; }}).host.{attribute}"#
        )))
    };

    let sysroot = run("sysroot");
    let gcc = on_disk(&sysroot).join(bin).join("gcc");
    let patchelf = |option: &str| {
        let output = Command::new("readelf")
            .args(["--program-headers", "--dynamic"])
            .arg(&gcc)
            .output();
        let text = succeeded(&output.expect("start readelf"));
        let line = text
            .lines()
            .find(|line| line.contains(option))
            .map(str::to_owned);
        line.unwrap_or_else(|| panic!("{option}: {text}"))
    };
    assert!(patchelf("interpreter").contains(&format!("{sysroot}/usr/lib64/ld-linux-x86-64.so.2")));
    assert!(patchelf("(RPATH)").contains(&format!("{sysroot}/usr/lib64:")));
    let link = std::fs::read_link(on_disk(&sysroot).join("usr/lib64/libc.so")).expect("a link");
    assert_eq!(link, Path::new(&format!("{sysroot}/usr/lib64/libc.so.6")));
    // NB: in a sandbox, only the package's own loader and libc can start the program.
    succeeded(&vendor.build(
        r#"
        run {
          name = "run";
          script = builtins.toFile "run.sh" "gcc --version && touch $out";
          tools = [ (recipes.toolchain { host = "gcc-toolset-14"; torch = "none"; }).host.bin ];
        }
        "#,
    ));
}

#[test]
#[ignore = "needs a Nix store and a package index: `make test`"]
fn archives_that_are_no_packages_are_named() {
    prepare();
    let mut package = rpm::package(&[]);
    // Zstandard's magic, which the seed's unpacker does not know.
    let at = package
        .windows(6)
        .position(|bytes| bytes == b"\xfd7zXZ\0")
        .expect("a payload");
    package.splice(
        at..,
        *b"\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51",
    );
    let vendor = Vendor::new(&[("rocm-7.2", "odd.rpm", package)]);
    let output = vendor.build(r#"(recipes.toolchain { host = "gcc-12"; torch = "none"; rocm = "rocm-7.2"; }).rocm.toolkit"#);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        why.contains("cannot unpack") && why.contains("odd.rpm"),
        "{why}"
    );
}

/// A family without pins evaluates like any other, and names the missing files when it is built.
#[test]
#[ignore = "needs a Nix store and a package index: `make test`"]
fn what_is_not_pinned_says_so() {
    prepare();
    let vendor = Vendor::new(&[]);
    let output = vendor.build("(recipes.toolchain { host = \"gcc-12\"; torch = \"none\"; rocm = \"rocm-6.3\"; }).rocm.toolkit");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        why.contains("no hashes of ROCm 6.3.4 are recorded"),
        "{why}"
    );
}
