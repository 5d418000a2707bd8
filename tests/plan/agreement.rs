//! Facts that Rust computes and Nix computes too.

use crate::common::agreement::{assert_nix_gets_the_plan, by_nix, names_in_nix};
use kernel_builder::emit::nix::string;
use kernel_builder::pins::{Family, Pin};
use kernel_builder::plan::{Identity, PythonFiles};

use std::collections::BTreeSet;

use super::*;
use crate::common::archives::{file_sha256, sha256};

/// The build id of the files as they are now, native and Python. Nix computes it in builds
/// (nix/kernel/content.nix); this is its definition once more.
pub fn build_id(identity: &Identity, root: &Utf8Path, python: &PythonFiles) -> String {
    let python = python.files(root).expect("the package");
    let mut lines = vec![identity.salt.clone()];
    for file in identity.files.iter().chain(&python) {
        let hash = file_sha256(root.join(file).as_std_path());
        lines.push(format!("{hash}  {file}"));
    }
    let hash = sha256(lines.join("\n").as_bytes());
    format!("{}_{}", identity.prefix, &hash[..10])
}

/// The ids of a plan's variants, as Rust computes them.
fn ids_of_rust(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    let compiled = plan.variants.iter().map(|v| (&v.variant, &v.id));
    let noarch = plan.noarch.iter().map(|v| (&v.variant, &v.id));
    let id = |identity: &Identity| {
        let id = build_id(identity, root, &plan.python);
        // The id of CMake projects.
        assert_eq!(identity.build_id(root, &plan.python).expect("files"), id);
        id
    };
    compiled
        .chain(noarch)
        .map(|(name, identity)| (name.clone(), id(identity).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The ids of a plan's variants, as Nix computes them.
fn ids_of_nix(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    by_nix(plan, root, "variant: variant.buildId")
}

#[test]
fn nix_gets_the_plan_of_every_example_and_fixture() {
    let mut folders = vec![format!("{REPOSITORY}/tests/fixtures/tutorials/img2gray")];
    for parent in ["examples", "tests/fixtures"] {
        let entries = std::fs::read_dir(Utf8Path::new(REPOSITORY).join(parent)).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let kernels = paths.filter(|path| path.join("build.toml").exists());
        folders.extend(kernels.map(|path| path.display().to_string()));
    }
    assert!(folders.len() > 9, "{folders:?}");
    for folder in folders {
        let kernel =
            Kernel::load(Utf8Path::new(&folder), &table().toolkits).expect("a good build.toml");
        assert_nix_gets_the_plan(&kernel.kernel);
    }
}

/// build.nix holds a digest of the names of files that an `#include` may find, which both sides
/// choose by their extensions (src/kernel/source.rs, nix/kernel/sources.nix).
#[test]
fn rust_and_nix_see_the_same_files() {
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/a.cu\"]\n";
    let sample = Sample::new(&format!("{CUDA}{section}"), &[("csrc/a.cu", "")]);
    let text = include_str!("../../src/kernel/source.rs");
    let extensions: Vec<&str> = text
        .split('"')
        .filter(|word| (1..=5).contains(&word.len()) && word.chars().all(char::is_alphanumeric))
        .chain(["none", "py", "txt", "md", "so", "o", "H", "c++", "hpp~"])
        .collect();
    assert!(
        extensions.contains(&"cuh") && extensions.contains(&"hip"),
        "{extensions:?}"
    );
    let root = sample.kernel().root;
    for extension in extensions {
        sample.write(&format!("csrc/deep/odd.{extension}"), "");
        sample.write(&format!("csrc/deep/.hidden.{extension}"), "");
        sample.write(&format!("csrc/deep/{extension}"), "");
        let (plan, variant) = only(&sample);
        let path = "variant: variant.library.drvPath";
        let found = by_nix(&plan, &root, path);
        let found = &found[&variant.variant];
        assert!(
            found.as_str().is_some_and(|path| path.ends_with(".drv")),
            "{extension}"
        );
    }
}

/// The first variant is the best one, for Nix and for `kernel-builder build`.
#[test]
fn nix_and_rust_have_the_best_variant_first() {
    let folders = [
        "examples/relu",
        "examples/silu-and-mul",
        "tests/fixtures/all-backends",
    ];
    let root = Utf8Path::new(REPOSITORY);
    let mut kernels = folders
        .map(|folder| {
            Kernel::load(&root.join(folder), &table().toolkits)
                .expect("a kernel")
                .kernel
        })
        .to_vec();
    let sample = mixed();
    kernels.push(sample.kernel());
    for kernel in kernels {
        let mut matrix = matrix(&kernel, table());
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        let variants = &mut matrix.variants;
        variants.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let names: Vec<_> = variants.iter().map(|variant| &variant.name).collect();
        let places = names_in_nix(&plan, &kernel.root);
        assert_eq!(places, serde_json::json!(names), "{}", kernel.name.as_str());
    }
}

/// Kernels whose variants differ for other reasons than the release table.
#[test]
fn nix_gets_the_plan_of_kernels_with_differences() {
    for build_toml in DIFFERENCES {
        let files = [
            "csrc/a.cu",
            "csrc/b.cu",
            "csrc/c.cpp",
            "csrc/d.cpp",
            "csrc/e.c",
            "csrc/f.hip",
            "csrc/g.mm",
            "csrc/h.metal",
        ];
        let text = |file: &'static str| match file {
            "csrc/b.cu" => (file, "#include <cub/cub.cuh>\n#include \"b b.h\"\n"),
            "csrc/d.cpp" => (
                file,
                "#include <torch/torch.h>\nTORCH_LIBRARY(mine, m) {}\n",
            ),
            file => (file, ""),
        };
        let mut files: Vec<_> = files.map(text).to_vec();
        files.push(("csrc/b b.h", "#if __CUDA_ARCH__ >= 800\n#endif\n"));
        files.push(("tvm-ffi-ext/sample/__init__.py", ""));
        let sample = Sample::new(build_toml, &files);
        assert_nix_gets_the_plan(&sample.kernel());
    }
}

const DIFFERENCES: [&str; 4] = [
    // Sections of one backend with other GPUs, flags that keep some compilers from making parts,
    // OpenMP, a stable ABI.
    r#"
[general]
name = "sample"
edition = 5
version = 3
license = "MIT"
backends = ["cuda", "cpu", "rocm", "metal", "xpu"]
kernel-depends = [{ repo-id = "a/b", version = 1 }]

[torch]
src = ["torch-ext/binding.cpp"]
minver = "2.9"

[kernel.old]
backend = "cuda"
lean-headers = false
depends = []
src = ["csrc/a.cu", "csrc/e.c"]
cuda-capabilities = ["7.5", "8.0"]
cuda-flags = ["-Xfatbin", "-compress-all"]

[kernel.new]
backend = "cuda"
depends = []
src = ["csrc/b.cu", "csrc/c.cpp"]
cuda-capabilities = ["9.0a", "10.0"]
cuda-minver = "12.8"

[kernel.host]
backend = "cpu"
lean-headers = false
depends = ["torch"]
src = ["csrc/c.cpp", "csrc/d.cpp"]
cxx-flags = ["-fopenmp"]

[kernel.amd]
backend = "rocm"
depends = ["torch"]
src = ["csrc/f.hip", "csrc/a.cu"]
rocm-archs = ["gfx942", "gfx90a"]

[kernel.shader]
backend = "metal"
depends = []
src = ["csrc/g.mm", "csrc/h.metal", "csrc/c.cpp"]

[kernel.intel]
backend = "xpu"
depends = ["torch"]
src = ["csrc/c.cpp"]
"#,
    // Flags that keep units whole, and one architecture.
    r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
upstream = "https://example.org/up"
backends = ["cuda"]

[torch]
src = ["torch-ext/binding.cpp"]
stable-abi = "2.9"

[kernel.whole]
backend = "cuda"
depends = []
src = ["csrc/a.cu"]
cuda-flags = ["-lineinfo"]
cuda-capabilities = ["8.0", "9.0", "12.0"]

[kernel.one]
backend = "cuda"
depends = []
src = ["csrc/b.cu"]
cuda-capabilities = ["8.0+PTX"]
"#,
    // No row of the kernel is bundled: the best variants are marked as such.
    r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda", "cpu"]

[torch]
src = ["torch-ext/binding.cpp", "csrc/d.cpp"]
maxver = "2.8"
lean-headers = false

[kernel.gpu]
backend = "cuda"
depends = ["cutlass_3_9"]
src = ["csrc/b.cu"]
"#,
    r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda"]

[tvm-ffi]
src = ["torch-ext/binding.cpp"]

[kernel.gpu]
backend = "cuda"
depends = ["cutlass_4_0"]
src = ["csrc/a.cu"]
cuda-flags = ["-use_fast_math"]
"#,
];

#[test]
fn rust_and_nix_compute_the_same_id_of_every_kind_of_variant() {
    for example in ["relu-tvm-ffi", "silu-and-mul"] {
        let plan = example_plan(example);
        let root = Utf8Path::new(REPOSITORY).join("examples").join(example);
        let ids = ids_of_rust(&plan, &root);
        assert!(ids.as_object().is_some_and(|ids| ids.len() >= 2));
        assert_eq!(ids_of_nix(&plan, &root), ids);
    }
    let sample = mixed();
    let (plan, _) = only(&sample);
    let root = sample.kernel().root;
    let ids = ids_of_rust(&plan, &root);
    assert_eq!(ids.as_object().map(serde_json::Map::len), Some(3));
    assert_eq!(ids_of_nix(&plan, &root), ids);
}

/// create-pyproject (Rust) and a build (Nix) once disagreed on the id, so that ops registered by
/// one were looked up under the name of the other.
#[test]
fn rust_and_nix_compute_the_same_id() {
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/a b$.cu\", \"csrc/gpu.h\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("csrc/a b$.cu", "#include \"gpu.h\"\r\n"),
            ("csrc/gpu.h", "#pragma once\n"),
        ],
    );
    let root = sample.kernel().root;
    sample.write("torch-ext/sample/z/deep.pyi", "x: int\n");
    sample.write("torch-ext/sample/__pycache__/cached.py", "");
    sample.write("torch-ext/sample/data.txt", "not Python\n");
    let current = || {
        let (plan, variant) = only(&sample);
        build_id(&variant.id, &root, &plan.python)
    };
    let first = current();

    assert!(first.starts_with("_sample_cuda_"), "{first}");
    let (plan, _) = only(&sample);
    assert_eq!(ids_of_nix(&plan, &root), ids_of_rust(&plan, &root));

    sample.write("README.md", "new\n");
    sample.write("torch-ext/sample/data.txt", "new\n");
    assert_eq!(current(), first, "documents are not part of a build");
    sample.write("torch-ext/sample/more.py", "");
    let with_python = current();
    assert_ne!(with_python, first, "a Python file is new");
    sample.write("csrc/gpu.h", "#pragma once\n#define NEW\n");
    let second = current();
    assert_ne!(second, with_python, "a header changed");
    sample.write(
        "build.toml",
        &format!("{CUDA}{section}cuda-flags = [\"-O1\"]\n"),
    );
    assert_ne!(current(), second, "a flag changed");
}

