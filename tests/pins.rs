//! `pin` and `verify-pins` on a copy of this repository's data, against an index on this machine that holds made-up
//! wheels (tests/loopback_index.py). Real pip, real Nix; nothing of a network but in the one test that is ignored.

#[path = "common/loopback.rs"]
mod loopback;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use loopback::Server;
use serde_json::{Value, json};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// What `pin --torch` of a release for a toolkit that nobody has seen looks up.
const FAMILIES: [&str; 3] = ["torch-9.9.0", "cuda-13.9", "cuda-13.9-headers"];

const NVVM: &str = "nvidia_nvvm-13.9.1-py3-none-manylinux_2_17_x86_64.whl";

/// An index with a torch release, and a checkout that does not have it yet.
struct World {
    dir: tempfile::TempDir,
    server: Server,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["files", "checkout/nix/pins", "checkout/src/matrix"] {
            std::fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        for file in ["nix/pins/families.toml", "src/matrix/toolchains.toml"] {
            let target = dir.path().join("checkout").join(file);
            std::fs::copy(Path::new(REPOSITORY).join(file), target).expect("copied");
        }
        let behaviour = json!({ "hashes": true }).to_string();
        std::fs::write(dir.path().join("behaviour.json"), behaviour).expect("written");
        let server = Server::start(dir.path());
        let world = Self { dir, server };
        world.write_torch(
            "cuda-toolkit[cublas,cudart]==13.9.1; platform_system == \"Linux\"",
            "",
        );
        world.write_cuda();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Wheels with CUDA for Linux, one without for macOS. Those with CUDA require something, and have CMake code.
    fn write_torch(&self, requirement: &str, cmake: &str) {
        for (platform, cuda) in [
            ("manylinux_2_28_x86_64", true),
            ("manylinux_2_28_aarch64", true),
            ("macosx_14_0_arm64", false),
        ] {
            let (version, toolkit, definitions) = match cuda {
                true => (
                    "'13.9'",
                    format!("Requires-Dist: {requirement}\n"),
                    "set_target_properties(torch_cuda PROPERTIES\n  \
                     INTERFACE_COMPILE_DEFINITIONS \"USE_NVSHMEM;USE_C10D_NCCL\"\n)\n",
                ),
                false => ("None", String::new(), ""),
            };
            self.write_wheel(
                &format!("torch-9.9.0-cp311-cp311-{platform}.whl"),
                &[
                    (
                        "torch/version.py",
                        &format!("cuda: Optional[str] = {version}\n"),
                    ),
                    ("torch/include/ATen/ATen.h", platform),
                    ("torch/include/c10/util/Half.h", "half"),
                    ("torch/lib/libtorch_cpu.so", "not to be taken"),
                    (
                        "torch-9.9.0.dist-info/METADATA",
                        &format!("Name: torch\nVersion: 9.9.0\n{toolkit}Requires-Dist: sympy\n\n"),
                    ),
                    (
                        "torch/share/cmake/Torch/TorchConfig.cmake",
                        &format!("target_compile_features(torch INTERFACE cxx_std_23)\n{cmake}"),
                    ),
                    (
                        "torch/share/cmake/Caffe2/Caffe2Targets.cmake",
                        &format!(
                            "set_target_properties(torch_cpu PROPERTIES\n  \
                             INTERFACE_COMPILE_DEFINITIONS \"USE_RPC;USE_C10D_GLOO\"\n)\n{definitions}"
                        ),
                    ),
                ],
            );
        }
    }

    fn write_cuda(&self) {
        let projects = [
            "nvidia-cuda-nvcc",
            "nvidia-nvvm",
            "nvidia-cuda-crt",
            "nvidia-cuda-runtime",
            "nvidia-cuda-cccl",
            "nvidia-cublas",
            "nvidia-curand",
            "nvidia-cusolver",
            "nvidia-cusparse",
        ];
        let mut metadata = "Name: cuda-toolkit\nVersion: 13.9.1\n\
                            Requires-Dist: nvidia-cuda-runtime-cu13==13.9.1.*; extra == 'all'\n"
            .to_owned();
        for project in projects {
            metadata += &format!("Requires-Dist: {project}==13.9.1.*; extra == 'all'\n");
            let name = project.replace('-', "_");
            for architecture in ["x86_64", "aarch64"] {
                let file = format!("{name}-13.9.1-py3-none-manylinux_2_17_{architecture}.whl");
                let header = format!("nvidia/cu13/include/{name}.h");
                self.write_wheel(
                    &file,
                    &[(&header, project), ("nvidia/cu13/lib/a.so", project)],
                );
            }
            // Not what the toolkit pins.
            self.write_wheel(
                &format!("{name}-13.10.0-py3-none-manylinux_2_17_x86_64.whl"),
                &[],
            );
        }
        self.write_wheel(
            "cuda_toolkit-13.9.1-py2.py3-none-any.whl",
            &[("cuda_toolkit-13.9.1.dist-info/METADATA", &metadata)],
        );
    }

    fn write_wheel(&self, file: &str, members: &[(&str, &str)]) {
        let path = self.path("files").join(file);
        let mut wheel = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
        // Compressed bytes differ between releases of a compressor, and snapshots have their hashes.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        for (name, content) in members {
            wheel.start_file(*name, options).expect("a member");
            wheel.write_all(content.as_bytes()).expect("written");
        }
        wheel.finish().expect("a wheel");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        for (name, _) in std::env::vars() {
            let lower = name.to_lowercase();
            if lower.starts_with("pip_") || lower.ends_with("_proxy") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .arg("--repository")
            .arg(self.path("checkout"))
            .env("KERNEL_BUILDER_CACHE", self.path("cache"))
            .env("KERNEL_BUILDER_STALL_SECONDS", "1")
            .env("NIX_REMOTE", self.path("store"))
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PIP_INDEX_URL", self.server.url("simple"));
        command.output().expect("run")
    }

    /// What is printed, after an exit with some code.
    fn printed(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Pins the release, for tests of what comes later.
    fn pinned() -> Self {
        let world = Self::new();
        world.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
        world
    }

    fn verify(&self, arguments: &[&str], code: i32) -> Vec<(String, String)> {
        let arguments = [&["verify-pins", "--json"], &FAMILIES[..], arguments].concat();
        let report: Value = serde_json::from_str(&self.printed(&arguments, code)).expect("JSON");
        let pins = report["pins"].as_array().expect("pins").iter();
        let text = |pin: &Value, key: &str| pin[key].as_str().expect("text").to_owned();
        let bad = pins.filter(|pin| pin["verdict"] != "good");
        bad.map(|pin| (text(pin, "verdict"), text(pin, "name")))
            .collect()
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path("checkout").join(file)).expect("a file")
    }

    fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no {old}");
        let edited = text.replacen(old, new, 1);
        std::fs::write(self.path("checkout").join(file), edited).expect("written");
    }
}

