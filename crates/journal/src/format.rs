//! Frames as bytes. Pure: no file is touched here.

pub(super) const HEADER_LEN: usize = 16;
pub(super) const FRAME_HEADER_LEN: usize = 17;
const MAGIC: &[u8; 8] = b"BYJOURN\x01";

/// Most bytes of output in one frame, and so in one output event.
pub const MAX_OUTPUT: usize = 64 * 1024;
/// No frame is larger than this; a length beyond it is damage, not data.
const MAX_PAYLOAD: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stream {
    #[default]
    Stdout,
    Stderr,
}

impl Stream {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Output(Stream),
    Event,
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            Self::Output(Stream::Stdout) => 1,
            Self::Output(Stream::Stderr) => 2,
            Self::Event => 3,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Output(Stream::Stdout)),
            2 => Some(Self::Output(Stream::Stderr)),
            3 => Some(Self::Event),
            _ => None,
        }
    }
}

/// One frame, borrowed from the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub start: u64,
    pub kind: FrameKind,
    pub micros: u64,
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// Where the next frame starts.
    pub fn end(&self) -> u64 {
        self.start + (FRAME_HEADER_LEN + self.payload.len()) as u64
    }
}

pub(super) type Salt = [u8; 8];

pub(super) fn encode_header(salt: Salt) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(MAGIC);
    header[8..].copy_from_slice(&salt);
    header
}

pub(super) fn decode_header(header: &[u8; HEADER_LEN]) -> Option<Salt> {
    header.strip_prefix(MAGIC)?.try_into().ok()
}

/// The frame's header for `payload` at `start`; `None` if the payload is too large for a frame.
pub(super) fn encode_frame_header(
    salt: Salt,
    start: u64,
    kind: FrameKind,
    micros: u64,
    payload: &[u8],
) -> Option<[u8; FRAME_HEADER_LEN]> {
    let len = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD)?;
    let mut header = [0; FRAME_HEADER_LEN];
    header[..4].copy_from_slice(&len.to_le_bytes());
    header[4] = kind.code();
    header[5..13].copy_from_slice(&micros.to_le_bytes());
    let check = checksum(salt, start, &header[..13], payload);
    header[13..].copy_from_slice(&check.to_le_bytes());
    Some(header)
}

/// The size of the frame whose header begins `bytes`; `None` if that can be no header.
pub(super) fn frame_size(bytes: &[u8]) -> Option<usize> {
    let len = le_u32(bytes.get(..4)?)? as usize;
    FrameKind::from_code(*bytes.get(4)?)?;
    (len <= MAX_PAYLOAD).then_some(FRAME_HEADER_LEN + len)
}

/// The frame that is all of `bytes`, which stand at offset `start` of the file; `None` if they are
/// no frame of this journal.
pub(super) fn decode_frame(salt: Salt, start: u64, bytes: &[u8]) -> Option<Frame<'_>> {
    let frame = frame_at(start, bytes)?;
    let header = bytes.get(..FRAME_HEADER_LEN)?;
    let check = checksum(salt, start, &header[..13], frame.payload);
    (check == le_u32(&header[13..])?).then_some(frame)
}

/// As `decode_frame`, for bytes that were found to be a frame before.
pub(super) fn frame_at(start: u64, bytes: &[u8]) -> Option<Frame<'_>> {
    let (header, payload) = bytes.split_at_checked(FRAME_HEADER_LEN)?;
    Some(Frame {
        start,
        kind: FrameKind::from_code(header[4])?,
        micros: header[5..13].try_into().ok().map(u64::from_le_bytes)?,
        payload,
    })
}

fn le_u32(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_le_bytes)
}

fn checksum(salt: Salt, start: u64, fields: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&salt);
    crc.update(&start.to_le_bytes());
    crc.update(fields);
    crc.update(payload);
    crc.finalize()
}
