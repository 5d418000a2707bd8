//! The Dockerfile of docs/docker.md. No test runs Docker: its commands run on this machine, and as
//! root in a fresh Debian 12 (tests/fresh_machine).

use std::path::Path;
use std::process::Command;

use crate::common::clone::Clone;
use crate::common::folder::{Folder, REPOSITORY, copy};
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

/// A script of tests/fresh_machine.
fn script(name: &str, root: &Path) -> Command {
    let mut command = Command::new(format!("{REPOSITORY}/tests/fresh_machine/{name}"));
    command.arg(root);
    command
}

#[test]
#[ignore = "installs Debian: run by `make full-test`"]
fn the_image_builds_and_runs_in_a_fresh_debian() {
    let folder = Folder::new();
    let root = folder.path().join("root");
    run(&mut script("make-root.sh", &root));
    let clone = Clone::new();
    let mut place = String::new();
    for (name, arguments) in instructions() {
        println!("{name} {arguments}");
        match (name.as_str(), arguments.as_str()) {
            ("FROM", "debian:12") | ("CMD", _) => {}
            ("COPY", "kernel-builder /usr/local/bin/") => {
                let target = root.join("usr/local/bin/kernel-builder");
                std::fs::copy(env!("CARGO_BIN_EXE_kernel-builder"), target).expect("copied");
            }
            ("COPY", ". .") => copy(&clone.relu(), &root.join(place.trim_start_matches('/'))),
            ("WORKDIR", folder) => place = folder.to_owned(),
            ("RUN", line) => {
                run(script("enter-root.sh", &root).args(["root", &in_folder(&place, line)]));
            }
            _ => panic!("{name} {arguments}"),
        }
    }
    let quoted = container_command().join(" ");
    run(script("enter-root.sh", &root).args(["root", &in_folder(&place, &quoted)]));
    let built = root.join("kernel/build/torch211-cxx11-cpu-x86_64-linux/metadata.json");
    assert!(built.exists());
}

/// A line of shell script that runs in a folder.
fn in_folder(folder: &str, line: &str) -> String {
    match folder {
        "" => line.to_owned(),
        folder => format!("mkdir -p {folder}; cd {folder}; {line}"),
    }
}
