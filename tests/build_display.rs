//! The display of `build`: events for programs, a table and notes for persons, and a terminal that
//! Ctrl-C leaves clean.

mod common;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use common::kernel::Sample;
use common::program::{store, words};
use serde_json::Value;

const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

const BUILD_TOML: &str = r#"
[general]
name = "sample"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/bad.c", "csrc/good.c"]
"#;

/// A kernel that includes nothing of torch, so that it compiles in seconds, and a cache. No build
/// before has seen its sources.
struct NewKernel {
    kernel: Sample,
    cache: tempfile::TempDir,
}

impl NewKernel {
    fn new() -> Self {
        let new = Self {
            kernel: Sample::new(BUILD_TOML, &[]),
            cache: tempfile::tempdir().expect("a temporary folder"),
        };
        new.write("good", "");
        new
    }

    fn write(&self, name: &str, more: &str) {
        let nonce = self.cache.path().display();
        // NB: a library that needs nothing of the system is refused.
        let text = format!(
            "// {nonce}\n#include <stdio.h>\nint {name}(void) {{ return puts(\"\"); }}\n{more}\n"
        );
        self.kernel.write(&format!("csrc/{name}.c"), &text);
    }

    fn command(&self, program: &str) -> Command {
        store();
        let mut command = Command::new(program);
        command.current_dir(self.kernel.path());
        command.env("KERNEL_BUILDER_CACHE", self.cache.path());
        command
    }

    fn build(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_kernel-builder"));
        let command = command.args(["build", "--variant", VARIANT]);
        let output = command.args(arguments).output();
        output.expect("start kernel-builder")
    }

    /// The events of a build, and whether it succeeds.
    fn events(&self, arguments: &[&str]) -> (Vec<Value>, bool) {
        let output = self.build(&[arguments, &["--json"]].concat());
        let lines = String::from_utf8(output.stdout.clone()).expect("UTF-8");
        let events = lines.lines().map(serde_json::from_str);
        let events = events.collect::<Result<Vec<Value>, _>>();
        let events = events.unwrap_or_else(|error| panic!("{error}: {lines} {}", words(&output)));
        (events, output.status.success())
    }
}

/// The titles of steps of some kind of event.
fn titles<'a>(events: &'a [Value], kind: &str) -> Vec<&'a str> {
    let events = events.iter().filter(|event| event["event"] == kind);
    let mut titles: Vec<&str> = events
        .map(|event| event["step"].as_str().expect("a title"))
        .collect();
    titles.sort_unstable();
    titles
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_last_event_is_the_result() {
    let new = NewKernel::new();
    new.write("bad", "#error a mistake");
    let (events, success) = new.events(&["--fail-fast", "--max-jobs", "1"]);
    assert!(!success);
    let [.., last_step, result] = &events[..] else {
        panic!("{events:?}");
    };
    // No step starts after the failed one.
    assert_eq!(last_step["event"], "step_ended");
    assert_eq!(last_step["step"], "csrc/bad.c");
    assert_eq!(result["event"], "finished");
    assert_eq!(result["failed"], serde_json::json!(["csrc/bad.c"]));
    assert_eq!(result["steps"]["failed"], 1);
    assert_eq!(result["variants"][0]["result"], "failed");
    assert_eq!(result["variants"][0]["path"], Value::Null);

    new.write("bad", "");
    let (events, success) = new.events(&[]);
    assert!(success, "{events:?}");
    let started = titles(&events, "step_started");
    assert!(started.contains(&"csrc/bad.c"), "{started:?}");
    assert_eq!(titles(&events, "step_ended"), started);
    let result = events.last().expect("an event");
    assert_eq!(result["event"], "finished");
    assert_eq!(result["steps"]["built"], started.len());
    let variant = &result["variants"][0];
    assert_eq!(variant["result"], "built");
    assert_eq!(variant["path"], format!("build/{VARIANT}"));
    assert!(variant["bytes"].as_u64() > Some(1000), "{variant}");
    assert_eq!(
        result["left_out"]["not_asked_for"].as_array().map(Vec::len),
        Some(4)
    );

    // The second time, the store has everything; `-q` prints the table alone.
    let (events, _) = new.events(&[]);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["variants"][0]["result"], "cached");
    assert_eq!(events[0]["steps"]["built"], 0);
    let quiet = new.build(&["-q"]);
    assert_eq!(words(&quiet), "");
    let table = String::from_utf8(quiet.stdout).expect("UTF-8");
    assert_eq!(table.lines().count(), 2, "{table}");
    let loud = words(&new.build(&["-v"]));
    assert!(loud.contains("\nrunning: nix-store "), "{loud}");
    assert!(loud.contains("\nbuild in "), "{loud}");
    assert!(
        loud.contains(" s: 1") && loud.contains(" steps cached\n"),
        "{loud}"
    );
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn built_and_cached_variants_are_marked() {
    let new = NewKernel::new();
    new.write("bad", "");
    let listed = || {
        let mut program = new.command(env!("CARGO_BIN_EXE_kernel-builder"));
        let output = program.args(["list-variants", "--long"]).output();
        let lines = String::from_utf8(output.expect("start kernel-builder").stdout);
        let lines = lines.expect("UTF-8");
        let line = lines.lines().find(|line| line.starts_with(VARIANT));
        line.expect("the variant")
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(listed(), "bundled");
    let built = new.build(&[]);
    assert!(built.status.success(), "{}", words(&built));
    assert_eq!(listed(), "bundled built cached");
    new.write("good", "// changed");
    assert_eq!(listed(), "bundled built");
}

/// Bars stayed on the terminal, below them the prompt.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn control_c_wipes_the_bars() {
    let new = NewKernel::new();
    new.write("bad", "");
    // A nix-store that never ends a build.
    let bin = tempfile::tempdir().expect("a temporary folder");
    let real = which::which("nix-store").expect("Nix");
    let script = format!(
        "#!/bin/sh\ncase $* in *internal-json*) exec sleep 600 ;; esac\nexec {} \"$@\"\n",
        real.display()
    );
    let shim = bin.path().join("nix-store");
    std::fs::write(&shim, script).expect("write");
    std::fs::set_permissions(&shim, PermissionsExt::from_mode(0o755)).expect("change");
    let path = std::env::var("PATH").expect("PATH");
    let build = format!(
        "stty cols 80; exec {} build --variant {VARIANT}",
        env!("CARGO_BIN_EXE_kernel-builder")
    );
    let mut terminal = new
        .command("script")
        .args(["-qefc", &build, "/dev/null"])
        .env("PATH", format!("{}:{path}", bin.path().display()))
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start script");
    let mut stdin = terminal.stdin.take().expect("a pipe");
    let mut stdout = terminal.stdout.take().expect("a pipe");
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    let mut is_sent = false;
    loop {
        let length = stdout.read(&mut piece).expect("output");
        if length == 0 {
            break;
        }
        shown.extend(&piece[..length]);
        if !is_sent && String::from_utf8_lossy(&shown).contains(" built, ") {
            stdin.write_all(b"\x03").expect("Ctrl-C");
            is_sent = true;
        }
    }
    let status = terminal.wait().expect("an end");
    let shown = String::from_utf8_lossy(&shown);
    // The program ends by the signal, as a shell expects.
    assert_eq!(status.code(), Some(130), "{shown}");
    let (before, after) = shown.rsplit_once("interrupted: ").expect("a word about it");
    let bars = before.rfind(" built, ").expect("bars");
    assert!(before[bars..].contains("\x1b[2K"), "{shown:?}");
    assert!(!after.contains("built"), "{shown:?}");
}
