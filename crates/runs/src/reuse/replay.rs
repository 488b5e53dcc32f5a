//! What an earlier run said, said again in another's journal.

use std::io;
use std::path::Path;

use crate::drive::Drive;
use crate::history::History;
use branchyard_config::crash_point;
use branchyard_journal::{Cursor, Frame, FrameKind, Reader, length};
use branchyard_model::{Event, RunId};

/// A run that can answer: its journal is open, so whoever lets go of old runs takes nothing away.
pub(super) struct Earlier {
    run: RunId,
    reader: Reader,
    len: u64,
}

impl Earlier {
    /// `None` where its journal is gone, or damaged anywhere.
    pub(super) fn open(history: &History, run: RunId) -> Option<Self> {
        let opened = || {
            let path = history.journal(run);
            let len = length(&path)?;
            let mut reader = Reader::open(&path)?;
            while reader.next(len)?.is_some() {}
            let is_whole = reader.position() == len;
            let is_at_start = reader.seek(Cursor::START, len)?.is_ok();
            Ok((is_whole && is_at_start).then_some(Self { run, reader, len }))
        };
        opened().unwrap_or_else(|error: io::Error| {
            tracing::info!(%run, %error, "a run is not reused, for its journal cannot be read");
            None
        })
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    /// Its output, with the times at which it was said, and where there is a gap in it; without the first
    /// `before` pieces of that. False if the daemon leaves first.
    pub(super) fn say_again(mut self, to: &Drive, before: usize) -> io::Result<bool> {
        let mut seen = 0;
        while let Some((frame, _)) = self.reader.next(self.len)? {
            if to.live().leaving().is_cancelled() {
                return Ok(false);
            }
            if !is_piece(&frame) {
                continue;
            }
            seen += 1;
            if seen > before {
                to.journal()
                    .repeat(frame.kind, frame.payload, frame.micros)?;
                crash_point("answering");
            }
        }
        Ok(true)
    }
}

/// How many pieces of somebody's answer a journal has.
pub(crate) fn pieces_in(journal: &Path) -> io::Result<usize> {
    let len = length(journal)?;
    let (mut reader, mut pieces) = (Reader::open(journal)?, 0);
    while let Some((frame, _)) = reader.next(len)? {
        pieces += usize::from(is_piece(&frame));
    }
    Ok(pieces)
}

/// Output, or where some is missing; not what was told of the run's own way.
fn is_piece(frame: &Frame<'_>) -> bool {
    let is_gap = |event: &[u8]| matches!(serde_json::from_slice(event), Ok(Event::Gap(_)));
    frame.kind != FrameKind::Event || is_gap(frame.payload)
}
