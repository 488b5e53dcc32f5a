//! A whole set as one archive, written as it is read. The same set always makes the same bytes.

use std::cell::Cell;
use std::io::{self, Write};

use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::blobs::Blobs;
use crate::set::ArtifactSet;

/// The first moment that a zip archive knows, 1980-01-01, in all archives.
const MODIFIED: u64 = 315_532_800;
/// From here on a file may not fit into an entry without the fields of zip64, compressed or not.
const LARGE: u64 = 4_000_000_000;

pub(crate) fn write_tar(blobs: &Blobs, set: &ArtifactSet, out: impl Write) -> io::Result<()> {
    let has_failed = Cell::new(false);
    let mut archive = tar::Builder::new(ArchiveOutput {
        out,
        has_failed: &has_failed,
    });
    let mut add_all = || {
        for file in &set.files {
            let blob = blobs.open_sized(&file.sha256, file.size)?;
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_size(file.size);
            header.set_mode(file.mode);
            header.set_mtime(MODIFIED);
            header.set_uid(0);
            header.set_gid(0);
            archive.append_data(&mut header, &file.path, blob)?;
        }
        archive.finish()?;
        archive.get_mut().flush()
    };
    add_all().inspect_err(|_| has_failed.set(true))
}

pub(crate) fn write_zip(blobs: &Blobs, set: &ArtifactSet, out: impl Write) -> io::Result<()> {
    let has_failed = Cell::new(false);
    let mut archive = ZipWriter::new_stream(ArchiveOutput {
        out,
        has_failed: &has_failed,
    });
    for file in &set.files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(file.mode)
            .large_file(file.size >= LARGE);
        let mut add = || {
            let mut blob = blobs.open_sized(&file.sha256, file.size)?;
            archive.start_file(&*file.path, options)?;
            io::copy(&mut blob, &mut archive)
        };
        add().inspect_err(|_| has_failed.set(true))?;
    }
    archive.finish()?.flush()
}

/// Where an archive goes. Both writers complete it when they are dropped, also after an error: what lacks a file must not
/// look whole, so nothing is written any more.
struct ArchiveOutput<'a, W> {
    out: W,
    has_failed: &'a Cell<bool>,
}

impl<W: Write> Write for ArchiveOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.has_failed.get() {
            true => Ok(bytes.len()),
            false => self.out.write(bytes).inspect_err(|error| {
                let is_final = error.kind() != io::ErrorKind::Interrupted;
                self.has_failed.set(is_final);
            }),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.has_failed.get() {
            true => Ok(()),
            false => self.out.flush(),
        }
    }
}
