//! A vendor's server, on this machine: files by name, over HTTP.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Serves until the test ends.
pub struct Server {
    address: String,
}

impl Server {
    pub fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let files = Arc::new(files);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = Arc::clone(&files);
                std::thread::spawn(move || answer(&stream, &files));
            }
        });
        Self { address }
    }

    pub fn url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.address)
    }
}

/// Answers one request. Whoever asks may hang up at any time.
fn answer(mut stream: &TcpStream, files: &BTreeMap<String, Vec<u8>>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next()?.ok()?;
    lines
        .take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
        .for_each(drop);
    let name = request.split(' ').nth(1)?.trim_start_matches('/');
    let (status, content) = match files.get(name) {
        Some(content) => ("200 OK", &content[..]),
        None => ("404 Not Found", &[][..]),
    };
    let length = content.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(content).ok()
}
