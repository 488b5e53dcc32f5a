//! The one writer of a journal. Synchronous, so that it can live in a process without a runtime.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use super::format::{
    FrameKind, HEADER_LEN, Salt, decode_header, encode_frame_header, encode_header,
};
use super::reader::valid_length;
use crate::model::Event;

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
    extent: watch::Sender<Extent>,
}

impl Writer {
    /// A new journal; the file must not exist.
    pub fn create(path: &Path) -> io::Result<(Self, watch::Receiver<Extent>)> {
        let mut salt = Salt::default();
        rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::empty())?;
        let mut file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        file.write_all(&encode_header(salt))?;
        Ok(Self::over(file, salt, HEADER_LEN as u64))
    }

    /// Goes on with a journal that another writer left; a torn tail is cut first.
    pub fn reopen(path: &Path) -> io::Result<(Self, watch::Receiver<Extent>)> {
        let len = valid_length(path)?;
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        let mut header = [0; HEADER_LEN];
        file.read_exact_at(&mut header, 0)?;
        let salt = decode_header(&header).ok_or_else(|| io::Error::other("not a journal"))?;
        file.set_len(len)?;
        Ok(Self::over(file, salt, len))
    }

    fn over(file: File, salt: Salt, len: u64) -> (Self, watch::Receiver<Extent>) {
        let (extent, follow) = watch::channel(Extent { len, closed: false });
        (
            Self {
                file,
                salt,
                len,
                extent,
            },
            follow,
        )
    }

    /// Appends one frame and wakes the viewers. After an error nothing of the frame is left behind.
    pub fn append(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        let header = encode_frame_header(self.salt, self.len, kind, now_micros(), payload)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "frame too large"))?;
        if let Err(error) = write_both(&mut self.file, &header, payload) {
            // A half-written frame would end the journal for every reader: take it back.
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += (header.len() + payload.len()) as u64;
        self.extent.send_modify(|extent| extent.len = self.len);
        Ok(())
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let json = serde_json::to_vec(event).map_err(io::Error::other)?;
        self.append(FrameKind::Event, &json)
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
