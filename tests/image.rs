//! The container image (nix/image): its layers and its layout, as others read them (skopeo, umoci),
//! and what it is for: a container of it builds a kernel. runc starts the container, which is what
//! Docker and podman start containers with. The long test needs root.

mod common;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::clone::{Clone, nix};
use common::folder::{Folder, REPOSITORY, copy};
use common::program::{SANDBOXED, on_disk, printed, run};
use kernel_builder::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// nix/image/image.py with the Python of this machine.
fn image_py(command: &str) -> Command {
    let mut program = Command::new("python3");
    program
        .arg(format!("{REPOSITORY}/nix/image/image.py"))
        .arg(command);
    program
}

/// Runs a program that must succeed. Returns its standard output.
fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("start a program");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The digest of bytes, as descriptors write it.
fn digest(mut bytes: impl Read) -> String {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        match bytes.read(&mut piece).expect("read") {
            0 => return format!("sha256:{}", hex(&hash.finalize())),
            length => hash.update(&piece[..length]),
        }
    }
}

/// The blob of a descriptor, whose size and hash must be those of the descriptor.
fn blob(layout: &Path, descriptor: &Value) -> PathBuf {
    let name = descriptor["digest"].as_str().expect("a digest");
    let path = layout.join("blobs").join(name.replace(':', "/"));
    let size = path.metadata().expect("a blob").len();
    assert_eq!(descriptor["size"], size, "{name}");
    assert_eq!(digest(File::open(&path).expect("a blob")), name);
    path
}

/// The manifest and the configuration of an image layout, after checking every descriptor, that no
/// other blob is there, and the hash of each layer's archive.
fn judge_layout(layout: &Path) -> (Value, Value) {
    let marker = read_json(&layout.join("oci-layout"));
    assert_eq!(marker, json!({ "imageLayoutVersion": "1.0.0" }));
    let index = read_json(&layout.join("index.json"));
    let [descriptor] = &index["manifests"].as_array().expect("manifests")[..] else {
        panic!("{index}");
    };
    let manifest = read_json(&blob(layout, descriptor));
    let config = read_json(&blob(layout, &manifest["config"]));
    let layers = manifest["layers"].as_array().expect("layers");
    let archives = config["rootfs"]["diff_ids"].as_array().expect("diff_ids");
    assert_eq!(layers.len(), archives.len());
    assert_eq!(
        config["history"].as_array().map(Vec::len),
        Some(layers.len())
    );
    for (layer, archive) in layers.iter().zip(archives) {
        let mut gzip = Command::new("gzip");
        gzip.arg("-dc").arg(blob(layout, layer));
        let mut gzip = gzip.stdout(Stdio::piped()).spawn().expect("gzip");
        let bytes = gzip.stdout.take().expect("a pipe");
        assert_eq!(digest(bytes), *archive);
        assert!(gzip.wait().expect("an end").success());
    }
    let blobs = layout.join("blobs/sha256").read_dir().expect("blobs");
    assert_eq!(blobs.count(), layers.len() + 2);
    (manifest, config)
}

/// A folder with files of each kind that a layer has, and the modes that the sandbox refuses.
fn small_root(folder: &Folder) -> PathBuf {
    folder.write("root/etc/b", "b");
    folder.write("root/etc-c", "c");
    let root = folder.path().join("root");
    std::os::unix::fs::symlink("etc/b", root.join("link")).expect("a link");
    std::fs::hard_link(root.join("etc/b"), root.join("same")).expect("a second name");
    let attributes = json!({ "etc-c": [0o4755, 0, 42] });
    folder.write("root/.attributes.json", attributes.to_string());
    root
}

/// Makes a layer of a folder. Returns the layer's folder.
fn make_layer(folder: &Folder, name: &str, root: &Path) -> PathBuf {
    let out = folder.path().join(name);
    let tree = format!("{}:", root.display());
    succeed(image_py("layer").arg(&out).args(["files", &tree]));
    out
}

