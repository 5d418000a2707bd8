//! `update-build` keeps the meaning and the comments of files: of each edition, generated, and
//! mutated.

mod built;
#[path = "../diagnostics/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
#[path = "../diagnostics/fixture.rs"]
mod fixture;
mod flake;
mod fuzz;
mod generated;

use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;
use kernel_builder::manifest::update::{UpdateError, update};

use self::fixture::Fixture;

/// The text in edition 5; `None` if it is of that edition.
fn updated(text: &str) -> Result<Option<String>, UpdateError> {
    let manifest = Manifest::read("build.toml", text.as_bytes());
    Ok(update(&manifest, text)?.map(|updated| updated.text))
}

/// Asserts that a new text keeps the comments and the kernel of a file, and is not updated again.
fn assert_kept(fixture: &Fixture, old: &str, new: &str) {
    assert!(
        matches!(updated(new), Ok(None)),
        "a second run changes it:\n{new}"
    );
    for comment in comments(old) {
        assert!(new.contains(&comment), "{comment} is lost:\n{old}\n{new}");
    }
    assert_eq!(new.contains("\r\n"), old.contains("\r\n"));
    let kernel = |text: &str| -> Option<Kernel> {
        let mut kernel = fixture.check(text.as_bytes()).0?;
        kernel.build_toml_sha256.clear();
        Some(kernel)
    };
    assert_eq!(kernel(old), kernel(new), "{old}\n{new}");
}

/// The comments of a file whose strings hold no `#`.
fn comments(text: &str) -> Vec<String> {
    let comment = |line: &str| Some(format!("#{}", line.split_once('#')?.1.trim_end()));
    text.lines().filter_map(comment).collect()
}
