//! What the viewers of one journal share: the open file, and the pieces that were last rendered of it.
//! A viewer itself is a place in the journal; whoever comes to a place first renders what follows, and
//! the others get the same bytes.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::reader::{Patience, damaged};
use super::{Cursor, Reader, Sink};
use branchyard_model::Problem;

/// A piece for the wire: many events at once, but little to hold for a viewer that does not take it.
/// It is what a connection holds of an answer, so that it holds one of them.
pub const PIECE: usize = 64 * 1024;
/// What is kept of the pieces that several viewers may want.
const KEPT_BYTES: usize = 16 * PIECE;
const KEPT_PIECES: usize = 256;

/// Where the viewers of a journal find each other. The journal is open while one of them is there.
#[derive(Debug, Clone, Default)]
pub struct Stage(Arc<Mutex<Weak<Showing>>>);

/// An open journal and those who view it.
#[derive(Debug)]
pub struct Showing {
    reader: Arc<AsyncMutex<Reader>>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The latest last: most viewers are where something was just printed.
    pieces: VecDeque<(u8, Cursor, Piece)>,
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
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    /// The place after it.
    pub(super) to: Cursor,
    /// All up to here was looked at.
    pub(super) looked_to: u64,
    /// What was looked at ends in an unfinished line, which is held back.
    pub(super) holds: bool,
}

impl Stage {
    /// The journal at `path`, which is opened unless somebody has it open.
    pub async fn enter(&self, path: &Path) -> io::Result<Arc<Showing>> {
        if let Some(showing) = self.lock().upgrade() {
            return Ok(showing);
        }
        let path = path.to_owned();
        let reader = tokio::task::spawn_blocking(move || Reader::open(&path))
            .await
            .map_err(io::Error::other)??;
        let mut stage = self.lock();
        // Others may have come at the same time.
        Ok(stage.upgrade().unwrap_or_else(|| {
            let showing = Arc::new(Showing {
                reader: Arc::new(AsyncMutex::new(reader)),
                kept: Mutex::default(),
            });
            *stage = Arc::downgrade(&showing);
            showing
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Weak<Showing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Showing {
    /// Whether `cursor` is one of this journal, which reaches to `len`.
    pub async fn check(&self, cursor: Cursor, len: u64) -> io::Result<Result<(), Problem>> {
        if cursor == Cursor::START {
            return Ok(Ok(()));
        }
        let reader = self.reader.clone().lock_owned().await;
        wait_with(reader, move |reader| reader.seek(cursor, len)).await?
    }

    /// What follows `from` in a journal that reaches to `len`, as much as makes a piece. What the system
    /// has in memory, as all that was just printed, is read on the spot, and the rest where blocking is
    /// allowed.
    pub(super) async fn piece<S: Sink>(
        self: &Arc<Self>,
        mut sink: S,
        from: Cursor,
        len: u64,
        unfinished: Unfinished,
    ) -> io::Result<(S, Piece)> {
        if let Some(piece) = self.find(&mut sink, from) {
            return Ok((sink, piece));
        }
        let mut reader = self.reader.clone().lock_owned().await;
        // Whoever had the reader may have rendered just that.
        if let Some(piece) = self.find(&mut sink, from) {
            return Ok((sink, piece));
        }
        let likeness = sink.likeness();
        let task = Task {
            from,
            len,
            unfinished,
        };
        let rendered = match task.render(&mut reader, Patience::HasNone, &mut sink) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let render = move |reader: &mut Reader| {
                    let rendered = task.render(reader, Patience::Waits, &mut sink);
                    (sink, rendered)
                };
                let (back, rendered) = wait_with(reader, render).await?;
                sink = back;
                rendered
            }
            rendered => rendered,
        };
        let (piece, is_lasting) = rendered?;
        if let (Some(likeness), true) = (likeness, is_lasting) {
            self.keep(likeness, from, &piece);
        }
        Ok((sink, piece))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, sink: &mut impl Sink, from: Cursor) -> Option<Piece> {
        let likeness = sink.likeness()?;
        let piece = self.kept().find(likeness, from)?;
        sink.passed(&piece.bytes);
        Some(piece)
    }

    /// Keeps a piece for others, where there are any.
    fn keep(self: &Arc<Self>, likeness: u8, from: Cursor, piece: &Piece) {
        if Arc::strong_count(self) > 1 && !piece.bytes.is_empty() {
            self.kept().add(likeness, from, piece.clone());
        }
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
            reader.set_patience(Patience::Waits);
            work(&mut reader)
        }),
    };
    done.await.map_err(io::Error::other)
}

impl Kept {
    fn find(&self, likeness: u8, from: Cursor) -> Option<Piece> {
        let mut latest_first = self.pieces.iter().rev();
        let found = latest_first.find(|piece| piece.0 == likeness && piece.1 == from);
        found.map(|(_, _, piece)| piece.clone())
    }

    fn add(&mut self, likeness: u8, from: Cursor, piece: Piece) {
        self.bytes += piece.bytes.len();
        self.pieces.push_back((likeness, from, piece));
        while self.bytes > KEPT_BYTES || self.pieces.len() > KEPT_PIECES {
            let Some((_, _, oldest)) = self.pieces.pop_front() else {
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

/// A piece, and whether it is the same for whoever comes to its place later: an unfinished line that was
/// shown is finished by then.
type Rendered = io::Result<(Piece, bool)>;

impl Task {
    fn render(self, reader: &mut Reader, patience: Patience, sink: &mut impl Sink) -> Rendered {
        reader.set_patience(patience);
        reader.go_to(self.from);
        let mut blocked = None;
        while reader.position() < self.len && sink.buffered() < PIECE {
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
        let piece = Piece {
            bytes: sink.take(),
            to,
            looked_to: if at_end { self.len } else { to.frame },
            holds,
        };
        Ok((piece, is_lasting))
    }
}
