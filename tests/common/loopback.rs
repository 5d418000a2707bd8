//! The index on this machine (tests/loopback_index.py), for as long as a test needs it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of the files below a folder.
pub struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Server {
    /// Serves `folder`/files, as tests/loopback_index.py says.
    pub fn start(folder: &Path) -> Self {
        Self::start_script("tests/loopback_index.py", folder)
    }

    /// Starts a Hub whose behaviour and log are in `folder`, as tests/fake_hub.py says.
    pub fn start_hub(folder: &Path) -> Self {
        Self::start_script("tests/fake_hub.py", folder)
    }

    fn start_script(script: &str, folder: &Path) -> Self {
        let mut process = Command::new("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 on the PATH");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("the server's port");
        let port = line.trim().parse().expect("a port");
        Self { process, port }
    }

    /// The URL of a path of the server.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Stops answering.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
