//! An index of four files, one for each way to fetch, and a library whose only pins are these.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::archives::wheel;
use crate::common::folder::{REPOSITORY, copy, write};
use crate::common::program::words;
use crate::common::world::World;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

pub const ALPHA: &str = "alpha-1.0-py3-none-any.whl";
pub const BETA: &str = "beta-1.0-py3-none-any.whl";
pub const GAMMA: &str = "gamma-1.0.tar";
pub const DELTA: &str = "delta_1.0_all.deb";

/// The size of each file: large enough to be cut in the middle, and for several blocks of a wheel
/// that is read in parts.
pub const SIZE: usize = 3_000_000;

const HEADERS: [(&str, &str); 3] = [
    ("beta/include/a.h", "#pragma once\n"),
    ("beta/include/deep/b.h", "deep\n"),
    ("beta/include/bin/tool", "run\n"),
];

/// An index, a library with pins of its files, and settings of pip and apt.
pub struct Index {
    world: World,
}

impl Deref for Index {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Index {
    pub fn new() -> Self {
        let mut world = World::with_own_store();
        for (seed, name) in [ALPHA, GAMMA, DELTA].into_iter().enumerate() {
            world.write(&format!("files/{name}"), noise(seed as u64, SIZE));
        }
        world.write(&format!("files/{BETA}"), beta());
        world.write_library(&["cli-pins.nix", "pins.nix"]);
        let sources = format!("deb [trusted=yes] {} ./\n", world.url("deb"));
        world.write("sources.list", sources);
        let settings = format!(
            "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\nAcquire::http::Proxy \"false\";\n\
             Acquire::http::Timeout \"1\";\n",
            world.path("sources.list").display()
        );
        world.write("apt.conf", settings);
        world.set("APT_CONFIG", world.path("apt.conf"));
        let index = Self { world };
        index.pin_with_headers(&[index.alpha(), index.gamma(), index.delta()]);
        index
    }

    /// Writes a library, a copy of the usual one, whose only pins are some archives.
    pub fn pin(&self, library: &str, archives: &[Value]) {
        if library != "library" {
            copy(&self.path("library"), &self.path(library));
        }
        self.write_pins(library, "seed", &json!(archives), &json!([]));
    }

    /// Pins some archives, and the tree of headers.
    pub fn pin_with_headers(&self, archives: &[Value]) {
        let tree = json!({
            "name": "beta-headers",
            "sha256": self.tree_hash(),
            "size": 13_000,
            "sources": [{
                "archive": self.archive("wheel", "beta", BETA, &[]),
                "take": [{ "glob": "beta/include/**" }],
            }],
        });
        self.write_pins("library", "seed", &json!(archives), &json!([tree]));
    }

    /// The pin of a file.
    pub fn archive(&self, kind: &str, name: &str, file: &str, urls: &[String]) -> Value {
        let size = self
            .path("files")
            .join(file)
            .metadata()
            .expect("a file")
            .len();
        json!({
            "kind": kind, "name": name, "version": "1.0", "file": file, "urls": urls,
            "sha256": self.sha256(file), "size": size,
        })
    }

    pub fn alpha(&self) -> Value {
        self.archive("wheel", "alpha", ALPHA, &[])
    }

    /// The file of a vendor who has moved it.
    pub fn gamma(&self) -> Value {
        let urls = [
            self.url("old/gamma-1.0.tar"),
            self.url("files/gamma-1.0.tar"),
        ];
        self.archive("file", "gamma", GAMMA, &urls)
    }

    pub fn delta(&self) -> Value {
        self.archive("deb", "delta", DELTA, &[])
    }

    /// The hash of the tree of headers, as Nix itself computes it.
    fn tree_hash(&self) -> String {
        let tree = self.path("tree");
        for (name, content) in HEADERS {
            write(&tree.join(name), content.repeat(500));
        }
        // A file in a folder called bin is a program.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(tree.join("beta/include/bin/tool"), mode).expect("a mode");
        nix_hash(&tree)
    }

    /// `kernel-builder fetch` of a variant of an example.
    pub fn fetch_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("fetch");
        command
            .arg(Path::new(REPOSITORY).join("examples/relu"))
            .args(["--variant", VARIANT])
            .args(arguments);
        command
    }

    pub fn fetch(&self, arguments: &[&str]) -> Output {
        self.fetch_command(arguments).output().expect("run")
    }

    /// Fetches, and returns the report, which is the last event.
    pub fn succeed(&self, arguments: &[&str]) -> Value {
        let output = self.fetch(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let last = events(&output).pop().expect("an event");
        assert_eq!(last["event"], "finished");
        last
    }

    /// Fails with the exit code of the environment and some words.
    pub fn fail(&self, arguments: &[&str], expected: &[&str]) {
        let output = self.fetch(arguments);
        let words = words(&output);
        assert_eq!(output.status.code(), Some(3), "{words}");
        // Lines are wrapped at the width of a terminal.
        let plain = |text: &str| text.replace(|c: char| c.is_whitespace() || c == '│', "");
        for text in expected {
            assert!(plain(&words).contains(&plain(text)), "{text}\n{words}");
        }
    }

    /// The bytes that the index sent, by file.
    pub fn sent(&self) -> BTreeMap<String, u64> {
        let mut sent = BTreeMap::new();
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        for line in log.lines() {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let name = entry["name"].as_str().expect("a name").to_owned();
            *sent.entry(name).or_default() += entry["sent"].as_u64().expect("bytes");
        }
        sent
    }

    /// The file names of the archives in the cache.
    pub fn cached(&self) -> Vec<String> {
        let archives = walkdir::WalkDir::new(self.path("cache/archives")).min_depth(2);
        let mut names: Vec<String> = archives
            .into_iter()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// The events that a program printed, one in each line.
pub fn events(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let event = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(event).collect()
}

/// The hash of a folder, as Nix itself computes it.
pub fn nix_hash(tree: &Path) -> String {
    let output = Command::new("nix-hash")
        .args(["--type", "sha256"])
        .arg(tree)
        .output()
        .expect("nix-hash on the PATH");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A wheel of a few headers and many other files.
fn beta() -> Vec<u8> {
    let mut members = vec![
        ("beta/lib/before.so", noise(7, SIZE / 2)),
        ("beta/include/empty/", Vec::new()),
    ];
    let headers = HEADERS.map(|(name, content)| (name, content.repeat(500).into_bytes()));
    members.extend(headers);
    members.push(("beta/lib/after.so", noise(8, SIZE / 2)));
    wheel(&members)
}

/// Bytes that do not compress, the same each time.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let blocks =
        (0u64..).flat_map(|block| Sha256::digest([seed, block].map(u64::to_le_bytes).concat()));
    blocks.take(size).collect()
}
