//! What the viewers of one journal share: the open file, and the chunks that were last rendered of it.
//! A viewer itself is a place in the journal; whoever comes to a place first renders what follows, and
//! the others get the same bytes.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::reader::{Blocking, damaged};
use super::{Cursor, Reader, Sink};
use branchyard_model::Problem;

/// A chunk for the wire: many events at once, but little to hold for a viewer that does not take it.
/// It is what a connection holds of an answer, so that it holds one of them.
pub const CHUNK: usize = 64 * 1024;
/// What is kept of the chunks that several viewers may want.
const KEPT_BYTES: usize = 16 * CHUNK;
const KEPT_CHUNKS: usize = 256;

/// Where the viewers of a journal find each other. The journal is open while one of them is there.
#[derive(Debug, Clone, Default)]
pub struct SharedReader(Arc<Mutex<Weak<RenderCache>>>);

/// An open journal and those who view it.
#[derive(Debug)]
pub struct RenderCache {
    reader: Arc<AsyncMutex<Reader>>,
    kept: Mutex<CachedChunks>,
}

#[derive(Debug, Default)]
struct CachedChunks {
    /// The latest last: most viewers are where something was just printed.
    chunks: VecDeque<(u8, Cursor, Chunk)>,
    bytes: usize,
}

/// What to do with an unfinished line at the end of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfinished {
    Hold,
    Show,
    /// Nothing will ever finish it.
    End,
}

#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    /// The place after it.
    pub(super) to: Cursor,
    /// All up to here was looked at.
    pub(super) looked_to: u64,
    /// What was looked at ends in an unfinished line, which is held back.
    pub(super) holds: bool,
}

impl SharedReader {
    /// The journal at `path`, which is opened unless somebody has it open.
    pub async fn enter(&self, path: &Path) -> io::Result<Arc<RenderCache>> {
        if let Some(cache) = self.0.lock().upgrade() {
            return Ok(cache);
        }
        let path = path.to_owned();
        let reader = tokio::task::spawn_blocking(move || Reader::open(&path))
            .await
            .map_err(io::Error::other)??;
        let mut reader_slot = self.0.lock();
        // Others may have come at the same time.
        Ok(reader_slot.upgrade().unwrap_or_else(|| {
            let cache = Arc::new(RenderCache {
                reader: Arc::new(AsyncMutex::new(reader)),
                kept: Mutex::default(),
            });
            *reader_slot = Arc::downgrade(&cache);
            cache
        }))
    }
}

impl RenderCache {
    /// Whether `cursor` is one of this journal, which reaches to `len`.
    pub async fn check(&self, cursor: Cursor, len: u64) -> io::Result<Result<(), Problem>> {
        if cursor == Cursor::START {
            return Ok(Ok(()));
        }
        let reader = self.reader.clone().lock_owned().await;
        wait_with(reader, move |reader| reader.seek(cursor, len)).await?
    }

    /// What follows `from` in a journal that reaches to `len`, as much as makes a chunk. What the system
    /// has in memory, as all that was just printed, is read on the spot, and the rest where blocking is
    /// allowed.
    pub(super) async fn chunk<S: Sink>(
        self: &Arc<Self>,
        mut sink: S,
        from: Cursor,
        len: u64,
        unfinished: Unfinished,
    ) -> io::Result<(S, Chunk)> {
        if let Some(chunk) = self.find(&mut sink, from) {
            return Ok((sink, chunk));
        }
        let mut reader = self.reader.clone().lock_owned().await;
        // Whoever had the reader may have rendered just that.
        if let Some(chunk) = self.find(&mut sink, from) {
            return Ok((sink, chunk));
        }
        let format_id = sink.format_id();
        let task = Task {
            from,
            len,
            unfinished,
        };
        let rendered = match task.render(&mut reader, Blocking::Never, &mut sink) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let render = move |reader: &mut Reader| {
                    let rendered = task.render(reader, Blocking::Allowed, &mut sink);
                    (sink, rendered)
                };
                let (back, rendered) = wait_with(reader, render).await?;
                sink = back;
                rendered
            }
            rendered => rendered,
        };
        let (chunk, is_lasting) = rendered?;
        // For others, where there are any.
        let is_wanted = is_lasting && Arc::strong_count(self) > 1 && !chunk.bytes.is_empty();
        if let Some(format_id) = format_id.filter(|_| is_wanted) {
            self.kept.lock().add(format_id, from, chunk.clone());
        }
        Ok((sink, chunk))
    }

    fn find(&self, sink: &mut impl Sink, from: Cursor) -> Option<Chunk> {
        let format_id = sink.format_id()?;
        let chunk = self.kept.lock().find(format_id, from)?;
        sink.skip(&chunk.bytes);
        Some(chunk)
    }
}

