//! The files that differ between two sides, with counts and patches, as much of them as fits into an
//! answer.

mod file;
mod locks;
mod sides;
mod text;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{Diff, DiffOptions, Patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delta::{self, ChangeKind};
use super::room::take;
use crate::{Error, Repository};
use locks::is_lock_file;

pub use file::FileDiff;
pub use sides::Sides;
pub use text::PatchText;

/// What an answer may take, whoever asks.
const LARGEST_ANSWER: usize = 1024 * 1024;
/// A larger file is taken to be binary: it would have to be held in memory.
const LARGEST_FILE: i64 = 64 * 1024 * 1024;

/// What a file takes in an answer, beside its patch.
const BESIDE_PATCH: usize = 300;

/// What is wanted of the files that differ.
#[derive(Debug, Clone)]
pub struct WantedFiles {
    pub detail: Detail,
    /// Lines around each change.
    pub context: u32,
    /// Patches of lock files, too.
    pub lock_files: bool,
    /// Files that git does not know, too.
    pub untracked: bool,
    /// Modes and ids.
    pub sides: bool,
    pub from: Place,
    /// How many files at most.
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    Names,
    Counts,
    Patches,
}

/// The files that differ.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Files {
    files: Vec<FileDiff>,
    /// Of all files, also of those that are not in this answer.
    totals: Totals,
    /// Lock files of package managers that are here without their patches; `lock_files` shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// There is more than this answer holds.
    truncated: bool,
    /// What to ask for to go on, where there is more.
    next: Option<Place>,
    #[serde(skip)]
    from: Place,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    pub files: usize,
    /// Left out where only names were asked for.
    pub additions: Option<usize>,
    pub deletions: Option<usize>,
}

/// A place in the list of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// How many files are before it.
    pub skip: usize,
    /// How many hunks of its file are before it.
    pub skip_hunks: usize,
}

impl Files {
    /// What differs at `paths`, which are checked.
    pub fn between(
        repo: &Repository,
        sides: &Sides<'_>,
        paths: &[PathBuf],
        wanted: &WantedFiles,
    ) -> Result<Self, Error> {
        if !sides.have_files() {
            return Self::found(repo, sides, paths, wanted);
        }
        let (still, paths) = sides.files(repo, paths, wanted.untracked)?;
        match paths.is_empty() {
            true => Ok(Self::none(wanted)),
            false => Self::found(still.repo(), sides, &paths, wanted),
        }
    }

    fn found(
        repo: &Repository,
        sides: &Sides<'_>,
        paths: &[PathBuf],
        wanted: &WantedFiles,
    ) -> Result<Self, Error> {
        let mut diff = sides.diff(repo, &mut wanted.options(paths))?;
        delta::find_renames(&mut diff)?;
        let mut found = Self::none(wanted);
        let mut room = Some(LARGEST_ANSWER);
        for number in 0..diff.deltas().len() {
            let Some((mut file, patches)) = compare(repo, sides, wanted, &diff, number)? else {
                continue;
            };
            found.totals.add(&file);
            let is_next = found.totals.files > wanted.from.skip;
            if !is_next || found.files.len() == wanted.limit || room.is_none() {
                continue;
            }
            if wanted.detail == Detail::Patches && !patches.is_empty() {
                match is_lock_file(&file.path) && !wanted.lock_files {
                    true => found.left_out.push(file.path.clone()),
                    false => file.show(PatchText::of(patches)?),
                }
            }
            room = room.and_then(|room| room.checked_sub(file.patch_len()));
            found.files.push(file);
        }
        if let Some(first) = found.files.first_mut() {
            first.change_patch(|patch| patch.pass_over(wanted.from.skip_hunks));
        }
        found.cut(LARGEST_ANSWER);
        Ok(found)
    }

    /// Nothing differs.
    pub fn none(wanted: &WantedFiles) -> Self {
        let none = (wanted.detail > Detail::Names).then_some(0);
        Self {
            files: Vec::new(),
            totals: Totals {
                files: 0,
                additions: none,
                deletions: none,
            },
            left_out: Vec::new(),
            truncated: false,
            next: None,
            from: wanted.from,
        }
    }

