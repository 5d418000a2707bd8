//! Copies of kernels in tests/fixtures, in which a test may change files and build.

use std::path::Path;

/// A copy of a kernel.
pub fn copy(name: &str) -> tempfile::TempDir {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    let dir = tempfile::tempdir().expect("a temporary folder");
    for entry in walkdir::WalkDir::new(&fixture) {
        let entry = entry.expect("an entry");
        let relative = entry.path().strip_prefix(&fixture).expect("below");
        let target = dir.path().join(relative);
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("create a folder");
        } else {
            std::fs::copy(entry.path(), target).expect("copy a file");
        }
    }
    dir
}
