//! Conflicts as data: which paths, what each side has of them, and where in the file they disagree.

mod hunks;
mod kind;
mod working;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{AttrCheckFlags, IndexConflict, IndexEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use hunks::{Hunk, has_markers};
pub use kind::ConflictKind;
pub use working::{NewFile, Read, Standing, Working};

use super::Verbosity;
use crate::{Error, GITLINK, Repository, files_of};

/// A working file beyond this is not looked through for its hunks.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;
const LINK: u32 = 0o120000;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Relative to the workspace.
    pub path: String,
    pub kind: ConflictKind,
    pub form: Form,
    /// The path that it had in the base, where one side or both renamed it.
    pub renamed_from: Option<String>,
    /// What there is of it in the base and on either side; a side without one has no such file.
    pub stages: Option<Vec<Stage>>,
    /// The regions of the working file that are still between conflict markers.
    pub hunks: Option<Vec<Hunk>>,
    /// Stages, hunks or parts of them were left out; the file itself has them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Text,
    Binary,
    Symlink,
    Submodule,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    pub stage: Which,
    pub id: String,
    /// As git writes it: 100644, 100755 (executable), 120000 (link), 160000 (submodule).
    pub mode: String,
    /// Bytes; a submodule has none.
    pub size: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    Base,
    Ours,
    Theirs,
}

/// Their paths, a line each.
pub(super) fn paths(conflicts: &[Conflict]) -> String {
    let paths: Vec<_> = conflicts.iter().map(|found| found.path.as_str()).collect();
    paths.join("\n")
}

/// All conflicts of the index, in the order of their paths. Blocks.
pub fn conflicts(repo: &Repository) -> Result<Vec<Conflict>, Error> {
    let working = files_of(repo).as_deref().map(Working::open).transpose()?;
    let mut room = hunks::ALL_TEXT;
    let mut found = Vec::new();
    for conflict in repo.git2().index()?.conflicts()? {
        found.extend(Conflict::new(
            repo,
            working.as_ref(),
            &conflict?,
            &mut room,
        )?);
    }
    trace_renames(repo, &mut found)?;
    Ok(found)
}

/// The sides of one conflict, in the order of their stages.
pub(super) fn sides(conflict: &IndexConflict) -> [(Which, Option<&IndexEntry>); 3] {
    [
        (Which::Base, conflict.ancestor.as_ref()),
        (Which::Ours, conflict.our.as_ref()),
        (Which::Theirs, conflict.their.as_ref()),
    ]
}

pub(super) fn path_of(conflict: &IndexConflict) -> Option<PathBuf> {
    let entry = sides(conflict).into_iter().find_map(|(_, entry)| entry)?;
    Some(PathBuf::from(OsStr::from_bytes(&entry.path)))
}

impl Conflict {
    fn new(
        repo: &Repository,
        working: Option<&Working>,
        conflict: &IndexConflict,
        room: &mut usize,
    ) -> Result<Option<Self>, Error> {
        let Some(path) = path_of(conflict) else {
            return Ok(None);
        };
        let form = Form::of(repo, conflict);
        let mut shown = Self {
            path: path.to_string_lossy().into_owned(),
            kind: ConflictKind::of(conflict),
            form,
            renamed_from: None,
            stages: Some(stages(repo, conflict)),
            hunks: None,
            truncated: false,
        };
        if form != Form::Text {
            return Ok(Some(shown));
        }
        let attribute =
            repo.git2()
                .get_attr(&path, "conflict-marker-size", AttrCheckFlags::default())?;
        let width = attribute.and_then(|width| width.parse().ok());
        match working.map(|working| working.read(&path, LARGEST_FILE)) {
            Some(Read::Whole(text)) => {
                let (hunks, cut) = hunks::in_file(&text, width, room);
                shown.truncated = cut;
                shown.hunks = Some(hunks);
            }
            Some(Read::TooLarge) => shown.truncated = true,
            Some(Read::NoFile) | None => shown.hunks = Some(Vec::new()),
        }
        Ok(Some(shown))
    }

    fn blob(&self, which: Which) -> Option<String> {
        let stages = self.stages.as_ref()?;
        let stage = stages.iter().find(|stage| stage.stage == which)?;
        Some(stage.id.clone())
    }

    /// As much of it as is asked for.
    #[must_use]
    pub fn told(mut self, verbosity: Verbosity) -> Self {
        if verbosity == Verbosity::Minimal {
            (self.stages, self.hunks, self.truncated) = (None, None, false);
        }
        self
    }
}

impl Form {
    fn of(repo: &Repository, conflict: &IndexConflict) -> Self {
        let entries = sides(conflict).into_iter().filter_map(|(_, entry)| entry);
        let entries: Vec<_> = entries.collect();
        let is_binary = |entry: &&IndexEntry| {
            let blob = repo.git2().find_blob(entry.id);
            blob.is_ok_and(|blob| blob.is_binary())
        };
        if entries.iter().any(|entry| entry.mode == GITLINK) {
            Self::Submodule
        } else if entries.iter().any(|entry| entry.mode == LINK) {
            Self::Symlink
        } else if entries.iter().any(is_binary) {
            Self::Binary
        } else {
            Self::Text
        }
    }
}

fn stages(repo: &Repository, conflict: &IndexConflict) -> Vec<Stage> {
    sides(conflict)
        .into_iter()
        .filter_map(|(stage, entry)| Some((stage, entry?)))
        .map(|(stage, entry)| Stage {
            stage,
            id: entry.id.to_string(),
            mode: format!("{:06o}", entry.mode),
            size: repo.git2().find_blob(entry.id).ok().map(|blob| blob.size()),
        })
        .collect()
}

/// A file that both sides renamed is three conflicts, which belong together: what was added holds
/// mostly what was deleted.
fn trace_renames(repo: &Repository, found: &mut [Conflict]) -> Result<(), Error> {
    let deleted: Vec<(String, String)> = found
        .iter()
        .filter(|conflict| conflict.kind == ConflictKind::BothDeleted)
        .filter_map(|conflict| Some((conflict.path.clone(), conflict.blob(Which::Base)?)))
        .collect();
    if deleted.is_empty() {
        return Ok(());
    }
    for conflict in found {
        let added = match conflict.kind {
            ConflictKind::AddedByUs => conflict.blob(Which::Ours),
            ConflictKind::AddedByThem => conflict.blob(Which::Theirs),
            _ => None,
        };
        let Some(added) = added else { continue };
        for (path, base) in &deleted {
            if is_alike(repo, base, &added)? {
                conflict.renamed_from = Some(path.clone());
                break;
            }
        }
    }
    Ok(())
}

/// Whether most lines of the one are in the other.
fn is_alike(repo: &Repository, base: &str, added: &str) -> Result<bool, Error> {
    if base == added {
        return Ok(true);
    }
    let blob = |id: &str| repo.git2().find_blob(git2::Oid::from_str(id)?);
    let (Ok(base), Ok(added)) = (blob(base), blob(added)) else {
        return Ok(false);
    };
    let patch = git2::Patch::from_blobs(&base, None, &added, None, None)?;
    let (context, inserted, removed) = patch.line_stats()?;
    Ok(context + inserted.max(removed) > 0 && context >= inserted.max(removed))
}