    /// Leaves out hunks and files at the end, so that the rest takes about `room` bytes of JSON, and says
    /// where to go on. At least one file stays.
    pub fn cut(&mut self, room: usize) {
        let mut left = room;
        let mut kept = 0;
        for file in &mut self.files {
            let before = left;
            if take(&mut left, file) {
                kept += 1;
                continue;
            }
            file.change_patch(|patch| patch.shorten(before.saturating_sub(BESIDE_PATCH)));
            if file.shows_hunks() || kept == 0 {
                kept += 1;
            }
            break;
        }
        self.files.truncate(kept);
        self.left_out
            .retain(|path| self.files.iter().any(|file| file.path == *path));
        let shown = self.from.skip + self.files.len();
        let unfinished = self.files.last().and_then(FileDiff::next_hunk);
        self.next = match unfinished {
            Some(hunk) => Some(Place {
                skip: shown - 1,
                skip_hunks: hunk,
            }),
            None => (shown < self.totals.files).then_some(Place {
                skip: shown,
                skip_hunks: 0,
            }),
        };
        self.truncated =
            self.next.is_some() || self.files.iter().any(|file| file.hunks_left_out > 0);
    }

    /// All of it in lines: patches where there are any, else a line for each file.
    pub fn text(&self) -> String {
        let Totals {
            files,
            additions,
            deletions,
        } = self.totals;
        let mut text = format!("{files} files");
        if let (Some(additions), Some(deletions)) = (additions, deletions) {
            text += &format!(", +{additions} -{deletions}");
        }
        text.push('\n');
        for file in &self.files {
            match &file.patch {
                Some(patch) => text += patch.as_str(),
                None => text += &format!("{}\n", file.line()),
            }
        }
        if let Some(Place { skip, skip_hunks }) = self.next {
            text += &format!("more with skip: {skip}, skip_hunks: {skip_hunks}\n");
        }
        text
    }
}

impl Totals {
    fn add(&mut self, file: &FileDiff) {
        self.files += 1;
        for (sum, lines) in [
            (&mut self.additions, file.additions),
            (&mut self.deletions, file.deletions),
        ] {
            *sum = sum.map(|sum| sum + lines.unwrap_or_default());
        }
    }
}

impl WantedFiles {
    fn options(&self, paths: &[PathBuf]) -> DiffOptions {
        let mut options = delta::options(paths);
        options
            .context_lines(self.context)
            .max_size(LARGEST_FILE)
            .include_untracked(self.untracked)
            .recurse_untracked_dirs(self.untracked)
            .show_untracked_content(self.untracked);
        options
    }
}

/// One of the files with its counts, and what its patch is made of, as far as that is wanted.
fn compare<'repo>(
    repo: &'repo Repository,
    sides: &Sides<'_>,
    wanted: &WantedFiles,
    diff: &Diff<'repo>,
    number: usize,
) -> Result<Option<(FileDiff, Vec<Patch<'repo>>)>, Error> {
    let Some(delta) = diff.get_delta(number) else {
        return Ok(None);
    };
    let Some(kind) = ChangeKind::of(&delta) else {
        return Ok(None);
    };
    let mut file = FileDiff::named(&delta, kind, wanted.sides);
    let patches = match kind {
        _ if wanted.detail == Detail::Names || !file.has_lines() => Vec::new(),
        ChangeKind::TypeChanged => halves(repo, sides, wanted, delta.new_file().path_bytes())?,
        _ => Patch::from_diff(diff, number)?.into_iter().collect(),
    };
    file.count(&patches)?;
    Ok(Some((file, patches)))
}

/// A file that became something else cannot be patched from one to the other: the one goes and the other
/// comes.
fn halves<'repo>(
    repo: &'repo Repository,
    sides: &Sides<'_>,
    wanted: &WantedFiles,
    path: Option<&[u8]>,
) -> Result<Vec<Patch<'repo>>, Error> {
    let path = PathBuf::from(OsStr::from_bytes(path.unwrap_or_default()));
    let mut options = wanted.options(&[path]);
    options.include_typechange(false);
    let diff = sides.diff_of_halves(repo, &mut options)?;
    let patches = (0..diff.deltas().len()).map(|half| Patch::from_diff(&diff, half));
    Ok(patches
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?)
}
