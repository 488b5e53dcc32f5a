//! Output beyond a run's limit: the head is in the journal, the tail is kept aside until the end.
//!
//! Beyond the limit output goes to two segments by turns, `tail.0` and `tail.1` beside the journal,
//! which are journals themselves. A full one makes room for the next by dropping the one before, so
//! that at least the last `tail` bytes are there at any time and never more than twice as many. At the
//! end a `gap` says what is missing and the kept frames follow it into the journal, with their times.
//!
//! Each segment begins with a [`Label`], so that whoever finds the segments of a writer that went can
//! do the same. The copying itself may be cut off and taken up again: `tail.replay` says where in the
//! journal it began, and what stands there already is passed over. `tail.done` says that it is over.
//!
//! Output that the disk does not take is counted, and told as a `gap` in its place once it does again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::format::FRAME_HEADER_LEN;
use super::{Cursor, Frame, FrameKind, Reader, Stream, Writer, valid_length};
use branchyard_config::ByteSize;
use branchyard_model::{Event, Gap, Warning};
use branchyard_runtime::disk::{if_there, read_json};

/// The most that is kept of the end, however large the limit.
const MAX_TAIL: u64 = 64 * 1024 * 1024;

/// Journals what a command prints, within a limit.
#[derive(Debug)]
pub struct Recorder {
    writer: Writer,
    dir: PathBuf,
    /// Bytes of output that still go to the journal as they come.
    head_left: u64,
    limit: u64,
    tail: u64,
    kept_aside: Option<Tail>,
    /// Bytes of output that could not be written, and are not told of yet.
    lost: u64,
    /// Bytes of output that the limit left out, once that is known.
    left_out: u64,
}

impl Recorder {
    /// Over `writer`, whose journal stands in `dir`. `max_output` is what is kept at least of a longer
    /// output: three parts from its beginning, one from its end.
    pub fn new(writer: Writer, dir: &Path, max_output: u64) -> Self {
        let tail = (max_output / 4).clamp(1, MAX_TAIL);
        Self {
            writer,
            dir: dir.to_owned(),
            head_left: max_output.saturating_sub(tail),
            limit: max_output,
            tail,
            kept_aside: None,
            lost: 0,
            left_out: 0,
        }
    }

    /// After an error, as much of it as was not written counts as lost.
    pub fn output(&mut self, stream: Stream, mut bytes: &[u8]) -> io::Result<()> {
        let written = self
            .tell_lost()
            .and_then(|()| self.write(stream, &mut bytes));
        if written.is_err() {
            self.lose(bytes);
        }
        written
    }

    /// Takes note of output that there is no use in trying to write.
    pub fn lose(&mut self, bytes: &[u8]) {
        self.lost += bytes.len() as u64;
    }

    /// Bytes that were lost and are not told of yet.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes of output between the kept beginning and the kept end, after [`Recorder::finish`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the gap where the lost output would stand.
    fn tell_lost(&mut self) -> io::Result<()> {
        if self.lost == 0 {
            return Ok(());
        }
        let gap = Event::Gap(Gap { bytes: self.lost });
        match &mut self.kept_aside {
            Some(tail) => {
                tail.writer.event(&gap)?;
                tail.missing += self.lost;
            }
            None => self.writer.event(&gap)?,
        }
        self.lost = 0;
        Ok(())
    }

    /// Writes `bytes`, which are left with what is not written yet.
    fn write(&mut self, stream: Stream, bytes: &mut &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.head_left).unwrap_or(usize::MAX);
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        if !head.is_empty() {
            self.writer.append(FrameKind::Output(stream), head)?;
            self.head_left -= head.len() as u64;
            *bytes = rest;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let tail = match &mut self.kept_aside {
            Some(tail) => tail,
            None => {
                self.writer
                    .event(&Event::Warning(over(self.limit, self.tail)))?;
                let fresh = Tail::begin(&self.dir, self.tail)?;
                self.kept_aside.insert(fresh)
            }
        };
        tail.output(stream, bytes)
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.writer.event(event)
    }

    /// Brings the kept tail into the journal, behind a `gap` if anything is missing.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.kept_aside.take().is_some() {
            self.left_out = recover_tail(&self.dir, &mut self.writer)?;
        }
        self.tell_lost()
    }
}

