//! `serve`: what clients of the Hub get from a folder, and what bad clients do not. The builds are
//! made up.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::archives::sha256;
use common::folder::Folder;
use common::program::{kernel_builder, python, run, send, set_hub, words};
use serde_json::{Value, json};

const REPOSITORY: &str = "acme/made-up";
const VARIANTS: [&str; 2] = ["torch-universal", "torch211-cxx11-cpu-x86_64-linux"];

/// The most memory that a server grows by under load.
const GROWTH: u64 = 16 << 20;

/// Seconds for headers and for slow readers: two times this.
const STALL: u64 = 1;

/// A server of a folder with one kernel in it.
struct Mirror {
    folder: Folder,
    process: Child,
    address: String,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Mirror {
    fn start() -> Self {
        let folder = Folder::new();
        build(&folder, "build", 1, "one");
        Self::serve(folder)
    }

    fn serve(folder: Folder) -> Self {
        let mut process = kernel_builder("serve")
            .arg(folder.path().join("kernels"))
            .args(["--listen", "127.0.0.1:0", "--json"])
            .env("KERNEL_BUILDER_STALL_SECONDS", STALL.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("run");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("an event");
        let listening: Value = serde_json::from_str(&line).expect("JSON");
        let url = listening["url"].as_str().expect("a URL");
        let events = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&events);
        std::thread::spawn(move || {
            for line in output.lines() {
                let event = serde_json::from_str(&line.expect("a line")).expect("JSON");
                collected.lock().expect("no panic").push(event);
            }
        });
        Self {
            address: url.strip_prefix("http://").expect("a scheme").to_owned(),
            folder,
            process,
            events,
        }
    }

    /// An answer: status, headers by name, content.
    fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (u16, BTreeMap<String, String>, Vec<u8>) {
        let headers = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n",
            self.address,
            headers.collect::<String>()
        );
        self.say(text.as_bytes())
    }

    /// Sends bytes, and reads the answer until the connection ends.
    fn say(&self, bytes: &[u8]) -> (u16, BTreeMap<String, String>, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        stream.write_all(bytes).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, content) = answer.split_at(end.expect("headers") + 4);
        let head = String::from_utf8(head.to_vec()).expect("text");
        let (status, headers) = head.split_once("\r\n").expect("a line");
        let status = status.split(' ').nth(1).expect("a status").parse();
        let headers = headers.lines().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        (
            status.expect("a number"),
            headers.collect(),
            content.to_vec(),
        )
    }

    fn json(&self, path: &str) -> Value {
        let (status, _, content) = self.get(path, &[]);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&content));
        serde_json::from_slice(&content).expect("JSON")
    }

    /// The commits of branches and tags.
    fn commits(&self) -> BTreeMap<String, String> {
        let refs = self.json(&format!("/api/kernels/{REPOSITORY}/refs"));
        let lists = ["branches", "tags"].map(|kind| refs[kind].as_array().expect("a list").clone());
        let pair = |own: &Value| {
            let text = |key: &str| own[key].as_str().expect("text").to_owned();
            (text("ref"), text("targetCommit"))
        };
        lists.iter().flatten().map(pair).collect()
    }

    /// Waits for an event of a request that contains a text.
    fn wait_for(&self, what: &str, is_complete: bool) {
        let is_it = |event: &Value| {
            let request = event["request"].as_str();
            request.is_some_and(|text| text.contains(what)) && event["complete"] == is_complete
        };
        for _ in 0..600 {
            if self.events.lock().expect("no panic").iter().any(is_it) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no event of {what}");
    }

    /// Bytes of memory that the server has in use.
    fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = std::fs::read_to_string(path).expect("a process");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect("a line").parse::<u64>().expect("a number") * 1024
    }

    /// Lets a program know this server and no other Hub.
    fn set_environment(&self, command: &mut Command) {
        let home = self.folder.path().join("home");
        set_hub(command, &format!("http://{}", self.address), &home);
        command.env_remove("HF_TOKEN");
    }
}