#[test]
fn a_layer_has_sorted_names_one_time_and_the_owners_of_packages() {
    let folder = Folder::new();
    let root = small_root(&folder);
    let first = make_layer(&folder, "first", &root);
    // Other times and another order of the folder change no byte.
    succeed(
        Command::new("touch")
            .args(["--date", "2001-02-03"])
            .arg(root.join("etc")),
    );
    std::fs::remove_file(root.join("link")).expect("removed");
    std::os::unix::fs::symlink("etc/b", root.join("link")).expect("a link");
    let second = make_layer(&folder, "second", &root);
    let bytes = |layer: &Path| std::fs::read(layer.join("layer.tar.gz")).expect("a layer");
    assert_eq!(bytes(&first), bytes(&second));

    let listed = succeed(
        Command::new("tar")
            .args([
                "--list",
                "--verbose",
                "--numeric-owner",
                "--full-time",
                "--utc",
            ])
            .arg("--file")
            .arg(first.join("layer.tar.gz")),
    );
    let fields = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[3..5], ["1970-01-01", "00:00:01"], "{line}");
        format!("{} {} {}", words[0], words[1], words[5..].join(" "))
    };
    let lines: Vec<String> = listed.lines().map(fields).collect();
    assert_eq!(
        lines,
        [
            "drwxr-xr-x 0/0 etc/",
            "-rw-r--r-- 0/0 etc/b",
            "-rwsr-xr-x 0/42 etc-c",
            "lrwxrwxrwx 0/0 link -> etc/b",
            "hrw-r--r-- 0/0 same link to etc/b",
        ]
    );
}

#[test]
fn a_layout_describes_its_blobs() {
    let folder = Folder::new();
    let layer = make_layer(&folder, "layer", &small_root(&folder));
    let attributes = json!({
        "layers": [layer],
        "imageName": "small",
        "tag": "1.0",
        "architecture": "amd64",
        "config": { "Cmd": ["sh"], "WorkingDir": "/etc" },
    });
    folder.write("attributes.json", attributes.to_string());
    let layout = folder.path().join("layout");
    succeed(
        image_py("layout")
            .arg(&layout)
            .arg(folder.path().join("attributes.json")),
    );
    let (manifest, config) = judge_layout(&layout);
    assert_eq!(config["config"], attributes["config"]);
    assert_eq!(
        (&config["os"], &config["architecture"]),
        (&json!("linux"), &json!("amd64"))
    );
    let types = [&manifest, &manifest["config"], &manifest["layers"][0]];
    assert_eq!(
        types.map(|value| value["mediaType"].as_str().expect("a type")),
        [
            "application/vnd.oci.image.manifest.v1+json",
            "application/vnd.oci.image.config.v1+json",
            "application/vnd.oci.image.layer.v1.tar+gzip",
        ]
    );
    let annotations = &read_json(&layout.join("index.json"))["manifests"][0]["annotations"];
    assert_eq!(annotations["org.opencontainers.image.ref.name"], "1.0");
}

/// The derivations that `nix-store --query` prints for a derivation.
fn derivations(query: &str, derivation: &str) -> BTreeSet<String> {
    let listed = printed(Command::new("nix-store").args(["--query", query, derivation]));
    let lines = listed.lines().filter(|path| path.ends_with(".drv"));
    lines.map(str::to_owned).collect()
}

/// Builds in a container use the toolchains of the image as they are: a step of a kernel has no
/// input but other steps of the kernel and what the image has.
#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn the_image_has_every_input_of_the_steps_of_a_variant() {
    for (example, variant) in [
        ("relu", CPU),
        ("relu", "torch211-cxx11-cu130-x86_64-linux"),
        ("relu", "torch27-cxx11-cu126-x86_64-linux"),
        ("relu-tvm-ffi", "tvm-ffi01-cu130-x86_64-linux"),
    ] {
        let evaluate = |expression: String| {
            let mut command = Command::new("nix-instantiate");
            command.args(["--eval", "--read-write-mode", "--json", "--expr"]);
            let answer = printed(command.arg(&expression).current_dir(REPOSITORY));
            serde_json::from_str::<String>(&answer).expect("JSON")
        };
        let package = evaluate(format!(
            "let kernel = import ./examples/{example}/build.nix {{ kernelBuilder = import ./lib; }};
                 isWanted = own: own.variant == \"{variant}\";
             in (builtins.head (builtins.filter isWanted kernel.variants)).package.drvPath"
        ));
        let listing = evaluate(format!(
            "let image = (import ./lib).image {{ variants = [ \"{variant}\" ]; }};
             in (builtins.elemAt image.layers 1).listing.drvPath"
        ));
        let there = derivations("--references", &listing);
        let others = derivations("--requisites", &listing);
        let all = derivations("--requisites", &package);
        let steps: BTreeSet<&String> = all.difference(&others).collect();
        assert!(steps.len() > 4, "{steps:?}");
        for step in &steps {
            // Not a toolchain that the container would have to make.
            let own = step.contains("-relu-") || step.ends_with("-environment.drv");
            assert!(own, "{variant}: the image lacks {step}");
            for input in derivations("--references", step) {
                let known = steps.contains(&input) || there.contains(&input);
                assert!(known, "{variant}: {step} needs {input}");
            }
        }
    }
}