/// The families of some pin files, as this program and as nix/pins.nix name their pins.
fn pin_names(nix: &Utf8Path) -> (Vec<Vec<String>>, serde_json::Value) {
    let mut ours = Vec::new();
    let files = walkdir::WalkDir::new(nix.join("pins")).sort_by_file_name();
    for entry in files.into_iter().map(|entry| entry.expect("nix/pins")) {
        if entry.path().extension() != Some("json".as_ref()) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a pin file");
        let family: Family = serde_json::from_str(&text).expect("a family");
        if family.unpinned.is_some() {
            ours.push(vec![family.family]);
            continue;
        }
        let archives = family.archives.into_iter().map(Pin::Archive);
        let pins = archives.chain(family.trees.into_iter().map(Pin::Tree));
        ours.push(pins.map(|pin| pin.store_name()).collect());
    }
    let theirs = nix::evaluate(&format!(
        r#"
        let
          nix = /. + {};
          names = dir: builtins.attrNames (builtins.readDir dir);
          systems = builtins.filter (name: (builtins.readDir (nix + "/pins")).${{name}} == "directory") (names (nix + "/pins"));
          family = system: file:
            map (pin: pin.name) ((import (nix + "/pins.nix") {{ inherit system; }}).family
              (builtins.head (builtins.match "(.*)[.]json" file)));
        in
        builtins.concatMap (system: map (family system) (names (nix + "/pins/${{system}}"))) systems
        "#,
        string(nix.as_str())
    ));
    (ours, theirs)
}

