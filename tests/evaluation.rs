//! Evaluations that are kept: Nix is not asked again while every file is the same, and every change
//! is noticed.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::folder::{Folder, copy_library, example, fixture};
use common::program::{kernel_builder, run};
use serde_json::Value;

/// A store and a cache for one test, and a Nix that writes down its arguments.
struct Workplace(Folder);

impl Workplace {
    fn new() -> Self {
        let folder = Folder::new();
        let nix = which::which("nix-instantiate").expect("Nix on the PATH");
        let script = format!(
            "#!/bin/sh\necho \"$*\" >>{}/asked\nexec {} \"$@\"\n",
            folder.path().display(),
            nix.display()
        );
        folder.write("bin/nix-instantiate", script);
        run(Command::new("chmod")
            .arg("+x")
            .arg(folder.path().join("bin/nix-instantiate")));
        Self(folder)
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    /// The command `graph` for a kernel, with a cache.
    fn command(&self, kernel: &Path, variants: &str, cache: &Path) -> Command {
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = kernel_builder("graph");
        command
            .arg(kernel)
            .args(["--json", "--variant", variants])
            .env("NIX_REMOTE", self.store())
            .env("KERNEL_BUILDER_CACHE", cache)
            .env("PATH", format!("{}/bin:{path}", self.0.path().display()));
        command
    }

    /// The steps of a kernel, with the evaluations of earlier calls.
    fn steps(&self, kernel: &Path, variants: &str) -> Value {
        steps(&mut self.command(kernel, variants, &self.cache()))
    }

    /// The steps of a kernel, evaluated now.
    fn evaluated_steps(&self, kernel: &Path, variants: &str) -> Value {
        let cache = Folder::new();
        steps(&mut self.command(kernel, variants, cache.path()))
    }

    /// The number of times that Nix was asked for the derivations of variants.
    fn evaluations(&self) -> usize {
        let asked = std::fs::read_to_string(self.0.path().join("asked")).unwrap_or_default();
        asked
            .lines()
            .filter(|line| line.contains("-A derivations"))
            .count()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.cache().join("evaluations")).expect("entries");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    }
}

fn steps(command: &mut Command) -> Value {
    serde_json::from_slice(&run(command).stdout).expect("JSON")
}

