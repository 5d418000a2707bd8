//! The commands of the Hub against one on this machine (tests/fake_hub.py). Most builds are made
//! up, of Python alone.

#[path = "../common/mod.rs"]
mod common;

mod clients;
mod downloads;
mod uploads;

use std::collections::BTreeMap;
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::folder::Folder;
use common::loopback::Server;
use common::program::{kernel_builder, set_hub, words};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const TOKEN: &str = "hf_secretOfTheTest";
const REPOSITORY: &str = "acme/made-up";
const VARIANTS: [&str; 2] = ["torch-universal", "torch-cpu"];

/// A Hub, and a built kernel to upload.
struct World {
    folder: Folder,
    hub: Server,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        let hub = Server::start_hub(folder.path());
        let world = Self { folder, hub };
        world.behave(json!({}));
        world.build(1, "one");
        world
    }

    /// Says how the Hub behaves (tests/fake_hub.py).
    fn behave(&self, mut behaviour: Value) {
        behaviour["token"] = TOKEN.into();
        self.folder.write("behaviour.json", behaviour.to_string());
    }

    fn fault(&self, on: &str, fault: &str, times: u32) {
        self.behave(json!({ "faults": [{ "on": on, "fault": fault, "times": times }] }));
    }

    /// Makes up a build whose files depend on a word.
    fn build(&self, version: u64, word: &str) {
        for variant in VARIANTS {
            let files = [
                ("__init__.py", format!("WORD = {word:?}\n").into_bytes()),
                ("layers/__init__.py", b"".to_vec()),
                (
                    "weights.bin",
                    [word.repeat(100_000).as_bytes(), b"\0", variant.as_bytes()].concat(),
                ),
            ];
            let mut digests = BTreeMap::new();
            for (path, content) in &files {
                self.folder
                    .write(&format!("kernel/build/{variant}/{path}"), content);
                digests.insert(*path, STANDARD.encode(Sha256::digest(content)));
            }
            let metadata = json!({
                "name": "made-up", "id": format!("_made_up_{word}"), "version": version, "license": "MIT",
                "python-depends": [], "backend": { "type": "cpu" },
                "digest": { "algorithm": "sha256", "files": digests },
            });
            let path = format!("kernel/build/{variant}/metadata.json");
            self.folder.write(&path, metadata.to_string());
        }
        self.folder
            .write("kernel/build/CARD.md", format!("# {word}\n"));
    }

    fn upload(&self, arguments: &[&str]) -> Command {
        let mut command = kernel_builder("upload");
        self.set_environment(&mut command);
        command.env("HF_TOKEN", TOKEN);
        command.arg(self.folder.path().join("kernel"));
        command.args(["--repo-id", REPOSITORY]).args(arguments);
        command
    }

    /// Lets a program know this Hub and no other.
    fn set_environment(&self, command: &mut Command) {
        let home = self.folder.path().join("home");
        set_hub(command, self.hub.url("").trim_end_matches('/'), &home);
        command
            .env("HF_HUB_DISABLE_XET", "1")
            .env("KERNEL_BUILDER_STALL_SECONDS", "2");
    }

    /// Uploads, and returns the result.
    fn succeed(&self) -> Value {
        let output = self.upload(&["--json"]).output().expect("run");
        let words = words(&output);
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert!(!words.contains(TOKEN), "{words}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Fails to upload, and returns the words without their lines.
    fn fail(&self, output: &Output, code: i32) -> String {
        let words = words(output).replace('│', " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(code), "{words}");
        assert!(!words.contains(TOKEN), "{words}");
        words
    }

    /// The requests since the last call.
    fn requests(&self) -> Vec<Value> {
        let path = self.folder.path().join("log");
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        let requests = log
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        requests.collect()
    }

    /// The words of both variants at a branch, as huggingface's API shows them: the old build or
    /// the new one, never a mixture.
    fn words_at(&self, branch: &str) -> Vec<String> {
        VARIANTS
            .map(|variant| {
                let path =
                    format!("kernels/{REPOSITORY}/resolve/{branch}/build/{variant}/__init__.py");
                let mut answer = ureq::get(self.hub.url(&path)).call().expect("an answer");
                answer.body_mut().read_to_string().expect("text")
            })
            .into()
    }
}

fn number_of(requests: &[Value], what: &str) -> usize {
    let is_it = |request: &&Value| request["request"].as_str().expect("text").contains(what);
    requests.iter().filter(is_it).count()
}

/// A project that needs the kernel, and a command in it.
fn in_project(world: &World, command: &str, arguments: &[&str]) -> Output {
    let mut program = kernel_builder(command);
    world.set_environment(&mut program);
    let project = world.folder.path().join("project");
    program.arg(project).args(arguments).output().expect("run")
}

fn write_project(world: &World, version: &str) {
    let text = format!("[tool.kernels.dependencies]\n\"{REPOSITORY}\" = {version}\n");
    world.folder.write("project/pyproject.toml", text);
}
