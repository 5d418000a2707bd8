//! Programs that tests run: the one under test, a Python with torch and the client, and others that
//! must succeed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::folder::REPOSITORY;

/// Options of Nix for builds: in the sandbox, and with nothing to ask of a network.
pub const SANDBOXED: [&str; 9] = [
    "--option",
    "substituters",
    "",
    "--option",
    "sandbox",
    "true",
    "--option",
    "sandbox-fallback",
    "false",
];

/// The folder of the store that tests have for themselves.
pub fn store() -> String {
    let store = std::env::var("NIX_REMOTE").unwrap_or_default();
    assert!(
        !store.is_empty(),
        "`make test` sets NIX_REMOTE: tests have a store of their own"
    );
    store
}

/// The place of a store path on this machine: below NIX_REMOTE.
pub fn on_disk(store_path: &str) -> PathBuf {
    PathBuf::from(store() + store_path.trim())
}

/// The program under test, with the name of one of its commands.
pub fn kernel_builder(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
    program.arg(command);
    program
}

/// Lets a program know one Hub and no other, with its cache below `home`.
pub fn set_hub(command: &mut Command, url: &str, home: &Path) {
    for name in [
        "HF_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "KERNELS_CACHE",
        "LOCAL_KERNELS",
    ] {
        command.env_remove(name);
    }
    command.env("HF_ENDPOINT", url).env("HF_HOME", home);
}

/// A client of the Hub in Rust (tests/rust_client), compiled if it is not yet.
pub fn rust_client() -> Command {
    let repository = Path::new(REPOSITORY);
    let target = repository.join("target/rust-client");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--manifest-path"]);
    cargo.arg(repository.join("tests/rust_client/Cargo.toml"));
    run(cargo.arg("--target-dir").arg(&target));
    Command::new(target.join("debug/rust-client"))
}

/// `kernel-builder build` of some variants of a kernel; the default ones if none is named.
pub fn build(kernel: &Path, variants: &[&str]) -> Command {
    let mut program = kernel_builder("build");
    let variants = variants.iter().flat_map(|name| ["--variant", *name]);
    program.arg(kernel).args(variants);
    program
}

/// The library of a variant that was built into the kernel's folder.
pub fn built_library(kernel: &Path, variant: &str) -> PathBuf {
    let files = std::fs::read_dir(kernel.join("build").join(variant)).expect("a variant");
    let mut files = files.map(|file| file.expect("a file").path());
    files
        .find(|file| file.extension().is_some_and(|extension| extension == "so"))
        .expect("a library")
}

/// The virtual environment with torch and the client.
pub fn venv() -> PathBuf {
    std::env::var("KERNEL_BUILDER_TEST_VENV")
        .expect("`make test` sets KERNEL_BUILDER_TEST_VENV")
        .into()
}

/// The Python of the virtual environment.
pub fn python() -> Command {
    Command::new(venv().join("bin/python"))
}

/// Runs a program that must succeed. NB: never with the machine's own store.
pub fn run(command: &mut Command) -> Output {
    store();
    let output = command.output().expect("start a program");
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        words(&output)
    );
    output
}

/// The standard output of a program that must succeed.
pub fn printed(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).expect("UTF-8")
}

/// The words of a program for its user: its standard error.
pub fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends a signal to a process.
pub fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let status = kill
        .arg(format!("-{signal}"))
        .arg(process.to_string())
        .status();
    assert!(status.expect("start kill").success(), "{signal}");
}

/// Waits until no process names a folder in its command or its environment. NB: a process that is
/// told to end takes a moment; one that nobody told never ends by itself, and fails the test.
pub fn assert_no_process_has(folder: &Path) {
    let folder = folder.to_str().expect("UTF-8");
    let has = |process: &Path| {
        let read = |name: &str| std::fs::read(process.join(name)).unwrap_or_default();
        let text = [read("cmdline"), read("environ")].concat();
        String::from_utf8_lossy(&text).contains(folder)
    };
    let found = || {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let mut paths = processes.map(|process| process.path());
        let own = PathBuf::from(format!("/proc/{}", std::process::id()));
        paths.find(|process| *process != own && has(process))
    };
    for _ in 0..600 {
        match found() {
            None => return,
            Some(_) => std::thread::sleep(std::time::Duration::from_millis(100)),
        }
    }
    panic!("{:?} uses {folder}", found());
}
