//! `fetch` against an index on this machine that stalls, cuts, lies and refuses (tests/loopback_index.py), with pins made
//! up for the test. Real pip, real apt, real Nix with a store of the test's own; nothing of a network.

#[path = "common/loopback.rs"]
mod loopback;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use kernel_builder::matrix;
use loopback::Server;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const SYSTEM: &str = "x86_64-linux";
const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

const ALPHA: &str = "alpha-1.0-py3-none-any.whl";
const BETA: &str = "beta-1.0-py3-none-any.whl";
const GAMMA: &str = "gamma-1.0.tar";
const DELTA: &str = "delta_1.0_all.deb";

/// Of all files: large enough to be cut in the middle, and for several blocks of a wheel that is read in parts.
const SIZE: usize = 3_000_000;

/// An index, a library with pins of its files, and what `fetch` is told of them.
struct World {
    dir: tempfile::TempDir,
    server: Server,
}

impl Drop for World {
    fn drop(&mut self) {
        // Nix's store is read-only.
        let _ = Command::new("chmod")
            .args(["-R", "u+w"])
            .arg(self.dir.path())
            .status();
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let files = dir.path().join("files");
        std::fs::create_dir_all(&files).expect("a folder");
        for (seed, name) in [ALPHA, GAMMA, DELTA].into_iter().enumerate() {
            std::fs::write(files.join(name), noise(seed as u64, SIZE)).expect("written");
        }
        std::fs::write(files.join(BETA), beta()).expect("written");

        let server = Server::start(dir.path());
        let world = Self { dir, server };
        world.write_library();
        world.write_apt();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// This repository's Nix files with other pins.
    fn write_library(&self) {
        let nix = self.path("library/nix");
        let pins = nix.join("pins").join(SYSTEM);
        std::fs::create_dir_all(&pins).expect("a folder");
        for name in ["cli-pins.nix", "pins.nix"] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("nix").join(name);
            std::fs::copy(source, nix.join(name)).expect("copied");
        }
        let table = matrix::table();
        let rows = table.rows.iter().filter(|row| row.system == SYSTEM);
        for family in rows.flat_map(|row| row.families()) {
            let text = json!({ "family": family, "archives": [], "trees": [] }).to_string();
            std::fs::write(pins.join(format!("{family}.json")), text).expect("written");
        }
        self.write_pins(&[self.alpha(), self.gamma(), self.delta()]);
    }

    /// A library whose only pins are some archives.
    fn write_pins_of(&self, library: &str, archives: &[Value]) {
        let source = self.path("library");
        let target = self.path(library);
        if source != target {
            let status = Command::new("cp").arg("-r").args([source, target]).status();
            assert!(status.is_ok_and(|status| status.success()));
        }
        let text = json!({ "family": "seed", "archives": archives, "trees": [] }).to_string();
        let pins = self.path(library).join("nix/pins").join(SYSTEM);
        std::fs::write(pins.join("seed.json"), text).expect("written");
    }

    /// Pins of one family of the variant: some archives, and the tree.
    fn write_pins(&self, archives: &[Value]) {
        let tree = json!({
            "name": "beta-headers",
            "sha256": self.tree_hash(),
            "size": 13_000,
            "sources": [{ "archive": self.pin("wheel", "beta", BETA, &[]), "take": [{ "glob": "beta/include/**" }] }],
        });
        let text = json!({ "family": "seed", "archives": archives, "trees": [tree] }).to_string();
        let path = self.path("library/nix/pins").join(SYSTEM).join("seed.json");
        std::fs::write(path, text).expect("written");
    }

    fn pin(&self, kind: &str, name: &str, file: &str, urls: &[String]) -> Value {
        let content = std::fs::read(self.path("files").join(file)).expect("a file");
        json!({
            "kind": kind, "name": name, "version": "1.0", "file": file, "urls": urls,
            "sha256": hex(&Sha256::digest(&content)), "size": content.len(),
        })
    }

