//! The ways in: a port, and a Unix socket beside it. Each connection that is let in gets a place and a
//! task of its own; those beyond the limit are told so and closed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Speaker;
use super::places::Places;
use super::tls::Tls;
use crate::auth::Peer;

/// A connection that was silent for so long is probed, so often, and given up after so many probes.
const SILENT_FOR: Duration = Duration::from_secs(30);
const BETWEEN_PROBES: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// After which the system may have a file for the next connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);
/// Whoever is turned away gets this long to hear it, so many at a time.
const FAREWELL: Duration = Duration::from_secs(1);
const FAREWELLS: usize = 64;

/// What all ways in share.
pub(super) struct Doors {
    pub(super) speaker: Speaker,
    pub(super) places: Arc<Places>,
    pub(super) tls: Option<Arc<Tls>>,
    /// Nobody is let in any more.
    pub(super) close: CancellationToken,
    pub(super) connections: TaskTracker,
    farewells: Arc<Semaphore>,
}

impl Doors {
    pub(super) fn new(
        speaker: Speaker,
        places: Arc<Places>,
        tls: Option<Arc<Tls>>,
        close: CancellationToken,
    ) -> Self {
        Self {
            speaker,
            places,
            tls,
            close,
            connections: TaskTracker::new(),
            farewells: Arc::new(Semaphore::new(FAREWELLS)),
        }
    }

    /// Lets in whoever comes to the port, until the doors close.
    pub(super) async fn watch_port(&self, listener: TcpListener) {
        while let Some(accepted) = self.close.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, from)) => {
                    tune(&stream);
                    self.enter(stream, from.ip().into(), self.tls.as_deref());
                }
                Err(error) => failed(&error).await,
            }
        }
    }

    /// Lets in whoever comes to the socket, until the doors close.
    pub(super) async fn watch_socket(&self, listener: &UnixListener) {
        while let Some(accepted) = self.close.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _)) => self.enter(stream, Peer::Socket, None),
                Err(error) => failed(&error).await,
            }
        }
    }

    fn enter<S>(&self, stream: S, peer: Peer, tls: Option<&Tls>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(place) = self.places.take(peer) else {
            metrics::counter!("branchyard_connections_turned_away_total").increment(1);
            if tls.is_none() {
                self.turn_away(stream);
            }
            return;
        };
        let speaker = self.speaker.clone();
        let tls = tls.map(Tls::acceptor);
        self.connections.spawn(async move {
            speaker.attend(stream, peer, tls).await;
            drop(place);
        });
    }

    /// Closed with what they said unread, they might never see the answer.
    fn turn_away<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(turn) = self.farewells.clone().try_acquire_owned() else {
            return;
        };
        self.connections.spawn(async move {
            let parting = async {
                stream.write_all(full().as_bytes()).await?;
                stream.shutdown().await?;
                let mut unheard = [0; 4096];
                while stream.read(&mut unheard).await? > 0 {}
                io::Result::Ok(())
            };
            // They may have gone by themselves.
            let _ = tokio::time::timeout(FAREWELL, parting).await;
            drop(turn);
        });
    }
}

fn full() -> String {
    let body = json!({
        "type": "urn:branchyard:problem:too_many_connections",
        "title": "Service Unavailable",
        "status": 503,
        "code": "too_many_connections",
        "detail": "too many connections are open; limits.max_connections and limits.max_connections_per_address are the limits",
        "help": "close some, or try again in a while; the operator can raise the limits",
        "retry_after": 5,
    })
    .to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 5\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A connection that went before it was let in is nobody's loss; without files, one has to wait for some.
async fn failed(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        return;
    }
    tracing::error!(%error, "failed to let a connection in");
    tokio::time::sleep(OUT_OF_FILES).await;
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
