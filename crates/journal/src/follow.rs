//! Following a journal, live or ended: one path for both.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_stream::Stream;

use super::render_cache::{RenderCache, Unfinished};
use super::{Cursor, Extent, Sink};

/// An unfinished line is shown after this long.
const PARTIAL_AFTER: Duration = Duration::from_millis(100);
/// Silence longer than this makes proxies and clients doubt the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The journal from `from` to its end, as chunks of the sink's format. A viewer that does not poll holds
/// one chunk, and one that waits for output not even that.
pub fn follow<S: Sink>(
    cache: Arc<RenderCache>,
    from: Cursor,
    mut extent: watch::Receiver<Extent>,
    mut sink: S,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    async_stream::try_stream! {
        let (mut at, mut looked_to) = (from, 0);
        // Since when an unfinished line is held back; more of it coming does not make it wait longer.
        let mut held_since: Option<Instant> = None;
        let mut writer_is_gone = false;
        loop {
            let now = *extent.borrow_and_update();
            // Gone without closing: what is there is all there will be.
            let is_over = now.closed || writer_is_gone;
            let is_overdue = held_since.is_some_and(|since| since.elapsed() >= PARTIAL_AFTER);
            if looked_to < now.len || is_overdue || is_over {
                let unfinished = match (is_over, is_overdue) {
                    (true, _) => Unfinished::End,
                    (false, true) => Unfinished::Show,
                    (false, false) => Unfinished::Hold,
                };
                let (back, chunk) = cache.chunk(sink, at, now.len, unfinished).await?;
                sink = back;
                (at, looked_to) = (chunk.to, chunk.looked_to);
                held_since = match chunk.holds {
                    true if is_overdue => Some(Instant::now()),
                    true => held_since.or_else(|| Some(Instant::now())),
                    false => None,
                };
                if !chunk.bytes.is_empty() {
                    yield chunk.bytes;
                }
                if is_over && looked_to >= now.len && !chunk.holds {
                    break;
                }
                continue;
            }
            let patience = held_since.map_or(KEEP_ALIVE, |since| {
                PARTIAL_AFTER.saturating_sub(since.elapsed())
            });
            match timeout(patience, extent.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => writer_is_gone = true,
                Err(_) if held_since.is_some() => {}
                Err(_) => {
                    sink.keep_alive();
                    if sink.buffered() > 0 {
                        yield sink.take();
                    }
                }
            }
        }
    }
}