    fn alpha(&self) -> Value {
        self.pin("wheel", "alpha", ALPHA, &[])
    }

    /// Of a vendor who has moved it.
    fn gamma(&self) -> Value {
        let urls = [
            self.url("old/gamma-1.0.tar"),
            self.url("files/gamma-1.0.tar"),
        ];
        self.pin("file", "gamma", GAMMA, &urls)
    }

    fn delta(&self) -> Value {
        self.pin("deb", "delta", DELTA, &[])
    }

    /// The hash of what the tree must hold, by Nix itself.
    fn tree_hash(&self) -> String {
        let tree = self.path("tree");
        for (name, content) in HEADERS {
            let path = tree.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, content.repeat(500)).expect("written");
        }
        // What lies in a folder of that name is a program.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(tree.join("beta/include/bin/tool"), mode).expect("a mode");
        let output = Command::new("nix-hash")
            .args(["--type", "sha256"])
            .arg(&tree)
            .output()
            .expect("nix-hash on the PATH");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write_apt(&self) {
        let sources = format!("deb [trusted=yes] {} ./\n", self.url("deb"));
        std::fs::write(self.path("sources.list"), sources).expect("written");
        let settings = format!(
            "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\nAcquire::http::Proxy \"false\";\n\
             Acquire::http::Timeout \"1\";\n",
            self.path("sources.list").display()
        );
        std::fs::write(self.path("apt.conf"), settings).expect("written");
    }

    fn behave(&self, behaviour: &Value) {
        std::fs::write(self.path("behaviour.json"), behaviour.to_string()).expect("written");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        for (name, _) in std::env::vars() {
            let lower = name.to_lowercase();
            if lower.starts_with("pip_") || lower.ends_with("_proxy") {
                command.env_remove(name);
            }
        }
        command
            .arg("fetch")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu"))
            .args(["--variant", VARIANT])
            .args(arguments)
            .env("KERNEL_BUILDER_LIBRARY", self.path("library"))
            .env("KERNEL_BUILDER_CACHE", self.path("cache"))
            .env("KERNEL_BUILDER_STALL_SECONDS", "1")
            .env("NIX_REMOTE", self.path("store"))
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PIP_INDEX_URL", self.url("simple"))
            .env("APT_CONFIG", self.path("apt.conf"));
        command
    }

    fn fetch(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("run")
    }