fn package(steps: &Value) -> &str {
    let mut steps = steps["steps"].as_array().expect("steps").iter();
    let package = steps.find(|step| step["kind"] == "package");
    package.expect("a package")["derivation"]
        .as_str()
        .expect("a path")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter();
    let files = files.map(|entry| entry.expect("an entry"));
    files
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

/// Evaluates a kernel after each change of a file and compares with the answer that is kept.
fn check_every_change(kernel: &Folder, variants: &str, unread: &[&str]) {
    let work = Workplace::new();
    let root = kernel.path();
    let same = |change: &str| {
        let evaluated = work.evaluated_steps(root, variants);
        assert_eq!(work.steps(root, variants), evaluated, "{change}");
        evaluated
    };
    let mut before = same("none");
    for file in files_below(root) {
        let name = file.strip_prefix(root).expect("below").to_string_lossy();
        if name == "build.nix" {
            continue;
        }
        let mut content = std::fs::read(&file).expect("a file");
        content.push(b'\n');
        std::fs::write(&file, content).expect("write");
        let after = same(&name);
        // NB: a change without an effect on the package would prove nothing about the cache.
        let is_read = !unread.contains(&&*name);
        assert_eq!(package(&before) != package(&after), is_read, "{name}");
        before = after;
    }
}

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// NB: if an evaluation reads one more file, this file must become part of its key
/// (src/build/evaluation.rs).
#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_change_of_any_file_of_a_kernel_is_noticed() {
    let docs = ["README.md", "benchmarks/benchmark.py", "flake.nix"];
    let relu = [
        &docs[..],
        &["build.toml", "csrc/relu_cuda.cu", "tests/test_relu.py"],
    ];
    check_every_change(&example("relu"), CPU, &relu.concat());
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_change_of_any_file_of_a_kernel_of_python_alone_is_noticed() {
    let unread = [
        "README.md",
        "benchmarks/benchmark.py",
        "flake.nix",
        "build.toml",
        "tests/test_silu_and_mul.py",
    ];
    check_every_change(&example("silu-and-mul"), "*", &unread);
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn nothing_is_evaluated_twice_and_new_and_old_files_are_noticed() {
    let work = Workplace::new();
    let kernel = example("relu");
    let root = kernel.path();
    let first = work.steps(root, CPU);
    assert_eq!(work.steps(root, CPU), first);
    let plan = |arguments: &[&str]| {
        let mut command = work.command(root, CPU, &work.cache());
        run(command.args(arguments)).stdout
    };
    assert_eq!(plan(&[]), plan(&[]));
    assert_eq!(work.evaluations(), 1);

    // Each has an evaluation of its own, which is found again.
    let changed = |number: usize| {
        let steps = work.steps(root, CPU);
        assert_eq!(work.evaluations(), number);
        assert_eq!(work.steps(root, CPU), steps);
        assert_eq!(work.evaluations(), number);
        assert_eq!(work.evaluated_steps(root, CPU), steps);
        std::fs::remove_file(work.0.path().join("asked")).expect("remove");
        steps
    };
    std::fs::remove_file(work.0.path().join("asked")).expect("remove");
    kernel.write("torch-ext/new.h", "#pragma once\n");
    changed(1);
    kernel.write("torch-ext/relu/new.py", "");
    let with_python = changed(1);
    assert_ne!(with_python, first);
    kernel.replace("build.toml", "[torch]\n", "[torch]\n# Words.\n");
    assert_eq!(package(&changed(1)), package(&with_python));
    std::fs::remove_file(root.join("torch-ext/relu/new.py")).expect("remove");
    std::fs::remove_file(root.join("torch-ext/new.h")).expect("remove");
    assert_eq!(package(&changed(1)), package(&first));
    kernel.replace("build.toml", "[torch]\n# Words.\n", "[torch]\n");
    // The files are as in the beginning.
    assert_eq!(work.steps(root, CPU), first);
    assert_eq!(work.evaluations(), 0);
    // Other variants need another evaluation.
    work.steps(root, "torch210-cxx11-cpu-x86_64-linux");
    assert_eq!(work.evaluations(), 1);
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn derivations_that_the_store_has_lost_are_evaluated_again() {
    let work = Workplace::new();
    let kernel = example("relu");
    let first = work.steps(kernel.path(), CPU);
    let derivation = package(&first).to_owned();
    let file = work
        .store()
        .join(derivation.strip_prefix('/').expect("absolute"));
    assert!(file.exists());
    run(Command::new("nix-store")
        .args(["--delete", &derivation])
        .env("NIX_REMOTE", work.store()));
    assert!(!file.exists());
    assert_eq!(work.steps(kernel.path(), CPU), first);
    assert!(file.exists());
    assert_eq!(work.evaluations(), 2);
    // A second store knows nothing of the first one's derivations.
    let other = Workplace::new();
    assert_eq!(
        steps(&mut other.command(kernel.path(), CPU, &work.cache())),
        first
    );
    assert_eq!(other.evaluations(), 1);
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_change_of_the_library_is_noticed() {
    let work = Workplace::new();
    let kernel = example("relu");
    let library = Folder::new();
    copy_library(library.path());
    let evaluated = || {
        let mut command = work.command(kernel.path(), CPU, &work.cache());
        steps(command.env("KERNEL_BUILDER_LIBRARY", library.path()))
    };
    let first = evaluated();
    assert_eq!(evaluated(), first);
    assert_eq!(work.evaluations(), 1);
    let script = library.read("nix/kernel/compile.sh");
    library.write("nix/kernel/compile.sh", script.clone() + "\n# Words.\n");
    assert_ne!(package(&evaluated()), package(&first));
    assert_eq!(work.evaluations(), 2);
    library.write("nix/kernel/compile.sh", script);
    assert_eq!(evaluated(), first);
    assert_eq!(work.evaluations(), 2);
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn runs_beside_each_other_agree_and_broken_entries_are_written_again() {
    let work = Workplace::new();
    let kernel = fixture("python-only");
    let mut runs = Vec::new();
    for _ in 0..4 {
        let mut command = work.command(kernel.path(), "*", &work.cache());
        command.stdout(std::process::Stdio::piped());
        runs.push(command.spawn().expect("started"));
    }
    let mut outputs = Vec::new();
    for run in runs {
        let output = run.wait_with_output().expect("ended");
        assert!(output.status.success());
        outputs.push(output.stdout);
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]));
    let entries = work.entries();
    assert_eq!(entries.len(), 1, "{entries:?}");

    let evaluations = work.evaluations();
    let whole = std::fs::read(&entries[0]).expect("an entry");
    for broken in [&whole[..whole.len() / 2], b"", b"words\n{}"] {
        std::fs::write(&entries[0], broken).expect("write");
        let output = run(&mut work.command(kernel.path(), "*", &work.cache()));
        assert_eq!(output.stdout, outputs[0]);
        assert_eq!(std::fs::read(&entries[0]).expect("an entry"), whole);
    }
    assert_eq!(work.evaluations(), evaluations + 3);
}
