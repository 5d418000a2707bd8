//! The hint that git does not know build.nix. Nix reads a flake in a git repository through git,
//! and sees no other files.

use std::process::{Command, Stdio};

use camino::Utf8Path;

/// A line that says how to add build.nix to git. `None` if git knows the file, or if the kernel's
/// folder is in no git repository.
pub fn hint_to_add_build_nix(root: &Utf8Path) -> Option<String> {
    let answer = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(arguments).arg("build.nix");
        git.stdin(Stdio::null()).output().ok()?.status.code()
    };
    // Git ends with 128 outside of a repository.
    if answer(&["ls-files", "--error-unmatch"]) != Some(1) {
        return None;
    }
    let path = match root.as_str() {
        "" | "." => "build.nix".to_owned(),
        _ => root.join("build.nix").into_string(),
    };
    let (state, force) = match answer(&["check-ignore", "--quiet"]) {
        Some(0) => ("git ignores build.nix", " --force"),
        _ => ("git does not know build.nix yet", ""),
    };
    Some(format!(
        "hint: {state}, and Nix sees only what git knows: `git add{force} {path}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_git_does_not_know_is_to_be_added() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            let ran = git.arg("-C").arg(root).args(arguments).output();
            assert!(
                ran.expect("git on the PATH").status.success(),
                "{arguments:?}"
            );
        };
        let write =
            |name: &str, text: &str| std::fs::write(root.join(name), text).expect("written");
        write("build.nix", "{ }");
        assert_eq!(hint_to_add_build_nix(root), None, "no repository");
        git(&["init", "--quiet"]);
        let hint = hint_to_add_build_nix(root).expect("a hint");
        assert!(
            hint.contains(&format!("`git add {root}/build.nix`")),
            "{hint}"
        );
        write(".gitignore", "*.nix\n");
        let hint = hint_to_add_build_nix(root).expect("a hint");
        assert!(hint.contains("git ignores build.nix"), "{hint}");
        assert!(hint.contains("`git add --force "), "{hint}");
        git(&["add", "--force", "build.nix"]);
        assert_eq!(hint_to_add_build_nix(root), None, "git knows it");
    }
}
