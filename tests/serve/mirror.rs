//! A server of made-up builds, its answers and its events.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::program::{kernel_builder, set_hub};

pub const REPOSITORY: &str = "acme/made-up";
pub const VARIANTS: [&str; 2] = ["torch-universal", "torch211-cxx11-cpu-x86_64-linux"];

/// Seconds for headers and for slow readers: two times this.
const STALL: u64 = 1;

/// A server of a folder with one kernel in it.
pub struct Mirror {
    pub folder: Folder,
    pub process: Child,
    pub address: String,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Mirror {
    pub fn start() -> Self {
        let folder = Folder::new();
        build(&folder, "build", 1, "one");
        Self::serve(folder)
    }

    pub fn serve(folder: Folder) -> Self {
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
    pub fn get(
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
    pub fn say(&self, bytes: &[u8]) -> (u16, BTreeMap<String, String>, Vec<u8>) {
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

    pub fn json(&self, path: &str) -> Value {
        let (status, _, content) = self.get(path, &[]);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&content));
        serde_json::from_slice(&content).expect("JSON")
    }

    /// The commits of branches and tags.
    pub fn commits(&self) -> BTreeMap<String, String> {
        let refs = self.json(&format!("/api/kernels/{REPOSITORY}/refs"));
        let lists = ["branches", "tags"].map(|kind| refs[kind].as_array().expect("a list").clone());
        let pair = |own: &Value| {
            let text = |key: &str| own[key].as_str().expect("text").to_owned();
            (text("ref"), text("targetCommit"))
        };
        lists.iter().flatten().map(pair).collect()
    }

    /// Adds a file to the kernel, waits until it is served, and returns its path at the server.
    pub fn add_large(&self, content: &[u8]) -> String {
        let file = format!("kernels/{REPOSITORY}/build/{}/large.bin", VARIANTS[0]);
        self.folder.write(&file, content);
        std::thread::sleep(Duration::from_millis(1100));
        let path = format!("/{REPOSITORY}/resolve/v1/build/{}/large.bin", VARIANTS[0]);
        assert_eq!(self.get(&path, &[("Range", "bytes=0-0")]).0, 206);
        path
    }

    /// A connection on which a file is asked for.
    pub fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    }

    /// Waits for an event of a request that contains a text.
    pub fn wait_for(&self, what: &str, is_complete: bool) {
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
    pub fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = std::fs::read_to_string(path).expect("a process");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect("a line").parse::<u64>().expect("a number") * 1024
    }

    /// Lets a program know this server and no other Hub.
    pub fn set_environment(&self, command: &mut Command) {
        let home = self.folder.path().join("home");
        set_hub(command, &format!("http://{}", self.address), &home);
        command.env_remove("HF_TOKEN");
    }
}

/// Makes up a build whose files depend on a word.
pub fn build(folder: &Folder, place: &str, version: u64, word: &str) {
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
