//! Builds after an edit: what is built again, and how it differs from before.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::clone::{Clone, nix};
use crate::common::folder::copy;
use crate::common::program::{SANDBOXED, kernel_builder, run, words};
use crate::{CPU, CUDA};

/// The names of the derivations that differ between two listings.
fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    before
        .iter()
        .filter(|(name, path)| after[*name] != **path)
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn only_what_changed_is_compiled_again() {
    let clone = Clone::new();
    let before = [clone.derivations(CPU), clone.derivations(CUDA)];
    let changes = || {
        let after = [clone.derivations(CPU), clone.derivations(CUDA)];
        [
            changed(&before[0], &after[0]),
            changed(&before[1], &after[1]),
        ]
    };

    clone.append("README.md", "\nMore words.\n");
    clone.append("tests/test_relu.py", "\n# More words.\n");
    assert_eq!(changes(), [Vec::<String>::new(), Vec::new()]);

    clone.append("torch-ext/relu/__init__.py", "\n# More words.\n");
    // The package writes the new id into the library, so nothing is linked.
    let packaged = |variant: &str| vec![format!("relu-{variant}")];
    assert_eq!(changes(), [packaged(CPU), packaged(CUDA)]);

    let relinked =
        |variant: &str| vec![format!("relu-{variant}"), format!("relu-{variant}-library")];

    let with = |units: &[&str], variant: &str| {
        let units = units.iter().map(|unit| format!("relu-{unit}.o"));
        let mut all: Vec<String> = units.chain(relinked(variant)).collect();
        all.sort();
        all
    };
    // A change of a header compiles the units that include it.
    let (binding, cpu_unit) = ("torch-ext-torch_binding.cpp", "csrc-relu_cpu.cpp");
    clone.append("torch-ext/torch_binding.h", "\n// More words.\n");
    let included = [with(&[cpu_unit, binding], CPU), with(&[binding], CUDA)];
    assert_eq!(changes(), included);

    // One unit is compiled in its parts, joined and linked: the binding does not know the
    // namespace, which holds a hash of this file.
    clone.append("csrc/relu_cuda.cu", "\n// More words.\n");
    let [cpu, cuda] = changes();
    assert_eq!(cpu, with(&[cpu_unit, binding], CPU));
    let (parts, others): (Vec<String>, _) = cuda
        .into_iter()
        .partition(|name| name.starts_with("relu-csrc-relu_cuda.cu-"));
    assert_eq!(others, with(&[binding, "csrc-relu_cuda.cu"], CUDA));
    for part in ["host+sm_75", "sm_121"] {
        let part = format!("relu-csrc-relu_cuda.cu-{part}.o");
        assert!(parts.contains(&part), "{parts:?}");
    }
}