    fn succeed(&self, arguments: &[&str]) -> Value {
        let output = self.fetch(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Fails with the exit code of the environment and some words.
    fn fail(&self, arguments: &[&str], expected: &[&str]) {
        let output = self.fetch(arguments);
        let words = words(&output);
        assert_eq!(output.status.code(), Some(3), "{words}");
        // Lines are wrapped at the width of a terminal.
        let plain = |text: &str| text.replace(|c: char| c.is_whitespace() || c == '│', "");
        for text in expected {
            assert!(plain(&words).contains(&plain(text)), "{text}\n{words}");
        }
    }

    /// Bytes that the index sent, by file.
    fn sent(&self) -> BTreeMap<String, u64> {
        let mut sent = BTreeMap::new();
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        for line in log.lines() {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let name = entry["name"].as_str().expect("a name").to_owned();
            *sent.entry(name).or_default() += entry["sent"].as_u64().expect("bytes");
        }
        sent
    }

    /// File names of the archives that are in the cache.
    fn cached(&self) -> Vec<String> {
        let archives = walkdir::WalkDir::new(self.path("cache/archives"))
            .min_depth(2)
            .into_iter();
        let mut names: Vec<String> = archives
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// A machine that has nothing.
    fn forget(&self) {
        for name in ["store", "cache"] {
            let path = self.path(name);
            if path.exists() {
                let _ = Command::new("chmod")
                    .args(["-R", "u+w"])
                    .arg(&path)
                    .status();
                std::fs::remove_dir_all(path).expect("removed");
            }
        }
    }
}

const HEADERS: [(&str, &str); 3] = [
    ("beta/include/a.h", "#pragma once\n"),
    ("beta/include/deep/b.h", "deep\n"),
    ("beta/include/bin/tool", "run\n"),
];

/// A wheel of a few headers and much else.
fn beta() -> Vec<u8> {
    use std::io::Write;
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    wheel
        .start_file("beta/lib/before.so", options)
        .expect("a member");
    wheel.write_all(&noise(7, SIZE / 2)).expect("written");
    wheel
        .add_directory("beta/include/empty", options)
        .expect("a member");
    for (name, content) in HEADERS {
        wheel.start_file(name, options).expect("a member");
        wheel
            .write_all(content.repeat(500).as_bytes())
            .expect("written");
    }
    wheel
        .start_file("beta/lib/after.so", options)
        .expect("a member");
    wheel.write_all(&noise(8, SIZE / 2)).expect("written");
    wheel.finish().expect("a wheel").into_inner()
}

/// Bytes that do not compress, the same each time.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let blocks =
        (0u64..).flat_map(|block| Sha256::digest([seed, block].map(u64::to_le_bytes).concat()));
    blocks.take(size).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_source_gives_what_is_pinned_once() {
    let world = World::new();
    let report = world.succeed(&[]);
    let fetched = report["fetched"].as_array().expect("names").len();
    assert_eq!(fetched, 4, "{report}");
    let sent = world.sent();
    for name in [ALPHA, GAMMA, DELTA] {
        assert_eq!(sent[name], SIZE as u64, "{name}");
    }
    // Of a wheel of which only headers are wanted, its directory and these.
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
    assert_eq!(report["downloaded"], sent.values().sum::<u64>());

    let again = world.succeed(&[]);
    assert_eq!(again["present"], 4);
    assert_eq!(world.sent(), sent, "what is in the store is not downloaded");
}

/// A server that makes its `.tar.gz` anew: the hash of all of it but the first folder is pinned, as GNU tar unpacks it. Links
/// and what may be executed count; another content is refused.
#[test]
fn a_tarball_is_known_by_the_hash_of_its_tree() {
    let world = World::new();
    let release = world.path("release-1.0");
    std::fs::create_dir_all(release.join("include/deep")).expect("a folder");
    std::fs::write(release.join("include/deep/a.h"), "int a;").expect("written");
    std::fs::write(release.join("configure"), "#!/bin/sh").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o775);
    std::fs::set_permissions(release.join("configure"), mode).expect("a mode");
    std::os::unix::fs::symlink("include/deep/a.h", release.join("a.h")).expect("a link");
    let name = "v1.0.tar.gz";
    let packed = world.path("files").join(name);
    let pack = || {
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&packed).arg("-C").arg(world.dir.path());
        let status = tar.arg("release-1.0").status().expect("tar on the PATH");
        assert!(status.success());
    };
    pack();
    let unpacked = world.path("unpacked");
    std::fs::create_dir(&unpacked).expect("a folder");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&packed).arg("-C").arg(&unpacked);
    let status = tar.arg("--strip-components=1").status();
    assert!(status.expect("tar on the PATH").success());
    let output = Command::new("nix-hash")
        .args(["--type", "sha256"])
        .arg(&unpacked)
        .output()
        .expect("nix-hash on the PATH");
    let sha256 = String::from_utf8(output.stdout).expect("a hash");
    let sha256 = sha256.trim();
    let tree = json!({
        "name": "release-1.0",
        "sha256": sha256,
        "sources": [{
            "archive": {
                "kind": "tarball", "name": "release", "version": "1.0", "file": name, "sha256": sha256,
                "urls": [world.url("files/v1.0.tar.gz")],
            },
            "take": [{ "glob": "**" }],
        }],
    });
    let family = json!({ "family": "seed", "archives": [], "trees": [tree] }).to_string();
    let pins = world.path("library/nix/pins").join(SYSTEM);
    std::fs::write(pins.join("seed.json"), family).expect("written");

