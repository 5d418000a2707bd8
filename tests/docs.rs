//! Runs every code block of docs/nix.md: `sh` in a kernel's folder, `nix` as its flake.nix, `ini`
//! as nix.conf. tests/distribution.rs runs the blocks of docs/distribution.md that this file does
//! not run.

mod common;

use std::process::Command;

use common::clone::Clone;
use common::program::run;

/// The blocks of a language, in order.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    text.split(&start)
        .skip(1)
        .map(|rest| rest.split("\n```").next().expect("a block"))
        .collect()
}

fn page(name: &str) -> String {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a page")
}

#[test]
fn every_block_is_of_a_language_that_is_run() {
    let pages = page("nix.md") + &page("distribution.md");
    let known: usize = ["sh", "nix", "ini"]
        .iter()
        .map(|language| blocks(&pages, language).len())
        .sum();
    let fences = pages.lines().filter(|line| line.starts_with("```")).count();
    assert_eq!(known * 2, fences);
    assert!(known > 6);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn shell_blocks_run() {
    let clone = Clone::new();
    // The configuration of a user; the PATH has this program.
    let config = "experimental-features = nix-command flakes\nsubstituters =\nsandbox = true\nsandbox-fallback = false\n";
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_kernel-builder"));
    let own = program.parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").expect("PATH");
    let more = std::env::var("NIX_CONFIG").unwrap_or_default();
    for block in blocks(&page("nix.md"), "sh") {
        run(Command::new("bash")
            .args(["-euo", "pipefail", "-c", block])
            .current_dir(clone.relu())
            .env("PATH", format!("{own}:{path}"))
            .env("NIX_CONFIG", format!("{config}{more}")));
    }
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn flakes_evaluate() {
    let clone = Clone::new();
    for block in blocks(&page("nix.md"), "nix") {
        std::fs::write(clone.relu().join("flake.nix"), block).expect("write");
        clone.nix(&["eval", "--raw", ".#packages.x86_64-linux.default.drvPath"]);
        clone.nix(&["flake", "check", "--no-build"]);
    }
}

#[test]
#[ignore = "starts Nix: run by `make test`"]
fn settings_are_known_to_nix() {
    let pages = page("nix.md") + &page("distribution.md");
    let settings = blocks(&pages, "ini");
    assert!(settings.len() > 1);
    for block in settings {
        let more = std::env::var("NIX_CONFIG").unwrap_or_default();
        let output = run(Command::new("nix")
            .args([
                "--extra-experimental-features",
                "nix-command",
                "show-config",
            ])
            .env("NIX_CONFIG", format!("{more}\n{block}")));
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!words.contains("unknown setting"), "{words}");
    }
}
