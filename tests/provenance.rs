//! The origin that builds of flakes name. It is the same as in copies of `kernel-builder build`, to
//! the byte, and it builds no step again.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::attested::{assert_same, built, commit, repository};
use common::clone::{Clone, nix};
use common::findings::findings;
use common::folder::{Folder, copy, new_word};
use common::nix::evaluate;
use common::program::{kernel_builder, on_disk, printed, run, store, words};
use serde_json::{Value, json};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

fn json_of(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).expect("a file")).expect("JSON")
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_flake_says_the_same_of_a_build_as_the_program() {
    let library = Clone::new();
    let kernel = repository("relu", &library);
    kernel.write("README.md", "More words.\n");
    let head = commit(&kernel);
    let variant = assert_same(kernel.path(), CPU);
    let expected = json!({"commit": head, "dirty": false});
    let provenance = &json_of(&variant.join("metadata.json"))["provenance"];
    assert_eq!(provenance["kernel"], expected);
    let statement = json_of(&variant.join("provenance.intoto.json"));
    let definition = &statement["predicate"]["buildDefinition"];
    assert_eq!(definition["externalParameters"]["revision"], expected);
    let inputs = definition["resolvedDependencies"].as_array();
    let inputs = inputs.expect("inputs").iter();
    let names: BTreeSet<&str> = inputs.filter_map(|input| input["name"].as_str()).collect();
    for name in [
        "source:build.toml",
        "source:csrc/relu_cpu.cpp",
        "source:torch-ext/relu/__init__.py",
        "derivation:relu-csrc-relu_cpu.cpp.o",
        "derivation:relu-torch211-cxx11-cpu-x86_64-linux",
        "pin:torch-2.11.0:torch-2.11.0-headers",
    ] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let sbom = json_of(&variant.join("sbom.cdx.json"));
    let components = sbom["components"].as_array().expect("packages");
    let gcc = components.iter().find(|own| own["name"] == "g++-12");
    let version = gcc.expect("a compiler")["version"].as_str();
    assert!(version.is_some_and(|version| version.starts_with("12.2")));

    // It is good as it is, in the store and as a copy, and it needs no other path of the store.
    assert_eq!(findings("verify", &variant), (Vec::new(), Some(0)));
    let folder = Folder::new();
    let copied = folder.path().join(CPU);
    copy(&variant, &copied);
    assert_eq!(findings("check-builds", &copied), (Vec::new(), Some(0)));
    let attribute = format!(".#redistributable.{CPU}");
    let path = printed(nix(&["path-info", "--recursive", &attribute]).current_dir(kernel.path()));
    assert_eq!(path.lines().count(), 1, "{path}");
    // A second build gives the same bytes.
    built(kernel.path(), &attribute, &["--rebuild"]);

    // Without a revision, it says none, as the program does outside of git.
    std::fs::remove_dir_all(kernel.path().join(".git")).expect("removed");
    let variant = assert_same(kernel.path(), CPU);
    let provenance = &json_of(&variant.join("metadata.json"))["provenance"];
    assert_eq!(provenance.get("kernel"), None);
}

/// A kernel of Python alone has neither units nor a toolchain.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_flake_says_the_same_of_a_kernel_of_python_alone() {
    let library = Clone::new();
    let kernel = repository("silu-and-mul", &library);
    assert_same(kernel.path(), "torch-cpu");
}

