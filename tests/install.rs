//! `make install` and `make uninstall`: which files they write, and that these work.

use std::path::Path;
use std::process::{Command, Output};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a target of the Makefile, with the program under test, and files below a folder.
fn make(target: &str, folder: &Path) -> Output {
    let output = Command::new("make")
        .args(["--silent", "--directory", REPOSITORY, target, "PREFIX=/usr"])
        .arg(format!("DESTDIR={}", folder.display()))
        .arg(concat!("PROGRAM=", env!("CARGO_BIN_EXE_kernel-builder")))
        .output()
        .expect("make on the PATH");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    output
}

/// The files below a folder, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name();
    let files = entries.into_iter().map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).expect("below");
            path.to_str().expect("UTF-8").to_owned()
        })
        .collect()
}

#[test]
fn make_install_writes_program_manuals_and_completions_and_uninstall_removes_them() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    make("install", dir.path());
    let installed = files(dir.path());
    for name in [
        "usr/bin/kernel-builder",
        "usr/share/bash-completion/completions/kernel-builder",
        "usr/share/fish/vendor_completions.d/kernel-builder.fish",
        "usr/share/man/man1/kernel-builder-build.1",
        "usr/share/man/man1/kernel-builder-doctor.1",
        "usr/share/man/man1/kernel-builder.1",
        "usr/share/zsh/site-functions/_kernel-builder",
    ] {
        assert!(
            installed.iter().any(|file| file == name),
            "{name}: {installed:?}"
        );
    }
    // Commands for makers of packages have no page.
    assert!(
        !installed
            .iter()
            .any(|file| file.ends_with("kernel-builder-man.1"))
    );
    let page = dir.path().join("usr/share/man/man1/kernel-builder-build.1");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains(r"\-\-max\-jobs"), "{page}");

    let script = dir
        .path()
        .join("usr/share/bash-completion/completions/kernel-builder");
    let status = Command::new("bash").arg("-n").arg(script).status();
    assert!(status.expect("bash").success());
    let version = Command::new(dir.path().join("usr/bin/kernel-builder"))
        .arg("--version")
        .output()
        .expect("the program");
    assert!(version.status.success());

    // The name of 2025, with its commands.
    let older = dir.path().join("usr/bin/build2cmake");
    for command in ["generate-torch", "clean", "validate", "update-build"] {
        let help = Command::new(&older).args([command, "--help"]).output();
        assert!(help.expect("the program").status.success(), "{command}");
    }

    make("uninstall", dir.path());
    assert_eq!(files(dir.path()), Vec::<String>::new());
    assert!(!older.is_symlink());
}