/// Builds the image with the toolchains of some variants. Returns its derivation's expression and
/// the layout.
fn build_image(clone: &Clone, variants: &str) -> (String, PathBuf) {
    let expression = format!(
        "(import {}/lib).image {{ variants = [ {variants} ]; }}",
        clone.path().display()
    );
    let mut command = nix(&["build", "--impure", "--no-link", "--json", "--expr"]);
    let json: Value = serde_json::from_str(&printed(command.arg(&expression))).expect("JSON");
    let path = json[0]["outputs"]["out"].as_str().expect("a path");
    (expression, on_disk(path))
}

/// A container as `docker run --privileged` makes it, of an image that umoci has unpacked.
struct Container {
    folder: Folder,
    /// config.json as umoci made it of the image's configuration.
    config: Value,
}

impl Container {
    fn new(layout: &Path, tag: &str) -> Self {
        let folder = Folder::new();
        let bundle = folder.path().join("bundle");
        let image = format!("{}:{tag}", layout.display());
        succeed(
            Command::new("umoci")
                .args(["unpack", "--image", &image])
                .arg(&bundle),
        );
        let mut config = read_json(&bundle.join("config.json"));
        let dump = succeed(Command::new("setpriv").arg("--dump"));
        let names = dump
            .lines()
            .find_map(|line| line.strip_prefix("Capability bounding set: "));
        let names = names.expect("capabilities").split(',');
        let all: Vec<String> = names
            .map(|name| format!("CAP_{}", name.to_uppercase()))
            .collect();
        let process = &mut config["process"];
        process["terminal"] = json!(false);
        process["noNewPrivileges"] = json!(false);
        let capabilities = process["capabilities"].as_object_mut();
        for set in capabilities.expect("sets").values_mut() {
            *set = json!(all);
        }
        let linux = config["linux"].as_object_mut().expect("settings");
        linux.retain(|name, _| name == "namespaces");
        let mounts = config["mounts"].as_array_mut().expect("mounts");
        mounts.retain(|mount| mount["type"] != "cgroup");
        Self { folder, config }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("bundle/rootfs")
    }

    /// Puts a folder of this machine in the place where the image expects a kernel.
    fn mount_kernel(&mut self, kernel: &Path) {
        let mounts = self.config["mounts"].as_array_mut().expect("mounts");
        mounts.push(json!({
            "destination": "/kernel",
            "type": "bind",
            "source": kernel,
            "options": ["rbind", "rw"],
        }));
    }

    /// Gives the container the network of this machine. Without, it has none.
    fn share_network(&mut self) {
        let namespaces = self.config["linux"]["namespaces"].as_array_mut();
        namespaces
            .expect("namespaces")
            .retain(|namespace| namespace["type"] != "network");
    }

