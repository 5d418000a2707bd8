//! Kernel flakes for real, in every form that there is: with and without build.nix, by path and by
//! git, on the machine's Nix. `make test` fetches what they need; a bare `cargo test` leaves them
//! out.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::clone::{Clone, nix};
use common::program::run;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// The ways to call the library.
const FORMS: [&str; 3] = [
    "genFlakeOutputs { path = ./.; rev = self.shortRev or self.dirtyShortRev or self.lastModifiedDate; }",
    "genFlakeOutputs { inherit self; path = ./.; }",
    "genKernelFlakeOutputs { inherit self; path = ./.; torchVersions = versions: \
     builtins.filter (version: version.torchVersion == \"2.11\") versions; }",
];

/// A kernel's folder outside of the repository, with a flake.nix of its own.
fn kernel(clone: &Clone, form: &str, input: &str, build_nix: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    run(Command::new("cp")
        .arg("-r")
        .arg(clone.relu().join("."))
        .arg(dir.path()));
    let flake = format!(
        "{{\n  inputs.kernel-builder.url = \"{input}:{}\";\n\n  outputs = {{ self, kernel-builder }}: \
         kernel-builder.lib.{form};\n}}\n",
        clone.path().display()
    );
    std::fs::write(dir.path().join("flake.nix"), flake).expect("write");
    if !build_nix {
        std::fs::remove_file(dir.path().join("build.nix")).expect("remove");
    }
    dir
}

fn nix_in(dir: &Path, arguments: &[&str]) -> Output {
    run(nix(arguments).current_dir(dir))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn every_call_form_builds_with_and_without_build_nix() {
    let clone = Clone::new();
    let attribute = format!(".#redistributable.{CPU}.outPath");
    let mut paths = Vec::new();
    for form in FORMS {
        for input in ["path", "git+file"] {
            for build_nix in [true, false] {
                let dir = kernel(&clone, form, input, build_nix);
                let output = nix_in(dir.path(), &["eval", "--raw", &attribute]);
                paths.push(text(&output.stdout));
                let warnings = text(&output.stderr)
                    .matches("warning: genFlakeOutputs")
                    .count();
                assert_eq!(warnings, usize::from(form.contains("rev =")), "{form}");
            }
        }
    }
    // The same kernel is the same build, however it is called.
    paths.dedup();
    assert_eq!(paths.len(), 1, "{paths:?}");

    let dir = kernel(&clone, FORMS[2], "path", false);
    let one = format!(".#redistributable.{CPU}");
    nix_in(dir.path(), &["build", &one, "--no-link"]);
    let shell = format!(".#devShells.{CPU}");
    let arguments = ["develop", &shell, "--no-use-registries", "--command"];
    nix_in(
        dir.path(),
        &[&arguments[..], &["g++", "--version"]].concat(),
    );
    nix_in(dir.path(), &["run", ".#build-and-copy"]);
    let metadata = dir.path().join("build").join(CPU).join("metadata.json");
    assert!(metadata.exists());
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_wrong_build_toml_fails_the_evaluation_with_its_place() {
    let clone = Clone::new();
    let dir = kernel(&clone, FORMS[1], "path", false);
    let file = dir.path().join("build.toml");
    let wrong = std::fs::read_to_string(&file)
        .expect("build.toml")
        .replace("name = \"relu\"", "name = \"Re_lu\"");
    std::fs::write(&file, wrong).expect("write");
    let output = nix(&["eval", ".#variants"])
        .current_dir(dir.path())
        .output()
        .expect("start nix");
    assert!(!output.status.success());
    let words = text(&output.stderr);
    assert!(
        words.contains("general.name") || words.contains("Re_lu"),
        "{words}"
    );
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn without_the_tool_a_missing_build_nix_says_what_to_run() {
    let clone = Clone::new();
    let dir = kernel(&clone, FORMS[1], "path", false);
    let store = tempfile::tempdir().expect("a temporary folder");
    let output = nix(&["eval", ".#variants"])
        .current_dir(dir.path())
        .env("NIX_REMOTE", store.path())
        .output()
        .expect("start nix");
    assert!(!output.status.success());
    let words = text(&output.stderr);
    for cure in ["kernel-builder generate", "kernel-builder fetch --tool"] {
        assert!(words.contains(cure), "{words}");
    }
    // Nix makes its store read-only, which stops the folder from being removed.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(store.path()));
}

/// Evaluates all outputs; the next test builds the checks.
#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn nix_flake_check_and_show_take_every_flake() {
    let clone = Clone::new();
    let examples = clone.path().join("examples").read_dir().expect("examples");
    let mut folders: Vec<_> = examples
        .map(|entry| entry.expect("an entry").path())
        .collect();
    folders.push(clone.path().to_owned());
    assert!(folders.len() > 4);
    for folder in folders {
        nix_in(&folder, &["flake", "check", "--no-build"]);
        let shown = nix_in(&folder, &["flake", "show"]);
        assert!(
            text(&shown.stdout).contains("packages"),
            "{}",
            folder.display()
        );
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn checks_load_variants_and_run_their_tests() {
    let clone = Clone::new();
    let check = |variant: &str| {
        let attribute = format!(".#checks.x86_64-linux.{variant}");
        let built = clone.nix(&["build", "--no-link", "--json", &attribute]);
        drop(built);
        let attribute = format!("{attribute}.outPath");
        let path = text(&clone.nix(&["eval", "--raw", &attribute]).stdout);
        text(&clone.nix(&["store", "cat", &path]).stdout)
    };
    let log = check(CPU);
    assert!(log.contains("loaded ") && log.contains(" passed"), "{log}");
    // Without a GPU, the kernel loads, and tests that need one are skipped.
    let log = check("torch211-cxx11-cu130-x86_64-linux");
    assert!(log.contains("loaded ") && log.contains(" skipped"), "{log}");

    // A kernel that does not load fails its check, unless that is turned off.
    clone.append(
        "torch-ext/relu/__init__.py",
        "\nraise ImportError('on purpose')\n",
    );
    let attribute = format!(".#checks.x86_64-linux.{CPU}");
    let output = nix(&["build", "--no-link", &attribute])
        .current_dir(clone.relu())
        .output()
        .expect("start nix");
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("on purpose"),
        "{}",
        text(&output.stderr)
    );
}
