//! Does a file name the place that it is copied from? Then it is of no use elsewhere, or worse: a wrapper that
//! does would start the sibling's program, and a dependency file have its sources looked at.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem::Finder;

use super::dependencies;
use super::elf::{self, ReadAt};

/// How much is looked at to tell text from other files.
const GLANCE: usize = 8000;
const ARCHIVE: &[u8] = b"!<arch>\n";
const MEMBER: usize = 60;

/// The directory of all workspaces of a repo, by the names that it has.
#[derive(Debug)]
pub(super) struct Home(Vec<Finder<'static>>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// It is not named, or only where it has no effect.
    No,
    /// It is named, or the file is of no use for another reason; it says how to make these.
    Yes { targets: Vec<Vec<u8>> },
}

impl Home {
    pub(super) fn new(home: &Path) -> Self {
        let mut names = vec![home.to_owned()];
        names.extend(home.canonicalize().ok());
        names.dedup();
        let name = |path: &Path| [path.as_os_str().as_bytes(), b"/"].concat();
        let finders = names
            .iter()
            .map(|path| Finder::new(&name(path)).into_owned());
        Self(finders.collect())
    }

    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|name| name.find(bytes).is_some())
    }

    /// Looks through `file`, `size` bytes of it. If it fits into `buffer` all of it is there afterwards.
    pub(super) fn look_in(&self, file: &File, size: u64, buffer: &mut [u8]) -> io::Result<Naming> {
        let mut places = Vec::new();
        let overlap = self.0.iter().map(|name| name.needle().len()).max();
        let overlap = overlap.unwrap_or(1) - 1;
        let mut at = 0;
        loop {
            let len = read_up_to(file, buffer, at)?;
            for name in &self.0 {
                let found = name.find_iter(&buffer[..len]);
                places.extend(found.map(|place| at + place as u64));
            }
            let next = at + len.saturating_sub(overlap) as u64;
            if at + len as u64 >= size || len < buffer.len() || next == at {
                break;
            }
            at = next;
        }
        match places.is_empty() {
            true => Ok(Naming::No),
            false => judge(file, size, &places),
        }
    }
}

fn judge(file: &File, size: u64, places: &[u64]) -> io::Result<Naming> {
    let read: ReadAt<'_> = &|at, len| {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    };
    let status = usize::try_from(size).unwrap_or(GLANCE).min(GLANCE);
    let begin = read(0, status)?;
    let named = Naming::Yes {
        targets: Vec::new(),
    };
    if begin.starts_with(ARCHIVE) {
        return Ok(match is_seen_in_archive(read, size, places)? {
            true => named,
            false => Naming::No,
        });
    }
    if memchr::memchr(0, &begin).is_none() {
        let targets = match usize::try_from(size.min(dependencies::MOST)) {
            Ok(len) => dependencies::targets(&read(0, len)?),
            Err(_) => Vec::new(),
        };
        return Ok(Naming::Yes { targets });
    }
    Ok(match is_seen(read, 0, size, places)? {
        true => named,
        false => Naming::No,
    })
}

/// Whether a program that is made of this will see one of `places`.
fn is_seen(read: ReadAt<'_>, base: u64, end: u64, places: &[u64]) -> io::Result<bool> {
    let mut inside = places.iter().filter(|at| (base..end).contains(at));
    let Some(parts) = elf::allocated(read, base)? else {
        return Ok(inside.next().is_some());
    };
    Ok(inside.any(|at| parts.iter().any(|part| part.contains(at))))
}

fn is_seen_in_archive(read: ReadAt<'_>, size: u64, places: &[u64]) -> io::Result<bool> {
    let mut at = ARCHIVE.len() as u64;
    while at + MEMBER as u64 <= size {
        let header = read(at, MEMBER)?;
        let len = std::str::from_utf8(&header[48..58]).ok();
        let Some(len) = len.and_then(|text| text.trim().parse::<u64>().ok()) else {
            return Ok(true);
        };
        let begin = at + MEMBER as u64;
        let end = begin.saturating_add(len);
        // In a header: it is a member's name.
        let in_header = places.iter().any(|place| (at..begin).contains(place));
        if in_header || is_seen(read, begin, end, places)? {
            return Ok(true);
        }
        at = end.saturating_add(len % 2);
    }
    Ok(false)
}

fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match rustix::io::pread(file.as_fd(), &mut buffer[len..], at + len as u64) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests;
