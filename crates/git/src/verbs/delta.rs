//! Differences between trees, index and files, found as git finds them.

use std::path::{Path, PathBuf};

use git2::{Delta, Diff, DiffDelta, DiffFile, DiffFindOptions, DiffOptions, Oid, Patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::person::text;
use crate::Error;
use crate::repository::{REGULAR, TYPE, mode_of};

/// Patches name blobs by their whole ids, so that they apply wherever those are.
const WHOLE_ID: u16 = 40;
/// How alike, in percent, a file that went and one that came must be to be one that was renamed.
const LIKENESS: u16 = 50;
/// With more pairs than that git looks only for files that were renamed without a change.
const MOST_PAIRS: usize = 1000 * 1000;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    /// A file became a link, or the like.
    TypeChanged,
    Untracked,
    Conflicted,
}

impl ChangeKind {
    /// `None` where it is no change.
    pub(crate) fn of(delta: &DiffDelta<'_>) -> Option<Self> {
        let sides = [delta.old_file(), delta.new_file()];
        let [old, new] = sides.each_ref().map(|file| u32::from(mode_of(file)));
        Some(match delta.status() {
            Delta::Added => Self::Added,
            // Modes that differ only in what git does not keep. A submodule has the same id with changes in it.
            Delta::Modified
                if old == new && old & TYPE == REGULAR && sides[0].id() == sides[1].id() =>
            {
                return None;
            }
            // What was changed in the index, and became something else in the files.
            Delta::Modified if old & TYPE != new & TYPE => Self::TypeChanged,
            // Whatever cannot be read is not what it was.
            Delta::Modified | Delta::Unreadable => Self::Modified,
            Delta::Deleted => Self::Deleted,
            Delta::Renamed => Self::Renamed,
            Delta::Copied => Self::Copied,
            Delta::Typechange => Self::TypeChanged,
            Delta::Untracked => Self::Untracked,
            Delta::Conflicted => Self::Conflicted,
            Delta::Unmodified | Delta::Ignored => return None,
        })
    }

    /// Git's letter for it.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Copied => 'C',
            Self::TypeChanged => 'T',
            Self::Untracked => '?',
            Self::Conflicted => 'U',
        }
    }
}

/// What a file was or is: for those who want to know everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// As git writes it, such as 100644.
    pub mode: String,
    /// The blob's id, where it was hashed.
    pub id: Option<String>,
}

impl Side {
    pub(crate) fn new(mode: u32, id: Option<Oid>) -> Self {
        Self {
            mode: format!("{mode:06o}"),
            id: id.map(|id| id.to_string()),
        }
    }

    /// `None` where there is no file on this side.
    pub(crate) fn of(file: &DiffFile<'_>) -> Option<Self> {
        let mode = u32::from(mode_of(file));
        let id = Some(file.id()).filter(|id| !id.is_zero());
        (mode != 0).then(|| Self::new(mode, id))
    }
}

/// Options for a look at `paths`, which are no patterns; at everything where there are none.
pub(crate) fn options(paths: &[PathBuf]) -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .include_typechange(true)
        .indent_heuristic(true)
        .id_abbrev(WHOLE_ID);
    let everything = paths.iter().any(|path| path == Path::new("."));
    if !everything {
        options.disable_pathspec_match(true);
        for path in paths {
            options.pathspec(path);
        }
    }
    options
}

/// How two contents of the file at `path` differ, as a unified diff.
pub fn diff_of_contents(path: &Path, old: &[u8], new: &[u8]) -> Result<String, Error> {
    let mut options = options(&[]);
    let mut patch = Patch::from_buffers(old, Some(path), new, Some(path), Some(&mut options))?;
    Ok(String::from_utf8_lossy(&patch.to_buf()?).into_owned())
}

/// Finds what was renamed.
pub(crate) fn find_renames(diff: &mut Diff<'_>) -> Result<(), Error> {
    let (mut came, mut went) = (0, 0);
    for delta in diff.deltas() {
        match delta.status() {
            Delta::Added => came += 1,
            Delta::Deleted => went += 1,
            _ => {}
        }
    }
    if came == 0 || went == 0 {
        return Ok(());
    }
    let mut options = DiffFindOptions::new();
    options
        .renames(true)
        .rename_threshold(LIKENESS)
        .exact_match_only(came * went > MOST_PAIRS);
    diff.find_similar(Some(&mut options))?;
    Ok(())
}

/// The path of a file, as text.
pub(crate) fn path(file: &DiffFile<'_>) -> String {
    text(file.path_bytes().unwrap_or_default())
}
