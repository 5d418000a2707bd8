//! The server of a mirror: its address, its connections, and its end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::{Exchange, Mirror, converse};
use super::error::MirrorError;
use super::folder::MirrorFolder;
use crate::pins::silence::stall_time;

/// The most connections at a time. Others wait in the queue of the system.
const MOST_CONNECTIONS: usize = 256;

/// The most threads that read files at a time, besides one for each processor. Each thread keeps
/// memory of its own (docs/measurements/publishing-2026-11-23.md).
const MOST_READERS: usize = 16;

/// A server that listens.
#[derive(Debug)]
pub struct MirrorServer {
    listener: TcpListener,
    folder: MirrorFolder,
}

impl MirrorServer {
    /// Listens at an address; port 0 is any free one.
    ///
    /// # Errors
    /// `MirrorError::Listen`
    pub fn bind(folder: MirrorFolder, address: SocketAddr) -> Result<Self, MirrorError> {
        let listener =
            TcpListener::bind(address).map_err(|source| MirrorError::Listen { address, source })?;
        Ok(Self { listener, folder })
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
    pub fn serve(self, log: impl Fn(&Exchange) + Send + Sync + 'static) -> Result<(), MirrorError> {
        let mirror = Arc::new(Mirror {
            folder: self.folder,
            log: Box::new(log),
            stall: stall_time() * 2,
        });
        let mut builder = Builder::new_multi_thread();
        builder.enable_all().max_blocking_threads(MOST_READERS);
        let runtime = builder.build();
        let runtime = runtime.map_err(failed_to("start threads"))?;
        let end = runtime.block_on(accept_until_signal(self.listener, &mirror));
        // Answers that were cut off are logged until then.
        runtime.shutdown_timeout(Duration::from_secs(1));
        end.map_err(failed_to("listen"))
    }
}

async fn accept_until_signal(listener: TcpListener, mirror: &Arc<Mirror>) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut told = async || select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} };
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let ending = watch::Sender::new(());
    let mut open = JoinSet::new();
    loop {
        while open.try_join_next().is_some() {}
        let is_full = open.len() >= MOST_CONNECTIONS;
        if is_full {
            // Connections that wait for a request make place.
            ending.send_replace(());
        }
        select! {
            () = told() => break,
            _ = open.join_next(), if is_full => {}
            accepted = listener.accept(), if !is_full => match accepted {
                Ok((stream, _)) => {
                    open.spawn(converse(Arc::clone(mirror), stream, ending.subscribe()));
                }
                // The client has gone away, or this process has as many files as it may open.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }
    drop(listener);
    ending.send_replace(());
    select! {
        () = async { while open.join_next().await.is_some() {} } => {}
        () = sleep(mirror.stall) => {}
        () = told() => {}
    }
    Ok(())
}

/// Makes an error of an I/O error, with the action that failed; for `map_err`.
fn failed_to(action: &str) -> impl FnOnce(io::Error) -> MirrorError {
    move |source| MirrorError::Io {
        action: action.to_owned(),
        source,
    }
}
