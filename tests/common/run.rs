//! Programs that must succeed, for tests that build for real.
// Not every test file uses all of it.
#![allow(dead_code)]

use std::process::{Command, Output};

/// The folder of the store that tests have for themselves.
pub fn store() -> String {
    let store = std::env::var("NIX_REMOTE").unwrap_or_default();
    assert!(
        !store.is_empty(),
        "`make test` sets NIX_REMOTE: tests have a store of their own"
    );
    store
}

/// Runs a program.
pub fn run(command: &mut Command) -> Output {
    store();
    let output = command.output().expect("start a program");
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// What a program prints.
pub fn printed(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).expect("UTF-8")
}
