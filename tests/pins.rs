//! `pin` and `verify-pins` on a copy of this repository's data, against an index on this machine
//! that holds made-up wheels (tests/loopback_index.py). Pip and Nix are real; only the ignored test
//! uses a network.

mod common;

use std::ops::Deref;
use std::path::Path;
use std::process::Output;

use common::archives::wheel;
use common::folder::{Folder, REPOSITORY, copy};
use common::program::kernel_builder;
use common::world::World;
use serde_json::{Value, json};

/// The families that `pin --torch` looks up for a release with a toolkit that nobody has seen.
const FAMILIES: [&str; 3] = ["torch-9.9.0", "cuda-13.9", "cuda-13.9-headers"];

const NVVM: &str = "nvidia_nvvm-13.9.1-py3-none-manylinux_2_17_x86_64.whl";

/// An index with a torch release, and a checkout that does not have it yet.
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
        let world = World::with_own_store();
        for file in ["nix/pins/families.toml", "src/matrix/toolchains.toml"] {
            let content = std::fs::read(Path::new(REPOSITORY).join(file)).expect("a file");
            world.write(&format!("checkout/{file}"), content);
        }
        world.behave(&json!({ "hashes": true }));
        let index = Self { world };
        index.write_torch(
            "cuda-toolkit[cublas,cudart]==13.9.1; platform_system == \"Linux\"",
            "",
        );
        index.write_cuda();
        index
    }

    /// Wheels with CUDA for Linux, one without for macOS. Those with CUDA require something, and
    /// have CMake code.
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
            // The toolkit does not pin this version.
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
        self.write(&format!("files/{file}"), wheel(members));
    }

    /// Runs a command on the checkout.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments[0]);
        let repository = self.path("checkout");
        command
            .args(&arguments[1..])
            .arg("--repository")
            .arg(repository);
        command.output().expect("run")
    }

    /// The standard output, after an exit with some code.
    fn printed(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// An index whose release is pinned already, for tests of later commands.
    fn pinned() -> Self {
        let index = Self::new();
        index.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
        index
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
        self.world.read(&format!("checkout/{file}"))
    }

    fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no {old}");
        let edited = text.replacen(old, new, 1);
        self.write(&format!("checkout/{file}"), edited);
    }
}

/// "Adding a torch release is one command and a diff a person can review."
#[test]
fn a_torch_release_is_one_command() {
    let index = Index::new();
    let shown = index.printed(&["pin", "--torch", "9.9.0"], 0);
    insta::assert_snapshot!("pin-torch", shown);
    assert!(!index.path("checkout/nix/pins/x86_64-linux").exists());

    index.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
    insta::assert_snapshot!(
        "pin-torch-file",
        index.read("nix/pins/x86_64-linux/torch-9.9.0.json")
    );
    // The same again changes nothing, with the release's own rows too.
    for arguments in [&["pin", "--torch", "9.9.0"][..], &["pin", "cuda-13.9"]] {
        let again = index.printed(arguments, 0);
        assert!(
            again.starts_with("every pin is what the indexes have"),
            "{again}"
        );
    }
}

/// Before 2.11, torch named no cuda-toolkit; before 2.7, its wheels had another C++ ABI.
#[test]
fn an_older_torch_release_is_one_command_too() {
    let index = Index::new();
    index.write_torch(
        "nvidia-cuda-runtime-cu13 (==13.9.1) ; platform_system == \"Linux\"",
        "if(LINUX)\n  set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")\nendif()\n",
    );
    let shown = index.printed(&["pin", "--torch", "9.9.0", "--write"], 0);
    for line in [
        "  +\"13.9\" = \"13.9.1\"",
        "  +    { torch = \"9.9.0\", cxx-abi = \"cxx98\", backend = \"cpu\", system = \"x86_64-linux\", profile = \"registry\", bundle = true },",
        "  + torch99-cxx98-cpu-x86_64-linux",
        "  + torch99-cpu-aarch64-darwin",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}:\n{shown}");
    }
    let again = index.printed(&["pin", "--torch", "9.9.0"], 0);
    assert!(again.starts_with("every pin is what"), "{again}");
    index.write_torch("nvidia-cuda-runtime-cu13==13.9.0", "");
    index.edit("nix/pins/families.toml", "\"13.9\" = \"13.9.1\"\n", "");
    let output = index.run(&["pin", "--torch", "9.9.0"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("does not say with which release"), "{words}");
}

/// Extras, markers and indirect requirements are resolved as pip installs them.
#[test]
fn a_whole_torch_is_what_its_wheel_requires() {
    let index = Index::new();
    let torch = "\"2.7.1\" = []\n";
    index.edit("nix/pins/families.toml", torch, "\"9.9.0\" = []\n");
    let pin = &["pin", "torch-9.9.0-nvidia", "--system", "x86_64-linux"];
    let toolkit = "cuda_toolkit-13.9.1-py2.py3-none-any.whl";
    let metadata = "Requires-Dist: nvidia-cublas==13.9.1.*; sys_platform == 'linux' and extra == 'cublas'\n\
                    Requires-Dist: nvidia-nvvm; sys_platform == 'win32' and extra == 'cublas'\n\
                    Requires-Dist: nvidia-curand; extra == 'curand'\nRequires-Dist: sympy\n\n";
    index.write_wheel(
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
        index.write_wheel(&file, &[(&member, requires)]);
    }
    let shown = index.printed(pin, 0);
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
    index.edit("nix/pins/families.toml", "\"9.9.0\" = []\n", wrong);
    let output = index.run(pin);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("nvidia-nvvm==13.9.1: torch==9.9.0 does not"),
        "{words}"
    );
}

