//! One connection of a client: requests one after the other, with limits on time and bytes.

use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::content::check_identity;
use super::http::{MirrorAnswer, MirrorBody, MirrorRequest, ReadRequest};

/// The bytes of a file that are sent at a time.
const PIECE: u64 = 1 << 20;

/// The last bytes of a file, which are sent after a look whether it has changed.
const LAST_PIECE: u64 = 1 << 14;

/// The bytes that a client must take in a second, on average.
const SLOWEST: u64 = 16 << 10;

/// The most bytes that are thrown away of a client that was refused.
const MOST_UNREAD: usize = 1 << 20;

/// The longest times of a connection.
#[derive(Clone, Copy, Debug)]
pub struct MirrorLimits {
    /// For the headers of a request, and without a byte taken of an answer.
    pub stall: Duration,
    /// Between two requests.
    pub idle: Duration,
}

/// A connection. Other threads may end it while it waits for a request.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    is_idle: AtomicBool,
}

/// The outcome of a request, for the log.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The method and the target; empty for bytes that are no request.
    pub request: &'a str,
    pub status: u16,
    /// The bytes of the content that were sent.
    pub sent: u64,
    pub is_complete: bool,
}

/// The end of the wait for a request.
enum NextRequest {
    Request(MirrorRequest),
    Refused(u16),
    /// The client has gone away, or waits for too long.
    End,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            is_idle: AtomicBool::new(true),
        }
    }

    /// Ends the connection if it waits for a request.
    pub fn end_if_idle(&self) {
        if self.is_idle.load(Ordering::SeqCst) {
            self.end();
        }
    }

    /// Ends the connection, whatever it does.
    pub fn end(&self) {
        // NB: a client that has gone away has ended it already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Answers requests until the client ends, `is_ending` says so, or a limit is reached.
    ///
    /// # Errors
    /// The errors of the connection, about which nothing can be done.
    pub fn converse(
        &self,
        limits: MirrorLimits,
        is_ending: &AtomicBool,
        answer: impl Fn(&MirrorRequest) -> MirrorAnswer,
        log: impl Fn(&Exchange<'_>),
    ) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_write_timeout(Some(limits.stall))?;
        let mut unread = Vec::new();
        let mut idle = limits.stall;
        loop {
            self.is_idle.store(unread.is_empty(), Ordering::SeqCst);
            if is_ending.load(Ordering::SeqCst) {
                return Ok(());
            }
            let next = self.next_request(&mut unread, idle, limits.stall)?;
            idle = limits.idle;
            let (request, answer) = match next {
                NextRequest::End => return Ok(()),
                NextRequest::Request(request) => {
                    let answer = answer(&request);
                    (request, answer)
                }
                NextRequest::Refused(status) => {
                    let request = MirrorRequest::refused();
                    let why = "This mirror takes requests to read, with short headers";
                    let answer = MirrorAnswer::refusal(status, "", why).with("Allow", "GET, HEAD");
                    (request, answer)
                }
            };
            let is_last = request.is_last || is_ending.load(Ordering::SeqCst);
            let mut sent = 0;
            let result = self.send(&answer, is_last, request.is_head, limits.stall, &mut sent);
            log(&Exchange {
                request: &request.line,
                status: answer.status,
                sent,
                is_complete: result.is_ok(),
            });
            result?;
            if is_last {
                return self.finish(limits.stall);
            }
        }
    }

    /// Waits for the next request. `unread` has the bytes that came behind the last one.
    fn next_request(
        &self,
        unread: &mut Vec<u8>,
        idle: Duration,
        stall: Duration,
    ) -> io::Result<NextRequest> {
        let mut deadline = None;
        let mut buffer = [0; 4096];
        loop {
            if !unread.is_empty() {
                self.is_idle.store(false, Ordering::SeqCst);
                match MirrorRequest::read(unread) {
                    ReadRequest::Whole(request, length) => {
                        unread.drain(..length);
                        return Ok(NextRequest::Request(request));
                    }
                    ReadRequest::Refused(status) => return Ok(NextRequest::Refused(status)),
                    ReadRequest::Partial => {}
                }
            }
            let wait = match deadline {
                None if unread.is_empty() => idle,
                None => stall,
                Some(deadline) => Instant::now().max(deadline) - Instant::now(),
            };
            if wait.is_zero() {
                return Ok(NextRequest::Refused(408));
            }
            self.stream.set_read_timeout(Some(wait))?;
            match (&self.stream).read(&mut buffer) {
                Ok(0) => return Ok(NextRequest::End),
                Ok(length) => {
                    unread.extend_from_slice(&buffer[..length]);
                    deadline = deadline.or_else(|| Instant::now().checked_add(stall));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if !is_timeout(&error) => return Err(error),
                Err(_) if unread.is_empty() => return Ok(NextRequest::End),
                Err(_) => return Ok(NextRequest::Refused(408)),
            }
        }
    }

    fn send(
        &self,
        answer: &MirrorAnswer,
        is_last: bool,
        is_head: bool,
        stall: Duration,
        sent: &mut u64,
    ) -> io::Result<()> {
        let mut head = answer.head(is_last);
        let began = Instant::now();
        let check_pace = |sent: u64| match began.elapsed() {
            elapsed if elapsed > stall + Duration::from_secs(sent / SLOWEST) => {
                Err(Error::from(ErrorKind::TimedOut))
            }
            _ => Ok(()),
        };
        let mut output = &self.stream;
        let mut left = answer.range.clone();
        if is_head {
            left.end = left.start;
        }
        match &answer.body {
            MirrorBody::Text(text) => {
                if !left.is_empty() {
                    head.extend_from_slice(text);
                }
                for piece in head.chunks(1 << 16) {
                    output.write_all(piece)?;
                    check_pace(0)?;
                }
                *sent = left.end - left.start;
            }
            MirrorBody::File(file, identity) => {
                output.write_all(&head)?;
                let mut input = file;
                input.seek(SeekFrom::Start(left.start))?;
                while left.end - left.start > LAST_PIECE {
                    let length = PIECE.min(left.end - left.start - LAST_PIECE);
                    // NB: both ends are known to the kernel, which moves the bytes by itself.
                    let moved = io::copy(&mut input.take(length), &mut output)?;
                    if moved == 0 {
                        return Err(Error::from(ErrorKind::UnexpectedEof));
                    }
                    left.start += moved;
                    *sent += moved;
                    check_pace(*sent)?;
                }
                // NB: the client gets a whole file only if it is still the one with the hash.
                let mut last = Vec::new();
                input.take(left.end - left.start).read_to_end(&mut last)?;
                check_identity(file, identity)?;
                output.write_all(&last)?;
                *sent += last.len() as u64;
            }
        }
        Ok(())
    }

    /// Ends the connection so that the client gets the answer. NB: bytes of the client that were
    /// not read would make the system throw the answer away.
    fn finish(&self, stall: Duration) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let wait = stall.min(Duration::from_secs(2));
        self.stream.set_read_timeout(Some(wait))?;
        let began = Instant::now();
        let mut buffer = [0; 4096];
        let mut unread = 0;
        while unread < MOST_UNREAD && began.elapsed() < wait {
            match (&self.stream).read(&mut buffer)? {
                0 => break,
                length => unread += length,
            }
        }
        Ok(())
    }
}

/// Whether a limit of time was reached; the two systems have different names for it.
fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
