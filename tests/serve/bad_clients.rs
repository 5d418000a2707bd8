//! Clients that send too much, take too little or only wait, and the end of the server.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::common::program::send;
use crate::mirror::{Mirror, REPOSITORY, VARIANTS};

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
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("GET /a HTTP/1.0\r\n\r\n".to_owned(), 404),
        (
            format!("{refs}Connection: close\r\n{}\r\n", "X: y\r\n".repeat(62)),
            200,
        ),
        (
            format!("{refs}Connection: close\r\n{}\r\n", "X: y\r\n".repeat(63)),
            431,
        ),
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

/// A client that says that it has no other request still wants the answer.
#[test]
fn a_client_may_shut_down_its_side() {
    let mirror = Mirror::start();
    let content = vec![0; 32 << 20];
    let path = mirror.add_large(&content);
    let mut stream = mirror.ask(&path);
    stream.shutdown(Shutdown::Write).expect("shut down");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(answer.ends_with(&content), "{} bytes", answer.len());
}

#[test]
fn headers_that_never_end_are_not_waited_for() {
    let mirror = Mirror::start();
    let mut stream = TcpStream::connect(&mirror.address).expect("connected");
    let wait = Some(Duration::from_millis(100));
    stream.set_read_timeout(wait).expect("a limit");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        .expect("sent");
    let has_ended = (0..600).any(|_| {
        let _ = stream.write_all(b"x");
        let read = stream.read(&mut [0]);
        !read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    });
    assert!(has_ended);
}

/// Clients that only wait would lock out all others, and clients that read slowly would hold
/// their places for ever.
#[test]
fn idle_and_slow_clients_make_place() {
    let mirror = Mirror::start();
    let path = mirror.add_large(&vec![0; 64 << 20]);
    let _stuck = mirror.ask(&path);
    let other = path.replace("v1", "main");
    let mut slow = mirror.ask(&other);
    std::thread::spawn(move || {
        while slow.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let idle: Vec<TcpStream> = (0..600)
        .map_while(|_| TcpStream::connect(&mirror.address).ok())
        .collect();
    assert_eq!(idle.len(), 600);
    assert_eq!(mirror.get(&path, &[("Range", "bytes=-1")]).2, [0]);
    mirror.wait_for(&path, false);
    mirror.wait_for(&other, false);
}

/// The client must not take the bytes of two files for one that is whole.
#[test]
fn a_file_that_changes_while_it_is_sent_is_cut_off() {
    let mirror = Mirror::start();
    let size = 64 << 20;
    let path = mirror.add_large(&vec![0; size]);
    let mut stream = mirror.ask(&path);
    stream.read_exact(&mut [0; 1 << 16]).expect("a beginning");
    let file = format!("kernels/{REPOSITORY}/build/{}/large.bin", VARIANTS[0]);
    let file = File::options()
        .write(true)
        .open(mirror.folder.path().join(file));
    file.expect("a file")
        .write_all_at(&[1], size as u64 - 1)
        .expect("written");
    let mut rest = Vec::new();
    // The end of a connection with bytes on their way may be an error.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < size - (1 << 16), "{} bytes", rest.len());
    mirror.wait_for(&path, false);
}

#[test]
fn an_answer_that_has_begun_is_finished_at_the_end() {
    let mut mirror = Mirror::start();
    let content: Vec<u8> = (0_u32..12 << 20).flat_map(u32::to_le_bytes).collect();
    let path = mirror.add_large(&content);
    let mut idle = TcpStream::connect(&mirror.address).expect("connected");
    let mut busy = mirror.ask(&path);
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
