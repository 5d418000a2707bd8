//! One connection of a client, to which hyper speaks: its answers, and the moment until which the
//! client must have taken or asked for more.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, copy, sink};
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::watch::Receiver;
use tokio::task::block_in_place;
use tokio::time::{sleep_until, timeout};

use super::api;
use super::folder::MirrorFolder;
use super::http::{MirrorBody, MirrorRequest};

/// The most bytes of a request's first line and headers.
const MOST_HEADER_BYTES: usize = 16 << 10;

/// The most headers of a request.
const MOST_HEADERS: usize = 64;

/// The bytes that a client must take in a second, on average.
const SLOWEST: u64 = 16 << 10;

/// The time and the bytes for which a client may go on sending after the last answer.
const LAST_WORDS: (Duration, u64) = (Duration::from_secs(2), 1 << 20);

/// The parts of a server that its connections share.
pub struct Mirror {
    pub folder: MirrorFolder,
    pub log: Box<dyn Fn(&Exchange) + Send + Sync>,
    /// The longest time for a request, and for a client to take more of an answer.
    pub stall: Duration,
}

/// The outcome of a request, for the log.
#[derive(Debug)]
pub struct Exchange {
    /// The method and the target; empty for bytes that are no request.
    pub request: String,
    pub status: u16,
    /// The bytes of the content that were sent.
    pub sent: u64,
    pub is_complete: bool,
}

/// The moment at which a connection is ended.
type Deadline = Mutex<Instant>;

fn lock(deadline: &Deadline) -> MutexGuard<'_, Instant> {
    deadline.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers requests until the client ends, is late, or an answer is the last one. After a change of
/// `ending`, this is the one that has begun.
pub async fn converse(mirror: Arc<Mirror>, stream: TcpStream, mut ending: Receiver<()>) {
    // Without it, the end of an answer may wait until the client confirms the bytes before it.
    let _ = stream.set_nodelay(true);
    let first = Arc::new(Deadline::new(Instant::now() + mirror.stall));
    let weak = Arc::downgrade(&first);
    let answer = service_fn(|request| ready(Ok::<_, Infallible>(answer(&mirror, &weak, request))));
    let mut protocol = http1::Builder::new();
    // A client may shut down its side after the last request.
    protocol.half_close(true);
    protocol.max_buf_size(MOST_HEADER_BYTES);
    protocol.max_headers(MOST_HEADERS);
    let mut connection = protocol.serve_connection(TokioIo::new(stream), answer);
    // NB: dropped before the connection: an answer that outlives it was cut off.
    let deadline = first;
    let mut is_ending = false;
    let end = loop {
        let late = *lock(&deadline);
        select! {
            end = &mut connection => break end,
            _ = ending.changed(), if !is_ending => {
                is_ending = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = sleep_until(late.into()) => {
                if *lock(&deadline) == late {
                    return;
                }
            }
        }
    };
    match end {
        Ok(()) => {}
        Err(error) if error.is_parse() => (mirror.log)(&Exchange {
            request: String::new(),
            status: if error.is_parse_too_large() { 431 } else { 400 },
            sent: 0,
            is_complete: true,
        }),
        // The client has gone away, or a file has changed.
        Err(_) => return,
    }
    // NB: bytes of the client that were not read would make the system throw the answer away.
    let (time, most) = LAST_WORDS;
    let mut rest = connection.into_parts().io.into_inner().take(most);
    if !is_ending {
        let _ = timeout(time, copy(&mut rest, &mut sink())).await;
    }
}

fn answer(
    mirror: &Arc<Mirror>,
    deadline: &Weak<Deadline>,
    request: Request<Incoming>,
) -> Response<SentBody> {
    let has_body = !request.body().is_end_stream();
    let request = MirrorRequest(request.into_parts().0);
    let answer = block_in_place(|| match request.refusal(has_body) {
        Some(refusal) => refusal,
        None => api::answer(&mirror.folder, &request).for_request(&request),
    });
    let (head, body) = answer.0.into_parts();
    let exchange = Exchange {
        request: format!("{} {}", request.0.method, request.0.uri),
        status: head.status.as_u16(),
        sent: 0,
        is_complete: request.is_head() || body.length() == 0,
    };
    let sent = SentBody {
        body,
        exchange,
        mirror: Arc::clone(mirror),
        deadline: Weak::clone(deadline),
        began: Instant::now(),
    };
    sent.extend();
    Response::from_parts(head, sent)
}

/// The content of an answer, of which hyper takes a piece when the client has taken the last one.
struct SentBody {
    body: MirrorBody,
    exchange: Exchange,
    mirror: Arc<Mirror>,
    deadline: Weak<Deadline>,
    began: Instant,
}

impl SentBody {
    /// Gives the client the stall time for the next piece, but not again and again if it takes less
    /// than the slowest pace.
    fn extend(&self) {
        if let Some(deadline) = self.deadline.upgrade() {
            let due = self.began + Duration::from_secs(self.exchange.sent / SLOWEST);
            *lock(&deadline) = due.min(Instant::now()) + self.mirror.stall;
        }
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.body.length() == 0 {
            return Poll::Ready(None);
        }
        let piece = block_in_place(|| self.body.next_piece())?;
        self.exchange.sent += piece.len() as u64;
        self.exchange.is_complete = self.body.length() == 0;
        self.extend();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.body.length())
    }
}

impl Drop for SentBody {
    fn drop(&mut self) {
        self.exchange.is_complete &= self.deadline.strong_count() > 0;
        (self.mirror.log)(&self.exchange);
    }
}
