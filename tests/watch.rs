//! `build --watch`: a saved file is built again, and the new build loads.

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use common::folder::{example, new_word};
use common::program::{kernel_builder, python, run, store};
use rustix::process::{Pid, Signal, kill_process};

const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_saved_file_is_built_again_and_loads() {
    store();
    let kernel = example("relu");
    let mut command = kernel_builder("build");
    command
        .arg(kernel.path())
        .args(["--watch", "--variant", VARIANT]);
    let mut watch = command.stderr(Stdio::piped()).spawn().expect("started");
    let (sender, lines) = channel();
    let output = BufReader::new(watch.stderr.take().expect("a pipe"));
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    // NB: the time limit is for a program that hangs; it says nothing about speed.
    let mut all = Vec::new();
    let mut wait_for = |words: &str| {
        loop {
            match lines.recv_timeout(Duration::from_secs(300)) {
                Ok(line) => all.push(line),
                Err(_) => panic!("no {words} in {all:#?}"),
            }
            if all.last().is_some_and(|line| line.contains(words)) {
                return all.split_off(0);
            }
        }
    };
    wait_for("waiting for a change");
    let result = || {
        let check = "import pathlib, kernels, torch\n\
                     relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')\n\
                     print(relu.relu(torch.tensor([-1.0, 2.0])).tolist())";
        let output = run(python().current_dir(kernel.path()).args(["-c", check]));
        String::from_utf8(output.stdout)
            .expect("UTF-8")
            .trim()
            .to_owned()
    };
    assert_eq!(result(), "[0.0, 2.0]");

    let source = "csrc/relu_cpu.cpp";
    let tripled = format!(": from[i] * 3; // {}", new_word());
    kernel.replace(source, ": from[i];", &tripled);
    let round = wait_for("waiting for a change");
    assert!(
        round
            .iter()
            .any(|line| line.contains(" s: ") && line.contains("built")),
        "{round:#?}"
    );
    assert_eq!(result(), "[0.0, 6.0]");

    // A mistake is shown, and the next save is built.
    kernel.replace(source, &tripled, ": nonsense;");
    let round = wait_for("waiting for a change").join("\n");
    assert!(round.contains("nonsense"), "{round}");
    kernel.replace(source, ": nonsense;", ": from[i] * 4;");
    wait_for("waiting for a change");
    assert_eq!(result(), "[0.0, 8.0]");

    let id = Pid::from_child(&watch);
    kill_process(id, Signal::INT).expect("sent");
    let status = watch.wait().expect("an end");
    assert_eq!(status.code(), Some(0), "Ctrl-C is the end, and no failure");
}
