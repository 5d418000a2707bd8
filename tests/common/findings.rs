//! The findings of `check-builds` and `verify`, as tests compare them.

use std::path::Path;

use serde_json::Value;

use super::program::kernel_builder;

/// The rules that a check finds broken, each with the file, and the exit code.
pub fn findings(command: &str, path: &Path) -> (Vec<String>, Option<i32>) {
    let output = kernel_builder(command).arg("--json").arg(path).output();
    let output = output.expect("start the program");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let variants = answer["variants"].as_array().expect("variants").iter();
    let findings = variants.flat_map(|variant| variant["findings"].as_array().expect("findings"));
    let words = findings.map(|own| {
        let text = |key: &str| own[key].as_str().expect("text").to_owned();
        assert!(!text("message").is_empty() && !text("help").is_empty());
        format!("{} {}", text("rule"), text("file"))
    });
    (words.collect(), output.status.code())
}