/// Makes up a build whose files depend on a word.
fn build(folder: &Folder, place: &str, version: u64, word: &str) {
    for variant in VARIANTS {
        let write = |path: &str, content: &[u8]| {
            folder.write(
                &format!("kernels/{REPOSITORY}/{place}/{variant}/{path}"),
                content,
            );
        };
        write("__init__.py", format!("WORD = {word:?}\n").as_bytes());
        write("layers/__init__.py", b"");
        let library = [word.repeat(100_000).as_bytes(), b"\0", variant.as_bytes()].concat();
        write("weights.bin", &[b"\0", &library[..]].concat());
        let metadata = json!({
            "name": "made-up", "id": format!("_made_up_{word}"), "version": version, "license": "MIT",
            "python-depends": [], "backend": { "type": "cpu" },
        });
        write("metadata.json", metadata.to_string().as_bytes());
    }
}

#[test]
fn answers_are_those_of_the_hub() {
    let mirror = Mirror::start();
    build(&mirror.folder, "v2/build", 2, "two");
    build(&mirror.folder, "v1.5.0/build", 1, "tag");
    let commits = loop {
        let commits = mirror.commits();
        if commits.len() == 4 {
            break commits;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let names: Vec<&String> = commits.keys().collect();
    assert_eq!(
        names,
        [
            "refs/heads/main",
            "refs/heads/v1",
            "refs/heads/v2",
            "refs/tags/v1.5.0"
        ]
    );
    assert_eq!(commits["refs/heads/main"], commits["refs/heads/v2"]);
    let word_at = |revision: &str| {
        let path = format!(
            "/{REPOSITORY}/resolve/{revision}/build/{}/__init__.py",
            VARIANTS[0]
        );
        let (status, _, content) = mirror.get(&path, &[]);
        assert_eq!(status, 200, "{revision}");
        String::from_utf8(content).expect("text")
    };
    for (revision, word) in [
        ("main", "two"),
        ("v1", "one"),
        ("refs%2Fheads%2Fv1", "one"),
        ("v1.5.0", "tag"),
        ("refs%2Ftags%2Fv1.5.0", "tag"),
        (&commits["refs/heads/v1"], "one"),
    ] {
        assert_eq!(
            word_at(revision),
            format!("WORD = {word:?}\n"),
            "{revision}"
        );
    }

    // Texts have the id of git, binary files their sha256.
    let file = |name: &str| {
        format!(
            "/kernels/{REPOSITORY}/resolve/v1/build/{}/{name}",
            VARIANTS[0]
        )
    };
    let (_, headers, _) = mirror.get(&file("layers/__init__.py"), &[]);
    assert_eq!(
        headers["etag"],
        "\"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\""
    );
    assert_eq!(headers["x-repo-commit"], commits["refs/heads/v1"]);
    let (_, headers, whole) = mirror.get(&file("weights.bin"), &[]);
    let etag = format!("\"{}\"", sha256(&whole));
    assert_eq!(
        (&headers["etag"], &headers["x-linked-etag"]),
        (&etag, &etag)
    );
    assert_eq!(headers["x-linked-size"], whole.len().to_string());
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    let listed = tree
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["type"] == "file");
    assert_eq!(listed.count(), 8);
    let tree = mirror.json(&format!(
        "/api/models/{REPOSITORY}/tree/v1/build?recursive=false"
    ));
    let paths: Vec<_> = tree
        .as_array()
        .expect("a list")
        .iter()
        .map(|own| &own["path"])
        .collect();
    assert_eq!(
        paths,
        VARIANTS
            .map(|variant| format!("build/{variant}"))
            .iter()
            .collect::<Vec<_>>()
    );

    // Conditions and ranges.
    let (status, _, content) = mirror.get(&file("weights.bin"), &[("If-None-Match", &etag)]);
    assert_eq!((status, content.len()), (304, 0));
    let size = whole.len();
    for (range, expected) in [
        ("bytes=0-0", 0..1),
        ("bytes=100-", 100..size),
        ("bytes=-7", size - 7..size),
        ("bytes=5-70000", 5..70_001),
    ] {
        let (status, headers, content) = mirror.get(&file("weights.bin"), &[("Range", range)]);
        assert_eq!(
            (status, &content[..]),
            (206, &whole[expected.clone()]),
            "{range}"
        );
        let words = format!("bytes {}-{}/{size}", expected.start, expected.end - 1);
        assert_eq!(headers["content-range"], words);
    }
    let (status, headers, _) = mirror.get(&file("weights.bin"), &[("Range", "bytes=9999999-")]);
    assert_eq!(
        (status, &headers["content-range"]),
        (416, &format!("bytes */{size}"))
    );
    let refs = format!("/api/kernels/{REPOSITORY}/refs");
    let etag = &mirror.get(&refs, &[]).1["etag"];
    assert_eq!(mirror.get(&refs, &[("If-None-Match", etag)]).0, 304);
    let head = format!(
        "HEAD {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        file("weights.bin")
    );
    let (status, headers, content) = mirror.say(head.as_bytes());
    assert_eq!((status, content.len()), (200, 0));
    assert_eq!(headers["content-length"], size.to_string());

    for (path, code) in [
        ("/api/kernels/acme/other/refs".to_owned(), "RepoNotFound"),
        (format!("/{REPOSITORY}/resolve/v9/a"), "RevisionNotFound"),
        (file("other.py"), "EntryNotFound"),
        (
            format!("/api/kernels/{REPOSITORY}/tree/v1/other"),
            "EntryNotFound",
        ),
    ] {
        let (status, headers, _) = mirror.get(&path, &[]);
        assert_eq!(
            (status, headers["x-error-code"].as_str()),
            (404, code),
            "{path}"
        );
    }
}

/// A stale hash would make clients keep a file under the name of another.
#[test]
fn a_changed_file_is_never_served_under_the_old_name() {
    let mirror = Mirror::start();
    let before = mirror.commits();
    build(&mirror.folder, "build", 1, "two");
    let path = format!("/{REPOSITORY}/resolve/v1/build/{}/__init__.py", VARIANTS[0]);
    let (_, headers, content) = mirror.get(&path, &[]);
    assert_eq!(content, b"WORD = \"two\"\n");
    assert_ne!(headers["x-repo-commit"], before["refs/heads/v1"]);
    let old = path.replace("v1", &before["refs/heads/v1"]);
    let (status, headers, _) = mirror.get(&old, &[]);
    assert_eq!(
        (status, headers["x-error-code"].as_str()),
        (404, "RevisionNotFound")
    );
    build(&mirror.folder, "build", 1, "one");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(
        mirror.commits(),
        before,
        "the same files have the same commit"
    );
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let folder = Folder::new();
    build(&folder, "build", 1, "one");
    folder.write("outside/secret.py", "secret");
    folder.write(
        "outside/kernel/build/torch-cpu/metadata.json",
        "{\"version\":1}",
    );
    folder.write("outside/kernel/build/torch-cpu/secret.py", "secret");
    let variant = folder
        .path()
        .join("kernels")
        .join(REPOSITORY)
        .join("build")
        .join(VARIANTS[0]);
    let outside = folder.path().join("outside");
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(outside.join("secret.py"), variant.join("link.py")).expect("linked");
    link(outside.clone(), variant.join("folder")).expect("linked");
    link("../__init__.py".into(), variant.join("layers/inside.py")).expect("linked");
    link(
        outside.join("kernel"),
        folder.path().join("kernels/acme/linked"),
    )
    .expect("linked");
    link(
        outside.join("kernel/build/torch-cpu"),
        variant.with_file_name("torch-cpu"),
    )
    .expect("linked");
    let made = Command::new("mkfifo").arg(variant.join("pipe.py")).status();
    assert!(made.expect("mkfifo").success());
    let mirror = Mirror::serve(folder);
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    let listed = tree.to_string();
    assert!(listed.contains("inside.py"), "{listed}");
    for name in ["link.py", "folder", "secret", "pipe", "torch-cpu/"] {
        assert!(!listed.contains(name), "{name}: {listed}");
    }
    let base = format!("/{REPOSITORY}/resolve/v1/build/{}", VARIANTS[0]);
    let (status, _, content) = mirror.get(&format!("{base}/layers/inside.py"), &[]);
    assert_eq!((status, &content[..]), (200, &b"WORD = \"one\"\n"[..]));
    for path in [
        format!("{base}/link.py"),
        format!("{base}/folder/secret.py"),
        format!("{base}/../../../../../../outside/secret.py"),
        format!("{base}/%2e%2e/%2E./..%2f/outside/secret.py"),
        format!("{base}/..%2F..%2F..%2F..%2F..%2F..%2Foutside%2Fsecret.py"),
        format!("{base}/layers%2Finside.py"),
        format!("{base}//layers/inside.py"),
        format!("{base}/__init__.py%00.txt"),
        format!("{base}/%ff.py"),
        format!("{base}/"),
        base,
        "/".to_owned(),
        "/acme".to_owned(),
        "/api/kernels/acme/linked/refs".to_owned(),
        "/api/kernels/../outside/refs".to_owned(),
        "/api/kernels/acme/%2e%2e/refs".to_owned(),
        "/api/kernels/acme%2Fmade-up/refs/refs".to_owned(),
        "/api/organizations/..%2Foutside/overview".to_owned(),
        "/etc/passwd/resolve/main/x".to_owned(),
    ] {
        let (status, _, content) = mirror.get(&path, &[]);
        assert!([400, 404].contains(&status), "{path}: {status}");
        assert!(
            !String::from_utf8_lossy(&content).contains("secret"),
            "{path}"
        );
    }
}

#[test]
fn bad_requests_are_refused_and_bounded() {
    let mirror = Mirror::start();
    let refs = format!("GET /api/kernels/{REPOSITORY}/refs HTTP/1.1\r\nHost: a\r\n");
    for (text, status) in [
        (format!("{refs}X: {}\r\n\r\n", "x".repeat(1 << 20)), 431),
        (format!("{refs}{}\r\n", "X: y\r\n".repeat(5000)), 431),
        (
            format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)),
            431,
        ),
        (format!("{refs}Content-Length: 3\r\n\r\nabc"), 413),
        (
            "POST /api/repos/create HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
            405,
        ),
        ("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 405),
        ("\u{16}\u{3}\u{1} garbage\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{}: a\r\n\r\n", "Host "), 400),
        // Headers that never end.
        (refs, 408),
    ] {
        let (found, _, _) = mirror.say(text.as_bytes());
        assert_eq!(found, status, "{}", &text[..text.len().min(100)]);
    }
    // Two requests in one packet.
    let path = format!("/{REPOSITORY}/resolve/v1/build/{}/__init__.py", VARIANTS[0]);
    let two = format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\n\r\nGET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    );
    let (_, _, content) = mirror.say(two.as_bytes());
    assert_eq!(
        String::from_utf8_lossy(&content)
            .matches("WORD = \"one\"")
            .count(),
        2
    );
}

