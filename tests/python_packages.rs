//! `pin-python`, and `fetch` of what it pinned, with an index on this machine (tests/loopback_index.py) whose wheels are
//! made up for the test. Real pip, real Nix with a store of the test's own; nothing of a network.

#[path = "common/loopback.rs"]
mod loopback;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kernel_builder::matrix;
use loopback::Server;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const SYSTEM: &str = "x86_64-linux";
const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";
const FILE: &str = "python-packages.json";

/// An index, a library in which every kernel has `base` and a torch, and a kernel.
struct World {
    dir: tempfile::TempDir,
    server: Server,
}

impl Drop for World {
    fn drop(&mut self) {
        self.forget_the_store();
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("files")).expect("a folder");
        std::fs::write(dir.path().join("behaviour.json"), r#"{ "hashes": true }"#)
            .expect("written");
        let server = Server::start(dir.path());
        let world = Self { dir, server };

        world.wheel("base", "1.0", &[]);
        // Too new for the `base` that every kernel has.
        world.wheel("tool", "2.0", &["base>=2"]);
        world.wheel(
            "tool",
            "1.0",
            &[
                "base<2",
                "helper",
                "torch>=2",
                "for_311; python_version < '3.12'",
                "for_windows; sys_platform == 'win32'",
                "for_python_2; python_version < '3'",
            ],
        );
        world.wheel("helper", "1.0", &[]);
        world.wheel("for_311", "1.0", &[]);
        world.wheel("py_other", "1.0", &["helper"]);
        world.write_library();
        world.write_kernel();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Adds a wheel to the index.
    fn wheel(&self, name: &str, version: &str, requires: &[&str]) {
        let path = self.path(&format!("files/{name}-{version}-py3-none-any.whl"));
        let mut wheel = zip::ZipWriter::new(std::fs::File::create(path).expect("created"));
        let mut metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for requirement in requires {
            metadata += &format!("Requires-Dist: {requirement}\n");
        }
        let info = format!("{name}-{version}.dist-info");
        for (file, text) in [
            (format!("{info}/METADATA"), &*metadata),
            (
                format!("{info}/WHEEL"),
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            ),
            (format!("{info}/RECORD"), ""),
            (format!("{name}.py"), version),
        ] {
            let options = zip::write::SimpleFileOptions::default();
            wheel.start_file(file, options).expect("a member");
            wheel.write_all(text.as_bytes()).expect("written");
        }
        wheel.finish().expect("a wheel");
    }

    /// This repository's Nix files with other pins.
    fn write_library(&self) {
        let nix = self.path("library/nix");
        let pins = nix.join("pins").join(SYSTEM);
        std::fs::create_dir_all(&pins).expect("a folder");
        std::fs::create_dir_all(nix.join("python")).expect("a folder");
        for name in ["cli-pins.nix", "pins.nix", "python/toolchain.json"] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("nix").join(name);
            std::fs::copy(source, nix.join(name)).expect("copied");
        }
        let family = |name: &str, archives: Value| {
            let text = json!({ "family": name, "archives": archives, "trees": [] }).to_string();
            std::fs::write(pins.join(format!("{name}.json")), text).expect("written");
        };
        let rows = matrix::table().rows.iter();
        for name in rows
            .filter(|row| row.system == SYSTEM)
            .flat_map(|row| row.families())
        {
            family(&name, json!([]));
        }
        let archive = |name: &str, version: &str| {
            json!([{
                "kind": "wheel", "name": name, "version": version, "file": format!("{name}-{version}-py3-none-any.whl"),
                "sha256": "0".repeat(64),
            }])
        };
        family("python-3.11-packages", archive("base", "1.0"));
        // On no index.
        family("torch-2.11.0-runtime", archive("torch", "2.11.0"));
    }

    /// Pins Triton and a library that only machines with a GPU need, which no index has.
    fn write_nvidia(&self) {
        self.wheel("triton", "3.0", &[]);
        let wheel = std::fs::read(self.path("files/triton-3.0-py3-none-any.whl")).expect("a wheel");
        let digest = Sha256::digest(&wheel);
        let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let archive = |name: &str, sha256: &str| {
            json!({
                "kind": "wheel", "name": name, "version": "3.0", "file": format!("{name}-3.0-py3-none-any.whl"),
                "sha256": sha256,
            })
        };
        let archives = json!([
            archive("nvidia-large", &"0".repeat(64)),
            archive("triton", &sha256)
        ]);
        let family = json!({ "family": "torch-2.11.0-nvidia", "archives": archives, "trees": [] });
        let path = format!("library/nix/pins/{SYSTEM}/torch-2.11.0-nvidia.json");
        std::fs::write(self.path(&path), family.to_string()).expect("written");
    }

    /// No wheel of the library itself can be had here.
    fn without_library_wheels(&self) {
        for name in ["python-3.11-packages", "torch-2.11.0-runtime"] {
            let path = self.path(&format!("library/nix/pins/{SYSTEM}/{name}.json"));
            let text = json!({ "family": name, "archives": [], "trees": [] }).to_string();
            std::fs::write(path, text).expect("written");
        }
    }