/// "Adding a torch release is one command and a diff a person can review."
#[test]
fn a_torch_release_is_one_command() {
    let world = World::new();
    let shown = world.printed(&["pin", "--torch", "9.9.0"], 0);
    insta::assert_snapshot!("pin-torch", shown);
    assert!(!world.path("checkout/nix/pins/x86_64-linux").exists());

    world.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
    insta::assert_snapshot!(
        "pin-torch-file",
        world.read("nix/pins/x86_64-linux/torch-9.9.0.json")
    );
    // The same again changes nothing, with the release's own rows too.
    for arguments in [&["pin", "--torch", "9.9.0"][..], &["pin", "cuda-13.9"]] {
        let again = world.printed(arguments, 0);
        assert!(
            again.starts_with("every pin is what the indexes have"),
            "{again}"
        );
    }
}

/// Before 2.11, torch named no cuda-toolkit; before 2.7, its wheels had another C++ ABI.
#[test]
fn an_older_torch_release_is_one_command_too() {
    let world = World::new();
    world.write_torch(
        "nvidia-cuda-runtime-cu13 (==13.9.1) ; platform_system == \"Linux\"",
        "if(LINUX)\n  set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")\nendif()\n",
    );
    let shown = world.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
    for line in [
        "  +\"13.9\" = \"13.9.1\"",
        "  +    { torch = \"9.9.0\", cxx-abi = \"cxx98\", backend = \"cpu\", system = \"x86_64-linux\", profile = \"registry\", bundle = true },",
        "  + torch99-cxx98-cpu-x86_64-linux",
        "  + torch99-cpu-aarch64-darwin",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}:\n{shown}");
    }
    let again = world.printed(&["pin", "--torch", "9.9.0"], 0);
    assert!(again.starts_with("every pin is what"), "{again}");
    world.write_torch("nvidia-cuda-runtime-cu13==13.9.0", "");
    world.edit("nix/pins/families.toml", "\"13.9\" = \"13.9.1\"\n", "");
    let output = world.run(&["pin", "--torch", "9.9.0"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("does not say with which release"), "{words}");
}

