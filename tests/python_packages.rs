//! `pin-python`, and `fetch` of the pinned packages, with an index on this machine
//! (tests/loopback_index.py) whose wheels are made up for the test. Pip is real, and so is Nix,
//! with a store of the test's own; no network is used.

mod common;

use std::ops::Deref;
use std::path::Path;
use std::process::Output;

use common::archives::wheel;
use common::folder::{REPOSITORY, copy, copy_tracked};
use common::program::words;
use common::world::{SYSTEM, World};
use serde_json::{Value, json};

const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";
const FILE: &str = "python-packages.json";

/// An index, a library in which every kernel has `base` and a torch, and a kernel.
struct Index {
    world: World,
}

impl Deref for Index {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Index {
    fn new() -> Self {
        let mut world = World::with_own_store();
        world.behave(&json!({ "hashes": true }));
        world.write_library(&["cli-pins.nix", "pins.nix", "python/toolchain.json"]);
        let index = Self { world };
        index.wheel("base", "1.0", &[]);
        // Too new for the `base` that every kernel has.
        index.wheel("tool", "2.0", &["base>=2"]);
        index.wheel(
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
        index.wheel("helper", "1.0", &[]);
        index.wheel("for_311", "1.0", &[]);
        index.wheel("py_other", "1.0", &["helper"]);
        index.write_packages();
        index.write_kernel();
        index
    }

    /// Adds a wheel to the index.
    fn wheel(&self, name: &str, version: &str, requires: &[&str]) {
        self.wheel_for("py3-none-any", name, version, requires);
    }

    /// Adds a wheel with a tag to the index.
    fn wheel_for(&self, tag: &str, name: &str, version: &str, requires: &[&str]) {
        let mut metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for requirement in requires {
            metadata += &format!("Requires-Dist: {requirement}\n");
        }
        let info = format!("{name}-{version}.dist-info");
        let tags = format!("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n");
        let members = [
            (format!("{info}/METADATA"), &*metadata),
            (format!("{info}/WHEEL"), &*tags),
            (format!("{info}/RECORD"), ""),
            (format!("{name}.py"), version),
        ];
        let file = format!("files/{name}-{version}-{tag}.whl");
        self.write(&file, wheel(&members));
    }

    /// Pins the packages that every kernel has: `base`, and a torch that is on no index.
    fn write_packages(&self) {
        let archive = |name: &str, version: &str| {
            let file = format!("{name}-{version}-py3-none-any.whl");
            json!([{
                "kind": "wheel", "name": name, "version": version, "file": file, "sha256": "0".repeat(64),
            }])
        };
        for (family, archives) in [
            ("python-3.11-packages", archive("base", "1.0")),
            ("torch-2.11.0-runtime", archive("torch", "2.11.0")),
        ] {
            self.write_pins("library", family, &archives, &json!([]));
        }
    }

    /// Pins Triton and a library that only machines with a GPU need, which no index has.
    fn write_nvidia(&self) {
        self.wheel("triton", "3.0", &[]);
        let sha256 = self.sha256("triton-3.0-py3-none-any.whl");
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
        self.write_pins("library", "torch-2.11.0-nvidia", &archives, &json!([]));
    }

    /// Unpins the wheels of the library itself, which cannot be had here.
    fn without_library_wheels(&self) {
        for family in ["python-3.11-packages", "torch-2.11.0-runtime"] {
            self.write_pins("library", family, &json!([]), &json!([]));
        }
    }

    fn write_kernel(&self) {
        let from = Path::new(REPOSITORY).join("examples/relu");
        copy_tracked(&from, &[], &self.path("kernel"));
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        let mut program = self.command(command);
        program.args(arguments).current_dir(self.path("kernel"));
        program.output().expect("run")
    }

    /// Pins packages and returns the content of the file: names with versions, and the requested
    /// packages.
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
        self.read(&format!("kernel/{FILE}"))
    }
}

#[test]
fn pip_chooses_what_fits_this_python_and_what_every_kernel_has() {
    let index = Index::new();
    let (pinned, requested) = index.pin(&["tool", "base"]);
    assert_eq!(pinned, ["for-311 1.0", "helper 1.0", "tool 1.0"]);
    assert_eq!(requested, json!(["tool"]), "every kernel has `base`");
    let text = index.file();
    assert!(
        text.lines()
            .nth(1)
            .expect("a line")
            .contains("@generated by `kernel-builder pin-python`")
    );
    for absent in ["http", &*index.root().to_string_lossy()] {
        assert!(!text.contains(absent), "{text}");
    }

    // Pinned packages stay as they are when another is added, and follow the index when none is.
    index.wheel("helper", "2.0", &[]);
    let (pinned, requested) = index.pin(&["Py_Other"]);
    assert_eq!(
        pinned,
        ["for-311 1.0", "helper 1.0", "py-other 1.0", "tool 1.0"]
    );
    assert_eq!(requested, json!(["py-other", "tool"]));
    let (pinned, _) = index.pin(&[]);
    assert_eq!(
        pinned,
        ["for-311 1.0", "helper 2.0", "py-other 1.0", "tool 1.0"]
    );
    let (pinned, _) = index.pin(&["helper<2"]);
    assert!(pinned.contains(&"helper 1.0".to_owned()), "{pinned:?}");
    let text = index.file();
    index.pin(&["helper<2"]);
    assert_eq!(index.file(), text, "the same again is the same file");
}

/// A package without wheels for aarch64 could not be pinned on x86-64 machines either.
#[test]
fn a_system_that_lacks_a_wheel_is_left_out_and_named() {
    let index = Index::new();
    let pins = index.path("library/nix/pins");
    copy(&pins.join(SYSTEM), &pins.join("aarch64-linux"));
    index.wheel_for("cp311-cp311-manylinux_2_17_x86_64", "compiled", "1.0", &[]);
    index.pin(&["helper"]);
    let systems = |index: &Index| -> Value {
        let file: Value = serde_json::from_str(&index.file()).expect("JSON");
        file["systems"]
            .as_object()
            .expect("systems")
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(systems(&index), json!(["aarch64-linux", SYSTEM]));
    let output = index.run("pin-python", &["compiled"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(
        words(&output).contains("aarch64-linux is left out"),
        "{}",
        words(&output)
    );
    assert_eq!(systems(&index), json!([SYSTEM]));
}

#[test]
fn what_cannot_be_pinned_leaves_the_file_alone() {
    let index = Index::new();
    index.pin(&["helper"]);
    let before = index.file();
    for (names, code, says) in [
        (&["tool>=2"][..], 3, "base==1.0"),
        (&["absent"], 3, "No matching distribution found for absent"),
        (&["--index-url=x"], 2, "unexpected argument"),
        (&["helper@1"], 2, "does not say which versions"),
    ] {
        let output = index.run("pin-python", names);
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert!(words(&output).contains(says), "{says}: {}", words(&output));
        assert_eq!(index.file(), before);
    }
    let own = "{ \"comment\": \"mine\", \"requested\": [], \"systems\": {} }\n";
    std::fs::write(index.path("kernel").join(FILE), own).expect("written");
    let output = index.run("pin-python", &["helper"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert_eq!(index.file(), own);
    std::fs::remove_file(index.path("kernel").join(FILE)).expect("removed");
    let output = index.run("pin-python", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
}

/// The last event of a fetch.
fn finished(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().expect("an event");
    serde_json::from_str(last).expect("JSON")
}

/// A file like any other of a check.
#[test]
fn fetch_brings_and_carries_the_packages() {
    let index = Index::new();
    index.pin(&["tool"]);
    index.without_library_wheels();
    let carried = index.path("carried");
    let carried = carried.to_str().expect("UTF-8");
    let fetch = |arguments: &[&str]| {
        let output = index.run(
            "fetch",
            &[&["--variant", VARIANT, "--json"], arguments].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        finished(&output)["fetched"].clone()
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
    index.forget();
    assert_eq!(fetch(&["--check", "--offline", "--from", carried]), wheels);
}

/// A check has no GPU, but Python that defines kernels for one imports Triton.
#[test]
fn checks_for_gpus_take_triton_and_nothing_else_of_its_family() {
    let index = Index::new();
    index.without_library_wheels();
    index.write_nvidia();
    let fetched = |variant: &str| {
        let output = index.run("fetch", &["--check", "--json", "--variant", variant]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        finished(&output)["fetched"].clone()
    };
    assert_eq!(fetched(VARIANT), json!([]));
    let triton = json!(["triton-3.0-py3-none-any.whl"]);
    assert_eq!(fetched("torch211-cxx11-cu130-x86_64-linux"), triton);
}
