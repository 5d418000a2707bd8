//! Questions to git: the revision of the kernel's files, and whether git knows build.nix. Nix reads
//! a flake in a git repository through git, and sees no other files.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use camino::Utf8Path;

use crate::artifact::metadata::KernelRevision;

/// The commit that the kernel's folder is at, and whether some of its files differ from it: files
/// that git does not know differ, too. `None` if the folder is in no git repository, or the
/// repository has no commit.
pub fn revision(root: &Utf8Path, files: &BTreeSet<&str>) -> Option<KernelRevision> {
    let answer = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(arguments);
        let output = git.stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    };
    let commit = answer(&["rev-parse", "--verify", "HEAD"])?;
    let changed = answer(&["diff", "--name-only", "-z", "--relative", "HEAD"])?;
    let known = answer(&["ls-files", "-z"])?;
    let changed: BTreeSet<&str> = changed.split('\0').collect();
    let known: BTreeSet<&str> = known.split('\0').collect();
    let mut files = files.iter();
    Some(KernelRevision {
        commit: commit.trim().to_owned(),
        dirty: files.any(|file| changed.contains(file) || !known.contains(file)),
    })
}

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

    /// A revision must not say that a build is of a commit which lacks some of its files.
    #[test]
    fn files_that_differ_from_the_commit_make_it_dirty() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let repository = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let root = repository.join("kernel");
        std::fs::create_dir(&root).expect("created");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(repository);
            git.args([
                "-c",
                "user.name=test",
                "-c",
                "user.email=test@example.invalid",
            ]);
            let ran = git.args(arguments).output().expect("git on the PATH");
            assert!(ran.status.success(), "{arguments:?}");
        };
        let write = |path: &str| std::fs::write(repository.join(path), path).expect("written");
        let files = BTreeSet::from(["a.cpp", "b.cpp"]);
        assert_eq!(revision(&root, &files), None, "no repository");
        git(&["init", "--quiet"]);
        assert_eq!(revision(&root, &files), None, "no commit");
        write("kernel/a.cpp");
        write("kernel/b.cpp");
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "all"]);
        let is_dirty = |files: &BTreeSet<&str>| revision(&root, files).map(|own| own.dirty);
        assert_eq!(is_dirty(&files), Some(false));
        write("README.md");
        write("kernel/README.md");
        assert_eq!(is_dirty(&files), Some(false), "no build reads them");
        write("kernel/ü.cpp");
        let more = BTreeSet::from(["a.cpp", "ü.cpp"]);
        assert_eq!(is_dirty(&more), Some(true), "git does not know it");
        std::fs::write(root.join("b.cpp"), "more").expect("written");
        assert_eq!(is_dirty(&files), Some(true), "it has changed");
        git(&["add", "--all"]);
        assert_eq!(is_dirty(&files), Some(true), "it is not committed");
        assert_eq!(is_dirty(&BTreeSet::from(["a.cpp"])), Some(false));
        git(&["commit", "--quiet", "--message", "more"]);
        assert_eq!(is_dirty(&files), Some(false));
        let commit = revision(&root, &files).expect("a revision").commit;
        assert_eq!(commit.len(), 40, "{commit}");
    }

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
