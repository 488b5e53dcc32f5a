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
//!
//! Beside a journal stands its `index` (see [`index`]), marks that spare reading; after the end of a
//! run it is packed into `journal.zst` (see [`packed`]); and output beyond a run's limit is kept aside
//! in `tail.0` and `tail.1` until the end (see [`overflow`]). All three keep to the offsets and frames
//! above.

mod cursor;
pub mod diagnostics;
mod each_line;
mod excerpt;
mod follow;
mod format;
mod frontier;
mod index;
mod lines;
mod output;
mod overflow;
mod packed;
mod reader;
mod render_cache;
mod running_diagnostics;
mod search;
mod sink;
mod watcher;
mod writer;

pub use branchyard_runtime::ansi::{AnsiFilter, ESC};
pub use cursor::Cursor;
pub use excerpt::{Excerpt, Pieces, stream};
pub use follow::follow;
pub use format::{Frame, FrameKind, MAX_OUTPUT, Stream};
pub use frontier::Frontier;
pub use lines::{Eol, LineItem, Splitter};
pub use output::{Output, Totals};
pub use overflow::{Recorder, give_up_tail, recover_tail};
pub use packed::{length, pack};
pub use reader::{Reader, last_event, valid_length};
pub use render_cache::{CHUNK, RenderCache, SharedReader};
pub use running_diagnostics::RunningDiagnostics;
pub use search::{Query, Report, Search, SearchLine, pattern};
pub use sink::Sink;
pub use watcher::{Watch, Watcher};
pub use writer::{Extent, Writer};