fn over(limit: u64, tail: u64) -> Warning {
    let [limit, head, tail] = [limit, limit.saturating_sub(tail), tail].map(ByteSize::bytes);
    Warning::new(
        "output_limit",
        format!(
            "the output may not fit into the limit of {limit}: the first {head} of it stand before this, \
             and at least the last {tail} follow at the end of the run"
        ),
    )
}

/// The first frame of a segment.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Label {
    /// Counts up from 0; the segment stands in `tail.0` or `tail.1` by turns.
    number: u64,
    /// Bytes of output dropped before the segment that precedes this one.
    dropped: u64,
    /// Bytes of output in the segment that precedes this one, with those that it says are missing.
    before: u64,
}

fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("tail.{}", number % 2))
}

#[derive(Debug)]
struct Tail {
    dir: PathBuf,
    capacity: u64,
    label: Label,
    writer: Writer,
    /// Bytes of output in the segment that is being written.
    held: u64,
    /// Bytes that it says are missing.
    missing: u64,
}

impl Tail {
    fn begin(dir: &Path, capacity: u64) -> io::Result<Self> {
        clear(dir)?;
        let label = Label::default();
        Ok(Self {
            dir: dir.to_owned(),
            capacity,
            writer: segment(dir, label)?,
            label,
            held: 0,
            missing: 0,
        })
    }

    fn output(&mut self, stream: Stream, bytes: &mut &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.held == self.capacity {
                self.rotate()?;
            }
            let room = usize::try_from(self.capacity - self.held).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.writer.append(FrameKind::Output(stream), now)?;
            self.held += now.len() as u64;
            *bytes = later;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let next = Label {
            number: self.label.number + 1,
            dropped: self.label.dropped + self.label.before,
            before: self.held + self.missing,
        };
        if_there(fs::remove_file(segment_path(&self.dir, next.number)))?;
        self.writer = segment(&self.dir, next)?;
        self.label = next;
        (self.held, self.missing) = (0, 0);
        Ok(())
    }
}

fn segment(dir: &Path, label: Label) -> io::Result<Writer> {
    let mut writer = Writer::create_bare(&segment_path(dir, label.number))?;
    writer.append(FrameKind::Event, &serde_json::to_vec(&label)?)?;
    Ok(writer)
}

/// Where in the journal the copying of the tail began.
#[derive(Debug, Serialize, Deserialize)]
struct Replay {
    from: u64,
}

/// Brings a tail that was kept aside in `dir` into its journal: the end of [`Recorder::finish`], and
/// what is left to do for a recorder that went before it. `writer` must have appended nothing of its
/// own since it was reopened. Does nothing where there is no tail. Returns how many bytes of output are left out
/// between the journal and the tail.
pub fn recover_tail(dir: &Path, writer: &mut Writer) -> io::Result<u64> {
    let (replay, done) = (dir.join("tail.replay"), dir.join("tail.done"));
    let mut left_out = 0;
    if !done.exists() {
        let segments = found(dir)?;
        if segments.is_empty() {
            return clear(dir).map(|()| 0);
        }
        let from = match read_json(&replay).ok().flatten() {
            Some(Replay { from }) => from,
            None => {
                let from = writer.len();
                fs::write(&replay, serde_json::to_vec(&Replay { from })?)?;
                from
            }
        };
        let at = from.min(writer.len());
        left_out = copy(segments, &mut Copying { writer, at })?;
        fs::rename(&replay, &done)?;
    }
    clear(dir).map(|()| left_out)
}

/// Appends frames from a place on, passing over those that are there from an earlier attempt: the
/// same frames in the same places.
struct Copying<'a> {
    writer: &'a mut Writer,
    at: u64,
}

impl Copying<'_> {
    fn append(&mut self, kind: FrameKind, payload: &[u8], micros: u64) -> io::Result<()> {
        if self.at >= self.writer.len() {
            self.writer.append_at(kind, payload, micros)?;
        }
        self.at += (FRAME_HEADER_LEN + payload.len()) as u64;
        Ok(())
    }

    fn gap(&mut self, bytes: u64, micros: u64) -> io::Result<()> {
        match bytes {
            0 => Ok(()),
            bytes => {
                let json = serde_json::to_vec(&Event::Gap(Gap { bytes }))?;
                self.append(FrameKind::Event, &json, micros)
            }
        }
    }
}