/// Does what may have to wait for the disk where that is allowed. Those who view what was just printed do
/// not wait for it: it has a reader of its own, but for a packed journal, to which nothing is added.
async fn wait_with<T: Send + 'static>(
    mut reader: OwnedMutexGuard<Reader>,
    work: impl FnOnce(&mut Reader) -> T + Send + 'static,
) -> io::Result<T> {
    let done = match reader.twin() {
        Some(mut twin) => {
            drop(reader);
            tokio::task::spawn_blocking(move || work(&mut twin))
        }
        None => tokio::task::spawn_blocking(move || {
            reader.set_blocking(Blocking::Allowed);
            work(&mut reader)
        }),
    };
    done.await.map_err(io::Error::other)
}

impl CachedChunks {
    fn find(&self, format_id: u8, from: Cursor) -> Option<Chunk> {
        let mut latest_first = self.chunks.iter().rev();
        let found = latest_first.find(|chunk| chunk.0 == format_id && chunk.1 == from);
        found.map(|(_, _, chunk)| chunk.clone())
    }

    fn add(&mut self, format_id: u8, from: Cursor, chunk: Chunk) {
        self.bytes += chunk.bytes.len();
        self.chunks.push_back((format_id, from, chunk));
        while self.bytes > KEPT_BYTES || self.chunks.len() > KEPT_CHUNKS {
            let Some((_, _, oldest)) = self.chunks.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes.len();
        }
    }
}

/// What is to be rendered.
#[derive(Debug, Clone, Copy)]
struct Task {
    from: Cursor,
    len: u64,
    unfinished: Unfinished,
}

/// A chunk, and whether it is the same for whoever comes to its place later: an unfinished line that was
/// shown is finished by then.
type Rendered = io::Result<(Chunk, bool)>;

impl Task {
    fn render(self, reader: &mut Reader, blocking: Blocking, sink: &mut impl Sink) -> Rendered {
        reader.set_blocking(blocking);
        reader.go_to(self.from);
        let mut blocked = None;
        while reader.position() < self.len && sink.buffered() < CHUNK {
            match reader.next(self.len) {
                Ok(Some((frame, skip))) => {
                    let through = sink.frame(&frame, skip);
                    if through < frame.payload.len() {
                        let place = frame.cursor_at(through);
                        reader.go_to(place);
                    }
                }
                Ok(None) => return Err(damaged()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    blocked = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let at_end = reader.position() >= self.len;
        let mut holds = at_end && sink.has_pending();
        let is_lasting = !holds || self.unfinished == Unfinished::Hold;
        if at_end {
            match self.unfinished {
                Unfinished::Hold => {}
                Unfinished::Show => sink.flush(),
                Unfinished::End => sink.finish(),
            }
            holds = sink.has_pending();
        }
        let to = sink.put_back().unwrap_or_else(|| reader.place());
        if let (Some(blocked), true) = (blocked, to == self.from) {
            return Err(blocked);
        }
        let chunk = Chunk {
            bytes: sink.take(),
            to,
            looked_to: if at_end { self.len } else { to.frame },
            holds,
        };
        Ok((chunk, is_lasting))
    }
}
