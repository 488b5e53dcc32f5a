//! Following a journal, live or ended: one path for both.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_stream::Stream;

use super::reader::damaged;
use super::{Extent, Frame, Reader};

/// An unfinished line is shown after this long.
const PARTIAL_AFTER: Duration = Duration::from_millis(100);
/// Silence longer than this makes proxies and clients doubt the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A piece for the wire: many events at once, but little to hold for a viewer that does not take it.
const PIECE: usize = 64 * 1024;

/// Turns frames into the bytes of one wire format.
pub trait Sink: Send + 'static {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize);
    fn has_pending(&self) -> bool;
    /// Gives out what was held back for more to come.
    fn flush(&mut self);
    /// The journal is at its end.
    fn finish(&mut self);
    fn keep_alive(&mut self);
    fn buffered(&self) -> usize;
    fn take(&mut self) -> Bytes;
}

/// The journal from the reader's place to its end, as pieces of the sink's format. Files are read
/// and rendered on the blocking pool; a viewer that does not poll holds one piece, and one
/// that waits for output not even that.
pub fn follow<S: Sink>(
    reader: Reader,
    mut extent: watch::Receiver<Extent>,
    sink: S,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    async_stream::try_stream! {
        let mut state = (reader, sink);
        // Since when an unfinished line is held back; more of it coming does not make it wait longer.
        let mut held_since: Option<Instant> = None;
        loop {
            let now = *extent.borrow_and_update();
            let overdue = held_since.is_some_and(|since| since.elapsed() >= PARTIAL_AFTER);
            if overdue && state.1.has_pending() {
                state.1.flush();
                held_since = state.1.has_pending().then(Instant::now);
            } else if state.0.position() < now.len {
                let (moved, outcome) = tokio::task::spawn_blocking(move || {
                    let outcome = read_piece(&mut state.0, &mut state.1, now.len);
                    (state, outcome)
                })
                .await
                .map_err(io::Error::other)?;
                state = moved;
                outcome?;
                held_since = match state.1.has_pending() {
                    true => held_since.or_else(|| Some(Instant::now())),
                    false => None,
                };
            } else if now.closed {
                state.1.finish();
                if state.1.buffered() > 0 {
                    yield state.1.take();
                }
                break;
            } else {
                let patience = held_since.map_or(KEEP_ALIVE, |since| {
                    PARTIAL_AFTER.saturating_sub(since.elapsed())
                });
                match timeout(patience, extent.changed()).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => {
                        // The writer is gone without closing: what is there is all there will be.
                        state.1.finish();
                        if state.1.buffered() > 0 {
                            yield state.1.take();
                        }
                        break;
                    }
                    Err(_) if held_since.is_some() => continue,
                    Err(_) => state.1.keep_alive(),
                }
            }
            if state.1.buffered() > 0 {
                yield state.1.take();
            }
        }
    }
}

fn read_piece(reader: &mut Reader, sink: &mut impl Sink, len: u64) -> io::Result<()> {
    while sink.buffered() < PIECE && reader.position() < len {
        match reader.next(len)? {
            Some((frame, skip)) => sink.frame(&frame, skip),
            None => return Err(damaged()),
        }
    }
    reader.release();
    Ok(())
}
