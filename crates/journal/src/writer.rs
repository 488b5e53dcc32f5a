//! The one writer of a journal. Synchronous, so that it can live in a process without a runtime.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use super::format::{FrameKind, HEADER_LEN, Salt, encode_frame_header, encode_header};
use super::index::Indexer;
use super::reader::Reader;
use branchyard_model::Event;

/// How far a journal reaches, and whether it will grow any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub len: u64,
    pub closed: bool,
}

#[derive(Debug)]
pub struct Writer {
    file: File,
    salt: Salt,
    len: u64,
    index: Indexer,
    extent: watch::Sender<Extent>,
}

impl Writer {
    /// A new journal with its index; the file must not exist.
    pub fn create(path: &Path) -> io::Result<(Self, watch::Receiver<Extent>)> {
        let mut writer = Self::create_bare(path)?;
        writer.index = Indexer::create(path, writer.salt);
        let follow = writer.extent.subscribe();
        Ok((writer, follow))
    }

    /// A new journal without an index.
    pub(super) fn create_bare(path: &Path) -> io::Result<Self> {
        let mut salt = Salt::default();
        rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::empty())?;
        let mut file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        file.write_all(&encode_header(salt))?;
        Ok(Self::over(
            file,
            salt,
            HEADER_LEN as u64,
            Indexer::none(salt),
        ))
    }

    /// Goes on with a journal that another writer left; a torn tail is cut first. All of it is read for
    /// that, so its index is made anew on the way.
    pub fn reopen(path: &Path) -> io::Result<(Self, watch::Receiver<Extent>)> {
        let file = OpenOptions::new().append(true).open(path)?;
        let mut reader = Reader::open(path)?;
        let salt = reader.salt();
        let mut index = Indexer::create(path, salt);
        let len = file.metadata()?.len();
        while let Some((frame, _)) = reader.next(len)? {
            if frame.kind != FrameKind::Event {
                index.pass(frame.start, frame.payload);
            }
        }
        let len = reader.position();
        file.set_len(len)?;
        let writer = Self::over(file, salt, len, index);
        let follow = writer.extent.subscribe();
        Ok((writer, follow))
    }

    fn over(file: File, salt: Salt, len: u64, index: Indexer) -> Self {
        let (extent, _) = watch::channel(Extent { len, closed: false });
        Self {
            file,
            salt,
            len,
            index,
            extent,
        }
    }

    /// The end that the viewers hang on to: kept while another process writes.
    pub fn extent(&self) -> watch::Sender<Extent> {
        self.extent.clone()
    }

    /// Goes on where another process stopped: after `len`, where its last whole frame ends.
    pub fn take_back(path: &Path, len: u64, extent: watch::Sender<Extent>) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(path)?;
        let salt = Reader::open(path)?.salt();
        file.set_len(len)?;
        extent.send_modify(|extent| extent.len = len);
        Ok(Self {
            file,
            salt,
            len,
            // What is left to say is events, and those are not indexed.
            index: Indexer::none(salt),
            extent,
        })
    }

    /// Appends one frame and wakes the viewers. After an error nothing of the frame is left behind.
    pub fn append(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        self.append_at(kind, payload, now_micros())
    }

    /// As `append`, for what was said at another time.
    pub fn append_at(&mut self, kind: FrameKind, payload: &[u8], micros: u64) -> io::Result<()> {
        let header = encode_frame_header(self.salt, self.len, kind, micros, payload)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "frame too large"))?;
        if let Err(error) = write_both(&mut self.file, &header, payload) {
            // A half-written frame would end the journal for every reader: take it back.
            self.file.set_len(self.len)?;
            return Err(error);
        }
        if kind != FrameKind::Event {
            self.index.pass(self.len, payload);
        }
        self.len += (header.len() + payload.len()) as u64;
        self.extent.send_modify(|extent| extent.len = self.len);
        Ok(())
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let json = serde_json::to_vec(event).map_err(io::Error::other)?;
        self.append(FrameKind::Event, &json)
    }

    /// How long the journal is.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub fn is_closed(&self) -> bool {
        self.extent.borrow().closed
    }

    /// Ends the journal: viewers see the end once they have read all of it.
    pub fn close(&mut self) {
        self.extent.send_modify(|extent| extent.closed = true);
    }
}

fn write_both(file: &mut File, header: &[u8], payload: &[u8]) -> io::Result<()> {
    // One system call in all but the rarest case; a short write goes on piecewise.
    let written = file.write_vectored(&[IoSlice::new(header), IoSlice::new(payload)])?;
    if written < header.len() {
        file.write_all(&header[written..])?;
        return file.write_all(payload);
    }
    file.write_all(&payload[written - header.len()..])
}

fn now_micros() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