/// Root's Python writes compiled modules into a package that it imports from the store. They named
/// the package, and the next build of the flake failed.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn modules_that_were_compiled_in_the_store_are_in_no_build() {
    const VARIANT: &str = "torch-cpu";
    let library = Clone::new();
    let kernel = repository("silu-and-mul", &library);
    let module = kernel.read("torch-ext/silu_and_mul/gpu.py");
    let module = format!("{module}# {}\n", new_word());
    kernel.write("torch-ext/silu_and_mul/gpu.py", module);
    commit(&kernel);
    assert_same(kernel.path(), VARIANT);
    let mut graph = kernel_builder("graph");
    graph
        .arg(kernel.path())
        .args(["--variant", VARIANT, "--json"]);
    let graph: Value = serde_json::from_str(&printed(&mut graph)).expect("JSON");
    let steps = graph["steps"].as_array().expect("steps");
    let package = steps.iter().find(|step| step["kind"] == "package");
    let derivation = package.and_then(|step| step["derivation"].as_str());
    let derivation = derivation.expect("a package");
    let outputs = printed(Command::new("nix-store").args(["--query", "--outputs", derivation]));
    let package = on_disk(&outputs).join(VARIANT);
    let run_in = |folder: &Path, line: &str| run(Command::new("sh").args(["-c", line]).arg(folder));
    let compile_in = |folder: &Path| {
        let module = "__pycache__/gpu.cpython-311.pyc";
        run_in(
            folder,
            &format!("chmod u+w $0; mkdir $0/__pycache__; echo $0 >$0/{module}"),
        );
        assert!(folder.join(module).exists());
    };
    compile_in(&package);

    let build = kernel.path().join("build");
    std::fs::remove_dir_all(&build).expect("removed");
    kernel.write("README.md", "More words.\n");
    commit(&kernel);
    let by_flake = assert_same(kernel.path(), VARIANT);
    let is_clean =
        |built: &Path| built.join("gpu.py").exists() && !built.join("__pycache__").exists();
    assert!(is_clean(&by_flake) && is_clean(&build.join(VARIANT)));

    let bundle = built(kernel.path(), ".#default", &[]).join(VARIANT);
    compile_in(&bundle);
    std::fs::remove_dir_all(&build).expect("removed");
    run(nix(&["run", ".#build-and-copy"]).current_dir(kernel.path()));
    assert!(is_clean(&build.join(VARIANT)));
    for folder in [&package, &bundle] {
        run_in(folder, "rm -r $0/__pycache__; chmod u-w $0");
    }
}

/// The derivations that a flake's attribute needs, itself among them.
fn derivations(kernel: &Path, attribute: &str) -> BTreeSet<String> {
    let path = format!("{attribute}.drvPath");
    let root = printed(nix(&["eval", "--raw", &path]).current_dir(kernel));
    let mut query = Command::new("nix-store");
    let paths = printed(query.args(["--query", "--requisites", root.trim()]));
    let paths = paths.lines().filter(|path| path.ends_with(".drv"));
    paths.map(str::to_owned).collect()
}

/// The reference compiles everything on every commit.
#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_commit_repeats_the_last_step_alone() {
    let library = Clone::new();
    let kernel = repository("relu", &library);
    let attributes = [format!(".#redistributable.{CPU}"), ".#default".to_owned()];
    let evaluate = || {
        attributes
            .each_ref()
            .map(|own| derivations(kernel.path(), own))
    };
    let clean = evaluate();
    assert!(clean[0].len() > 20, "{clean:?}");
    let assert_one = |before: &[BTreeSet<String>; 2], after: &[BTreeSet<String>; 2]| {
        for (before, after) in before.iter().zip(after) {
            let new: Vec<&String> = after.difference(before).collect();
            assert_eq!((new.len(), before.len()), (1, after.len()), "{new:?}");
        }
    };
    kernel.write("README.md", "More words.\n");
    let dirty = evaluate();
    assert_one(&clean, &dirty);
    commit(&kernel);
    let next = evaluate();
    assert_one(&clean, &next);
    assert_one(&dirty, &next);
}

