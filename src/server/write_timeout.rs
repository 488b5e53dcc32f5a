//! A connection whose peer has to take what it is sent. One that takes nothing for too long is given up,
//! so that a stalled reader does not hold its place for ever; one that is sent nothing waits as long as it
//! likes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Stands below TLS, where each byte that the kernel takes is seen.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    inner: S,
    patience: Duration,
    /// Runs while a write waits for room.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(inner: S, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            until: None,
        }
    }

    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let patience = self.patience;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(patience)));
        until.as_mut().poll(cx).map(|()| {
            metrics::counter!("branchyard_stalled_readers_total").increment(1);
            let why = "the peer takes nothing of what it is sent";
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn only_a_peer_that_takes_nothing_is_given_up() {
        let (ours, mut theirs) = duplex(8);
        let mut ours = WriteTimeout::new(ours, Duration::from_secs(2));
        // A byte now and then is enough, however long it takes in all.
        let writing = tokio::spawn(async move {
            ours.write_all(&[7; 16]).await.unwrap();
            ours
        });
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            theirs.read_u8().await.unwrap();
        }
        let mut ours = writing.await.unwrap();
        ours.patience = Duration::from_millis(20);
        let stalled = ours.write_all(&[7; 16]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);

        // Silence of ours is not theirs.
        let (ours, _theirs) = duplex(8);
        let mut ours = WriteTimeout::new(ours, Duration::from_millis(20));
        ours.write_all(&[7; 4]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
        ours.write_all(&[7; 4]).await.unwrap();
    }
}