/// A pin under another name than Nix expects is fetched and then still missing.
#[test]
fn rust_and_nix_name_pins_alike() {
    let real = Utf8Path::new(REPOSITORY).join("nix");
    // The rule for odd names, too, which no pin may need at the moment.
    let dir = tempfile::tempdir().expect("a temporary folder");
    let odd = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    std::fs::copy(real.join("pins.nix"), odd.join("pins.nix")).expect("copied");
    std::fs::create_dir_all(odd.join("pins/system")).expect("create a folder");
    let archive = |file: &str| {
        serde_json::json!({
            "kind": "deb", "name": "a", "version": "1", "file": file, "sha256": "00", "size": 1
        })
    };
    let files = [
        "g++_4%3a12.2~rc1-3_amd64.deb",
        "a%2b%3A!~~%3a%3a.whl",
        "Plain-1.0+cpu_x.whl",
    ];
    let archives: Vec<_> = files.iter().map(|file| archive(file)).collect();
    let family = serde_json::json!({ "family": "odd", "archives": archives, "trees": [] });
    std::fs::write(odd.join("pins/system/odd.json"), family.to_string()).expect("written");

    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-._?=".contains(c);
    for nix in [&real, odd] {
        let (ours, theirs) = pin_names(nix);
        assert_eq!(theirs, serde_json::json!(ours));
        assert!(!ours.is_empty());
        for name in ours.iter().flatten() {
            assert!(
                name.chars().all(allowed) && !name.starts_with('.'),
                "{name} cannot be in a store"
            );
        }
    }
}

