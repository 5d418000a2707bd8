//! A copy of this repository in which a test may change files, and Nix as a user has it, for tests that build for real.
// Not every test file uses all of it.
#![allow(dead_code)]

#[path = "run.rs"]
mod run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub use run::run;

/// A copy of this repository as git would clone it, so that a test may change files.
pub struct Clone {
    dir: tempfile::TempDir,
}

impl Clone {
    pub fn new() -> Self {
        Self::of_torch("2.11")
    }

    /// One whose examples/relu is built for another torch release.
    pub fn of_torch(version: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = tempfile::tempdir().expect("a temporary folder");
        let files = run(Command::new("git").current_dir(root).args([
            "ls-files",
            "Cargo.lock",
            "Cargo.toml",
            "build.rs",
            "examples",
            "flake.lock",
            "flake.nix",
            "lib",
            "nix",
            "src",
            "templates",
        ]));
        for file in String::from_utf8_lossy(&files.stdout).lines() {
            let target = dir.path().join(file);
            std::fs::create_dir_all(target.parent().expect("a folder")).expect("create a folder");
            std::fs::copy(root.join(file), target).expect("copy a file");
        }
        let clone = Self { dir };
        clone.keep_one_torch(version);
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "all"],
        ] {
            let identity = [
                "-c",
                "user.name=test",
                "-c",
                "user.email=test@example.invalid",
            ];
            run(Command::new("git")
                .current_dir(clone.path())
                .args(identity)
                .args(arguments));
        }
        clone
    }

    /// Tests build two variants of examples/relu: those of the torch release that they load it with.
    fn keep_one_torch(&self, version: &str) {
        let path = self.relu().join("build.toml");
        let text = std::fs::read_to_string(&path).expect("an example");
        let bounds = format!("[torch]\nminver = \"{version}\"\nmaxver = \"{version}\"");
        std::fs::write(&path, text.replacen("[torch]", &bounds, 1)).expect("write");
        run(Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
            .arg("generate")
            .arg(self.relu()));
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn relu(&self) -> PathBuf {
        self.path().join("examples/relu")
    }

    pub fn append(&self, file: &str, text: &str) {
        let path = self.relu().join(file);
        let old = std::fs::read_to_string(&path).expect("a file of the example");
        std::fs::write(path, old + text).expect("write");
    }

    /// Everything that a variant is made of, as derivations by name.
    pub fn derivations(&self, variant: &str) -> BTreeMap<String, String> {
        let expression = format!(
            r#"let variant = builtins.head (builtins.filter (v: v.variant == "{variant}")
                 (import {0}/examples/relu/build.nix {{
                   kernelBuilder = import {0}/lib // {{ kernel = {{ variants, ... }}: variants; }};
                 }}));
               compilations = builtins.concatMap (o: o.parts or [ ] ++ [ o ]) variant.objects;
               in map (d: {{ inherit (d) name drvPath; }}) (compilations ++ [ variant.library variant.package ])"#,
            self.path().display()
        );
        let output = run(Command::new("nix-instantiate").args([
            "--eval",
            "--strict",
            "--json",
            "--expr",
            &expression,
        ]));
        let list: Vec<BTreeMap<String, String>> =
            serde_json::from_slice(&output.stdout).expect("JSON");
        list.into_iter()
            .map(|entry| (entry["name"].clone(), entry["drvPath"].clone()))
            .collect()
    }

    pub fn nix(&self, arguments: &[&str]) -> Output {
        run(nix(arguments).current_dir(self.relu()))
    }

    pub fn build(&self, arguments: &[&str]) -> Output {
        run(Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
            .arg("build")
            .arg(self.relu())
            .args(arguments))
    }
}

/// `nix` as a user has it: sandboxed, and with nothing to ask of a network.
pub fn nix(arguments: &[&str]) -> Command {
    let mut command = Command::new("nix");
    command.args(["--extra-experimental-features", "nix-command flakes"]);
    command.args([
        "--option",
        "substituters",
        "",
        "--option",
        "sandbox",
        "true",
    ]);
    command.args([
        "--option",
        "sandbox-fallback",
        "false",
        "--option",
        "max-jobs",
        "2",
    ]);
    // A lock would pin the library as it was at that moment.
    let (name, rest) = arguments.split_at(if arguments[0] == "flake" { 2 } else { 1 });
    command.args(name);
    if name != ["store"] {
        command.arg("--no-write-lock-file");
    }
    command.args(rest);
    command
}
