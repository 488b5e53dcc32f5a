//! One connection: TLS where it is asked for, then HTTP/1.1, until either side has had enough.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::connection_limits::Handle;
use super::write_timeout::WriteTimeout;
use crate::http::Held;
use branchyard_auth::Connection;
use branchyard_config::Config;

/// What is kept of an answer while its reader is slow, at least.
const LEAST_BUFFER: usize = 64 * 1024;

/// A connection that has shown no credential may be without a request for so long, or for `timeouts.request` where
/// that is less.
const SILENCE: Duration = Duration::from_secs(10);

/// Speaks HTTP on connections, each by the same rules; cheap to clone.
#[derive(Clone)]
pub(super) struct Speaker {
    service: TowerToHyperService<Router>,
    http: http1::Builder,
    request: Duration,
    write_stall: Duration,
    /// What is under way is answered, and nothing further.
    close: CancellationToken,
    /// Nothing is waited for any more.
    cut: CancellationToken,
}

impl Speaker {
    pub(super) fn new(
        service: Router,
        config: &Config,
        close: CancellationToken,
        cut: CancellationToken,
    ) -> Self {
        let (limits, timeouts) = (&config.limits, &config.timeouts);
        let max_header = limits.max_header.as_usize();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            // Also how long an authenticated connection may be idle: it is the next head that is waited for.
            .header_read_timeout(timeouts.request)
            .max_header_size(max_header)
            .max_buf_size(max_header.max(LEAST_BUFFER));
        Self {
            service: TowerToHyperService::new(service),
            http,
            request: timeouts.request,
            write_stall: timeouts.write_stall,
            close,
            cut,
        }
    }

    /// How long a connection without a credential may send no request.
    pub(super) fn silence(&self) -> Duration {
        SILENCE.min(self.request)
    }

    /// Returns when the connection has ended.
    pub(super) async fn attend<S>(&self, stream: S, caller: Handle, tls: Option<TlsAcceptor>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = WriteTimeout::new(stream, self.write_stall);
        let Some(tls) = tls else {
            return self.speak(stream, caller).await;
        };
        let greeting = tokio::time::timeout(self.request, tls.accept(stream));
        match self.close.run_until_cancelled(greeting).await {
            Some(Ok(Ok(stream))) => self.speak(stream, caller).await,
            Some(Ok(Err(error))) => tracing::debug!(%error, "a connection did not get to HTTPS"),
            Some(Err(_)) => tracing::debug!("a connection took too long to get to HTTPS"),
            None => {}
        }
    }

    async fn speak<S>(&self, stream: S, caller: Handle)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection: Arc<dyn Connection> = Arc::new(caller.clone());
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            let extensions = request.extensions_mut();
            extensions.insert(caller.peer());
            extensions.insert(connection.clone());
            let answering = caller.answering();
            let answer = self.service.call(request);
            async move {
                let answer = answer.await?;
                // During an answer its connection is not idle.
                Ok::<_, Infallible>(answer.map(|body| Held::new(body, answering)))
            }
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut ended = self.close.run_until_cancelled(connection.as_mut()).await;
        if ended.is_none() {
            connection.as_mut().graceful_shutdown();
            ended = self.cut.run_until_cancelled(connection).await;
        }
        if let Some(Err(error)) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