/// Extras, markers, and what a requirement requires in turn, as pip installs them.
#[test]
fn a_whole_torch_is_what_its_wheel_requires() {
    let world = World::new();
    let torch = "\"2.7.1\" = []\n";
    world.edit("nix/pins/families.toml", torch, "\"9.9.0\" = []\n");
    let pin = &["pin", "torch-9.9.0-nvidia"];
    let toolkit = "cuda_toolkit-13.9.1-py2.py3-none-any.whl";
    let metadata = "Requires-Dist: nvidia-cublas==13.9.1.*; sys_platform == 'linux' and extra == 'cublas'\n\
                    Requires-Dist: nvidia-nvvm; sys_platform == 'win32' and extra == 'cublas'\n\
                    Requires-Dist: nvidia-curand; extra == 'curand'\nRequires-Dist: sympy\n\n";
    world.write_wheel(
        toolkit,
        &[("cuda_toolkit-13.9.1.dist-info/METADATA", metadata)],
    );
    for (project, version, requires) in [
        (
            "nvidia_cublas",
            "13.9.1",
            "Requires-Dist: nvidia-cuda-crt<13.10\n",
        ),
        ("nvidia_cuda_crt", "13.9.1", ""),
        ("nvidia_cuda_crt", "13.10.0", ""),
    ] {
        let file = format!("{project}-{version}-py3-none-manylinux_2_17_x86_64.whl");
        let member = format!("{project}-{version}.dist-info/METADATA");
        world.write_wheel(&file, &[(&member, requires)]);
    }
    let shown = world.printed(pin, 0);
    let names: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("  + ")?.split(',').next())
        .collect();
    assert_eq!(
        names,
        [
            "cuda-toolkit 13.9.1",
            "nvidia-cublas 13.9.1",
            "nvidia-cuda-crt 13.9.1"
        ]
    );

    // A version for something that nobody requires is a mistake.
    let wrong = "\"9.9.0\" = [\"nvidia-nvvm==13.9.1\"]\n";
    world.edit("nix/pins/families.toml", "\"9.9.0\" = []\n", wrong);
    let output = world.run(pin);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("nvidia-nvvm==13.9.1: torch==9.9.0 does not"),
        "{words}"
    );
}

