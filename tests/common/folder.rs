//! Scratch folders, and copies of this repository's files in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The root of this repository.
pub const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// A temporary folder that is removed in the end, even if it holds a Nix store, whose files are
/// read-only.
pub struct Folder(tempfile::TempDir);

/// A text that no earlier run has written: no store has a build of a source with it.
pub fn new_word() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a time").as_nanos().to_string()
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the folders that it is in.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.path().join(path), content);
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Replaces a text, which must be in the file.
    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} has no {old}");
        self.write(path, text.replace(old, new));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        make_writable(self.path());
    }
}

/// Lets the files of a Nix store be removed.
pub fn make_writable(path: &Path) {
    let _ = Command::new("chmod").args(["-R", "u+w"]).arg(path).status();
}

/// Writes a file, and the folders that it is in.
pub fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("create a folder");
    std::fs::write(path, content).expect("write a file");
}

/// Copies all files of a folder into another one.
pub fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.path().strip_prefix(from).expect("below"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("create a folder");
        } else {
            std::fs::copy(entry.path(), target).expect("copy a file");
        }
    }
}

/// Copies the files below a folder of this repository that git knows.
pub fn copy_tracked(from: &Path, parts: &[&str], to: &Path) {
    let mut git = Command::new("git");
    git.current_dir(from).arg("ls-files").args(parts);
    let output = git.output().expect("git on the PATH");
    assert!(output.status.success());
    for file in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let target = to.join(file);
        std::fs::create_dir_all(target.parent().expect("a folder")).expect("create a folder");
        std::fs::copy(from.join(file), target).expect("copy a file");
    }
}

/// The path of a kernel in tests/fixtures.
pub fn fixture_path(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("tests/fixtures").join(name)
}

/// A copy of a kernel in tests/fixtures, in which a test may change files and build.
pub fn fixture(name: &str) -> Folder {
    let folder = Folder::new();
    copy(&fixture_path(name), folder.path());
    folder
}

/// A copy of a kernel in examples/, without its builds.
pub fn example(name: &str) -> Folder {
    let folder = Folder::new();
    let from = Path::new(REPOSITORY).join("examples").join(name);
    copy_tracked(&from, &[], folder.path());
    folder
}

/// A copy of the Nix library in a folder: lib/, nix/ and templates/.
pub fn copy_library(to: &Path) {
    for part in ["lib", "nix", "templates"] {
        copy(&Path::new(REPOSITORY).join(part), &to.join(part));
    }
}
