//! The caches of a yard. Reads and writes block.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use branchyard_model::{RepoName, Warning};
use branchyard_runtime::disk::{Trash, if_there};
use jiff::Timestamp;

use super::copy;
use super::entry::{CacheAbout, CacheEntry, CacheScope, dir_name, dirs_in, is_half_made};
use super::find::{self, CacheRequest, check_key};
use super::in_use::{EntriesInUse, HeldEntry};
use super::limits::CacheLimits;
use crate::blobs::create_if_missing;
use crate::error::ArtifactError;
use crate::search::PathSearch;

/// Entries in `<state>/caches/<repo>/<digest>/`. What is in one never changes.
#[derive(Debug)]
pub struct CacheStore {
    dir: PathBuf,
    limits: CacheLimits,
    trash: Trash,
    in_use: EntriesInUse,
}

/// What became of what was to be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    Kept {
        files: usize,
        bytes: u64,
        digest: String,
        /// What was left out, and why.
        warnings: Vec<Warning>,
    },
    /// There is an entry, and entries never change.
    Exists,
    /// Nothing is at these paths.
    Nothing { warnings: Vec<Warning> },
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub key: String,
    pub scope: CacheScope,
    /// Whether it is the key that was asked for, and no other that begins like it.
    pub exact: bool,
    /// Of all that was restored: the same for the same files with the same content.
    pub digest: String,
    pub files: usize,
    pub bytes: u64,
}

/// What is kept now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheUsage {
    pub entries: usize,
    pub bytes: u64,
}

impl CacheStore {
    /// One daemon at a time has it open. What an earlier one left half made goes.
    pub fn open(state: &Path, limits: CacheLimits, trash: Trash) -> io::Result<Self> {
        let dir = state.join("caches");
        create_if_missing(&dir)?;
        for repo in dirs_in(&dir)? {
            for entry in fs::read_dir(repo)? {
                let path = entry?.path();
                if is_half_made(&path) {
                    trash.take(&path, &"cache")?;
                }
            }
        }
        Ok(Self {
            dir,
            limits,
            trash,
            in_use: EntriesInUse::default(),
        })
    }

    /// Keeps what is at the paths of a job.
    pub fn save(
        &self,
        request: &CacheRequest<'_>,
        scope: &CacheScope,
        now: Timestamp,
    ) -> Result<Saved, ArtifactError> {
        check_key(request.key)?;
        let of_repo = self.of(request.repo);
        let name = dir_name(scope, request.key, &request.lines());
        let place = of_repo.join(name.map_err(ArtifactError::io("keep a cache"))?);
        if place.exists() {
            return Ok(Saved::Exists);
        }
        let (staged, warnings) = copy::stage(&of_repo, &self.limits, request, (scope, now))?;
        let Some(staged) = staged else {
            return Ok(Saved::Nothing { warnings });
        };
        let kept = staged.keep(&place);
        let kept = kept.map_err(ArtifactError::io("keep a cache"))?;
        Ok(kept.map_or(Saved::Exists, |about| Saved::Kept {
            files: about.files,
            bytes: about.bytes,
            digest: about.digest,
            warnings,
        }))
    }

    /// Restores the entry with the key, or one whose key begins with one of `restore_keys`, in place of files that are
    /// there. `scopes` begins with that of the job and goes on with those that it may read.
    pub fn restore(
        &self,
        request: &CacheRequest<'_>,
        scopes: &[CacheScope],
        restore_keys: &[String],
    ) -> Result<Option<Restored>, ArtifactError> {
        for key in restore_keys.iter().map(|key| &**key).chain([request.key]) {
            check_key(key)?;
        }
        PathSearch::parse(request.paths, request.dirs)?;
        let held = self.find(request, scopes, restore_keys);
        let Some(held) = held.map_err(ArtifactError::io("find a cache"))? else {
            return Ok(None);
        };
        copy::restore(&held.entry, request.dirs)?;
        let about = held.entry.about.clone();
        Ok(Some(Restored {
            exact: about.key == request.key,
            key: about.key,
            scope: about.scope,
            digest: about.digest,
            files: about.files,
            bytes: about.bytes,
        }))
    }

    fn find(
        &self,
        request: &CacheRequest<'_>,
        scopes: &[CacheScope],
        restore_keys: &[String],
    ) -> io::Result<Option<HeldEntry<'_>>> {
        let paths = request.lines();
        let dirs = request.dirs.all().into_iter();
        let known: Vec<_> = dirs.map(|(base, _)| base).collect();
        let usable = |about: &CacheAbout| {
            about.paths == paths && about.bases.iter().all(|base| known.contains(base))
        };
        let mut entries = Vec::new();
        for dir in dirs_in(&self.of(request.repo))? {
            entries.extend(CacheEntry::read(&dir)?);
        }
        while let Some(entry) = find::best(&entries, scopes, (request.key, restore_keys), usable) {
            let dir = entry.dir.clone();
            if let Some(held) = self.in_use.hold(entry)? {
                return Ok(Some(held));
            }
            // It has gone since it was listed.
            entries.retain(|other| other.dir != dir);
        }
        Ok(None)
    }

    /// Lets go of entries that were used longest ago, while all are too much. Returns what is left.
    pub fn sweep(&self) -> io::Result<CacheUsage> {
        let mut by_use = Vec::new();
        for repo in dirs_in(&self.dir)? {
            for dir in dirs_in(&repo)? {
                match CacheEntry::read(&dir)? {
                    Some(entry) => {
                        by_use.extend(if_there(entry.last_used())?.map(|used| (used, entry)));
                    }
                    None => drop(self.in_use.discard(&dir, &self.trash)?),
                }
            }
        }
        by_use.sort_by_key(|(used, _)| *used);
        let mut usage = CacheUsage {
            entries: by_use.len(),
            bytes: by_use.iter().map(|(_, entry)| entry.about.bytes).sum(),
        };
        for (_, CacheEntry { dir, about }) in by_use {
            if usage.bytes <= self.limits.max_bytes {
                break;
            }
            if self.in_use.discard(&dir, &self.trash)? {
                usage.entries -= 1;
                usage.bytes -= about.bytes;
            }
        }
        Ok(usage)
    }

    /// Removes the entries of a repo.
    pub fn remove_repo(&self, repo: &RepoName) -> io::Result<()> {
        for dir in dirs_in(&self.of(repo))? {
            self.in_use.discard(&dir, &self.trash)?;
        }
        Ok(())
    }

    fn of(&self, repo: &RepoName) -> PathBuf {
        self.dir.join(repo.as_str())
    }
}