/// A hash that is replaced without a word is how a broken mirror, or worse, gets into everybody's builds.
#[test]
fn a_changed_hash_is_refused() {
    let world = World::pinned();
    let file = "nix/pins/x86_64-linux/cuda-13.9.json";
    let before = world.read(file);
    world.write_wheel(NVVM, &[("nvidia/cu13/nvvm/bin/cicc", "other")]);

    let output = world.run(&["pin", "cuda-13.9", "--write"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr);
    for expected in ["pin::changed", "nvidia-nvvm", "--accept FILE"] {
        assert!(words.contains(expected), "{words}");
    }
    assert_eq!(world.read(file), before);

    // Another file's name does not help.
    world.printed(&["pin", "cuda-13.9", "--accept", "nvidia_nvvm.whl"], 1);
    let shown = world.printed(&["pin", "cuda-13.9", "--accept", NVVM, "--write"], 0);
    assert!(shown.contains("~ nvidia-nvvm 13.9.1, "), "{shown}");
    assert_ne!(world.read(file), before);
}

#[test]
fn a_release_that_is_not_there_is_an_error() {
    let world = World::new();
    let words = |arguments: &[&str], code| {
        let output = world.run(arguments);
        assert_eq!(output.status.code(), Some(code));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = words(&["pin", "--torch", "9.8.0"], 1);
    assert!(
        missing.contains("no index has a wheel of it for x86_64-linux"),
        "{missing}"
    );
    let unknown = words(&["pin", "cuda-13.00"], 2);
    assert!(unknown.contains("did you mean cuda-13.0?"), "{unknown}");
}

#[test]
fn verify_pins_names_what_is_wrong_and_nothing_else() {
    let world = World::pinned();
    assert_eq!(world.verify(&[], 0), []);
    assert_eq!(world.verify(&["--deep"], 0), []);

    // A pin that says something else than the index.
    let pins = "nix/pins/x86_64-linux/cuda-13.9.json";
    let before = world.read(pins);
    let family: Value = serde_json::from_str(&before).expect("JSON");
    let crt = &family["archives"][2];
    let (name, sha256) = (
        crt["file"].as_str(),
        crt["sha256"].as_str().expect("a hash"),
    );
    world.edit(pins, sha256, &sha256.replace(&sha256[..1], "x"));
    let changed = ("changed".to_owned(), name.expect("a name").to_owned());
    assert_eq!(world.verify(&[], 1), [changed]);
    std::fs::write(world.path("checkout").join(pins), before).expect("written");

    // A tree whose hash is not that of its members.
    let torch = "nix/pins/aarch64-linux/torch-9.9.0.json";
    let family: Value = serde_json::from_str(&world.read(torch)).expect("JSON");
    let sha256 = family["trees"][0]["sha256"].as_str().expect("a hash");
    world.edit(torch, sha256, &"0".repeat(64));
    assert_eq!(world.verify(&[], 0), []);
    let tree = ("changed".to_owned(), "torch-9.9.0-headers".to_owned());
    assert_eq!(world.verify(&["--deep"], 1), [tree]);

    // A file that its publisher deleted.
    std::fs::remove_file(world.path("files").join(NVVM)).expect("removed");
    assert_eq!(
        world.verify(&[], 1),
        [("vanished".to_owned(), NVVM.to_owned())]
    );
    let arguments = [&["verify-pins"], &FAMILIES[..]].concat();
    insta::assert_snapshot!("verify-pins", world.printed(&arguments, 1));
}

#[test]
fn an_index_that_does_not_answer_is_not_a_verdict() {
    let mut world = World::pinned();
    world.server.stop();
    let unreached = world.verify(&[], 3);
    assert!(unreached.iter().all(|(verdict, _)| verdict == "unreached"));
    let output = world.run(&["pin", "cuda-13.9"]);
    assert_eq!(output.status.code(), Some(3));
}

/// Every pin of the registry profile, on the machine's own indexes; then with one of them corrupted.
#[test]
#[ignore = "asks the machine's package indexes about every pin"]
fn the_pins_of_the_registry_profile_are_good() {
    let verify = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        command.args(["verify-pins", "--profile", "registry", "--json"]);
        let output = command.args(arguments).output().expect("run");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let pins = report["pins"].as_array().expect("pins").clone();
        assert!(pins.len() > 100, "{}", pins.len());
        let bad = pins.into_iter().filter(|pin| pin["verdict"] != "good");
        (output.status.code(), bad.collect::<Vec<_>>())
    };
    assert_eq!(verify(&[]), (Some(0), Vec::new()));

    let dir = tempfile::tempdir().expect("a temporary folder");
    for entry in walkdir::WalkDir::new(Path::new(REPOSITORY).join("nix/pins")) {
        let entry = entry.expect("an entry");
        let below = entry.path().strip_prefix(REPOSITORY).expect("below");
        let target = dir.path().join(below);
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("a folder");
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
    std::fs::create_dir_all(dir.path().join("src/matrix")).expect("a folder");
    let table = "src/matrix/toolchains.toml";
    std::fs::copy(Path::new(REPOSITORY).join(table), dir.path().join(table)).expect("copied");
    let file = dir.path().join("nix/pins/x86_64-linux/gcc-12.json");
    let text = std::fs::read_to_string(&file).expect("a file");
    let family: Value = serde_json::from_str(&text).expect("JSON");
    let sha256 = family["archives"][0]["sha256"].as_str().expect("a hash");
    std::fs::write(&file, text.replace(sha256, &"0".repeat(64))).expect("written");
    let (code, bad) = verify(&["--repository", dir.path().to_str().expect("UTF-8")]);
    assert_eq!((code, bad.len()), (Some(1), 1), "{bad:?}");
    assert_eq!(bad[0]["name"], family["archives"][0]["file"]);
    assert_eq!(bad[0]["verdict"], "changed");
}
