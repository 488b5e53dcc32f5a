//! How much of the disk a workspace takes, source and build output apart. Measured by walking it, which
//! is not for requests: the answer is kept in the workspace's record.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::record::{Record, Sizes};
use super::work::Look;
use super::{Error, Workspace, Workspaces};
use crate::repos::Repo;
use crate::{code_env, work};
use branchyard_runtime::disk::if_there;

/// Use is written down at most this often for reads, so what was measured so soon after a use may have
/// been used since.
const SETTLED_AFTER: u64 = 60;

/// Measures the workspace and remembers it; `None` if it is gone, or its files are on the move.
pub(super) async fn measure(workspace: &Arc<Workspace>) -> Result<Option<Sizes>, Error> {
    let Some(_files) = workspace.files().try_share() else {
        return Ok(None);
    };
    if !workspace.exists() {
        return Ok(None);
    }
    workspace.blocking(measure_now).await.map(Some)
}

/// As [`measure`], for callers that share the files and may block.
pub(super) fn measure_now(workspace: &Workspace) -> Result<Sizes, Error> {
    let tick = workspace.yard().ticks.now();
    let output = work::belongings(workspace, &workspace.worktree().open()?, Look::Whole)?.output;
    let made = output.into_iter();
    let made = made.map(|output| (output.item.path, output.ignored));
    let sizes = measure_dir(workspace.path(), made);
    let remembered = workspace.change_record(|record| {
        record.sizes = Some(sizes);
        record.measured_tick = tick;
    });
    if let Err(error) = remembered {
        // On a full disk they are wanted most.
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "its sizes are not written down");
    }
    Ok(sizes)
}

/// What the workspaces of a repo take up, and its idle scratch worktrees as build output, as each was last measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    pub workspaces: usize,
    pub source: u64,
    pub build_output: u64,
}

/// Reads the record of every workspace of a repo. Blocks.
pub fn usage(this: &Workspaces, repo: &Repo) -> Usage {
    let mut usage = Usage {
        // All of a scratch worktree can be made again.
        build_output: this.scratch().idle_bytes(repo),
        ..Usage::default()
    };
    for record in Record::all_of(repo) {
        usage.workspaces += 1;
        if let Some(sizes) = record.sizes {
            usage.source += sizes.source;
            usage.build_output += sizes.build_output;
        }
    }
    usage
}

impl Record {
    pub(super) fn size(&self) -> u64 {
        self.sizes.map_or(0, |sizes| sizes.total())
    }

    /// Whether the sizes were measured since the last use.
    pub(super) fn is_measured(&self) -> bool {
        let used = self.used_tick.unwrap_or(0);
        self.sizes.is_some() && self.measured_tick > used.saturating_add(SETTLED_AFTER)
    }
}

/// What a workspace takes of the disk, with its code environments; an error where some of it cannot be looked at. Blocks
/// for as long as it takes to walk it.
pub fn disk_use(workspace: &Workspace) -> io::Result<u64> {
    let mut bytes = 0;
    for dir in [workspace.path(), &code_env::home(workspace)] {
        let mut walk = SizeWalk::new([]);
        walk.dir(dir, SizeKind::Source);
        if let Some(error) = walk.unread {
            return Err(error);
        }
        bytes += walk.sizes.total();
    }
    Ok(bytes)
}

/// Bytes that everything under `dir` takes up; what vanishes meanwhile counts for nothing.
pub(super) fn size_of(dir: &Path) -> u64 {
    measure_dir(dir, []).total()
}

/// `made` is where build output starts, and whether git ignores it.
fn measure_dir(root: &Path, made: impl IntoIterator<Item = (PathBuf, bool)>) -> Sizes {
    let made = made.into_iter();
    let mut walk = SizeWalk::new(made.map(|(path, ignored)| (root.join(path), ignored)));
    walk.dir(root, SizeKind::Source);
    walk.sizes
}

#[derive(Clone, Copy)]
enum SizeKind {
    Source,
    Built { droppable: bool },
}