/// Clients that only wait would lock out all others, and clients that read slowly would hold
/// threads for ever.
#[test]
fn idle_and_slow_clients_make_place() {
    let mirror = Mirror::start();
    let file = format!("kernels/{REPOSITORY}/build/{}/large.bin", VARIANTS[0]);
    mirror.folder.write(&file, vec![0; 64 << 20]);
    let path = format!("/{REPOSITORY}/resolve/v1/build/{}/large.bin", VARIANTS[0]);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(mirror.get(&path, &[("Range", "bytes=0-0")]).0, 206);
    let mut slow = TcpStream::connect(&mirror.address).expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    slow.write_all(request.as_bytes()).expect("sent");
    let idle: Vec<TcpStream> = (0..600)
        .map_while(|_| TcpStream::connect(&mirror.address).ok())
        .collect();
    assert_eq!(idle.len(), 600);
    assert_eq!(mirror.get(&path, &[("Range", "bytes=-1")]).2, [0]);
    mirror.wait_for("large.bin", false);
}

#[test]
fn an_answer_that_has_begun_is_finished_at_the_end() {
    let mut mirror = Mirror::start();
    let file = format!("kernels/{REPOSITORY}/build/{}/large.bin", VARIANTS[0]);
    let content: Vec<u8> = (0_u32..12 << 20).flat_map(u32::to_le_bytes).collect();
    mirror.folder.write(&file, &content);
    std::thread::sleep(Duration::from_millis(1100));
    let path = format!("/{REPOSITORY}/resolve/v1/build/{}/large.bin", VARIANTS[0]);
    assert_eq!(mirror.get(&path, &[("Range", "bytes=0-0")]).0, 206);
    let mut idle = TcpStream::connect(&mirror.address).expect("connected");
    let mut busy = TcpStream::connect(&mirror.address).expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.write_all(request.as_bytes()).expect("sent");
    let mut first = vec![0; 1 << 16];
    busy.read_exact(&mut first).expect("a beginning");
    send("TERM", mirror.process.id());
    assert_eq!(
        idle.read(&mut [0]).expect("an end"),
        0,
        "a connection that waits is ended"
    );
    let mut answer = first;
    busy.read_to_end(&mut answer).expect("the rest");
    assert!(answer.ends_with(&content), "{} bytes", answer.len());
    assert_eq!(mirror.process.wait().expect("an end").code(), Some(0));
    assert!(TcpStream::connect(&mirror.address).is_err());
}