    /// Starts the container with arguments, as `docker run IMAGE ARGUMENTS` does.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut config = self.config.clone();
        // The command of the image, which arguments replace, follows its entry point.
        let mut words = vec!["kernel-builder"];
        assert_eq!(
            config["process"]["args"],
            json!(["kernel-builder", "--help"])
        );
        words.extend(arguments);
        config["process"]["args"] = json!(words);
        self.start(&config)
    }

    /// Runs a line of shell script.
    fn run_line(&self, line: &str) -> Output {
        let mut config = self.config.clone();
        config["process"]["args"] = json!(["bash", "-euo", "pipefail", "-c", line]);
        self.start(&config)
    }

    fn start(&self, config: &Value) -> Output {
        let bundle = self.folder.path().join("bundle");
        std::fs::write(bundle.join("config.json"), config.to_string()).expect("written");
        let id = self.folder.path().file_name().expect("a name").to_owned();
        let mut runc = Command::new("runc");
        runc.arg("run").arg("--bundle").arg(&bundle);
        let output = run(runc.arg(id.to_string_lossy().trim_start_matches('.')));
        println!("{}", String::from_utf8_lossy(&output.stdout));
        println!("{}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

/// A copy of examples/relu that is a repository of another user, as a checkout of a CI service is.
fn kernel_of_another_user(clone: &Clone, folder: &Folder) -> PathBuf {
    let kernel = folder.path().join("relu");
    copy(&clone.relu(), &kernel);
    run(Command::new("git").args(["init", "--quiet"]).arg(&kernel));
    run(Command::new("chown")
        .args(["--recursive", "1234:1234"])
        .arg(&kernel));
    kernel
}

/// The digests of an image's layers.
fn layers(manifest: &Value) -> Vec<&str> {
    let layers = manifest["layers"].as_array().expect("layers");
    layers
        .iter()
        .map(|layer| layer["digest"].as_str().expect("a digest"))
        .collect()
}

#[test]
#[ignore = "builds images and starts containers of them: run by `make full-test`"]
fn containers_of_the_image_build_a_kernel_with_and_without_a_network() {
    let clone = Clone::new();
    let tag = env!("CARGO_PKG_VERSION");
    let (_, plain) = build_image(&clone, "");
    let (expression, full) = build_image(&clone, &format!("\"{CPU}\""));
    let mut command = nix(&["eval", "--raw"]);
    let flake = format!("{}#image.outPath", clone.path().display());
    assert_eq!(on_disk(&printed(command.arg(flake))), plain);

    // A machine with one image pulls only the layer that the other one adds.
    let (plain_manifest, config) = judge_layout(&plain);
    let (full_manifest, _) = judge_layout(&full);
    let (userland, program) = match layers(&plain_manifest)[..] {
        [userland, program] => (userland, program),
        ref other => panic!("{other:?}"),
    };
    let [first, _, last] = layers(&full_manifest)[..] else {
        panic!("{full_manifest}");
    };
    assert_eq!((first, last), (userland, program));

    // Other readers of the format.
    let archive = Folder::new();
    let tar = archive.path().join("image.tar");
    run(Command::new("tar")
        .arg("-C")
        .arg(&plain)
        .arg("-cf")
        .arg(&tar)
        .arg("."));
    for place in [
        format!("oci:{}:{tag}", plain.display()),
        format!("oci-archive:{}", tar.display()),
        format!("docker-archive:{}", tar.display()),
    ] {
        let seen = printed(Command::new("skopeo").args(["inspect", "--config", &place]));
        let seen: Value = serde_json::from_str(&seen).expect("JSON");
        assert_eq!(seen["config"], config["config"], "{place}");
    }

    // Nix makes each part twice and compares.
    let parts = format!("let image = {expression}; in image.layers ++ [ image ]");
    let mut rebuild = Command::new("nix-build");
    rebuild.args(["--no-out-link", "--check", "--expr", &parts]);
    run(rebuild.args(SANDBOXED));

    // Without a network.
    let folder = Folder::new();
    let kernel = kernel_of_another_user(&clone, &folder);
    let mut container = Container::new(&full, tag);
    container.mount_kernel(&kernel);
    let version = String::from_utf8(container.run(&["--version"]).stdout).expect("UTF-8");
    assert_eq!(version.trim(), format!("kernel-builder {tag}"));
    container.run(&["build", "--variant", CPU]);
    let built = kernel.join("build").join(CPU);
    assert!(built.join("metadata.json").exists());
    container.run_line("dpkg --audit; apt-get check; nix-store --verify --check-contents");

    // With a network and no toolchain.
    let second = kernel_of_another_user(&clone, &archive);
    let mut container = Container::new(&plain, tag);
    container.mount_kernel(&second);
    container.share_network();
    let mut settings = Command::new(format!("{REPOSITORY}/tests/fresh_machine/copy-settings.sh"));
    run(settings.arg(container.root()));
    container.run_line(&format!(
        ". /machine/environment; kernel-builder doctor; kernel-builder fetch --variant {CPU}; \
         kernel-builder build --variant {CPU}"
    ));
    // The same bytes as without a network.
    run(Command::new("diff")
        .arg("--recursive")
        .arg(&built)
        .arg(second.join("build").join(CPU)));
}