/// The last step needs the derivations of all steps, and the output of the package alone.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_package_from_a_cache_needs_no_toolchain() {
    let library = Clone::new();
    let kernel = repository("relu", &library);
    let attribute = format!(".#redistributable.{CPU}");
    built(kernel.path(), &attribute, &[]);
    // The cache has the package, and no build of this commit.
    kernel.write("README.md", "More words.\n");
    let head = commit(&kernel);
    let machine = Folder::new();
    let cache = format!("{}?trusted=true", store());
    let options = ["--option", "substituters", &cache];
    let build = [&["build", "--no-link", &attribute], &options[..]].concat();
    let mut build = nix(&build);
    build.env("NIX_REMOTE", machine.path());
    run(build.current_dir(kernel.path()));
    let path = format!("{attribute}.outPath");
    let path = printed(nix(&["eval", "--raw", &path]).current_dir(kernel.path()));
    let folder = machine.path().join("nix/store");
    let name = Path::new(path.trim()).file_name().expect("a name");
    let metadata = json_of(&folder.join(name).join(CPU).join("metadata.json"));
    assert_eq!(metadata["provenance"]["kernel"]["commit"], head);
    let names = std::fs::read_dir(&folder).expect("a store").flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    let has = |end: &str| names.iter().any(|own| own.to_string_lossy().ends_with(end));
    assert!(has("-gcc-12-sysroot.drv") && !has("-gcc-12-sysroot"));
}

/// A signature of a variant was lost with the first commit after it.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_signed_variant_stays_through_a_commit() {
    let library = Clone::new();
    let kernel = repository("relu", &library);
    let one = format!("inherit self; torchVersions = [ \"{CPU}\" ];");
    kernel.replace("flake.nix", "inherit self;", &one);
    commit(&kernel);
    let build = kernel.path().join("build");
    let copied = || {
        let output = run(nix(&["run", ".#build-and-copy"]).current_dir(kernel.path()));
        (
            words(&output),
            json_of(&build.join(CPU).join("metadata.json")),
        )
    };
    let sign = |arguments: &[&str]| {
        let mut sign = kernel_builder("sign");
        run(sign.args(arguments).current_dir(kernel.path()))
    };
    let (_, unsigned) = copied();
    kernel.write("README.md", "One.\n");
    commit(&kernel);
    let (_, first) = copied();
    assert_ne!(unsigned, first, "the revision is another");

    sign(&["--generate-key", "key"]);
    sign(&["--secret-key", "key"]);
    let sigstore = build.join(CPU).join("metadata.json.sigstore");
    std::fs::write(&sigstore, "{}").expect("written");
    kernel.write("README.md", "Two.\n");
    commit(&kernel);
    let (said, second) = copied();
    assert_eq!(first, second, "{said}");
    assert!(sigstore.exists());
    let mut verify = kernel_builder("verify");
    run(verify
        .args(["build", "--public-key", "key.pub"])
        .current_dir(kernel.path()));

    // Another package takes its place, and a line says so.
    let wrapper = kernel.read("torch-ext/relu/__init__.py");
    kernel.write("torch-ext/relu/__init__.py", wrapper + "\n# More words.\n");
    commit(&kernel);
    let (said, third) = copied();
    assert_ne!(second, third);
    assert!(said.contains("was signed: sign the new build"), "{said}");
}

#[test]
fn the_revision_of_a_flake_is_that_of_a_commit() {
    let commit = "4f0597c6f51a0997ea330e8abde13de71f70d30a";
    let revision = |flake: &str| {
        let root = env!("CARGO_MANIFEST_DIR");
        evaluate(&format!(
            "import (/. + \"{root}/nix/flake/revision.nix\") {{ self = {flake}; }}"
        ))
    };
    assert_eq!(
        revision(&format!(
            "{{ rev = \"{commit}\"; shortRev = \"4f0597c\"; }}"
        )),
        json!({"commit": commit, "dirty": false})
    );
    let dirty = format!("{{ dirtyRev = \"{commit}-dirty\"; dirtyShortRev = \"4f0597c-dirty\"; }}");
    assert_eq!(revision(&dirty), json!({"commit": commit, "dirty": true}));
    for none in [
        "null",
        "{ }",
        "{ lastModified = 1; }",
        "{ rev = \"main\"; }",
    ] {
        assert_eq!(revision(none), Value::Null, "{none}");
    }
}
