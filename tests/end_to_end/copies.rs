//! Copies of builds to the kernel's folder that a signal ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::CPU;
use crate::common::clone::Clone;
use crate::common::program::{assert_no_process_has, kernel_builder, run, send};

/// A killed copy of a build was never replaced, and its temporary folder stayed.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_copy_that_any_signal_ends_is_completed() {
    end_copies(6);
}

#[test]
#[ignore = "ends many builds: run by `make full-test`"]
fn twenty_copies_that_any_signal_ends_are_completed() {
    end_copies(21);
}

fn end_copies(times: u32) {
    let clone = Clone::new();
    // Enough files that a signal comes before the last one.
    for number in 0..300 {
        let name = format!("torch-ext/relu/data_{number}.py");
        std::fs::write(clone.relu().join(name), "# data\n".repeat(3000)).expect("written");
    }
    let build = || {
        let mut build = kernel_builder("build");
        build.arg(clone.relu()).args(["--variant", CPU]);
        build
    };
    run(&mut build());
    let output = clone.relu().join("build");
    let place = output.join(CPU);
    let right = nix_hash(&place);
    let mut in_the_copy = 0;
    for number in 0..times {
        // The old build is replaced, or there is none.
        match number % 2 {
            0 => std::fs::remove_file(place.join("data_7.py")).expect("removed"),
            _ => std::fs::remove_dir_all(&place).expect("removed"),
        }
        let mut build_again = build();
        let build_again = build_again.stdout(Stdio::null()).stderr(Stdio::null());
        let mut killed = build_again.spawn().expect("run");
        let staged = || {
            let mut entries = output.read_dir().expect("a folder").flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().starts_with(".kernel"))
        };
        while !staged() && killed.try_wait().expect("a status").is_none() {}
        std::thread::sleep(Duration::from_millis(2) * (number / 3));
        let signal = ["TERM", "INT", "KILL"][number as usize % 3];
        send(signal, killed.id());
        let status = killed.wait().expect("an end");
        in_the_copy += u32::from(!status.success());
        assert_no_process_has(&clone.relu());
        run(&mut build());
        assert_eq!(nix_hash(&place), right, "build {number}, ended by {signal}");
        let names: Vec<_> = output.read_dir().expect("a folder").flatten().collect();
        assert_eq!(
            names.len(),
            1,
            "build {number}, ended by {signal}: {names:?}"
        );
    }
    assert!(
        in_the_copy >= times / 2,
        "{in_the_copy} of {times} were ended"
    );
}

/// The hash of a folder, as Nix itself computes it.
fn nix_hash(folder: &Path) -> String {
    let output = run(Command::new("nix-hash").arg(folder));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
