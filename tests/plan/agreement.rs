//! Facts that Rust computes and Nix computes too.

use kernel_builder::emit::nix::string;
use kernel_builder::pins::{Family, Pin};
use kernel_builder::plan::Python;
use kernel_builder::plan::id::Identity;

use super::*;
use crate::common::archives::{file_sha256, sha256};

/// The build id of the files as they are now, native and Python. Nix computes it in builds
/// (nix/kernel/content.nix); this is its definition once more.
pub fn build_id(identity: &Identity, root: &Utf8Path, python: &Python) -> String {
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
    let id = |identity: &Identity| build_id(identity, root, &plan.python);
    compiled
        .chain(noarch)
        .map(|(name, identity)| (name.clone(), id(identity).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The same as Nix computes them, from the build.nix of the plan.
fn ids_of_nix(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    let build_nix = kernel_builder::emit::nix::build_nix(plan).expect("build.nix");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let file = file.join("build.nix");
    std::fs::write(&file, build_nix).expect("written");
    nix::evaluate(&format!(
        r#"
        let
          id = kernel: variant: {{
            name = variant.variant;
            value = (import (/. + {0} + "/content.nix") {{
              inherit (kernel) name python;
              sources = import (/. + {0} + "/sources.nix") (kernel // {{ root = /. + {1}; }});
            }} variant.id).namespace;
          }};
        in
        builtins.listToAttrs (import (/. + {2}) {{
          kernelBuilder = {{
            kernel = {{ variants, ... }}: variants;
            torchExtension = id;
            torchNoarch = id;
            tvmFfiExtension = id;
          }};
        }})
        "#,
        string(&format!("{REPOSITORY}/nix/kernel")),
        string(root.as_str()),
        string(file.as_str()),
    ))
}

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
