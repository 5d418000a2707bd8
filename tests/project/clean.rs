//! clean-pyproject. The command of another builder once removed files of the current folder.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::folder::{Folder, example};
use crate::common::program::{kernel_builder, words};
use crate::{run_command, succeed};

/// Every file of a folder with its content; of links, where they lead.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let walk = walkdir::WalkDir::new(folder).min_depth(1);
    let entries = walk.into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).expect("below");
            let content = match entry.path_is_symlink() {
                true => format!("{:?}", std::fs::read_link(entry.path())),
                false => std::fs::read_to_string(entry.path()).expect("text"),
            };
            (path.display().to_string(), content)
        })
        .collect()
}

/// A copy of examples/relu with a project.
fn with_project() -> Folder {
    let folder = example("relu");
    succeed("create-pyproject", folder.path(), &[]);
    folder
}

#[test]
fn a_project_comes_and_goes_without_a_trace() {
    let folder = example("relu");
    let before = tree(folder.path());
    let first = succeed("create-pyproject", folder.path(), &[]);
    assert_eq!(first, "CMake project: 16 files created\n");
    let again = succeed("generate-torch", &folder.path().join("build.toml"), &[]);
    assert_eq!(again, "CMake project: 16 files unchanged\n");
    let with_project = tree(folder.path());

    let listed = succeed("clean-pyproject", folder.path(), &["--dry-run"]);
    assert!(listed.contains("  cmake/kernel.json\n  "), "{listed}");
    assert_eq!(tree(folder.path()), with_project, "--dry-run");
    let removed = succeed("clean", &folder.path().join("build.toml"), &[]);
    assert_eq!(
        removed.replace("removed 17 files", "17 files would be removed"),
        listed
    );
    assert_eq!(tree(folder.path()), before);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert!(
        !left
            .iter()
            .flatten()
            .any(|entry| entry.file_name() == "cmake")
    );

    let nothing = run_command("clean-pyproject", folder.path(), &[]);
    assert!(nothing.status.success());
    assert!(words(&nothing).contains("nothing to remove"));
}

/// One: files of the current folder with the names of generated ones were removed. Two: those of a
/// folder that is no kernel.
#[test]
fn files_of_another_folder_stay() {
    let folder = with_project();
    let elsewhere = Folder::new();
    for name in [
        "pyproject.toml",
        "setup.py",
        "CMakeLists.txt",
        "cmake/kernel.cmake",
    ] {
        elsewhere.write(name, "mine");
    }
    let before = tree(elsewhere.path());
    let clean = |kernel: &Path| {
        let mut command = kernel_builder("clean-pyproject");
        command
            .arg(kernel)
            .arg("--force")
            .current_dir(elsewhere.path());
        command.output().expect("the program")
    };
    assert!(clean(folder.path()).status.success());
    assert!(!folder.path().join("setup.py").exists());
    assert_eq!(tree(elsewhere.path()), before);
    assert!(clean(Path::new(".")).status.success());
    assert_eq!(tree(elsewhere.path()), before);
}

/// Three: a file that somebody edited. Four: with `--force`, no other one.
#[test]
fn an_edited_file_stays_unless_it_is_forced() {
    let folder = with_project();
    folder.replace(
        "CMakeLists.txt",
        "kernel_package()",
        "kernel_package() # mine",
    );
    let before = tree(folder.path());
    for command in ["clean-pyproject", "create-pyproject"] {
        let refused = run_command(command, folder.path(), &[]);
        assert_eq!(refused.status.code(), Some(1));
        let words = words(&refused);
        assert!(
            words.contains("project::in_the_way") && words.contains("CMakeLists.txt"),
            "{words}"
        );
        assert_eq!(tree(folder.path()), before, "nothing is changed");
    }
    let words = succeed("create-pyproject", folder.path(), &["--force"]);
    assert_eq!(words, "CMake project: 1 file updated, 15 files unchanged\n");
    folder.replace("setup.py", "shlex", "shlex  # mine\nimport shlex");
    folder.write("cmake/mine.cmake", "mine");
    succeed("clean-pyproject", folder.path(), &["--force"]);
    let left = tree(folder.path());
    assert_eq!(left["cmake/mine.cmake"], "mine");
    assert!(!left.contains_key("setup.py") && !left.contains_key("CMakeLists.txt"));
}

