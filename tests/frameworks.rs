//! Real builds of kernels that are no torch extensions, loaded with the real client: Python alone,
//! and tvm-ffi. `make test` prepares what they need and runs them; a bare `cargo test` leaves them
//! out.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use camino::Utf8Path;
use common::folder::{Folder, example};
use common::nix;
use common::program::{build, python, run};
use kernel_builder::emit::nix::string;
use serde_json::json;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// A copy of an example, with its builds.
struct Example {
    dir: Folder,
}

impl Example {
    fn copy(name: &str) -> Self {
        Self { dir: example(name) }
    }

    /// Builds some variants; all if none is named.
    fn build(self, variants: &[&str]) -> Self {
        run(&mut build(self.dir.path(), variants));
        self
    }

    /// The names of the built variants, sorted.
    fn built(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("build")).expect("build/");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The Python that has torch and the client, with more packages in front, in the kernel's
    /// folder.
    fn python(&self, packages: Option<&Path>) -> Command {
        let mut command = python();
        command.current_dir(self.dir.path());
        if let Some(packages) = packages {
            command.env("PYTHONPATH", packages);
        }
        command
    }

    /// The kernel's own tests, through the unmodified client.
    fn test(&self, packages: Option<&Path>) {
        let mut pytest = self.python(packages);
        let tests = run(pytest.args(["-m", "pytest", "-q", "tests"]));
        let report = String::from_utf8_lossy(&tests.stdout).into_owned();
        assert!(report.contains(" passed"), "{report}");
    }

    /// The client's own reader of metadata.json, and its own digest of the files.
    fn check_metadata(&self) {
        let check = "\
import pathlib
from kernels._rust import Digest, Metadata
for variant in pathlib.Path('build').iterdir():
    digest = Metadata.read_from_file(variant / 'metadata.json').digest
    digest.validate(Digest.hash_variant(digest.algorithm, variant))
";
        run(self.python(None).args(["-c", check]));
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn python_alone_builds_and_loads() {
    let example = Example::copy("silu-and-mul").build(&[]);
    let names = ["torch-cpu", "torch-cuda", "torch-rocm", "torch-xpu"];
    assert_eq!(example.built(), names);
    example.check_metadata();
    example.test(None);

    // Builds of two backends in one process do not share operators or modules.
    let check = "\
import pathlib, kernels, torch
cpu, cuda = (kernels.get_local_kernel(pathlib.Path('build') / name) for name in ('torch-cpu', 'torch-cuda'))
names = [build._ops.add_op_namespace_prefix('silu_and_mul') for build in (cpu, cuda)]
assert len(set(names)) == 2, names
x = torch.tensor([0.0, 1.0, 5.0, 2.0])
assert torch.equal(cpu.silu_and_mul(x), cuda.silu_and_mul(x))
";
    run(example.python(None).args(["-c", check]));
}

/// A kernel that is compiled for some backends has Python alone for others: without a module that
/// is not there.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_backend_without_sections_gets_python_alone() {
    let example = Example::copy("relu");
    let path = example.dir.path().join("build.toml");
    let text = std::fs::read_to_string(&path).expect("build.toml");
    let backends = |list: &str| text.replace(r#"["cpu", "cuda"]"#, list);
    std::fs::write(&path, backends(r#"["cpu", "cuda", "xpu", "cann"]"#)).expect("written");
    let example = example.build(&["torch-xpu", "torch-npu"]);
    assert_eq!(example.built(), ["torch-npu", "torch-xpu"]);
    example.check_metadata();
    let check = "\
import json, pathlib
builds = {path.name: path for path in pathlib.Path('build').iterdir()}
for name, backend in {'torch-npu': 'cann', 'torch-xpu': 'xpu'}.items():
    metadata = json.loads((builds[name] / 'metadata.json').read_text())
    assert metadata['backend'] == {'type': backend}, metadata
    assert metadata['id'].startswith(f'_relu_{backend}_'), metadata
    ops = (builds[name] / '_ops.py').read_text()
    assert metadata['id'] in ops and 'from . import' not in ops, ops
    assert not list(builds[name].glob('*.so'))
";
    run(example.python(None).args(["-c", check]));
}

/// The library is built with the oldest tvm-ffi that it may meet, and its ABI is kept since: it
/// loads with that release and with the newest.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_tvm_ffi_kernel_builds_and_loads_with_old_and_new_tvm_ffi() {
    let names = ["tvm-ffi01-cpu-x86_64-linux", "tvm-ffi01-cu130-x86_64-linux"];
    let example = Example::copy("relu-tvm-ffi").build(&names);
    assert_eq!(example.built(), names);
    example.check_metadata();
    for release in ["==0.1.9", "~=0.1.9"] {
        let packages = install_tvm_ffi(release);
        example.test(Some(packages.path()));
    }

    // tvm_ffi loads it, not Python.
    let cpu = example.dir.path().join("build").join(names[0]);
    let symbols = run(Command::new("nm").arg("--dynamic").arg(library(&cpu)));
    assert!(!String::from_utf8_lossy(&symbols.stdout).contains("PyInit"));

    // The library names no path of the machine, and no library that a process without torch lacks.
    for name in names {
        let libraries = needed(&example.dir.path().join("build").join(name));
        assert!(
            libraries.contains(&"libtvm_ffi.so".to_owned()),
            "{libraries:?}"
        );
        let foreign = |name: &&String| {
            ["cuda", "torch", "c10"]
                .iter()
                .any(|word| name.contains(word))
        };
        assert_eq!(libraries.iter().find(foreign), None);
    }
}

/// `pip install` into a folder of its own.
fn install_tvm_ffi(release: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    run(python()
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .arg("--target")
        .arg(dir.path())
        .arg(format!("apache-tvm-ffi{release}")));
    dir
}

/// The one library in a folder.
fn library(variant: &Path) -> PathBuf {
    let files = std::fs::read_dir(variant).expect("a variant");
    let libraries: Vec<PathBuf> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "so"))
        .collect();
    let [library] = &libraries[..] else {
        panic!("not one library: {libraries:?}");
    };
    library.clone()
}

/// The libraries that the one library in a folder asks the loader for.
fn needed(variant: &Path) -> Vec<String> {
    let library = library(variant);
    let output = run(Command::new("readelf").arg("--dynamic").arg(library));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !text.contains("RPATH") && !text.contains("RUNPATH"),
        "{text}"
    );
    let lines = text.lines().filter(|line| line.contains("(NEEDED)"));
    lines
        .filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned()))
        .collect()
}

/// Every system that can build packages Python, and gets the same.
#[test]
fn python_alone_belongs_to_every_system() {
    let root = Utf8Path::new(REPOSITORY);
    let value = nix::evaluate(&format!(
        r#"
        let
          library = import (/. + {});
          outputs = library.genFlakeOutputs {{ self = {{ }}; path = /. + {}; }};
          inherit (outputs.packages.x86_64-linux) redistributable;
        in
        {{
          systems = builtins.attrNames outputs.packages;
          packages = outputs.lib.archVariants.x86_64-linux;
          redistributable = builtins.filter (name: redistributable ? ${{name}}) outputs.lib.variants;
        }}
        "#,
        string(root.join("lib").as_str()),
        string(root.join("examples/silu-and-mul").as_str()),
    ));
    let names = json!(["torch-cuda", "torch-rocm", "torch-xpu", "torch-cpu"]);
    assert_eq!(value["packages"], names);
    assert_eq!(value["redistributable"], names);
    let systems = value["systems"].as_array().expect("a list");
    assert!(systems.contains(&json!("x86_64-linux")), "{systems:?}");
}
