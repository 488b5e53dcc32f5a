//! The bytes of a journal, from the plain file or from the packed one.
//!
//! After the end of a run its `journal` becomes `journal.zst`: Zstandard frames of 256 KiB each and a
//! table to seek by, so that a place is reached by unpacking one of them. All offsets are those of the
//! plain file. While both files are there the plain one counts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zeekstd::{DecodeOptions, EncodeOptions, FrameSizePolicy, SeekTable};

/// What a seek unpacks at most beyond what is wanted.
const BLOCK: u32 = 256 * 1024;
/// A journal that is smaller stays as it is: it would still take a block of the disk.
const WORTH_PACKING: u64 = 16 * 1024;

pub(super) enum Source {
    Plain(File),
    Packed { file: File, table: SeekTable },
}

impl Source {
    /// The journal at this path, or what it was packed into.
    pub(super) fn open(journal: &Path) -> io::Result<Self> {
        match File::open(journal) {
            Ok(file) => Ok(Self::Plain(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut file = File::open(packed_path(journal))?;
                let table = SeekTable::from_seekable(&mut file).map_err(broken)?;
                Ok(Self::Packed { file, table })
            }
            Err(error) => Err(error),
        }
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
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Packed { .. } => "Packed",
        })
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
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
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
mod tests {
    use super::super::{Cursor, FrameKind, Reader, Stream, Writer, valid_length};
    use super::*;

    const OUT: FrameKind = FrameKind::Output(Stream::Stdout);

    fn journal(dir: &Path, frames: usize) -> PathBuf {
        let path = dir.join("journal");
        let (mut writer, _) = Writer::create(&path).unwrap();
        for n in 0..frames {
            let line = format!("cc -c file{n}.c -o file{n}.o\n").repeat(n % 40 + 1);
            writer.append(OUT, line.as_bytes()).unwrap();
        }
        path
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("journal"))
            .collect();
        names.sort();
        names
    }

    /// Every frame's place and output.
    fn frames(reader: &mut Reader, len: u64) -> Vec<(u64, Vec<u8>)> {
        let mut frames = Vec::new();
        while let Some((frame, skip)) = reader.next(len).unwrap() {
            frames.push((frame.start, frame.payload[skip..].to_vec()));
        }
        frames
    }

    #[test]
    fn packed_and_plain_read_alike_from_every_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = journal(dir.path(), 2000);
        let len = length(&path).unwrap();
        assert!(len > 1 << 20);
        let mut before = Reader::open(&path).unwrap();
        let all = frames(&mut Reader::open(&path).unwrap(), len);
        pack(&path).unwrap();
        assert_eq!(names(dir.path()), ["journal.zst"]);
        let small = fs::metadata(dir.path().join("journal.zst")).unwrap().len();
        assert!(small < len / 4, "{small} of {len}");

        assert_eq!(length(&path).unwrap(), len);
        assert_eq!(valid_length(&path).unwrap(), len);
        assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
        assert!(
            frames(&mut before, len) == all,
            "a viewer goes on with the plain file"
        );
        for (n, (frame, bytes)) in all.iter().enumerate().step_by(97) {
            let cursor = Cursor {
                frame: *frame,
                within: 5,
            };
            let mut reader = Reader::open(&path).unwrap();
            reader.seek(cursor, len).unwrap().unwrap();
            let rest = frames(&mut reader, len);
            assert_eq!(rest[0].1, bytes[5..]);
            assert!(rest[1..] == all[n + 1..]);
        }
    }

    #[test]
    fn packing_cut_off_anywhere_is_done_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = journal(dir.path(), 400);
        let plain = fs::read(&path).unwrap();
        let len = plain.len() as u64;
        let all = frames(&mut Reader::open(&path).unwrap(), len);
        // While it was written, and between the rename and the removal.
        fs::write(dir.path().join("journal.zst.new"), "half").unwrap();
        fs::write(dir.path().join("journal.zst"), "not what counts").unwrap();
        assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
        for _ in 0..2 {
            pack(&path).unwrap();
            assert_eq!(names(dir.path()), ["journal.zst"]);
            assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
        }
        fs::write(dir.path().join("journal.zst.new"), "half").unwrap();
        pack(&path).unwrap();
        assert_eq!(names(dir.path()), ["journal.zst"]);
    }

    #[test]
    fn a_small_journal_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = journal(dir.path(), 5);
        pack(&path).unwrap();
        assert_eq!(names(dir.path()), ["journal"]);
        fs::remove_file(&path).unwrap();
        assert_eq!(pack(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_damaged_packed_journal_is_an_error_and_no_output() {
        let dir = tempfile::tempdir().unwrap();
        let path = journal(dir.path(), 400);
        pack(&path).unwrap();
        let packed = dir.path().join("journal.zst");
        let good = fs::read(&packed).unwrap();
        for at in [100, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            fs::write(&packed, &bad[..]).unwrap();
            let read = valid_length(&path);
            assert!(
                read.as_ref()
                    .map_or(true, |end| *end < length(&path).unwrap()),
                "{at}: {read:?}"
            );
        }
        for cut in [0, 10, good.len() - 1] {
            fs::write(&packed, &good[..cut]).unwrap();
            assert!(length(&path).is_err(), "{cut}");
        }
    }
}
