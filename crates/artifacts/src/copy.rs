//! Content from file to file, within a limit for all files together.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use branchyard_model::sha256_of;
use rustix::fs::ioctl_ficlone;

use crate::error::ArtifactError;

/// How many bytes may still be copied.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
    limit: u64,
    setting: &'static str,
}

impl Budget {
    /// `taken` of the limit is spent already. `setting` is where the limit is set.
    pub(crate) fn new(limit: u64, taken: u64, setting: &'static str) -> Self {
        Self {
            left: limit.saturating_sub(taken).into(),
            limit,
            setting,
        }
    }

    /// An error if fewer bytes than that are left.
    fn check(&self, bytes: u64) -> Result<(), ArtifactError> {
        match bytes <= self.left.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(self.exceeded()),
        }
    }

    fn take(&self, bytes: u64) -> Result<(), ArtifactError> {
        let less = |left: u64| left.checked_sub(bytes);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map(drop).map_err(|_| self.exceeded())
    }

    fn exceeded(&self) -> ArtifactError {
        ArtifactError::TooLarge {
            limit: format!("{} bytes", self.limit),
            setting: self.setting,
        }
    }
}

/// What several threads copy with.
#[derive(Debug)]
pub(crate) struct Copier {
    budget: Budget,
    /// Whether files can share their blocks here; not known before it was tried.
    shares_blocks: AtomicBool,
}

impl Copier {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            shares_blocks: AtomicBool::new(true),
        }
    }

    /// Without a limit, for what was measured when it was kept.
    pub(crate) fn unlimited() -> Self {
        Self::new(Budget::new(u64::MAX, 0, ""))
    }

    /// Copies all that is in a file now. Returns how many bytes that is, and their digest: both are of the copy, since the
    /// source may change meanwhile. `target` is empty, and open to be read too.
    pub(crate) fn copy_hashed(&self, source: &File, target: &File) -> io::Result<(u64, String)> {
        let size = source.metadata()?.len();
        self.budget.check(size)?;
        if self.clone_blocks(source, target, size) {
            let size = target.metadata()?.len();
            self.budget.take(size)?;
            return Ok((size, sha256_of(target)?));
        }
        let mut copying = Copying {
            source: source.take(size),
            target,
            budget: &self.budget,
            copied: 0,
        };
        let digest = sha256_of(&mut copying)?;
        Ok((copying.copied, digest))
    }

    /// The same for a source that does not change, without a digest.
    pub(crate) fn copy(&self, source: &File, mut target: &File) -> io::Result<u64> {
        let size = source.metadata()?.len();
        self.budget.take(size)?;
        match self.clone_blocks(source, target, size) {
            true => Ok(size),
            false => io::copy(&mut source.take(size), &mut target),
        }
    }

    fn clone_blocks(&self, source: &File, target: &File, size: u64) -> bool {
        if size == 0 || !self.shares_blocks.load(Ordering::Relaxed) {
            return false;
        }
        let is_cloned = ioctl_ficlone(target, source).is_ok();
        self.shares_blocks.store(is_cloned, Ordering::Relaxed);
        is_cloned
    }
}

/// Writes what is read from it.
struct Copying<'a> {
    source: io::Take<&'a File>,
    target: &'a File,
    budget: &'a Budget,
    copied: u64,
}

impl Read for Copying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.budget.take(read as u64)?;
        self.target.write_all(&buffer[..read])?;
        self.copied += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use branchyard_model::sha256;

    use super::*;

    fn target() -> File {
        tempfile::tempfile().unwrap()
    }

    #[test]
    fn a_copy_is_hashed_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let content = vec![7; 200_000];
        fs::write(dir.path().join("a"), &content).unwrap();
        let source = File::open(dir.path().join("a")).unwrap();
        let copier = Copier::new(Budget::new(300_000, 0, "max_size"));
        let (size, digest) = copier.copy_hashed(&source, &target()).unwrap();
        assert_eq!((size, digest), (200_000, sha256(&content)));
        let source = File::open(dir.path().join("a")).unwrap();
        let error = copier.copy_hashed(&source, &target()).unwrap_err();
        assert_eq!(
            ArtifactError::io("copy")(error).to_string(),
            "it has more than 300000 bytes, which is what `max_size` allows"
        );
    }

    #[test]
    fn a_sparse_file_that_is_too_large_is_not_read() {
        let sparse = target();
        sparse.set_len(1 << 42).unwrap();
        let copier = Copier::new(Budget::new(1 << 30, 0, "max_size"));
        let copy = target();
        assert!(copier.copy_hashed(&sparse, &copy).is_err());
        assert_eq!(copy.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_file_that_grows_is_copied_as_far_as_it_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, vec![1; 100_000]).unwrap();
        let (source, copy) = (File::open(&path).unwrap(), target());
        let copier = Copier::new(Budget::new(1 << 30, 0, "max_size"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut log = File::options().append(true).open(&path).unwrap();
                // What is copied meanwhile has an end, and so has this.
                for _ in 0..10_000 {
                    log.write_all(&[2; 1000]).unwrap();
                }
            });
            let (size, digest) = copier.copy_hashed(&source, &copy).unwrap();
            assert_eq!(copy.metadata().unwrap().len(), size);
            let mut copied = Vec::new();
            io::Seek::rewind(&mut (&copy)).unwrap();
            (&copy).read_to_end(&mut copied).unwrap();
            assert_eq!(sha256(&copied), digest);
        });
    }
}
