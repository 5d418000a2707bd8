//! The server of a mirror: its address, its connections, and its end. One thread for each
//! connection, and not more than some.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::api;
use super::connection::{Connection, Exchange, MirrorLimits};
use super::error::MirrorError;
use super::folder::MirrorFolder;
use crate::pins::silence::stall_time;

/// The most connections at a time. Others wait in the queue of the system.
const MOST_CONNECTIONS: usize = 256;

/// The bytes of a thread's stack.
const STACK: usize = 512 << 10;

/// The longest time between two requests of a connection.
const IDLE: Duration = Duration::from_secs(60);

/// A server that listens.
#[derive(Debug)]
pub struct MirrorServer {
    listener: TcpListener,
    open: Arc<OpenConnections>,
    folder: Arc<MirrorFolder>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    by_number: Mutex<BTreeMap<u64, Arc<Connection>>>,
    /// Told after the end of each connection, and when the server is to end.
    has_ended: Condvar,
    is_ending: AtomicBool,
}

impl MirrorServer {
    /// Listens at an address; port 0 is any free one.
    ///
    /// # Errors
    /// `MirrorError::Listen`
    pub fn bind(folder: MirrorFolder, address: SocketAddr) -> Result<Self, MirrorError> {
        let listener =
            TcpListener::bind(address).map_err(|source| MirrorError::Listen { address, source })?;
        Ok(Self {
            listener,
            open: Arc::default(),
            folder: Arc::new(folder),
        })
    }

    /// The address, with the port.
    ///
    /// # Errors
    /// `MirrorError::Io`
    pub fn address(&self) -> Result<SocketAddr, MirrorError> {
        self.listener.local_addr().map_err(failed_to("listen"))
    }

    /// Serves until SIGINT or SIGTERM. Answers that have begun are finished then; a second signal
    /// ends them, too.
    ///
    /// # Errors
    /// `MirrorError::Io`
    pub fn serve(
        self,
        log: impl Fn(&Exchange<'_>) + Send + Sync + 'static,
    ) -> Result<(), MirrorError> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed_to("handle signals"))?;
        let limits = MirrorLimits {
            stall: stall_time() * 2,
            idle: IDLE,
        };
        let (listener, folder) = (self.listener, self.folder);
        let open = Arc::clone(&self.open);
        let start = move || accept(&listener, &folder, &open, limits, &Arc::new(log));
        let acceptor = thread::Builder::new().spawn(start);
        acceptor.map_err(failed_to("start a thread"))?;
        let open = Arc::clone(&self.open);
        let follow = move || {
            let mut signals = signals.forever();
            signals.next();
            open.start_to_end();
            signals.next();
            open.each(Connection::end);
        };
        let follower = thread::Builder::new().spawn(follow);
        follower.map_err(failed_to("start a thread"))?;
        self.open.wait_for_end(limits.stall);
        Ok(())
    }
}

/// Takes connections for ever.
fn accept<L>(
    listener: &TcpListener,
    folder: &Arc<MirrorFolder>,
    open: &Arc<OpenConnections>,
    limits: MirrorLimits,
    log: &Arc<L>,
) where
    L: Fn(&Exchange<'_>) + Send + Sync + 'static,
{
    const PAUSE: Duration = Duration::from_millis(50);
    for number in 0.. {
        open.wait_for_place();
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // The client has gone away, or this process has as many files as it may open.
            Err(_) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        let Some(connection) = open.add(number, stream) else {
            return;
        };
        let (folder, own, log) = (Arc::clone(folder), Arc::clone(open), Arc::clone(log));
        let converse = move || {
            let _place = HeldPlace(&own, number);
            let answer = |request: &_| api::answer(&folder, request);
            // NB: an error of a connection is the client's: it has gone away, or is too slow.
            let _ = connection.converse(limits, &own.is_ending, answer, &*log);
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn(converse);
        if thread.is_err() {
            open.remove(number);
            thread::sleep(PAUSE);
        }
    }
}

/// The place of a connection among the open ones; dropping it gives it back, also in a panic.
struct HeldPlace<'o>(&'o OpenConnections, u64);

impl Drop for HeldPlace<'_> {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

impl OpenConnections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.by_number
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; `None` if the server ends.
    fn add(&self, number: u64, stream: TcpStream) -> Option<Arc<Connection>> {
        let connection = Arc::new(Connection::new(stream));
        let mut open = self.lock();
        if self.is_ending.load(Ordering::SeqCst) {
            return None;
        }
        open.insert(number, Arc::clone(&connection));
        Some(connection)
    }

    fn remove(&self, number: u64) {
        self.lock().remove(&number);
        self.has_ended.notify_all();
    }

    fn each(&self, act: impl Fn(&Connection)) {
        for connection in self.lock().values() {
            act(connection);
        }
    }

    /// Waits until there are fewer connections than the most. Those that wait for a request make
    /// place.
    fn wait_for_place(&self) {
        let mut open = self.lock();
        while open.len() >= MOST_CONNECTIONS {
            for connection in open.values() {
                connection.end_if_idle();
            }
            let woken = self.has_ended.wait_timeout(open, Duration::from_secs(1));
            open = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the connections that wait for a request, and others after their answer.
    fn start_to_end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.each(Connection::end_if_idle);
        self.has_ended.notify_all();
    }

    /// Waits for the request to end, then for the connections, but not longer than a limit.
    fn wait_for_end(&self, limit: Duration) {
        let mut open = self.lock();
        while !self.is_ending.load(Ordering::SeqCst) {
            let woken = self.has_ended.wait(open);
            open = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let began = Instant::now();
        while !open.is_empty() && began.elapsed() < limit {
            let rest = limit.saturating_sub(began.elapsed());
            let woken = self.has_ended.wait_timeout(open, rest);
            open = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        for connection in open.values() {
            connection.end();
        }
    }
}

/// Makes an error of an I/O error, with the action that failed; for `map_err`.
fn failed_to(action: &str) -> impl FnOnce(std::io::Error) -> MirrorError {
    move |source| MirrorError::Io {
        action: action.to_owned(),
        source,
    }
}