/// Five: a file that somebody wrote in the place of a generated one.
#[test]
fn a_file_of_the_user_in_the_place_of_a_generated_one_stays() {
    let folder = with_project();
    folder.write("setup.py", "mine");
    let refused = run_command("create-pyproject", folder.path(), &["--force"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("setup.py were not generated: move them away"));
    let cleaned = run_command("clean-pyproject", folder.path(), &["--force"]);
    assert!(words(&cleaned).contains("setup.py is not the generated file any more: it stays"));
    assert_eq!(folder.read("setup.py"), "mine");
    assert!(!folder.path().join("CMakeLists.txt").exists());
}

/// Six: files that a link leads to.
#[test]
fn what_links_lead_to_stays() {
    let outside = Folder::new();
    let folder = with_project();
    // The same bytes, so that their digest is the recorded one.
    outside.write("setup.py", folder.read("setup.py"));
    std::fs::remove_file(folder.path().join("setup.py")).expect("removed");
    std::os::unix::fs::symlink(
        outside.path().join("setup.py"),
        folder.path().join("setup.py"),
    )
    .expect("a link");
    succeed("clean-pyproject", folder.path(), &["--force"]);
    assert!(folder.path().join("setup.py").is_symlink());
    assert!(outside.path().join("setup.py").exists());

    let folder = with_project();
    let moved = outside.path().join("cmake");
    std::fs::rename(folder.path().join("cmake"), &moved).expect("moved");
    std::os::unix::fs::symlink(&moved, folder.path().join("cmake")).expect("a link");
    let before = tree(outside.path());
    let refused = run_command("clean-pyproject", folder.path(), &["--force"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(tree(outside.path()), before);
}

/// Seven: files that a record names and no project has. A record comes with a stranger's kernel.
#[test]
fn a_record_of_a_stranger_removes_no_other_file() {
    let outside = Folder::new();
    outside.write("notes.txt", "@generated by `kernel-builder\n");
    let folder = with_project();
    folder.write("notes.txt", "@generated by `kernel-builder\n");
    let digest = crate::common::archives::file_sha256(&outside.path().join("notes.txt"));
    let mut record = folder.read("cmake/generated.sha256");
    let absolute = outside.path().join("notes.txt");
    for path in [
        "notes.txt",
        "../notes.txt",
        "cmake/../notes.txt",
        absolute.to_str().expect("UTF-8"),
    ] {
        record.push_str(&format!("{digest}  {path}\n"));
    }
    folder.write("cmake/generated.sha256", record);
    succeed("clean-pyproject", folder.path(), &["--force"]);
    assert!(absolute.exists() && folder.path().join("notes.txt").exists());
    assert!(!folder.path().join("setup.py").exists());
}

/// Eight: what builds made, and the kernel's own files.
#[test]
fn builds_and_sources_stay() {
    let folder = with_project();
    folder.write("build/torch211-cxx11-cpu-x86_64-linux/metadata.json", "{}");
    folder.write("build/cmake/tree/CMakeCache.txt", "built");
    folder.write("torch-ext/relu/_ops.py", "mine");
    folder.write("metadata-cpu.json", "of another builder");
    succeed("clean-pyproject", folder.path(), &["--force"]);
    let left = tree(folder.path());
    for path in [
        "build/torch211-cxx11-cpu-x86_64-linux/metadata.json",
        "build/cmake/tree/CMakeCache.txt",
        "torch-ext/relu/_ops.py",
        "metadata-cpu.json",
        "build.toml",
        "csrc/relu_cpu.cpp",
    ] {
        assert!(left.contains_key(path), "{path}");
    }
}

/// A project for another framework leaves no file of the older one behind.
#[test]
fn files_that_a_project_no_longer_has_are_removed() {
    let folder = with_project();
    let noarch = example("silu-and-mul");
    for path in ["build.toml", "torch-ext"] {
        let from = noarch.path().join(path);
        match from.is_dir() {
            true => crate::common::folder::copy(&from, &folder.path().join(path)),
            false => folder.write(path, noarch.read(path)),
        }
    }
    let words = succeed("create-pyproject", folder.path(), &[]);
    assert!(words.contains("removed"), "{words}");
    assert!(!folder.path().join("CMakeLists.txt").exists());
    assert!(folder.path().join("setup.py").exists());
}
