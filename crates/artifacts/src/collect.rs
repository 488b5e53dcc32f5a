//! Files of a job into blobs: found, copied and hashed, before anything of it is an artifact.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use branchyard_model::Warning;
use branchyard_runtime::disk::parallel;
use jiff::Timestamp;

use crate::beneath;
use crate::blobs::{Blobs, Staging};
use crate::copy::{Budget, Copier};
use crate::error::{ArtifactError, shown};
use crate::job_dirs::JobDirs;
use crate::left_out::Reason;
use crate::limits::ArtifactLimits;
use crate::search::{PathSearch, SearchPath};
use crate::set::{ArtifactFile, ArtifactSet};
use crate::walk::{EntryKind, Leave, failed, walk};

/// How many files a thread takes at a time: neighbours are mostly in one directory.
const AT_ONCE: usize = 16;
/// So few files are written out each by itself, which does not wait for what builds write meanwhile.
const FEW: usize = 64;
const EXECUTE: u32 = 0o100;

/// What to keep of a job.
#[derive(Debug, Clone)]
pub struct CollectRequest<'a> {
    /// The lines of `path`.
    pub paths: &'a [String],
    pub dirs: &'a JobDirs,
    pub include_hidden: bool,
    /// Replaces an artifact of the same name.
    pub overwrite: bool,
    pub job: Option<String>,
    pub attempt: u32,
    /// How many bytes the job's other artifacts have.
    pub bytes_before: u64,
    pub now: Timestamp,
    /// At most for as long as the daemon keeps artifacts, which is also what is meant without it.
    pub keep: Option<Duration>,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// None where no file was found.
    pub set: Option<ArtifactSet>,
    /// What was left out, and why.
    pub warnings: Vec<Warning>,
}

/// Files that are copied.
#[derive(Debug)]
pub(crate) struct StagedFiles {
    pub(crate) files: Vec<ArtifactFile>,
    /// Where the content of each is.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) warnings: Vec<Warning>,
    _staging: Staging,
}

pub(crate) fn stage(
    blobs: &Blobs,
    limits: &ArtifactLimits,
    request: &CollectRequest<'_>,
) -> Result<StagedFiles, ArtifactError> {
    let search = PathSearch::parse(request.paths, request.dirs)?;
    let leave = Leave {
        hidden: !request.include_hidden,
        git: true,
        links: true,
    };
    let mut found = Vec::new();
    let mut left_out = walk(&search, leave, &mut |entry| {
        if entry.kind == EntryKind::File {
            if found.len() == limits.max_files {
                return Err(ArtifactError::TooLarge {
                    limit: format!("{} files", limits.max_files),
                    setting: "artifacts.max_files",
                });
            }
            found.push(SearchPath {
                dir: entry.dir,
                path: entry.path,
            });
        }
        Ok(())
    })?;
    let found = in_archive(&search, found)?;
    let staging = blobs.stage().map_err(ArtifactError::io("stage files"))?;
    let roots = request.dirs.all().into_iter();
    // One that is missing has no files.
    let roots: Vec<_> = roots
        .map(|(_, dir)| beneath::open_root(&dir.real))
        .collect();
    let budget = Budget::new(limits.max_size, request.bytes_before, "artifacts.max_size");
    let copier = Copier::new(budget);
    let copied = parallel::share(found.len(), AT_ONCE, Vec::new, |copied, n| {
        let (path, at) = &found[n];
        let Ok(root) = &roots[at.dir] else {
            return Ok(());
        };
        let file = stage_file((&staging, n), &copier, (root, &at.path), found.len() <= FEW)?;
        copied.push((
            n,
            file.map(|(file, staged)| {
                (
                    ArtifactFile {
                        path: path.clone(),
                        ..file
                    },
                    staged,
                )
            }),
        ));
        Ok(())
    });
    let mut copied = copied.map_err(ArtifactError::io("copy files"))?.concat();
    copied.sort_by_key(|(n, _)| *n);
    if found.len() > FEW {
        staging
            .sync()
            .map_err(ArtifactError::io("write files to the disk"))?;
    }
    let mut staged = StagedFiles {
        files: Vec::new(),
        paths: Vec::new(),
        warnings: Vec::new(),
        _staging: staging,
    };
    for (n, file) in copied {
        match file {
            Some((file, path)) => {
                staged.files.push(file);
                staged.paths.push(path);
            }
            None => left_out.add(Reason::Changed, &found[n].1.path),
        }
    }
    staged.warnings = left_out.warnings();
    Ok(staged)
}

/// Files by their paths in the archive.
fn in_archive(
    search: &PathSearch<'_>,
    found: Vec<SearchPath>,
) -> Result<Vec<(String, SearchPath)>, ArtifactError> {
    let root = search.archive_root(&found);
    let named = found.into_iter().map(|at| {
        let seen = search.seen(at.dir, &at.path);
        let path = seen.strip_prefix(&root).unwrap_or(&at.path);
        Ok((archive_path(path)?, at))
    });
    let mut named: Vec<_> = named.collect::<Result<_, ArtifactError>>()?;
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    named.dedup_by(|(a, _), (b, _)| a == b);
    Ok(named)
}

/// A path that JSON, archives and terminals can show.
fn archive_path(path: &Path) -> Result<String, ArtifactError> {
    let why = match path.to_str() {
        None => "its name is not UTF-8",
        Some(text) if text.contains(char::is_control) => "its name has a control character",
        Some(text) => return Ok(text.to_owned()),
    };
    let path = shown(&path.to_string_lossy().escape_debug().to_string());
    Err(ArtifactError::FilePath { path, why })
}

/// Copies a file, without its path; `None` if it is no file any more.
fn stage_file(
    (staging, n): (&Staging, usize),
    copier: &Copier,
    (root, path): (&OwnedFd, &Path),
    syncs: bool,
) -> io::Result<Option<(ArtifactFile, PathBuf)>> {
    let source = match beneath::open_file(root, path) {
        Err(error) if beneath::has_changed(&error) => return Ok(None),
        source => source.map_err(failed(path))?,
    };
    let meta = source.metadata()?;
    if !meta.is_file() {
        return Ok(None);
    }
    let (target, staged) = staging.create(n)?;
    let (size, sha256) = copier.copy_hashed(&source, &target)?;
    if syncs {
        target.sync_data()?;
    }
    let mode = match meta.permissions().mode() & EXECUTE {
        0 => ArtifactFile::PLAIN,
        _ => ArtifactFile::EXECUTABLE,
    };
    let file = ArtifactFile {
        path: String::new(),
        size,
        mode,
        sha256,
    };
    Ok(Some((file, staged)))
}