    std::fs::write(release.join("include/deep/a.h"), "int b;").expect("written");
    pack();
    let output = world.fetch(&[]);
    assert_eq!(output.status.code(), Some(3));
    let said = words(&output);
    assert!(said.contains("something else than was pinned"), "{said}");

    // A link that leads out, and a file below it: written nowhere.
    let outside = world.path("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let file = std::fs::File::create(&packed).expect("a file");
    let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    let mut hostile = tar::Builder::new(gzip);
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    hostile
        .append_link(&mut link, "release-1.0/out", &outside)
        .expect("a link");
    let mut member = tar::Header::new_gnu();
    member.set_size(4);
    member.set_mode(0o644);
    hostile
        .append_data(&mut member, "release-1.0/out/evil", &b"evil"[..])
        .expect("a member");
    let gzip = hostile.into_inner().expect("a tar file");
    gzip.finish().expect("a tar.gz file");
    let output = world.fetch(&[]);
    assert_eq!(output.status.code(), Some(3));
    let said = words(&output);
    assert!(said.contains("cannot be unpacked"), "{said}");
    assert!(!outside.join("evil").exists());

    std::fs::write(release.join("include/deep/a.h"), "int a;").expect("written");
    pack();
    let report = world.succeed(&[]);
    assert_eq!(report["fetched"], json!(["release-1.0"]), "{report}");
}

#[test]
fn an_index_without_ranges_gives_the_same() {
    let world = World::new();
    world.behave(&json!({ "ranges": false }));
    let words = words(&world.fetch(&[]));
    assert!(
        words.contains(&format!("parts of {BETA} could not be had")),
        "{words}"
    );
    assert_eq!(world.succeed(&[])["present"], 4);
    assert!(world.sent()[BETA] >= SIZE as u64);
}

#[test]
fn a_download_that_stalls_or_breaks_goes_on_where_it_was() {
    let world = World::new();
    world.behave(&json!({ "faults": {
        ALPHA: ["stall:1000000", "cut:500000", "status:503", "cut:0", "ok"],
        BETA: ["stall:1000", "cut:10", "status:503"],
        GAMMA: ["cut:1", "stall:0", "ok"],
        DELTA: ["cut:1000000", "stall:1000000"],
    }}));
    let output = world.fetch(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let sent = world.sent();
    assert_eq!(sent[ALPHA], SIZE as u64);
    assert_eq!(sent[GAMMA], SIZE as u64);
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
}

#[test]
fn a_source_that_gives_up_is_named_with_what_it_said() {
    let world = World::new();
    world.behave(&json!({ "faults": { GAMMA: ["only:stall:10"] } }));
    world.fail(
        &[],
        &[
            "old/gamma-1.0.tar: it answers with status 404",
            "files/gamma-1.0.tar: nothing came for 1 s",
        ],
    );
    // Nothing else waits for it, and nothing is lost.
    world.behave(&json!({}));
    let sent = world.sent();
    let report = world.succeed(&[]);
    assert_eq!(report["fetched"], json!([GAMMA]));
    assert!(world.sent()[GAMMA] <= SIZE as u64 + sent[GAMMA]);
}

#[test]
fn wrong_bytes_are_never_kept() {
    let world = World::new();
    world.behave(&json!({ "faults": { ALPHA: ["only:wrong"], BETA: ["only:wrong"] } }));
    let says = format!("serves another {ALPHA} than the pinned one");
    world.fail(&[], &[&says]);
    assert_eq!(world.cached(), [DELTA, GAMMA]);
    assert_eq!(
        world.sent()[ALPHA],
        SIZE as u64,
        "pip would fetch the same again"
    );

    // The same with another source.
    world.behave(&json!({ "faults": { ALPHA: ["only:wrong"], BETA: ["ok"] } }));
    std::fs::copy(
        world.path("files").join(ALPHA),
        world.path("files/mirror.whl"),
    )
    .expect("copied");
    let alpha = world.pin("wheel", "alpha", ALPHA, &[world.url("files/mirror.whl")]);
    world.write_pins(&[alpha, world.gamma(), world.delta()]);
    let report = world.succeed(&[]);
    assert_eq!(report["present"], 2, "{report}");
}

#[test]
fn parts_with_wrong_bytes_are_replaced_by_the_whole_file() {
    let world = World::new();
    // Its directory, then its headers.
    world.behave(&json!({ "faults": { BETA: ["ok", "wrong"] } }));
    let output = world.fetch(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(world.sent()[BETA] > SIZE as u64);
    assert!(world.cached().contains(&BETA.to_owned()));
}

/// Kills a fetch at growing delays until one ends by itself.
#[test]
fn a_killed_fetch_goes_on_and_downloads_no_finished_file_again() {
    let world = World::new();
    world.behave(&json!({ "rate": 4_000_000 }));
    let mut kills = 0;
    let status = loop {
        let before = (world.cached(), world.sent());
        let mut fetch = world
            .command(&[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run");
        std::thread::sleep(Duration::from_millis(200 + 60 * kills));
        let ended = fetch.try_wait().expect("a status");
        fetch.kill().expect("killed");
        fetch.wait().expect("a status");
        let sent = world.sent();
        for name in &before.0 {
            assert_eq!(
                before.1.get(name),
                sent.get(name),
                "{name} was in the cache"
            );
        }
        if let Some(status) = ended {
            break status;
        }
        kills += 1;
        assert!(kills < 100, "it does not get on");
    };
    assert!(status.success());
    assert!(kills > 3, "it was killed {kills} times only");
    let report = world.succeed(&[]);
    assert_eq!(report["present"], 4, "{report}");
    // What was on its way when a run was killed is all that is sent twice.
    let sent = world.sent();
    let on_the_way = 2_000_000 + kills * 300_000;
    assert!(
        sent[ALPHA] < SIZE as u64 + on_the_way,
        "{sent:?} after {kills} kills"
    );
    let left = walkdir::WalkDir::new(world.path("cache/partial")).min_depth(1);
    assert_eq!(left.into_iter().count(), 0, "nothing is left");
}

/// Runs share the cache, and each file has a lock of its own.
#[test]
fn a_fetch_does_not_wait_for_an_unrelated_one() {
    let world = World::new();
    world.behave(&json!({ "faults": { ALPHA: ["only:stall:10"] } }));
    world.write_pins_of("library", &[world.alpha()]);
    world.write_pins_of("other-library", &[world.gamma(), world.delta()]);
    let mut stalls = world
        .command(&[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("run");
    // It has begun.
    let locked = || {
        let locks = world.path("cache/locks").read_dir();
        locks.is_ok_and(|entries| entries.count() > 0)
    };
    while !locked() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut other = world.command(&["--json"]);
    let other = other
        .env("KERNEL_BUILDER_LIBRARY", world.path("other-library"))
        .output()
        .expect("run");
    assert_eq!(other.status.code(), Some(0), "{}", words(&other));
    assert!(!words(&other).contains("waiting"), "{}", words(&other));
    assert!(
        stalls.try_wait().expect("a status").is_none(),
        "the first has ended before the second"
    );
    assert_eq!(stalls.wait().expect("a status").code(), Some(3));
}

#[test]
fn two_fetches_of_the_same_files_download_them_once() {
    let world = World::new();
    world.behave(&json!({ "rate": 3_000_000 }));
    let start = || {
        let mut command = world.command(&["--json"]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("run")
    };
    let outputs = [start(), start()].map(|run| run.wait_with_output().expect("an end"));
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", words(output));
    }
    let sent = world.sent();
    for name in [ALPHA, GAMMA, DELTA] {
        assert_eq!(sent[name], SIZE as u64, "{name}");
    }
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
    let said = outputs.iter().map(words).collect::<String>();
    assert!(said.contains("waiting for another fetch of"), "{said}");
    for left in ["partial", "locks", "runs"] {
        let left = walkdir::WalkDir::new(world.path("cache").join(left)).min_depth(1);
        let names: Vec<_> = left
            .into_iter()
            .flatten()
            .map(|entry| entry.file_name().to_owned())
            .collect();
        assert!(names.iter().all(|name| name == "begin.lock"), "{names:?}");
    }
}

#[test]
fn a_folder_carries_everything_to_a_machine_without_a_network() {
    let world = World::new();
    let folder = world.path("carried");
    let folder = folder.to_str().expect("UTF-8");
    let report = world.succeed(&["--to", folder]);
    assert_eq!(report["written"]["new"], 4);
    let again = world.succeed(&["--to", folder]);
    assert_eq!(
        again["written"],
        json!({ "folder": folder, "files": 4, "new": 0 })
    );
    // Any tool can check it.
    for (name, content) in contents(folder) {
        if name != "index.json" {
            assert!(name.starts_with(&hex(&Sha256::digest(&content))), "{name}");
        }
    }

    world.forget();
    world.behave(&json!({ "faults": { ALPHA: ["only:status:404"], GAMMA: ["only:status:404"] } }));
    let sent = world.sent();
    world.fail(
        &["--offline"],
        &[
            "alpha-1.0-py3-none-any.whl (3.0 MB)",
            "kernel-builder fetch --from DIR",
        ],
    );
    let before = contents(folder);
    let report = world.succeed(&["--offline", "--from", folder]);
    assert_eq!(report["fetched"].as_array().map(Vec::len), Some(4));
    assert_eq!(world.succeed(&["--offline"])["present"], 4);
    assert_eq!(contents(folder), before, "it is only read");
    assert_eq!(world.sent(), sent, "nothing was asked of the index");
}

#[test]
fn a_damaged_or_foreign_folder_is_refused() {
    let world = World::new();
    let folder = world.path("carried");
    let folder = folder.to_str().expect("UTF-8");
    world.succeed(&["--to", folder]);
    world.forget();
    let names: Vec<String> = contents(folder).into_keys().collect();
    for suffix in ["-alpha-1.0-py3-none-any.whl", "-beta-headers.nar"] {
        let name = names
            .iter()
            .find(|name| name.ends_with(suffix))
            .expect("a file");
        let path = Path::new(folder).join(name);
        let mut content = std::fs::read(&path).expect("a file");
        let middle = content.len() / 2;
        content[middle] ^= 1;
        std::fs::write(&path, content).expect("written");
    }
    world.fail(
        &["--offline", "--from", folder],
        &[
            "-alpha-1.0-py3-none-any.whl is damaged",
            "-beta-headers.nar is damaged",
        ],
    );
    // A folder that was damaged is repaired, one of somebody else is left alone.
    world.succeed(&["--to", folder]);
    world.forget();
    world.succeed(&["--offline", "--from", folder]);
    let foreign = world.path("files");
    let foreign = foreign.to_str().expect("UTF-8");
    let before = contents(foreign);
    world.fail(&["--to", foreign], &["it holds other files"]);
    world.fail(&["--from", foreign], &["there is no index.json in it"]);
    assert_eq!(contents(foreign), before);
}

#[test]
fn a_disk_that_is_too_small_is_noticed_before_anything_is_downloaded() {
    let world = World::new();
    let mut alpha = world.alpha();
    alpha["size"] = json!(1_000_000_000_000_000_u64);
    world.write_pins(&[alpha]);
    world.fail(
        &[],
        &["there is too little room in", "1000000000 MB to download"],
    );
    assert!(world.sent().is_empty());
}

/// Every file below a folder, by its path there.
fn contents(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(folder).expect("below");
            let content = std::fs::read(entry.path()).expect("a file");
            (name.to_string_lossy().into_owned(), content)
        })
        .collect()
}