    fn write_kernel(&self) {
        let status = Command::new("cp")
            .arg("-r")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu"))
            .arg(self.path("kernel"))
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        let mut kernel_builder = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        for (name, _) in std::env::vars() {
            let lower = name.to_lowercase();
            if lower.starts_with("pip_") || lower.ends_with("_proxy") {
                kernel_builder.env_remove(name);
            }
        }
        let index = self.server.url("simple");
        kernel_builder
            .arg(command)
            .args(arguments)
            .current_dir(self.path("kernel"))
            .env("KERNEL_BUILDER_LIBRARY", self.path("library"))
            .env("KERNEL_BUILDER_CACHE", self.path("cache"))
            .env("NIX_REMOTE", self.path("store"))
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PIP_INDEX_URL", index)
            .output()
            .expect("run")
    }

    /// Pins packages and returns what the file then holds: names and versions, and what was asked for.
    fn pin(&self, names: &[&str]) -> (Vec<String>, Value) {
        let output = self.run("pin-python", names);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let file: Value = serde_json::from_str(&self.file()).expect("JSON");
        let archives = file["systems"][SYSTEM].as_array().expect("archives").iter();
        let shown = |archive: &Value| {
            let text = |key: &str| archive[key].as_str().expect("a text").to_owned();
            format!("{} {}", text("name"), text("version"))
        };
        (archives.map(shown).collect(), file["requested"].clone())
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.path("kernel").join(FILE)).expect("a file")
    }

    fn forget_the_store(&self) {
        for name in ["store", "cache"] {
            let path = self.path(name);
            // Nix's store is read-only.
            let _ = Command::new("chmod")
                .args(["-R", "u+w"])
                .arg(&path)
                .status();
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn pip_chooses_what_fits_this_python_and_what_every_kernel_has() {
    let world = World::new();
    let (pinned, requested) = world.pin(&["tool", "base"]);
    assert_eq!(pinned, ["for-311 1.0", "helper 1.0", "tool 1.0"]);
    assert_eq!(requested, json!(["tool"]), "every kernel has `base`");
    let text = world.file();
    assert!(
        text.lines()
            .nth(1)
            .expect("a line")
            .contains("@generated by `kernel-builder pin-python`")
    );
    for absent in ["http", &*world.dir.path().to_string_lossy()] {
        assert!(!text.contains(absent), "{text}");
    }

    // What is pinned stays as it is when a package is added, and follows the index when none is.
    world.wheel("helper", "2.0", &[]);
    let (pinned, requested) = world.pin(&["Py_Other"]);
    assert_eq!(
        pinned,
        ["for-311 1.0", "helper 1.0", "py-other 1.0", "tool 1.0"]
    );
    assert_eq!(requested, json!(["py-other", "tool"]));
    let (pinned, _) = world.pin(&[]);
    assert_eq!(
        pinned,
        ["for-311 1.0", "helper 2.0", "py-other 1.0", "tool 1.0"]
    );
    let (pinned, _) = world.pin(&["helper<2"]);
    assert!(pinned.contains(&"helper 1.0".to_owned()), "{pinned:?}");
    let text = world.file();
    world.pin(&["helper<2"]);
    assert_eq!(world.file(), text, "the same again is the same file");
}

#[test]
fn what_cannot_be_pinned_leaves_the_file_alone() {
    let world = World::new();
    world.pin(&["helper"]);
    let before = world.file();
    for (names, code, says) in [
        (&["tool>=2"][..], 3, "base==1.0"),
        (&["absent"], 3, "No matching distribution found for absent"),
        (&["--index-url=x"], 2, "unexpected argument"),
        (&["helper@1"], 2, "does not say which versions"),
    ] {
        let output = world.run("pin-python", names);
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert!(words(&output).contains(says), "{says}: {}", words(&output));
        assert_eq!(world.file(), before);
    }
    let own = "{ \"comment\": \"mine\", \"requested\": [], \"systems\": {} }\n";
    std::fs::write(world.path("kernel").join(FILE), own).expect("written");
    let output = world.run("pin-python", &["helper"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert_eq!(world.file(), own);
    std::fs::remove_file(world.path("kernel").join(FILE)).expect("removed");
    let output = world.run("pin-python", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
}

/// A file like any other of a check.
#[test]
fn fetch_brings_and_carries_the_packages() {
    let world = World::new();
    world.pin(&["tool"]);
    world.without_library_wheels();
    let carried = world.path("carried");
    let carried = carried.to_str().expect("UTF-8");
    let fetch = |arguments: &[&str]| {
        let output = world.run(
            "fetch",
            &[&["--variant", VARIANT, "--json"], arguments].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["fetched"].clone()
    };
    // Building needs none of them.
    assert_eq!(fetch(&[]), json!([]));
    let wheels = json!([
        "for_311-1.0-py3-none-any.whl",
        "helper-1.0-py3-none-any.whl",
        "tool-1.0-py3-none-any.whl"
    ]);
    assert_eq!(fetch(&["--check", "--to", carried]), wheels);
    assert_eq!(fetch(&["--check"]), json!([]));
    world.forget_the_store();
    assert_eq!(fetch(&["--check", "--offline", "--from", carried]), wheels);
}

/// A check has no GPU, but Python that defines kernels for one imports Triton.
#[test]
fn checks_for_gpus_take_triton_and_nothing_else_of_its_family() {
    let world = World::new();
    world.without_library_wheels();
    world.write_nvidia();
    let fetched = |variant: &str| {
        let output = world.run("fetch", &["--check", "--json", "--variant", variant]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["fetched"].clone()
    };
    assert_eq!(fetched(VARIANT), json!([]));
    let triton = json!(["triton-3.0-py3-none-any.whl"]);
    assert_eq!(fetched("torch211-cxx11-cu130-x86_64-linux"), triton);
}
