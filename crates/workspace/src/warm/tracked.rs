//! The tracked files of a sibling: are they what its index says?

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, statat};

use super::AT_ONCE;
use branchyard_git::{FileStat, GITLINK, IndexFile, Moment};
use branchyard_runtime::disk::parallel;

pub(super) const TYPE: u32 = 0o170_000;
pub(super) const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o100;

/// What the tracked files are like on disk, in the order of the index.
#[derive(Debug)]
pub(super) struct Tracked {
    /// `None` for a submodule.
    pub(super) stats: Vec<Option<FileStat>>,
    /// Those that may have changed without that being seen from here: git has to compare them.
    pub(super) doubtful: Vec<usize>,
}

/// Why the tracked files are not what they should be.
pub(super) type Fault = &'static str;

#[derive(Default)]
struct Looked {
    stats: Vec<(usize, FileStat)>,
    doubtful: Vec<usize>,
    fault: Option<Fault>,
}

impl Tracked {
    /// Looks at every file. Times after `now` cannot be told from those of what will be checked out.
    pub(super) fn look(
        root: &OwnedFd,
        index: &IndexFile,
        now: Moment,
    ) -> io::Result<Result<Self, Fault>> {
        let entries = index.entries();
        let looked = parallel::share(entries.len(), AT_ONCE, Looked::default, |looked, n| {
            let entry = &entries[n];
            if entry.mode() & TYPE == GITLINK || looked.fault.is_some() {
                return Ok(());
            }
            let stat = match statat(root, index.path(entry), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(_) => {
                    looked.fault = Some("a tracked file is missing");
                    return Ok(());
                }
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let is_as_tracked = match entry.mode() & TYPE {
                LINK => kind.is_symlink(),
                _ => {
                    let bits = (entry.mode() ^ stat.st_mode) & EXECUTABLE;
                    kind.is_file() && bits == 0
                }
            };
            let is = FileStat::of(&stat);
            if !is_as_tracked {
                looked.fault = Some("a tracked file is of another kind");
            } else if is.modified() > now {
                looked.fault = Some("a file is from the future");
            }
            if is != index.stat(entry) || index.is_racy(&is) {
                looked.doubtful.push(n);
            }
            looked.stats.push((n, is));
            Ok(())
        })?;
        if let Some(fault) = looked.iter().find_map(|looked| looked.fault) {
            return Ok(Err(fault));
        }
        let (mut stats, mut doubtful) = (vec![None; entries.len()], Vec::new());
        for looked in looked {
            doubtful.extend(looked.doubtful);
            for (n, stat) in looked.stats {
                stats[n] = Some(stat);
            }
        }
        Ok(Ok(Self { stats, doubtful }))
    }

    pub(super) fn bytes(&self) -> u64 {
        let stats = self.stats.iter().flatten();
        stats.map(|stat| u64::from(stat.size())).sum()
    }
}
