//! Evaluates with Nix the files that this program writes. Each call has an empty store, never the
//! machine's own.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The value of a Nix expression, fully evaluated.
pub fn evaluate(expression: &str) -> Value {
    let output = instantiate(expression);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}\n{expression}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Nix's words for an expression whose evaluation fails.
pub fn error(expression: &str) -> String {
    let output = instantiate(expression);
    assert!(!output.status.success(), "no error: {expression}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn instantiate(expression: &str) -> Output {
    let store = tempfile::tempdir().expect("a temporary folder");
    let mut nix = Command::new("nix-instantiate")
        .args(["--eval", "--strict", "--json"])
        .args(["--option", "substituters", "", "-"])
        .env("NIX_REMOTE", store.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nix-instantiate on the PATH");
    let mut input = nix.stdin.take().expect("a pipe");
    input.write_all(expression.as_bytes()).expect("write");
    drop(input);
    nix.wait_with_output().expect("nix-instantiate to end")
}