/// A hash that is replaced without a word is how a broken mirror, or worse, gets into everybody's
/// builds.
#[test]
fn a_changed_hash_is_refused() {
    let index = Index::pinned();
    let file = "nix/pins/x86_64-linux/cuda-13.9.json";
    let before = index.read(file);
    index.write_wheel(NVVM, &[("nvidia/cu13/nvvm/bin/cicc", "other")]);

    let output = index.run(&["pin", "cuda-13.9", "--write"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr);
    for expected in ["pin::changed", "nvidia-nvvm", "--accept FILE"] {
        assert!(words.contains(expected), "{words}");
    }
    assert_eq!(index.read(file), before);

    // Another file's name does not help.
    index.printed(&["pin", "cuda-13.9", "--accept", "nvidia_nvvm.whl"], 1);
    let shown = index.printed(&["pin", "cuda-13.9", "--accept", NVVM, "--write"], 0);
    assert!(shown.contains("~ nvidia-nvvm 13.9.1, "), "{shown}");
    assert_ne!(index.read(file), before);
}

#[test]
fn a_release_that_is_not_there_is_an_error() {
    let index = Index::new();
    let words = |arguments: &[&str], code| {
        let output = index.run(arguments);
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
    let index = Index::pinned();
    assert_eq!(index.verify(&[], 0), []);
    assert_eq!(index.verify(&["--deep"], 0), []);

    // A pin that says something else than the index.
    let pins = "nix/pins/x86_64-linux/cuda-13.9.json";
    let before = index.read(pins);
    let family: Value = serde_json::from_str(&before).expect("JSON");
    let crt = &family["archives"][2];
    let (name, sha256) = (
        crt["file"].as_str(),
        crt["sha256"].as_str().expect("a hash"),
    );
    index.edit(pins, sha256, &sha256.replace(&sha256[..1], "x"));
    let changed = ("changed".to_owned(), name.expect("a name").to_owned());
    assert_eq!(index.verify(&[], 1), [changed]);
    std::fs::write(index.path("checkout").join(pins), before).expect("written");

    // A tree whose hash is not that of its members.
    let torch = "nix/pins/aarch64-linux/torch-9.9.0.json";
    let family: Value = serde_json::from_str(&index.read(torch)).expect("JSON");
    let sha256 = family["trees"][0]["sha256"].as_str().expect("a hash");
    index.edit(torch, sha256, &"0".repeat(64));
    assert_eq!(index.verify(&[], 0), []);
    let tree = ("changed".to_owned(), "torch-9.9.0-headers".to_owned());
    assert_eq!(index.verify(&["--deep"], 1), [tree]);

    // A file that its publisher deleted.
    std::fs::remove_file(index.path("files").join(NVVM)).expect("removed");
    assert_eq!(
        index.verify(&[], 1),
        [("vanished".to_owned(), NVVM.to_owned())]
    );
    let arguments = [&["verify-pins"], &FAMILIES[..]].concat();
    insta::assert_snapshot!("verify-pins", index.printed(&arguments, 1));
}

#[test]
fn an_index_that_does_not_answer_is_not_a_verdict() {
    let mut index = Index::pinned();
    index.world.stop();
    let unreached = index.verify(&[], 3);
    assert!(unreached.iter().all(|(verdict, _)| verdict == "unreached"));
    let output = index.run(&["pin", "cuda-13.9"]);
    assert_eq!(output.status.code(), Some(3));
}

/// Every pin of the registry profile, on the machine's own indexes; then with one of them
/// corrupted.
#[test]
#[ignore = "asks the machine's package indexes about every pin"]
fn the_pins_of_the_registry_profile_are_good() {
    let verify = |arguments: &[&str]| {
        let mut command = kernel_builder("verify-pins");
        command.args(["--profile", "registry", "--json"]);
        let output = command.args(arguments).output().expect("run");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let pins = report["pins"].as_array().expect("pins").clone();
        assert!(pins.len() > 100, "{}", pins.len());
        let bad = pins.into_iter().filter(|pin| pin["verdict"] != "good");
        (output.status.code(), bad.collect::<Vec<_>>())
    };
    assert_eq!(verify(&[]), (Some(0), Vec::new()));

    let checkout = Folder::new();
    let root = Path::new(REPOSITORY);
    copy(&root.join("nix/pins"), &checkout.path().join("nix/pins"));
    let table = "src/matrix/toolchains.toml";
    checkout.write(table, std::fs::read(root.join(table)).expect("the table"));
    let file = "nix/pins/x86_64-linux/gcc-12.json";
    let text = checkout.read(file);
    let family: Value = serde_json::from_str(&text).expect("JSON");
    let sha256 = family["archives"][0]["sha256"].as_str().expect("a hash");
    checkout.replace(file, sha256, &"0".repeat(64));
    let (code, bad) = verify(&["--repository", checkout.path().to_str().expect("UTF-8")]);
    assert_eq!((code, bad.len()), (Some(1), 1), "{bad:?}");
    assert_eq!(bad[0]["name"], family["archives"][0]["file"]);
    assert_eq!(bad[0]["verdict"], "changed");
}
