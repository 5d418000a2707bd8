//! The Dockerfile of docs/docker.md. No test runs Docker: its commands run on this machine.

use std::process::Command;

use crate::common::clone::Clone;
use crate::common::program::run;
use crate::page::Page;

/// The instructions of the Dockerfile: name and arguments.
fn instructions() -> Vec<(String, String)> {
    let page = Page::read("docs/docker.md");
    let block = page.blocks_of("dockerfile").next().expect("a Dockerfile");
    let lines = block.text.lines().map(|line| {
        let (name, arguments) = line.split_once(' ').expect("an instruction");
        (name.to_owned(), arguments.to_owned())
    });
    lines.collect()
}

/// The command that a container runs.
fn container_command() -> Vec<String> {
    let all = instructions();
    let (_, list) = all.iter().find(|(name, _)| name == "CMD").expect("CMD");
    serde_json::from_str(list).expect("a list")
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn commands_of_the_program_run_here() {
    let clone = Clone::new();
    let mut lines = vec![container_command().join(" ")];
    let own = instructions()
        .into_iter()
        .filter(|(name, arguments)| name == "RUN" && arguments.starts_with("kernel-builder "));
    lines.extend(own.map(|(_, arguments)| arguments));
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("kernel-builder"));
        run(Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
            .args(words)
            .current_dir(clone.relu()));
    }
}
