//! `init`: new kernels from examples. Those that this machine builds are built, loaded and tested
//! with the real client.

mod common;

use std::path::Path;
use std::process::Command;

use camino::Utf8Path;
use common::folder::{Folder, copy};
use common::program::{build, kernel_builder, printed, python, run, venv, words};
use kernel_builder::init::Example;
use kernel_builder::kernel::{Backend, Kernel};
use kernel_builder::matrix::table;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// Every framework with the sets of backends that authors start with.
const SETS: [(&str, &[&str]); 9] = [
    ("torch", &["cpu"]),
    ("torch", &["cpu", "cuda"]),
    ("torch", &["rocm"]),
    ("torch", &["metal", "xpu"]),
    ("torch", &["all"]),
    ("torch-stable-abi", &["cpu", "cuda"]),
    ("torch-noarch", &["cuda", "rocm", "xpu"]),
    ("tvm-ffi", &["cpu"]),
    ("tvm-ffi", &["cpu", "cuda"]),
];

/// `kernel-builder init` in a folder.
fn init(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = kernel_builder("init");
    command.current_dir(folder).args(arguments);
    command
}

/// Starts a new kernel, which must succeed.
fn start(folder: &Path, arguments: &[&str]) {
    let output = init(folder, arguments).output().expect("started");
    assert!(output.status.success(), "{arguments:?}: {}", words(&output));
}

/// The machine's Python is the one with torch, pytest and the client.
fn with_torch(mut command: Command) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}/bin:{path}", venv().display()));
    command
}

#[test]
fn every_set_is_a_kernel_without_problems() {
    let folder = Folder::new();
    for (number, (framework, backends)) in SETS.iter().enumerate() {
        let name = format!("acme/set-{number}");
        let mut arguments = vec!["--name", &name, "--framework", framework, "--backends"];
        arguments.extend(*backends);
        start(folder.path(), &arguments);
        let root = folder.path().join(format!("set-{number}"));
        let root = Utf8Path::from_path(&root).expect("UTF-8");
        let loaded = Kernel::load(root, &table().toolkits).expect("a good build.toml");
        assert_eq!(
            loaded.warnings.warning_count(),
            0,
            "{framework} {backends:?}"
        );
        let kernel = loaded.kernel;
        assert_eq!(kernel.hub.repo_id, Some(name));
        if *backends != ["all"] {
            let found: Vec<&str> = kernel
                .backends
                .iter()
                .map(|backend| backend.as_str())
                .collect();
            assert_eq!(&found[..], *backends);
        }
        // build.nix is that of `generate`.
        let check = kernel_builder("generate")
            .args(["--check", root.as_str()])
            .output();
        assert!(check.expect("started").status.success());
        let planned = kernel_builder("check-config")
            .arg(root)
            .output()
            .expect("started");
        assert!(
            planned.status.success() && planned.stderr.is_empty() || backends.len() != 1,
            "{}",
            words(&planned)
        );
    }
}

/// Every example is a start, too.
#[test]
fn every_example_starts_a_kernel() {
    let folder = Folder::new();
    for example in Example::all() {
        let name = format!("acme/new-{}", example.name);
        let arguments = [
            "--name",
            &name,
            "--example",
            example.name,
            "--backends",
            "all",
        ];
        start(folder.path(), &arguments);
        let root = folder.path().join(format!("new-{}", example.name));
        let root = Utf8Path::from_path(&root).expect("UTF-8");
        let kernel = Kernel::load(root, &table().toolkits)
            .expect("a good build.toml")
            .kernel;
        assert_eq!(kernel.backends.len(), example.backends().len());
    }
}

/// A file of the user's was once overwritten by other builders' `init`.
#[test]
fn a_file_of_the_user_is_in_the_way() {
    let folder = Folder::new();
    folder.write("fast-op/tests/test_fast_op.py", "mine");
    let output = init(folder.path(), &["--name", "acme/fast-op"])
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        words(&output).contains("fast-op/tests/test_fast_op.py is in the way"),
        "{}",
        words(&output)
    );
    assert_eq!(folder.read("fast-op/tests/test_fast_op.py"), "mine");
    assert!(!folder.path().join("fast-op/build.toml").exists());
    // Other files stay beside the new ones.
    folder.write("other/notes.txt", "mine");
    start(folder.path(), &["other", "--name", "acme/fast-op"]);
    assert_eq!(folder.read("other/notes.txt"), "mine");
    assert!(
        folder
            .path()
            .join("other/torch-ext/fast_op/__init__.py")
            .exists()
    );
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let folder = Folder::new();
    let output = init(folder.path(), &[]).output().expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("--name OWNER/NAME"),
        "{}",
        words(&output)
    );
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

/// `script` gives the program a terminal, and its own input as the keys.
#[test]
fn on_a_terminal_it_asks() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_kernel-builder");
    let mut script = Command::new("script");
    script
        .current_dir(folder.path())
        .args([
            "--quiet",
            "--return",
            "--command",
            &format!("{program} init"),
            "/dev/null",
        ])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = script.spawn().expect("script of util-linux");
    let mut keys = child.stdin.take().expect("a pipe");
    // A name, the first framework, the usual backends, the usual licence.
    std::io::Write::write_all(&mut keys, b"acme/asked-op\r\r\r\r").expect("keys");
    let output = child.wait_with_output().expect("an end");
    drop(keys);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("acme/asked-op in asked-op: "), "{shown}");
    let root = folder.path().join("asked-op");
    let root = Utf8Path::from_path(&root).expect("UTF-8");
    let kernel = Kernel::load(root, &table().toolkits)
        .expect("a good build.toml")
        .kernel;
    assert!(kernel.backends.contains(&Backend::Cpu) && kernel.backends.len() == 2);
}

