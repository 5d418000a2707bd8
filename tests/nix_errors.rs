//! Errors of Nix that users meet in their first hour, provoked with a real Nix: each is told in
//! this program's words, with a cure, and Nix's own words come after.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::folder::{Folder, REPOSITORY};
use common::kernel::Sample;
use common::program::{kernel_builder, store, words};

/// A kernel of Python alone, which builds in seconds.
fn sample() -> Sample {
    let build_toml = r#"[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda"]

[torch-noarch]
"#;
    Sample::new(build_toml, &[])
}

/// The words of the program, and the first line of Nix after them, without the wrapping of lines.
fn flat(output: &Output) -> String {
    let words = words(output);
    words.replace("\n  │ ", " ").replace("\n        ", " ")
}

/// Checks that a command failed with a code of this program, some words and then Nix's.
fn told(output: &Output, code: &str, texts: &[&str]) {
    let flat = flat(output);
    assert_eq!(output.status.code(), Some(3), "{flat}");
    assert!(flat.contains(code), "{code}: {flat}");
    let mut rest = &flat[..];
    for text in texts {
        let (_, after) = rest
            .split_once(text)
            .unwrap_or_else(|| panic!("no {text:?}: {flat}"));
        rest = after;
    }
}

/// A user without rights, who may start the program and write to a folder of their own.
struct OtherUser {
    folder: Folder,
    program: PathBuf,
}

impl OtherUser {
    fn new() -> Self {
        let folder = Folder::new();
        // NB: other users may not enter the folder of the program under test.
        let program = folder.path().join("kernel-builder");
        std::fs::copy(env!("CARGO_BIN_EXE_kernel-builder"), &program).expect("copied");
        Self { folder, program }
    }

    /// Runs the program on a kernel as the user nobody.
    fn run(&self, kernel: &Path, store: &Path) -> Output {
        let own = |path: &Path| {
            let mut chown = Command::new("chown");
            let ran = chown.args(["-R", "nobody"]).arg(path).status();
            assert!(ran.expect("chown").success());
        };
        own(kernel);
        own(self.folder.path());
        Command::new("setpriv")
            .args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"])
            .arg(&self.program)
            .arg("build")
            .arg(kernel)
            .env("NIX_REMOTE", store)
            .env("HOME", self.folder.path())
            .env("KERNEL_BUILDER_CACHE", self.folder.path().join("cache"))
            .output()
            .expect("setpriv on the PATH")
    }
}

#[test]
#[ignore = "builds with Nix, as root: run by `make test`"]
fn a_store_of_another_user_is_told_and_cured() {
    let kernel = sample();
    let other = Folder::new();
    std::fs::create_dir_all(other.path().join("nix/var/nix/db")).expect("created");
    let output = OtherUser::new().run(kernel.path(), other.path());
    told(
        &output,
        "nix::not_writable",
        &[
            "belongs to root, and no daemon",
            "Nix says: ",
            "run this as root",
            "NIX_REMOTE=",
        ],
    );
}

/// Runs the program on a kernel in namespaces of its own, after a line of shell.
fn in_namespaces(kernel: &Path, line: &str, variables: &[(&str, &Path)]) -> Output {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-euc"]);
    unshare.arg(format!("{line}\nexec \"$0\" build \"$1\""));
    unshare
        .arg(env!("CARGO_BIN_EXE_kernel-builder"))
        .arg(kernel);
    unshare.envs(variables.iter().copied());
    unshare.output().expect("unshare on the PATH")
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_full_disk_is_told_and_cured() {
    let (kernel, disk, cache) = (sample(), Folder::new(), Folder::new());
    let output = in_namespaces(
        kernel.path(),
        "mount -t tmpfs -o size=64k tmpfs \"$NIX_REMOTE\"",
        &[
            ("NIX_REMOTE", disk.path()),
            ("KERNEL_BUILDER_CACHE", cache.path()),
        ],
    );
    told(
        &output,
        "nix::full",
        &[
            "the disk of",
            "is full: ",
            " MB are left",
            "Nix says: ",
            "nix-collect-garbage",
        ],
    );
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_machine_without_namespaces_is_told_and_cured() {
    store();
    let (kernel, cache) = (sample(), Folder::new());
    let output = in_namespaces(
        kernel.path(),
        "echo 0 >/proc/sys/user/max_user_namespaces",
        &[("KERNEL_BUILDER_CACHE", cache.path())],
    );
    let flat = flat(&output);
    assert_eq!(output.status.code(), Some(1), "{flat}");
    for text in ["nix::sandbox", "--privileged"] {
        assert!(flat.contains(text), "no {text:?}: {flat}");
    }
}

/// Plain Nix, which this program cannot speak for, prints a sentence with the cure. A builder that
/// Nix does not have was the message once, and read "unsupported builtin builder".
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn plain_nix_names_the_cure_of_a_missing_pin() {
    let empty = Folder::new();
    let pins = format!("(import {REPOSITORY}/nix/pins.nix {{ system = \"x86_64-linux\"; }})");
    for (expression, sentence) in [
        (
            format!("builtins.head ({pins}.family \"seed\")"),
            "which is not in the Nix store: run `kernel-builder fetch` in the kernel's folder",
        ),
        (
            format!("{pins}.unpinned \"rocm-6.3\" \"nobody has recorded its hashes\""),
            "rocm-6.3, which cannot be made: nobody has recorded its hashes",
        ),
    ] {
        let mut nix = Command::new("nix-build");
        nix.args(["--no-out-link", "--option", "substituters", ""]);
        nix.args(["-E", &expression])
            .env("NIX_REMOTE", empty.path());
        let output = nix.output().expect("nix-build on the PATH");
        let words = words(&output);
        assert!(!output.status.success(), "{words}");
        assert!(words.contains(sentence), "{words}");
        assert!(!words.contains("unsupported"), "{words}");
    }
}

/// Nix sees no file of a repository that git does not know, so the program says how to add it.
#[test]
fn a_generated_file_is_to_be_added_to_git() {
    let kernel = sample();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .arg("-C")
            .arg(kernel.path())
            .args(arguments)
            .output();
        assert!(
            ran.expect("git on the PATH").status.success(),
            "{arguments:?}"
        );
    };
    git(&["init", "--quiet"]);
    let generate = || {
        let mut program = kernel_builder("generate");
        words(
            &program
                .current_dir(kernel.path())
                .output()
                .expect("the program"),
        )
    };
    let hint = "hint: git does not know build.nix yet, and Nix sees only what git knows: `git add build.nix`";
    for _ in ["created", "unchanged"] {
        let words = generate();
        assert_eq!(words.matches(hint).count(), 1, "{words}");
    }
    git(&["add", "build.nix"]);
    assert_eq!(generate().matches("hint").count(), 0);
}
