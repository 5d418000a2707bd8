//! Kernels whose flake.nix and flake.lock were written for another builder, without a network:
//! their lock pins a nixpkgs that this builder has no use for. `scripts/test.sh` runs this file
//! with two versions of Nix.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::clone::{Clone, nix};
use common::program::run;
use serde_json::{Value, json};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// Where flakes of kernels have the other builder from.
const OTHER: &str = "github:example/kernel-builder";

/// A node of a lock that only a network could serve.
fn locked(repo: &str, inputs: Value) -> Value {
    json!({
        "inputs": inputs,
        "locked": {
            "lastModified": 1_783_284_758,
            "narHash": "sha256-tiQ8/qi8I45OOaBBYlVbXoAVkeQzvvTQOv5I45rMw5o=",
            "owner": "example",
            "repo": repo,
            "rev": "ec1a11210589d294f0ac99d3290a27e6c73dfa1d",
            "type": "github"
        },
        "original": { "owner": "example", "repo": repo, "type": "github" }
    })
}

/// The lock of a flake with these inputs. `nixpkgs` is the builder's input of that name: a node, or
/// what it follows.
fn lock(root: Value, nixpkgs: Value) -> String {
    let inputs = json!({ "flake-utils": "flake-utils", "nixpkgs": nixpkgs });
    let lock = json!({
        "nodes": {
            "flake-utils": locked("flake-utils", json!({ "systems": "systems" })),
            "kernel-builder": locked("kernel-builder", inputs),
            "nixpkgs": locked("nixpkgs", json!({})),
            "root": { "inputs": root },
            "systems": locked("systems", json!({})),
        },
        "root": "root",
        "version": 7
    });
    lock.to_string()
}

/// A kernel in a git repository of its own, which has a flake.nix and a flake.lock.
fn kernel(clone: &Clone, inputs: &str, outputs: &str, lock: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    run(Command::new("cp")
        .arg("-r")
        .arg(clone.relu().join("."))
        .arg(dir.path()));
    let flake =
        format!("{{\n  {inputs}\n  outputs = {{ self, kernel-builder, ... }}: {outputs};\n}}\n");
    std::fs::write(dir.path().join("flake.nix"), flake).expect("write");
    std::fs::write(dir.path().join("flake.lock"), lock).expect("write");
    for arguments in [&["init", "--quiet"][..], &["add", "--all"]] {
        run(Command::new("git").current_dir(dir.path()).args(arguments));
    }
    dir
}

/// Runs `nix` in a folder where there is no network at all.
fn offline(dir: &Path, arguments: &[&str]) -> Output {
    let root = Command::new("unshare").args(["--net", "true"]).output();
    let mut command = Command::new("unshare");
    if !root.is_ok_and(|output| output.status.success()) {
        command.arg("--map-current-user");
    }
    let nix = nix(arguments);
    command
        .arg("--net")
        .arg(nix.get_program())
        .args(nix.get_args())
        .current_dir(dir);
    run(&mut command)
}

fn input(url: &str) -> String {
    format!("inputs.kernel-builder.url = \"{url}\";")
}

const OUTPUTS: &str = "kernel-builder.lib.genFlakeOutputs { inherit self; path = ./.; }";

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_lock_that_pins_nixpkgs_builds_without_a_network() {
    let clone = Clone::new();
    let ours = format!("path:{}", clone.path().display());
    let lock = lock(
        json!({ "kernel-builder": "kernel-builder" }),
        json!("nixpkgs"),
    );
    let attribute = format!(".#redistributable.{CPU}");

    // The author has put our URL into flake.nix.
    let edited = kernel(&clone, &input(&ours), OUTPUTS, &lock);
    offline(edited.path(), &["build", "--no-link", &attribute]);
    offline(edited.path(), &["flake", "check", "--no-build"]);

    // The flake is not edited.
    let unmodified = kernel(&clone, &input(OTHER), OUTPUTS, &lock);
    let instead = ["--override-input", "kernel-builder", &ours];
    let build = [&["build", "--no-link", &attribute], &instead[..]].concat();
    offline(unmodified.path(), &build);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_check_that_needs_an_unpinned_package_says_how_to_pin_it() {
    let clone = Clone::new();
    let ours = format!("path:{}", clone.path().display());
    let outputs = "kernel-builder.lib.genFlakeOutputs {
        inherit self; path = ./.; pythonCheckInputs = pkgs: with pkgs; [ rich rare-package ];
    }";
    let lock = lock(
        json!({ "kernel-builder": "kernel-builder" }),
        json!("nixpkgs"),
    );
    let dir = kernel(&clone, &input(&ours), outputs, &lock);
    offline(dir.path(), &["flake", "show"]);
    let check = format!(".#checks.x86_64-linux.{CPU}");
    let output = nix(&["build", "--no-link", "--keep-going", &check])
        .current_dir(dir.path())
        .output()
        .expect("start nix");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        words.contains("run `kernel-builder pin-python rare-package`"),
        "{words}"
    );
}

/// Lines about inputs of the other builder, which ours does not have.
#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn overrides_of_inputs_that_we_lack_do_no_harm() {
    let clone = Clone::new();
    let ours = format!("path:{}", clone.path().display());
    let inputs = format!(
        "inputs.nixpkgs.url = \"github:example/nixpkgs\";
         inputs.kernel-builder = {{ url = \"{ours}\"; inputs.nixpkgs.follows = \"nixpkgs\"; }};"
    );
    let root = json!({ "kernel-builder": "kernel-builder", "nixpkgs": "nixpkgs" });
    let lock = lock(root, json!(["nixpkgs"]));
    // A package that only a shell of the author needs fails there, and nowhere else.
    let outputs = format!(
        "let kernel = {OUTPUTS}; inherit (kernel-builder.inputs) nixpkgs; in kernel // {{ own = nixpkgs.legacyPackages; }}"
    );
    let dir = kernel(&clone, &inputs, &outputs, &lock);
    let variant = format!(".#redistributable.{CPU}.drvPath");
    offline(dir.path(), &["eval", &variant]);
}

#[test]
fn our_own_flake_has_no_inputs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file| std::fs::read_to_string(root.join(file)).expect(file);
    let flake = read("flake.nix");
    let declares = |line: &str| line.trim_start().starts_with("inputs");
    assert!(!flake.lines().any(declares), "{flake}");
    let lock: Value = serde_json::from_str(&read("flake.lock")).expect("JSON");
    assert_eq!(lock["nodes"], json!({ "root": {} }));
}