/// The first minutes of an author: a new kernel builds, passes its tests and is measured, without
/// an edit.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_new_kernel_builds_passes_its_tests_and_is_measured() {
    let folder = Folder::new();
    run(&mut init(folder.path(), &["--name", "acme/fast-op"]));
    let root = folder.path().join("fast-op");
    let variant = CPU;
    let mut test = kernel_builder("test");
    test.arg(&root).args(["--variant", variant, "--", "-q"]);
    let report = printed(&mut with_torch(test));
    assert!(report.contains(" passed"), "{report}");

    // The exit code is that of pytest, and a run that skips everything is no success.
    let test = |arguments: &[&str]| {
        let mut test = kernel_builder("test");
        test.arg(&root)
            .args(["--variant", variant, "--"])
            .args(arguments);
        let output = with_torch(test).output().expect("started");
        (output.status.code(), words(&output))
    };
    assert_eq!(test(&["-k", "no_such_test"]).0, Some(5));
    let tests = root.join("tests/test_more.py");
    std::fs::write(&tests, "def test_wrong():\n    assert False\n").expect("written");
    assert_eq!(test(&["tests/test_more.py"]).0, Some(1));
    std::fs::write(
        &tests,
        "import pytest\ndef test_gpu():\n    pytest.skip('no GPU')\n",
    )
    .expect("written");
    let (code, words) = test(&["tests/test_more.py"]);
    assert_eq!(code, Some(5), "{words}");
    assert!(words.contains("every test was skipped"), "{words}");
    std::fs::remove_file(&tests).expect("removed");

    // Beside a copy whose kernel is wrong: the benchmark names the workload.
    let wrong = folder.path().join("wrong");
    copy(&root.join("build"), &wrong.join("build"));
    let wrapper = wrong.join("build").join(variant).join("__init__.py");
    let text = std::fs::read_to_string(&wrapper).expect("text");
    std::fs::write(&wrapper, text.replace("ops.relu(out, x)", "out.fill_(7.0)")).expect("written");
    // And beside a revision in the cache of the Hub.
    let cached = folder.path().join("cache/kernels--acme--fast-op");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    copy(
        &root.join("build"),
        &cached.join("snapshots").join(commit).join("build"),
    );
    folder.write("cache/kernels--acme--fast-op/refs/v1", commit);
    let plot = folder.path().join("times.svg");
    let mut benchmark = kernel_builder("benchmark");
    benchmark
        .env("KERNELS_CACHE", folder.path().join("cache"))
        .arg(&root)
        .args(["--variant", variant, "--samples", "3", "--warmup", "1"])
        .args(["--against", "acme/fast-op@v1", "--against"])
        .arg(&wrong)
        .arg("--plot")
        .arg(&plot);
    let output = with_torch(benchmark).output().expect("started");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{table}{}",
        common::program::words(&output)
    );
    assert!(
        table.contains("Relu.large") && table.contains("equal") && table.contains("WRONG by"),
        "{table}"
    );
    assert!(common::program::words(&output).contains("Relu.small of "));
    assert!(table.contains("  acme/fast-op@v1  "), "{table}");
    assert!(
        std::fs::read_to_string(&plot)
            .expect("a plot")
            .contains("Relu.large")
    );
}

/// A new kernel of each framework, with the variants that this machine builds: those for the CPU
/// pass their tests, those for CUDA are for a machine with a GPU.
#[test]
#[ignore = "builds for CUDA and downloads tvm-ffi: run by `make full-test`"]
fn a_new_kernel_of_every_framework_builds_and_passes_its_tests() {
    let packages = Folder::new();
    run(python()
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--target",
        ])
        .arg(packages.path())
        .arg("apache-tvm-ffi~=0.1.9"));
    let folder = Folder::new();
    for (framework, cpu, cuda) in [
        ("torch", CPU, "torch211-cxx11-cu130-x86_64-linux"),
        (
            "torch-stable-abi",
            "torch-stable-abi211-cpu-x86_64-linux",
            "torch-stable-abi211-cu130-x86_64-linux",
        ),
        ("torch-noarch", "torch-cpu", "torch-cuda"),
        (
            "tvm-ffi",
            "tvm-ffi01-cpu-x86_64-linux",
            "tvm-ffi01-cu130-x86_64-linux",
        ),
    ] {
        let name = format!("acme/by-{framework}");
        start(folder.path(), &["--name", &name, "--framework", framework]);
        let root = folder.path().join(format!("by-{framework}"));
        let mut test = kernel_builder("test");
        test.arg(&root)
            .args(["--variant", cpu, "--", "-q"])
            .env("PYTHONPATH", packages.path());
        let report = printed(&mut with_torch(test));
        assert!(report.contains(" passed"), "{framework}: {report}");
        run(&mut build(&root, &[cuda]));
        assert!(root.join("build").join(cuda).join("metadata.json").exists());
    }
}
