//! The ways in: a port, and a Unix socket beside it. Each connection gets a place and a task of its own; where
//! there is no place left, another connection is closed for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Speaker;
use super::connection_limits::ConnectionLimits;
use super::tls::Tls;
use branchyard_auth::Peer;

/// A connection that was silent for so long is probed, so often, and given up after so many probes.
const SILENT_FOR: Duration = Duration::from_secs(30);
const BETWEEN_PROBES: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// After which the system may have a file for the next connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// What all ways in share.
pub(super) struct Listeners {
    speaker: Speaker,
    places: Arc<ConnectionLimits>,
    tls: Option<Arc<Tls>>,
    /// Nobody is let in any more.
    close: CancellationToken,
    connections: TaskTracker,
}

impl Listeners {
    pub(super) fn new(
        speaker: Speaker,
        places: Arc<ConnectionLimits>,
        tls: Option<Arc<Tls>>,
        close: CancellationToken,
    ) -> Self {
        Self {
            speaker,
            places,
            tls,
            close,
            connections: TaskTracker::new(),
        }
    }

    pub(super) fn connections(&self) -> &TaskTracker {
        &self.connections
    }

    /// Lets in whoever comes to the port, until the doors close.
    pub(super) async fn watch_port(&self, listener: TcpListener) {
        while let Some(accepted) = self.close.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, from)) => {
                    tune(&stream);
                    let tls = self.tls.as_deref();
                    self.enter(stream, from.ip().into(), tls).await;
                }
                Err(error) => self.failed(&error).await,
            }
        }
    }

    /// Lets in whoever comes to the socket, until the doors close.
    pub(super) async fn watch_socket(&self, listener: &UnixListener) {
        while let Some(accepted) = self.close.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _)) => self.enter(stream, Peer::Socket, None).await,
                Err(error) => self.failed(&error).await,
            }
        }
    }

    async fn enter<S>(&self, stream: S, peer: Peer, tls: Option<&Tls>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let place = self.places.take(peer);
        let speaker = self.speaker.clone();
        let tls = tls.map(Tls::acceptor);
        self.connections.spawn(async move {
            tokio::select! {
                () = speaker.attend(stream, place.handle(), tls) => {}
                () = place.given_up(speaker.silence()) => {}
            }
            drop(place);
        });
        // Those that go for this one give their files back first.
        self.places.settled().await;
    }

    /// A connection that went before it was let in is no loss; without files, some have to be given back.
    async fn failed(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(
            error.kind(),
            ConnectionAborted | ConnectionRefused | ConnectionReset
        ) {
            return;
        }
        tracing::error!(%error, "failed to let a connection in");
        self.places.make_room();
        tokio::time::sleep(OUT_OF_FILES).await;
    }
}

fn tune(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays with delayed small packets");
    }
    if let Err(error) = probe(stream) {
        tracing::debug!(%error, "a connection is not probed while it is silent");
    }
}

/// Has the kernel find out whether the other side of a silent connection is still there: one who
/// watches a silent build as text, and whose machine is gone, would else be waited for to its end.
fn probe(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENT_FOR)?;
    sockopt::set_tcp_keepintvl(stream, BETWEEN_PROBES)?;
    Ok(sockopt::set_tcp_keepcnt(stream, PROBES)?)
}