#[test]
fn lists_go_in_pages_and_own_commands_read_them() {
    let mirror = Mirror::start();
    for number in 0..1100 {
        let path = format!(
            "kernels/{REPOSITORY}/build/{}/data/{number}.txt",
            VARIANTS[0]
        );
        mirror.folder.write(&path, number.to_string());
    }
    std::thread::sleep(Duration::from_millis(1100));
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    assert_eq!(tree.as_array().map(Vec::len), Some(1000));
    let project = mirror.folder.path().join("project");
    let text = format!("[tool.kernels.dependencies]\n\"{REPOSITORY}\" = \">=1\"\n");
    mirror.folder.write("project/pyproject.toml", text);
    for arguments in [&["lock"][..], &["download", "--variant", VARIANTS[0]]] {
        let mut command = kernel_builder(arguments[0]);
        mirror.set_environment(&mut command);
        let output = command
            .arg(&project)
            .args(&arguments[1..])
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let lock: Value =
        serde_json::from_str(&mirror.folder.read("project/kernel-builder.lock")).expect("JSON");
    let kernel = &lock["kernels"][0];
    assert_eq!(
        kernel["files"].as_object().map(serde_json::Map::len),
        Some(1108)
    );
    let snapshot = format!(
        "home/hub/kernels--acme--made-up/snapshots/{}",
        kernel["commit"].as_str().expect("text")
    );
    assert_eq!(
        mirror
            .folder
            .read(&format!("{snapshot}/build/{}/data/1099.txt", VARIANTS[0])),
        "1099"
    );
}

#[test]
fn a_folder_without_kernels_and_a_taken_port_are_errors() {
    let mirror = Mirror::start();
    let fails = |arguments: &[&str], code: i32, expected: &str| {
        let output = kernel_builder("serve")
            .args(arguments)
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert!(words(&output).contains(expected), "{}", words(&output));
    };
    let path = |name: &str| {
        mirror
            .folder
            .path()
            .join(name)
            .to_str()
            .expect("UTF-8")
            .to_owned()
    };
    fails(&[&path("kernels/acme")], 1, "mirror::empty");
    fails(&[&path("none")], 3, "mirror::io");
    fails(
        &[&path("kernels"), "--listen", &mirror.address],
        2,
        "mirror::listen",
    );
    fails(&[&path("kernels"), "--listen", "all"], 2, "invalid");
    // The folder of one kernel has no owner in its path.
    fails(&[&path("kernels/acme/made-up")], 2, "hub::repository");
}

/// Reads files of a server from many connections until a moment; every byte must be right.
fn read_in_parallel(mirror: &Mirror, until: Instant) -> u64 {
    let files = [
        "__init__.py",
        "weights.bin",
        "metadata.json",
        "layers/__init__.py",
    ];
    let expected: Vec<(String, Vec<u8>)> = VARIANTS
        .iter()
        .flat_map(|variant| files.map(|file| format!("build/{variant}/{file}")))
        .map(|path| {
            let file = mirror
                .folder
                .path()
                .join("kernels")
                .join(REPOSITORY)
                .join(&path);
            (path, std::fs::read(file).expect("a file"))
        })
        .collect();
    let agent = |number: u64| {
        let agent = ureq::Agent::new_with_defaults();
        let mut seed = number;
        let mut requests = 0;
        while Instant::now() < until || requests < 5 {
            // Numbers that look random, from the constants of Knuth's MMIX.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (path, content) = &expected[(seed >> 33) as usize % expected.len()];
            let url = format!(
                "http://{}/kernels/{REPOSITORY}/resolve/v1/{path}",
                mirror.address
            );
            let first = (seed >> 20) as usize % content.len().max(1);
            let is_range = seed & (1 << 40) != 0 && !content.is_empty();
            let mut request = agent.get(&url);
            if is_range {
                request = request.header("Range", format!("bytes={first}-"));
            }
            let mut answer = request.call().expect("an answer");
            if seed & (7 << 50) == 0 {
                // A client that goes away: the rest is not read.
                continue;
            }
            let read = answer.body_mut().read_to_vec().expect("a content");
            let expected = if is_range { &content[first..] } else { content };
            assert!(read == expected, "{path} from {first}");
            requests += 1;
        }
        requests
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|number| scope.spawn(move || agent(number)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("no wrong byte"))
            .sum()
    })
}

