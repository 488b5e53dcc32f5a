//! The bytes of a journal, from the plain file or from the packed one.
//!
//! After the end of a run its `journal` becomes `journal.zst`: Zstandard frames of 256 KiB each and a
//! table to seek by, so that a place is reached by unpacking one of them. All offsets are those of the
//! plain file. While both files are there the plain one counts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use branchyard_runtime::disk::if_there;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use zeekstd::{DecodeOptions, EncodeOptions, FrameSizePolicy, SeekTable};

/// What a seek unpacks at most beyond what is wanted.
const BLOCK: u32 = 256 * 1024;
/// A journal that is smaller stays as it is: it would still take a block of the disk.
const WORTH_PACKING: u64 = 16 * 1024;

#[derive(Debug)]
pub(super) enum Source {
    Plain(File),
    Packed { file: File, table: SeekTable },
}

impl Source {
    /// The journal at this path, or what it was packed into.
    pub(super) fn open(journal: &Path) -> io::Result<Self> {
        if let Some(file) = if_there(File::open(journal))? {
            return Ok(Self::Plain(file));
        }
        let mut file = File::open(packed_path(journal))?;
        let table = SeekTable::from_seekable(&mut file).map_err(broken)?;
        Ok(Self::Packed { file, table })
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => Ok(file.metadata()?.len()),
            Self::Packed { table, .. } => Ok(table.size_decomp()),
        }
    }

    /// Fills `buffer` from `offset` on; less only at the end.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Plain(file) => fill(buffer, |rest, done| file.read_at(rest, offset + done)),
            Self::Packed { file, table } => {
                let end = offset.saturating_add(buffer.len() as u64);
                let end = end.min(table.size_decomp());
                if offset >= end {
                    return Ok(0);
                }
                // Made for each read: between reads a viewer should hold nothing large.
                let mut unpacked = DecodeOptions::new(Unending(file))
                    .seek_table(table.clone())
                    .offset(offset)
                    .offset_limit(end)
                    .into_decoder()
                    .map_err(broken)?;
                fill(buffer, |rest, _| unpacked.read(rest))
            }
        }
    }

    /// As `read_at`, without waiting for the disk: it would have to where the system does not hold at
    /// least `need` bytes of it in memory, or where they have to be unpacked.
    pub(super) fn read_now(
        &self,
        buffer: &mut [u8],
        offset: u64,
        need: usize,
    ) -> io::Result<usize> {
        let Self::Plain(file) = self else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let into = &mut [IoSliceMut::new(buffer)];
        match preadv2(file, into, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) if read >= need => Ok(read),
            // Also for file systems that can only be waited for.
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR | Errno::NOSYS) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A packed file in which the end is an error: where frames are damaged, the decoder would wait forever
/// for more of them.
struct Unending<'a>(&'a File);

impl Read for Unending<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(n),
        }
    }
}

impl Seek for Unending<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

fn fill(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(&mut buffer[filled..], filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// How long the journal at this path is, or was before it was packed.
pub fn length(journal: &Path) -> io::Result<u64> {
    Source::open(journal)?.len()
}

/// Packs the journal of a run that has ended. Whatever it is cut off by, nothing is lost, and it can be
/// done again; a viewer that has the plain file open goes on with it.
pub fn pack(journal: &Path) -> io::Result<()> {
    let (packed, fresh) = (packed_path(journal), beside(journal, ".zst.new"));
    if_there(fs::remove_file(&fresh))?;
    let mut plain = match File::open(journal) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && packed.exists() => return Ok(()),
        opened => opened?,
    };
    let len = plain.metadata()?.len();
    if len < WORTH_PACKING {
        return Ok(());
    }
    let written = compress(&mut plain, &fresh).inspect_err(|_| {
        // Most likely the disk is full; the error that says so is the one to tell.
        let _ = fs::remove_file(&fresh);
    })?;
    if written != len {
        return Err(io::Error::other("the journal changed while it was packed"));
    }
    fs::rename(&fresh, &packed)?;
    if let Some(dir) = journal.parent() {
        File::open(dir)?.sync_all()?;
    }
    fs::remove_file(journal)
}

/// Compresses into a new file that has reached the disk, since it is about to be the only one.
fn compress(plain: &mut File, fresh: &Path) -> io::Result<u64> {
    let file = File::create_new(fresh)?;
    let mut encoder = EncodeOptions::new()
        .frame_size_policy(FrameSizePolicy::Uncompressed(BLOCK))
        .into_encoder(&file)
        .map_err(broken)?;
    let written = io::copy(plain, &mut encoder)?;
    encoder.finish().map_err(broken)?;
    file.sync_all()?;
    Ok(written)
}

fn packed_path(journal: &Path) -> PathBuf {
    beside(journal, ".zst")
}

fn beside(journal: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(journal);
    name.push(ending);
    name.into()
}

fn broken(error: zeekstd::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
