//! `skills add`: guides for coding assistants.

mod common;

use std::path::Path;
use std::process::Output;

use common::folder::Folder;
use common::program::{kernel_builder, words};

fn add(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = kernel_builder("skills");
    command.current_dir(folder).arg("add").args(arguments);
    command.output().expect("started")
}

#[test]
fn guides_go_where_assistants_look() {
    let folder = Folder::new();
    let listed = add(folder.path(), &[]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.status.success() && text.contains("cuda-kernels  "),
        "{text}"
    );

    // Nobody has said where.
    let output = add(folder.path(), &["cuda-kernels"]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    std::fs::create_dir(folder.path().join(".claude")).expect("a folder");
    let output = add(folder.path(), &["cuda-kernels", "rocm-kernels"]);
    assert!(output.status.success(), "{}", words(&output));
    for name in ["cuda-kernels", "rocm-kernels"] {
        let start = folder.read(&format!(".claude/skills/{name}/SKILL.md"));
        assert!(
            start.starts_with(&format!("---\nname: {name}\n")),
            "{start}"
        );
        folder.read(&format!(".claude/skills/{name}/references/manifest.md"));
    }
    assert!(!folder.path().join(".codex").exists());
}

#[test]
fn an_edited_guide_stays() {
    let folder = Folder::new();
    folder.write("guides/xpu-kernels/SKILL.md", "mine");
    let output = add(folder.path(), &["xpu-kernels", "--dest", "guides"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert_eq!(folder.read("guides/xpu-kernels/SKILL.md"), "mine");
    assert!(!folder.path().join("guides/xpu-kernels/references").exists());
    let output = add(folder.path(), &["poetry", "--dest", "guides"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("the guides are cpu-kernels, "),
        "{}",
        words(&output)
    );
}
