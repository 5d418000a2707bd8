//! Completion of arguments: bash itself runs the script that `completions` prints.

use std::path::Path;
use std::process::Command;

/// The words that bash offers for the last of some words of a command line, in a folder.
fn offered(folder: &Path, line: &[&str]) -> Vec<String> {
    let script = r#"
source <(kernel-builder completions bash)
function=$(complete -p kernel-builder | sed 's/.*-F \([^ ]*\) .*/\1/')
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_TYPE=9
$function kernel-builder "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;
    let program = Path::new(env!("CARGO_BIN_EXE_kernel-builder"));
    let folder_of_program = program.parent().expect("a folder").display();
    let path = std::env::var("PATH").expect("PATH");
    let output = Command::new("bash")
        .args(["-c", script, "bash", "kernel-builder"])
        .args(line)
        .env("PATH", format!("{folder_of_program}:{path}"))
        .current_dir(folder)
        .output()
        .expect("start bash");
    let words = String::from_utf8(output.stdout).expect("UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{line:?}");
    words.lines().map(|word| word.trim().to_owned()).collect()
}

#[test]
fn bash_completes_variants_of_the_kernel() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = root.join("examples");
    let relu = examples.join("relu");
    let torch215 = |folder: &Path, before: &[&str]| {
        let line = [before, &["--variant", "torch215-"]].concat();
        offered(folder, &line)
    };
    let here = torch215(&relu, &["build"]);
    assert!(
        here.iter().all(|name| name.starts_with("torch215-cxx11-")),
        "{here:?}"
    );
    assert!(
        here.len() > 1 && here.iter().all(|name| name.ends_with("-linux")),
        "{here:?}"
    );
    assert_eq!(torch215(&examples, &["build", "relu"]), here);
    assert_eq!(torch215(root, &["-C", "examples", "plan", "relu"]), here);
    // A kernel of Python alone has no such variant.
    let python = torch215(&examples, &["build", "silu-and-mul"]);
    assert_eq!(python, [""], "{python:?}");
    // Without a kernel, all variants of the release table are offered.
    assert!(torch215(&root.join("src"), &["fetch"]).len() > here.len());
}

#[test]
fn bash_completes_commands_folders_codes_and_families() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(offered(root, &["list-v"]), ["list-variants"]);
    assert_eq!(offered(root, &["build", "--fail"]), ["--fail-fast"]);
    assert_eq!(
        offered(root, &["build", "examples/relu-t"]),
        ["examples/relu-tvm-ffi/"]
    );
    assert_eq!(
        offered(root, &["explain", "KB010"])
            .first()
            .map(String::as_str),
        Some("KB0101")
    );
    assert!(offered(root, &["pin", "cuda-13.0"]).contains(&"cuda-13.0".to_owned()));
}
