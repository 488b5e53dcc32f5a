//! A commit as `log` tells it.

use git2::{Commit, Diff, DiffFindOptions, DiffFormat, DiffOptions, Patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::Request;
use crate::verbs::Verbosity;
use crate::verbs::decorations::Decorations;
use crate::verbs::person::{Person, text};
use crate::{Difference, Error, Repository, check_extent};

/// Where more files have changed, knowing which saves nothing.
const MOST_NAMED: usize = 1000;
/// A longer patch is cut.
const LONGEST_PATCH: usize = 64 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Entry")]
pub struct LogEntry {
    pub id: String,
    pub short_id: String,
    pub subject: String,
    /// The rest of the message; not with `minimal`.
    pub body: Option<String>,
    pub author: Person,
    /// Not with `minimal`.
    pub committer: Option<Person>,
    /// Not with `minimal`.
    pub parents: Option<Vec<String>>,
    /// Branches and tags that are at this commit; not with `minimal`.
    pub refs: Option<Vec<String>>,
    /// What the followed file was called in this commit.
    pub path: Option<String>,
    pub stat: Option<Stat>,
    pub patch: Option<PatchText>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Stat {
    pub files: usize,
    pub additions: usize,
    pub deletions: usize,
    /// The same by file; with `full` only.
    pub by_file: Option<Vec<FileStat>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileStat {
    pub path: String,
    /// What it was called before.
    pub old_path: Option<String>,
    pub additions: usize,
    pub deletions: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PatchText {
    pub text: String,
    /// Of the whole patch.
    pub bytes: usize,
    /// `text` is only its beginning.
    pub truncated: bool,
}

impl LogEntry {
    pub(super) fn text(&self) -> String {
        let (short_id, day) = (&self.short_id, self.author.day());
        let mut text = format!("{short_id} {day} {}: {}", self.author.name, self.subject);
        if let Some(refs) = self.refs.as_ref().filter(|refs| !refs.is_empty()) {
            text.push_str(&format!(" ({})", refs.join(", ")));
        }
        if let Some(path) = &self.path {
            text.push_str(&format!(" [{path}]"));
        }
        if let Some(stat) = &self.stat {
            let (files, more, less) = (stat.files, stat.additions, stat.deletions);
            text.push_str(&format!(" {files} files, +{more} -{less}"));
        }
        text.push('\n');
        text.extend(self.patch.as_ref().map(|patch| patch.text.as_str()));
        text
    }
}

/// Makes entries of commits.
pub(super) struct Teller<'a> {
    repo: &'a Repository,
    request: &'a Request,
    decorations: Option<Decorations>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(repo: &'a Repository, request: &'a Request) -> Result<Self, Error> {
        let decorations = (request.verbosity > Verbosity::Minimal)
            .then(|| Decorations::read(repo))
            .transpose()?;
        Ok(Self {
            repo,
            request,
            decorations,
        })
    }

    /// `at` are the paths that changes are told of; all where there are none.
    pub(super) fn tell(
        &self,
        commit: &Commit<'_>,
        at: &[&str],
        followed: Option<String>,
    ) -> Result<LogEntry, Error> {
        let more = self.request.verbosity > Verbosity::Minimal;
        let diff = match self.request.stat || self.request.patch {
            true => self.diff(commit, at)?,
            false => None,
        };
        let stat = diff.as_ref().filter(|_| self.request.stat);
        let patch = diff.as_ref().filter(|_| self.request.patch);
        Ok(LogEntry {
            id: commit.id().to_string(),
            short_id: text(&commit.as_object().short_id()?),
            subject: text(commit.summary_bytes().unwrap_or_default()),
            body: more.then(|| text(commit.body_bytes().unwrap_or_default())),
            author: Person::of(&commit.author()),
            committer: more.then(|| Person::of(&commit.committer())),
            parents: more.then(|| commit.parent_ids().map(|id| id.to_string()).collect()),
            refs: self
                .decorations
                .as_ref()
                .map(|decorations| decorations.of(commit.id())),
            path: followed,
            stat: stat.map(|diff| self.stat(diff)).transpose()?,
            patch: patch.map(patch_text).transpose()?,
        })
    }

    /// What the commit did to its parent. A merge did nothing of its own, unless it stands for all that it
    /// brought to its first parent.
    fn diff(&self, commit: &Commit<'_>, at: &[&str]) -> Result<Option<Diff<'a>>, Error> {
        if commit.parent_count() > 1 && !self.request.first_parent {
            return Ok(None);
        }
        let old = match commit.parent_count() {
            0 => None,
            _ => Some(commit.parent(0)?.tree()?),
        };
        let mut options = DiffOptions::new();
        options
            .include_typechange(true)
            .disable_pathspec_match(true);
        let new = commit.tree()?;
        check_extent(self.repo, old.as_ref(), Some(&new))?;
        // Libgit2's own diff goes through every file of both trees, changed or not; told where to look it does not.
        if at.is_empty()
            && let Some(old) = &old
            && let Some(known) = Difference::between(self.repo, old, &new, MOST_NAMED)?
        {
            if known.changes.is_empty() {
                return Ok(Some(self.repo.git2().diff_tree_to_tree(None, None, None)?));
            }
            for change in known.changes {
                options.pathspec(change.path);
            }
        }
        for path in at {
            options.pathspec(*path);
        }
        let mut diff =
            self.repo
                .git2()
                .diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut options))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        Ok(Some(diff))
    }

    fn stat(&self, diff: &Diff<'_>) -> Result<Stat, Error> {
        let stats = diff.stats()?;
        let by_file = (self.request.verbosity == Verbosity::Full)
            .then(|| by_file(diff))
            .transpose()?;
        Ok(Stat {
            files: stats.files_changed(),
            additions: stats.insertions(),
            deletions: stats.deletions(),
            by_file,
        })
    }
}

fn by_file(diff: &Diff<'_>) -> Result<Vec<FileStat>, Error> {
    let mut files = Vec::new();
    for (n, delta) in diff.deltas().enumerate() {
        // There is none of a binary file.
        let lines = Patch::from_diff(diff, n)?.map(|patch| patch.line_stats());
        let (_, additions, deletions) = lines.transpose()?.unwrap_or_default();
        let old_path = text(delta.old_file().path_bytes().unwrap_or_default());
        let path = text(delta.new_file().path_bytes().unwrap_or_default());
        files.push(FileStat {
            old_path: Some(old_path).filter(|old| *old != path),
            path,
            additions,
            deletions,
        });
    }
    Ok(files)
}

fn patch_text(diff: &Diff<'_>) -> Result<PatchText, Error> {
    let (mut patch, mut bytes) = (Vec::new(), 0);
    diff.print(DiffFormat::Patch, |_, _, line| {
        let origin = line.origin();
        let mark: &[u8] = match origin {
            '+' => b"+",
            '-' => b"-",
            ' ' => b" ",
            _ => b"",
        };
        bytes += mark.len() + line.content().len();
        if bytes <= LONGEST_PATCH {
            patch.extend_from_slice(mark);
            patch.extend_from_slice(line.content());
        }
        true
    })?;
    Ok(PatchText {
        truncated: bytes > patch.len(),
        text: text(&patch),
        bytes,
    })
}