#[test]
fn parallel_clients_get_every_byte() {
    let mirror = Mirror::start();
    read_in_parallel(&mirror, Instant::now());
    let before = mirror.memory();
    read_in_parallel(&mirror, Instant::now() + Duration::from_secs(2));
    let after = mirror.memory();
    assert!(after < before + GROWTH, "{before} {after}");
}

#[test]
#[ignore = "takes a minute: run by `make full-test`"]
fn parallel_clients_for_a_minute_leave_the_memory_flat() {
    let mirror = Mirror::start();
    read_in_parallel(&mirror, Instant::now() + Duration::from_secs(10));
    let before = mirror.memory();
    let requests = read_in_parallel(&mirror, Instant::now() + Duration::from_secs(60));
    let after = mirror.memory();
    eprintln!("{requests} requests; memory {before} before, {after} after");
    assert!(after < before + GROWTH, "{before} {after}");
}

/// The real client and huggingface_hub load from a mirror, then from their caches without it.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn the_real_client_loads_from_a_mirror() {
    let mut mirror = Mirror::start();
    let script = "\
import kernels, pathlib
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
kernel = kernels.get_kernel('acme/made-up', version=1)
print(kernel.WORD, kernels.has_kernel('acme/made-up', version=1))
for kind in ('kernel', 'model'):
    print(sorted(HfApi().list_repo_files('acme/made-up', repo_type=kind, revision='v1'))[1])
    file = hf_hub_download('acme/made-up', 'build/torch-universal/__init__.py', repo_type=kind)
    print(pathlib.Path(file).read_text().strip())
    folder = pathlib.Path(snapshot_download('acme/made-up', repo_type=kind, revision='v1'))
    print(len([path for path in folder.rglob('*') if path.is_file()]))
";
    let mut client = python();
    mirror.set_environment(&mut client);
    let output = run(client.args(["-c", script]));
    let listed = "build/torch-universal/layers/__init__.py\nWORD = \"one\"\n8\n";
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        said,
        format!("one True\n{listed}{listed}"),
        "{}",
        words(&output)
    );
    send("INT", mirror.process.id());
    assert_eq!(mirror.process.wait().expect("an end").code(), Some(0));
    let mut client = python();
    mirror.set_environment(&mut client);
    let script = "import kernels; print(kernels.get_kernel('acme/made-up', version=1).WORD)";
    let output = run(client.env("HF_HUB_OFFLINE", "1").args(["-c", script]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\n");
}
