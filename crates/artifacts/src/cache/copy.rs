//! What is at the paths of a job into an entry, and back.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use branchyard_model::Warning;
use branchyard_runtime::disk::{create_private_dir, write_json};
use jiff::Timestamp;
use uuid::Uuid;

use super::entry::{ABOUT, CacheAbout, CacheEntry, CacheScope, HALF_MADE};
use super::find::CacheRequest;
use super::limits::CacheLimits;
use crate::beneath;
use crate::blobs::create_if_missing;
use crate::copy::{Budget, Copier};
use crate::error::ArtifactError;
use crate::job_dirs::{JobDir, JobDirs};
use crate::left_out::Reason;
use crate::search::PathSearch;
use crate::tree::{self, Ends, Hashes, TreeDigest};
use crate::walk::{EntryKind, FoundEntry, Leave, walk};

const NOTHING: Leave = Leave {
    hidden: false,
    git: false,
    links: false,
};

/// An entry before it has its name. What gets none goes.
#[derive(Debug)]
pub(super) struct StagedEntry {
    dir: PathBuf,
    about: CacheAbout,
}

/// Copies what is at the paths; nothing if nothing is there. Says what was left out.
pub(super) fn stage(
    of_repo: &Path,
    limits: &CacheLimits,
    request: &CacheRequest<'_>,
    (scope, now): (&CacheScope, Timestamp),
) -> Result<(Option<StagedEntry>, Vec<Warning>), ArtifactError> {
    let search = PathSearch::parse(request.paths, request.dirs)?;
    let mut found = Vec::new();
    let mut left_out = walk(&search, NOTHING, &mut |entry| {
        if found.len() == limits.max_files {
            return Err(ArtifactError::TooLarge {
                limit: format!("{} files", limits.max_files),
                setting: "caches.max_files",
            });
        }
        found.push(entry);
        Ok(())
    })?;
    if found.is_empty() {
        return Ok((None, left_out.warnings()));
    }
    found.sort();
    found.dedup();
    let dir = of_repo.join(format!("{HALF_MADE}new-{}", Uuid::now_v7()));
    let made = create_if_missing(of_repo).and_then(|()| create_private_dir(&dir));
    made.map_err(ArtifactError::io("keep a cache"))?;
    let mut staged = StagedEntry {
        dir,
        about: CacheAbout {
            scope: scope.clone(),
            key: request.key.to_owned(),
            paths: request.lines(),
            bases: Vec::new(),
            files: 0,
            bytes: 0,
            digest: String::new(),
            created_at: now,
        },
    };
    for path in staged.fill(request.dirs, &found, limits.max_size)? {
        left_out.add(Reason::Changed, &path);
    }
    Ok((Some(staged), left_out.warnings()))
}

impl StagedEntry {
    /// Returns what went meanwhile.
    fn fill(
        &mut self,
        dirs: &JobDirs,
        found: &[FoundEntry],
        max_size: u64,
    ) -> Result<Vec<PathBuf>, ArtifactError> {
        let copier = Copier::new(Budget::new(max_size, 0, "caches.max_size"));
        let (mut digest, mut gone) = (TreeDigest::default(), Vec::new());
        let about = &mut self.about;
        for part in found.chunk_by(|a, b| a.dir == b.dir) {
            let (base, dir) = &dirs.all()[part[0].dir];
            let to = CacheEntry::tree(&self.dir, about.bases.len());
            about.bases.push(base.clone());
            let copied = fs::create_dir_all(&to)
                .and_then(|()| open_both(&dir.real, &to))
                .map_err(ArtifactError::io("keep a cache"))
                .and_then(|(from, to)| {
                    let ends = Ends {
                        from: &from,
                        to: &to,
                    };
                    tree::copy(part, ends, &copier, Hashes::All)
                })?;
            for (entry, copied) in part.iter().zip(copied) {
                let Some(copied) = copied else {
                    gone.push(entry.path.clone());
                    continue;
                };
                digest.add(base, entry, &copied);
                about.bytes += copied.bytes;
                about.files += usize::from(entry.kind != EntryKind::Dir);
            }
        }
        about.digest = digest.finish();
        Ok(gone)
    }

    /// Gives it its name; `None` if there is an entry of that name.
    pub(super) fn keep(self, place: &Path) -> io::Result<Option<CacheAbout>> {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
        write_json(&self.dir.join(ABOUT), &self.about)?;
        // After a crash a name must not stand for half of its content.
        rustix::fs::syncfs(File::open(&self.dir)?)?;
        match fs::rename(&self.dir, place) {
            Err(error) if matches!(error.kind(), AlreadyExists | DirectoryNotEmpty) => Ok(None),
            renamed => renamed.map(|()| Some(self.about.clone())),
        }
    }
}

impl Drop for StagedEntry {
    fn drop(&mut self) {
        // What stays goes when the next daemon starts.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Copies an entry to the directories that it is from.
pub(super) fn restore(entry: &CacheEntry, dirs: &JobDirs) -> Result<(), ArtifactError> {
    for (n, base) in entry.about.bases.iter().enumerate() {
        let into = dirs.all().into_iter().find(|(name, _)| name == base);
        if let Some((_, dir)) = into {
            restore_part(&CacheEntry::tree(&entry.dir, n), &dir.real)?;
        }
    }
    Ok(())
}

fn restore_part(tree: &Path, into: &Path) -> Result<(), ArtifactError> {
    let dirs = JobDirs::only(JobDir {
        seen: "/".into(),
        real: tree.to_owned(),
    });
    let mut entries = Vec::new();
    walk(&PathSearch::everything(&dirs)?, NOTHING, &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    entries.sort();
    let both = open_both(tree, into);
    let (from, to) = both.map_err(ArtifactError::io("restore a cache"))?;
    let ends = Ends {
        from: &from,
        to: &to,
    };
    tree::copy(&entries, ends, &Copier::unlimited(), Hashes::None).map(drop)
}

fn open_both(from: &Path, to: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok((beneath::open_root(from)?, beneath::open_root(to)?))
}
