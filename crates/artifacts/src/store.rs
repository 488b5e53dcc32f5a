//! The artifacts of a yard. Reads and writes block.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::RwLock;

use crate::archive;
use crate::blobs::{Blobs, create_if_missing};
use crate::collect::{self, CollectRequest, Collected};
use crate::error::ArtifactError;
use crate::job_dirs::JobDirs;
use crate::limits::ArtifactLimits;
use crate::restore;
use crate::set::{ArtifactSet, SetOwner};
use crate::set_files::SetFiles;
use crate::sweep::{self, Swept};

/// Sets of files in `<state>/artifacts/sets/<owner>/`, and their contents in `blobs/ab/<sha256>` beside that.
#[derive(Debug)]
pub struct ArtifactStore {
    blobs: Blobs,
    sets: SetFiles,
    limits: ArtifactLimits,
    /// Shared while blobs are put under a set, and exclusive while those without a set go.
    naming: RwLock<()>,
}

/// What is kept now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArtifactUsage {
    pub sets: usize,
    pub blobs: usize,
    /// Of all blobs.
    pub bytes: u64,
}

impl ArtifactStore {
    /// One daemon at a time has it open.
    pub fn open(state: &Path, limits: ArtifactLimits) -> io::Result<Self> {
        let dir = state.join("artifacts");
        create_if_missing(&dir)?;
        Ok(Self {
            blobs: Blobs::open(&dir)?,
            sets: SetFiles::open(dir.join("sets"))?,
            limits,
            naming: RwLock::default(),
        })
    }

    /// Keeps files of a job as an artifact.
    pub fn collect(
        &self,
        owner: &SetOwner,
        name: &str,
        request: &CollectRequest<'_>,
    ) -> Result<Collected, ArtifactError> {
        crate::name::check(name)?;
        if !request.overwrite && self.set(owner, name).is_some() {
            let name = name.to_owned();
            return Err(ArtifactError::Exists { name });
        }
        let staged = collect::stage(&self.blobs, &self.limits, request)?;
        let warnings = staged.warnings;
        if staged.files.is_empty() {
            return Ok(Collected {
                set: None,
                warnings,
            });
        }
        let set = ArtifactSet {
            name: name.to_owned(),
            owner: *owner,
            job: request.job.clone(),
            attempt: request.attempt,
            bytes: staged.files.iter().map(|file| file.size).sum(),
            digest: crate::set::digest_of(&staged.files),
            files: staged.files,
            created_at: request.now,
            expires_at: self.limits.expiry(request.now, request.keep),
            reused_from: None,
        };
        let _naming = self.naming.read();
        for (file, path) in set.files.iter().zip(&staged.paths) {
            let kept = self.blobs.keep(path, &file.sha256, file.size);
            kept.map_err(ArtifactError::io("keep a blob"))?;
        }
        self.sets.write(&set, request.overwrite)?;
        Ok(Collected {
            set: Some(set),
            warnings,
        })
    }

    pub fn set(&self, owner: &SetOwner, name: &str) -> Option<ArtifactSet> {
        self.sets.read(owner, name)
    }

    /// By name.
    pub fn sets(&self, owner: &SetOwner) -> io::Result<Vec<ArtifactSet>> {
        self.sets.list(owner)
    }

    /// Makes a set of another owner this one's too: its own set with the same blobs. Done twice, it is there once.
    pub fn link(
        &self,
        from: &SetOwner,
        name: &str,
        to: &SetOwner,
        now: Timestamp,
        keep: Option<Duration>,
    ) -> Result<ArtifactSet, ArtifactError> {
        let _naming = self.naming.read();
        let set = self.sets.read(from, name);
        let set = set.ok_or_else(|| ArtifactError::NotFound {
            name: name.to_owned(),
        })?;
        for file in &set.files {
            let blob = self.blobs.open_sized(&file.sha256, file.size);
            blob.map_err(|error| restore::unreadable(file, error))?;
        }
        let linked = ArtifactSet {
            owner: *to,
            created_at: now,
            expires_at: self.limits.expiry(now, keep),
            reused_from: set.reused_from.or(Some(*from)),
            ..set
        };
        match self.sets.write(&linked, false) {
            Err(ArtifactError::Exists { name }) => match self.sets.read(to, &name) {
                Some(there) if there.digest == linked.digest => Ok(there),
                _ => Err(ArtifactError::Exists { name }),
            },
            written => written.map(|()| linked),
        }
    }

    /// A content by its digest, to be served in ranges.
    pub fn open_blob(&self, sha256: &str) -> io::Result<File> {
        self.blobs.open_blob(sha256)
    }

    /// Writes the files of a set to below a directory of a job, in place of files that are there.
    pub fn restore(
        &self,
        set: &ArtifactSet,
        dirs: &JobDirs,
        into: &str,
    ) -> Result<(), ArtifactError> {
        restore::restore(&self.blobs, set, dirs, into)
    }

    pub fn write_tar(&self, set: &ArtifactSet, out: impl Write) -> io::Result<()> {
        archive::write_tar(&self.blobs, set, out)
    }

    pub fn write_zip(&self, set: &ArtifactSet, out: impl Write) -> io::Result<()> {
        archive::write_zip(&self.blobs, set, out)
    }

    /// Lets go of what has expired or is too much, but not of sets that are `pinned`.
    pub fn sweep(
        &self,
        now: Timestamp,
        pinned: &dyn Fn(&SetOwner, &str) -> bool,
    ) -> io::Result<Swept> {
        // A set that is written now has its blobs marked before or after all of this.
        let _naming = self.naming.write();
        sweep::sweep(
            (&self.blobs, &self.sets),
            self.limits.max_bytes,
            now,
            pinned,
        )
    }

    /// Removes the sets of an owner. Their blobs go with a later sweep.
    pub fn remove_owner(&self, owner: &SetOwner) -> io::Result<()> {
        self.sets.remove_owner(owner)
    }

    pub fn usage(&self) -> io::Result<ArtifactUsage> {
        let mut usage = ArtifactUsage::default();
        self.sets.each(|_, _| {
            usage.sets += 1;
            Ok(())
        })?;
        self.blobs.each(|blob| {
            usage.blobs += 1;
            usage.bytes += blob.size;
            Ok(())
        })?;
        Ok(usage)
    }
}