/// The linker finds each library of torch that a plan names: nix/toolchains/torch.nix makes a stub
/// of every one, and of no other.
#[test]
fn every_library_of_torch_has_a_stub() {
    let fixture = Utf8Path::new(REPOSITORY).join("tests/fixtures/all-backends");
    let kernel = Kernel::load(&fixture, &table().toolkits)
        .expect("a kernel")
        .kernel;
    let plan = plan(&kernel, &matrix(&kernel, table()), table()).expect("a plan");
    let variants = plan.variants.iter();
    let linux = variants.filter(|variant| variant.system.ends_with("-linux"));
    let named = linux.flat_map(|variant| &variant.link.libraries);
    let named = named.filter_map(|flag| flag.strip_prefix("-l"));
    let named: BTreeSet<&str> = named
        .filter(|name| name.starts_with("c10") || name.starts_with("torch"))
        .collect();
    let stubs = nix::evaluate(&format!(
        r#"
        builtins.sort builtins.lessThan (builtins.head (import (/. + {}) {{
          name = "torch";
          host.bin = "tools";
          interpreter = null;
          pins = throw "pins are looked at";
          run = attributes: attributes;
        }}).libraries).names
        "#,
        string(&format!("{REPOSITORY}/nix/toolchains/torch.nix"))
    ));
    assert_eq!(stubs, serde_json::json!(named));
}

/// Python as a program and Python's headers are of one release: that of a row of the release table.
#[test]
fn python_that_runs_kernels_is_of_the_release_table() {
    let text = std::fs::read_to_string(format!("{REPOSITORY}/nix/python/toolchain.json"));
    let common: serde_json::Value = serde_json::from_str(&text.expect("a file")).expect("JSON");
    let rows = &table().rows;
    let is_of = |row: &&kernel_builder::matrix::Row| {
        let torch = row.toolchain.torch.as_deref();
        let python = row.toolchain.python.as_deref();
        common["host"] == row.toolchain.host.as_str()
            && common["python"].as_str() == python
            && common["torch"].as_str() == torch
    };
    assert!(rows.iter().any(|row| is_of(&row)), "{common}");
}