/// Two builds differ in a symbol, a section and a needed library, and their statements name the
/// source that made them differ. The revision is that of git, and no step depends on it.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_diff_names_the_symbol_and_the_source_that_caused_it() {
    let clone = Clone::new();
    let build = clone.relu().join("build").join(CPU);
    let read = |file: &str| {
        let text = std::fs::read_to_string(build.join(file)).expect("a file");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let commit = |directory: &Path| {
        let output = run(Command::new("git")
            .arg("-C")
            .arg(directory)
            .args(["rev-parse", "HEAD"]));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    clone.build(&["--variant", CPU]);
    let revision = &read("metadata.json")["provenance"]["kernel"];
    assert_eq!(revision["commit"], commit(clone.path()));
    assert_eq!(revision["dirty"], false);
    let statement = read("provenance.intoto.json");
    let inputs = &statement["predicate"]["buildDefinition"]["resolvedDependencies"];
    let names: Vec<&str> = inputs
        .as_array()
        .expect("inputs")
        .iter()
        .filter_map(|input| input["name"].as_str())
        .collect();
    for name in [
        "source:build.toml",
        "source:csrc/relu_cpu.cpp",
        "source:torch-ext/relu/__init__.py",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("pin:gcc-12:gcc-12_")),
        "{names:?}"
    );
    assert!(
        names.contains(&"derivation:relu-csrc-relu_cpu.cpp.o"),
        "{names:?}"
    );
    assert_eq!(read("sbom.cdx.json")["bomFormat"], "CycloneDX");

    let before = clone.path().join("before");
    copy(&build, &before);
    clone.append(
        "csrc/relu_cpu.cpp",
        "\nextern \"C\" __attribute__((visibility(\"default\"))) int more_of_relu() { return 1; }\n",
    );
    clone.build(&["--variant", CPU]);
    assert_eq!(read("metadata.json")["provenance"]["kernel"]["dirty"], true);
    let output = kernel_builder("diff")
        .args([&before, &build])
        .arg("--json")
        .output();
    let output = output.expect("run");
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let differences = &json["variants"][0]["differences"];
    let changed = |value: &Value, how: &str| -> Vec<String> {
        let names = value[how].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let inputs = changed(&differences["inputs"], "changed");
    assert!(
        inputs.contains(&"source:csrc/relu_cpu.cpp".to_owned()),
        "{inputs:?}"
    );
    assert!(
        !inputs.contains(&"source:build.toml".to_owned()),
        "{inputs:?}"
    );
    // The library has another name, as the build id is a hash of the sources.
    assert_eq!(changed(&differences["files"], "added").len(), 1);

    // The same library under one name: to the symbol.
    let rename = |folder: &Path| {
        let library = std::fs::read_dir(folder).expect("a folder").flatten();
        let mut library = library.filter(|file| file.path().extension().is_some_and(|e| e == "so"));
        let library = library.next().expect("a library").path();
        std::fs::rename(library, folder.join("library.so")).expect("renamed");
    };
    rename(&before);
    rename(&build);
    let diff = |arguments: &[&str]| {
        let output = kernel_builder("diff")
            .args([&before, &build])
            .args(arguments)
            .output();
        String::from_utf8_lossy(&output.expect("run").stdout).into_owned()
    };
    let text = diff(&[]);
    for line in [
        "symbol added: more_of_relu",
        "input changed: source:csrc/relu_cpu.cpp",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json: Value = serde_json::from_str(&diff(&["--json"])).expect("JSON");
    let details = json["variants"][0]["differences"]["details"].as_array();
    let library = details
        .into_iter()
        .flatten()
        .find(|own| own["file"] == "library.so");
    let sections = changed(&library.expect("the library")["sections"], "changed");
    assert!(sections.contains(&".text".to_owned()), "{sections:?}");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_rebuild_gives_the_same_bytes() {
    let clone = Clone::new();
    clone.build(&[]);
    for variant in [CPU, CUDA] {
        for derivation in clone.derivations(variant).values() {
            let mut nix = Command::new("nix-store");
            run(nix
                .args(["--realise", "--check", derivation])
                .args(SANDBOXED));
        }
    }
}

/// A build.nix that does not know what the files include would leave a header out, and another be
/// found in its place.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_stale_build_nix_says_what_to_run() {
    let clone = Clone::new();
    let build = || {
        nix(&["build", &format!(".#redistributable.{CPU}"), "--no-link"])
            .current_dir(clone.relu())
            .output()
            .expect("run")
    };
    let refused = |what: &str| {
        let output = build();
        assert!(!output.status.success());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            words.contains(what) && words.contains("run `kernel-builder generate`"),
            "{words}"
        );
    };
    let git = |arguments: &[&str]| {
        run(Command::new("git")
            .current_dir(clone.relu())
            .args(arguments));
    };

    clone.append("csrc/relu_cpu.cpp", "\n// Other code.\n");
    assert!(build().status.success());
    clone.append("csrc/relu_cpu.cpp", "#include \"relu_cuda.h\"\n");
    refused("csrc/relu_cpu.cpp includes or registers other things");
    git(&["checkout", "--quiet", "csrc"]);
    // So may a header of the unit.
    clone.append(
        "torch-ext/torch_binding.h",
        "#if __has_include(<cuda.h>)\n#endif\n",
    );
    refused("torch-ext/torch_binding.h includes or registers other things");
    git(&["checkout", "--quiet", "torch-ext"]);

    // No include has changed, but this one is found first.
    let header = clone.relu().join("csrc/ATen/Dispatch.h");
    std::fs::create_dir_all(header.parent().expect("a folder")).expect("create a folder");
    std::fs::write(&header, "#include <not_of_torch.h>\n").expect("written");
    git(&["add", "csrc"]);
    refused("build.nix does not know every file below csrc, torch-ext");
    run(kernel_builder("generate").arg(clone.relu()));
    let words = String::from_utf8_lossy(&build().stderr).into_owned();
    assert!(words.contains("not_of_torch.h: No such file"), "{words}");

    clone.append("build.toml", "\n# Another comment.\n");
    refused("build.nix is older than build.toml");
}