struct SizeWalk {
    /// Where build output starts, and whether git ignores it.
    made: HashMap<PathBuf, bool>,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
    /// Whether a repository was seen in the build output that is walked.
    holds_repository: bool,
    sizes: Sizes,
    /// Why a part of it was not looked at, if it is still there.
    unread: Option<io::Error>,
}

impl SizeWalk {
    fn new(made: impl IntoIterator<Item = (PathBuf, bool)>) -> Self {
        Self {
            made: made.into_iter().collect(),
            linked: HashSet::new(),
            holds_repository: false,
            sizes: Sizes {
                source: 0,
                build_output: 0,
                droppable: 0,
                measured_at: Timestamp::now(),
            },
            unread: None,
        }
    }

    /// What is there, or nothing.
    fn looked_at<T>(&mut self, looked: io::Result<T>) -> Option<T> {
        let looked = if_there(looked);
        looked.unwrap_or_else(|error| {
            self.unread.get_or_insert(error);
            None
        })
    }

    fn dir(&mut self, dir: &Path, kind: SizeKind) {
        for entry in self.looked_at(fs::read_dir(dir)).into_iter().flatten() {
            let Some(entry) = self.looked_at(entry) else {
                continue;
            };
            let path = entry.path();
            let Some(meta) = self.looked_at(entry.metadata()) else {
                continue;
            };
            match (kind, self.made.get(&path)) {
                (SizeKind::Source, Some(ignored)) => {
                    let droppable = *ignored;
                    self.build_output(&path, &meta, droppable);
                }
                _ => {
                    self.holds_repository |= entry.file_name() == ".git";
                    self.entry(&path, &meta, kind);
                }
            }
        }
    }

    /// Somebody's repository in it makes it more than build output.
    fn build_output(&mut self, path: &Path, meta: &Metadata, droppable: bool) {
        let before = self.sizes.droppable;
        self.holds_repository = false;
        self.entry(path, meta, SizeKind::Built { droppable });
        if self.holds_repository {
            self.sizes.droppable = before;
        }
    }

    fn entry(&mut self, path: &Path, meta: &Metadata, kind: SizeKind) {
        self.count(meta, kind);
        if meta.is_dir() {
            self.dir(path, kind);
        }
    }

    fn count(&mut self, meta: &Metadata, kind: SizeKind) {
        let is_counted =
            !meta.is_dir() && meta.nlink() > 1 && !self.linked.insert((meta.dev(), meta.ino()));
        if is_counted {
            return;
        }
        let bytes = meta.blocks() * 512;
        match kind {
            SizeKind::Source => self.sizes.source += bytes,
            SizeKind::Built { droppable } => {
                self.sizes.build_output += bytes;
                self.sizes.droppable += if droppable { bytes } else { 0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf, kib: usize) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![1; kib * 1024]).unwrap();
    }

    #[test]
    fn source_and_build_output_are_told_apart_and_links_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        file(root.join("src/main.c"), 64);
        file(root.join("target/deep/er/a.o"), 256);
        fs::hard_link(root.join("target/deep/er/a.o"), root.join("target/b.o")).unwrap();
        file(root.join("out/result"), 128);
        std::os::unix::fs::symlink("/", root.join("out/everything")).unwrap();
        fs::File::create(root.join("sparse"))
            .and_then(|file| file.set_len(1 << 40))
            .unwrap();
        let made = [("target", true), ("out", false)];
        let sizes = measure_dir(root, made.map(|(path, ignored)| (path.into(), ignored)));
        // Directories take up some blocks too, how many is the file system's affair.
        let about = |kib: u64| kib * 1024..(kib + 64) * 1024;
        assert!(about(64).contains(&sizes.source), "{sizes:?}");
        assert!(about(256 + 128).contains(&sizes.build_output), "{sizes:?}");
        assert!(about(256).contains(&sizes.droppable), "{sizes:?}");
        assert_eq!(size_of(root), sizes.total());
        assert_eq!(size_of(&root.join("nowhere")), 0);
    }
}
