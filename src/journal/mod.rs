//! A run's journal: the append-only file that is the one truth about what a run printed and went
//! through. There is one writer at a time; viewers are cursors over the file and cost the writer
//! nothing.
//!
//! # Format, version 1
//!
//! A 16-byte header (`BYJOURN` and the version byte, then an 8-byte random salt) is followed by
//! frames, little-endian:
//!
//! | bytes | field |
//! | --- | --- |
//! | 4 | length of the payload |
//! | 1 | kind: 1 stdout, 2 stderr, 3 event (JSON) |
//! | 8 | microseconds since 1970 |
//! | 4 | CRC-32 over salt, the frame's own offset, the three fields above and the payload |
//! | n | payload |
//!
//! The checksum covers salt and offset so that a torn tail, another run's cursor, or output that
//! imitates a frame is never taken for one.

mod cursor;
mod follow;
mod format;
mod lines;
mod reader;
mod writer;

pub use cursor::Cursor;
pub use follow::{Sink, follow};
pub use format::{Frame, FrameKind, MAX_OUTPUT, Stream};
pub use lines::{Eol, Item, Splitter};
pub use reader::{Reader, valid_length};
pub use writer::{Extent, Writer};