/// A segment on disk.
#[derive(Debug)]
struct Segment {
    label: Label,
    micros: u64,
    reader: Reader,
    len: u64,
}

/// The segments that are there, in the order of the output. One without a whole label never held any.
fn found(dir: &Path) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for number in 0..2 {
        use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
        match open(&segment_path(dir, number)) {
            Ok(segment) => segments.extend(segment),
            Err(error) if matches!(error.kind(), NotFound | UnexpectedEof | InvalidData) => {}
            Err(error) => return Err(error),
        }
    }
    segments.sort_by_key(|segment: &Segment| segment.label.number);
    Ok(segments)
}

fn open(path: &Path) -> io::Result<Option<Segment>> {
    let len = valid_length(path)?;
    let mut reader = Reader::open(path)?;
    let label = reader.next(len)?.and_then(|(frame, _)| {
        let label = serde_json::from_slice(frame.payload).ok()?;
        Some((label, frame.micros))
    });
    Ok(label.map(|(label, micros)| Segment {
        label,
        micros,
        reader,
        len,
    }))
}

/// Copies the segments behind a gap, and returns how many bytes of output are left out.
fn copy(segments: Vec<Segment>, to: &mut Copying<'_>) -> io::Result<u64> {
    let mut segments = segments.into_iter().rev();
    let Some(newest) = segments.next() else {
        return Ok(0);
    };
    let Label {
        dropped, before, ..
    } = newest.label;
    let kept = match segments.next() {
        Some(older) => {
            to.gap(dropped, older.micros)?;
            let kept = copy_output(older, to)?;
            to.gap(before.saturating_sub(kept), newest.micros)?;
            kept
        }
        None => {
            to.gap(dropped + before, newest.micros)?;
            0
        }
    };
    copy_output(newest, to)?;
    Ok(dropped + before.saturating_sub(kept))
}

/// Copies what a segment holds and returns how many bytes that were.
fn copy_output(mut segment: Segment, to: &mut Copying<'_>) -> io::Result<u64> {
    count(&mut segment.reader, segment.len, |frame| {
        to.append(frame.kind, frame.payload, frame.micros)
    })
}

/// Gives up a tail that cannot be brought into its journal, and returns how many bytes of output that
/// leaves out. The journal has nothing else of the writer's own after the tail.
pub fn give_up_tail(dir: &Path, journal: &Path) -> io::Result<u64> {
    let begun = read_json(&dir.join("tail.replay")).ok().flatten();
    let mut segments = found(dir)?.into_iter().rev();
    let mut all = 0;
    if let Some(mut newest) = segments.next() {
        let Segment { label, len, .. } = newest;
        let held = count(&mut newest.reader, len, |_| Ok(()))?;
        all = label.dropped + label.before + held;
    }
    let mut copied = 0;
    if let Some(Replay { from }) = begun {
        let len = valid_length(journal)?;
        let mut reader = Reader::open(journal)?;
        let start = Cursor {
            frame: from,
            within: 0,
        };
        // Where it is no place of this journal, nothing was copied.
        if reader.seek(start, len)?.is_ok() {
            copied = count(&mut reader, len, |_| Ok(()))?;
        }
    }
    clear(dir)?;
    Ok(all.saturating_sub(copied))
}

/// How many bytes of output the rest of a file stands for, those it holds and those that it says are missing. Each frame
/// is shown to `see`.
fn count(
    reader: &mut Reader,
    len: u64,
    mut see: impl FnMut(&Frame<'_>) -> io::Result<()>,
) -> io::Result<u64> {
    let mut bytes = 0;
    while let Some((frame, _)) = reader.next(len)? {
        see(&frame)?;
        bytes += match (frame.kind, serde_json::from_slice(frame.payload)) {
            (FrameKind::Event, Ok(Event::Gap(gap))) => gap.bytes,
            (FrameKind::Event, _) => 0,
            _ => frame.payload.len() as u64,
        };
    }
    Ok(bytes)
}

/// Removes whatever a tail is made of, and last the word that it is done with.
fn clear(dir: &Path) -> io::Result<()> {
    for name in ["tail.0", "tail.1", "tail.replay", "tail.done"] {
        if_there(fs::remove_file(dir.join(name)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
