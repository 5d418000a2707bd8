//! A copy of this repository in which a test may change files, and Nix as a user has it, for tests
//! that build for real.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::folder::{REPOSITORY, copy, copy_tracked, fixture_path};
use super::program::{SANDBOXED, build, kernel_builder, run};

/// A copy of this repository as git would clone it, so that a test may change files.
pub struct Clone {
    dir: tempfile::TempDir,
}

impl Clone {
    pub fn new() -> Self {
        Self::with_torch("2.11")
    }

    /// A copy whose examples/relu is built for another torch release.
    pub fn with_torch(version: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let parts = [
            "Cargo.lock",
            "Cargo.toml",
            "build.rs",
            "docs",
            "examples",
            "flake.lock",
            "flake.nix",
            "lib",
            "nix",
            "src",
            "templates",
        ];
        copy_tracked(Path::new(REPOSITORY), &parts, dir.path());
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

    /// Leaves two variants of examples/relu: those of the torch release that a test loads it with.
    fn keep_one_torch(&self, version: &str) {
        let path = self.relu().join("build.toml");
        let text = std::fs::read_to_string(&path).expect("an example");
        let bounds = format!("[torch]\nminver = \"{version}\"\nmaxver = \"{version}\"");
        std::fs::write(&path, text.replacen("[torch]", &bounds, 1)).expect("write");
        run(kernel_builder("generate").arg(self.relu()));
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn relu(&self) -> PathBuf {
        self.path().join("examples/relu")
    }

    /// The kernel of the tutorial of 2025, with the flake.nix of its time, in a folder of examples.
    pub fn add_tutorial(&self) -> PathBuf {
        let folder = self.path().join("examples/img2gray-2025");
        copy(&fixture_path("tutorials/img2gray"), &folder);
        let flake = "{\n  inputs.kernel-builder.url = \"github:example/kernel-builder\";\n\n  \
            outputs =\n    { self, kernel-builder }:\n    kernel-builder.lib.genFlakeOutputs {\n      \
            path = ./.;\n      rev = self.shortRev or self.dirtyShortRev or self.lastModifiedDate;\n    };\n}\n";
        std::fs::write(folder.join("flake.nix"), flake).expect("write");
        run(Command::new("git").args(["add", "."]).current_dir(&folder));
        folder
    }

    pub fn append(&self, file: &str, text: &str) {
        let path = self.relu().join(file);
        let old = std::fs::read_to_string(&path).expect("a file of the example");
        std::fs::write(path, old + text).expect("write");
    }

    /// The derivations that a variant is made of, by name.
    pub fn derivations(&self, variant: &str) -> BTreeMap<String, String> {
        let expression = format!(
            r#"let variant = builtins.head (builtins.filter (v: v.variant == "{variant}")
                 (import {0}/examples/relu/build.nix {{ kernelBuilder = import {0}/lib; }}).variants);
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
        run(build(&self.relu(), &[]).args(arguments))
    }
}

/// `nix` as a user has it: sandboxed, and with nothing to ask of a network.
pub fn nix(arguments: &[&str]) -> Command {
    let mut command = Command::new("nix");
    command.args(["--extra-experimental-features", "nix-command flakes"]);
    command.args(SANDBOXED).args(["--option", "max-jobs", "2"]);
    // A lock would pin the library as it was at that moment.
    let (name, rest) = arguments.split_at(if arguments[0] == "flake" { 2 } else { 1 });
    command.args(name);
    if name != ["store"] {
        command.arg("--no-write-lock-file");
    }
    command.args(rest);
    command
}
