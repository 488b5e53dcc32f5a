//! What turns a journal into one wire format.

use bytes::Bytes;

use super::{Cursor, Frame};

/// Turns frames into the bytes of one wire format.
pub trait Sink: Send + 'static {
    /// Takes a frame, of which `skip` bytes were seen before, until it has a [`CHUNK`](super::CHUNK).
    /// Returns how much of the payload it is through with.
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) -> usize;

    /// Whether something is held back for more to come.
    fn has_pending(&self) -> bool {
        false
    }

    /// Gives out what was held back for more to come.
    fn flush(&mut self) {}

    /// The journal is at its end.
    fn finish(&mut self) {}

    /// Nothing has happened for a while. Formats without a word for that stay silent.
    fn keep_alive(&mut self) {}

    fn buffered(&self) -> usize;
    fn take(&mut self) -> Bytes;

    /// Forgets what is held back, and says where it begins: it is read again with what follows. Nothing
    /// of that where nothing is held back, or where the sink keeps it.
    fn put_back(&mut self) -> Option<Cursor> {
        None
    }

    /// Sinks with the same `format_id` render the same bytes from the same cursor. `None` for a sink that
    /// keeps state of its own.
    fn format_id(&self) -> Option<u8> {
        None
    }

    /// Another sink with the same `format_id` rendered this chunk.
    fn skip(&mut self, _piece: &Bytes) {}
}
