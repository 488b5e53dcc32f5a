//! `status`: what is staged, changed, new and in conflict, and what is under way.

mod conflict;
mod found;
mod from_metadata;
mod operation;
mod porcelain;
mod text;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::suspects::may_have_flagged_files;
use super::verb::{Effect, VerbEntry};
use crate::{Error, Head, MetadataStatus, Repository, SubmoduleState, head, read_ref};
use branchyard_model::BranchName;

pub use conflict::Conflict;
pub use found::{Change, Found};
pub use operation::Operation;

pub const VERB: VerbEntry = VerbEntry {
    name: "status",
    title: "Show the state of the workspace",
    description: "Shows what is staged, changed, untracked and in conflict, how the branch stands to its remote, and whether a merge or the like waits to be finished.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Only these files and directories.
    pub paths: Vec<String>,
    /// Look for untracked files, too.
    pub untracked: bool,
    /// Untracked and ignored files one by one, in place of the directories that hold nothing else.
    pub each_file: bool,
    /// List ignored files, too.
    pub ignored: bool,
    /// How much is told: `minimal` counts, `standard` lists, `full` adds modes and blob ids.
    pub verbosity: Verbosity,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            untracked: true,
            each_file: false,
            ignored: false,
            verbosity: Verbosity::default(),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The branch that HEAD is on; left out where it is detached.
    pub on: Option<String>,
    /// How HEAD stands to the branch's remote, as it was last fetched; not with `minimal`.
    pub upstream: Option<Upstream>,
    /// What waits to be continued, skipped or aborted.
    pub operation: Option<Operation>,
    /// Nothing is staged, changed, in conflict or, if that was looked at, untracked; else the workspace is `dirty`.
    pub clean: bool,
    pub counts: Counts,
    /// What the index has and HEAD has not; the lists are not there with `minimal`.
    pub staged: Option<Vec<Change>>,
    /// What the files have and the index has not.
    pub unstaged: Option<Vec<Change>>,
    pub conflicted: Option<Vec<Conflict>>,
    /// A directory that holds nothing tracked is one entry, with a slash at its end.
    pub untracked: Option<Vec<String>>,
    pub ignored: Option<Vec<String>>,
    /// Those that are not as recorded, in themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleState>,
    /// The lists do not hold all that `counts` counts: ask again with `paths`.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    pub name: String,
    /// Commits that HEAD has and the remote's branch has not.
    pub ahead: usize,
    /// Commits that the remote's branch has and HEAD has not.
    pub behind: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub staged: usize,
    pub unstaged: usize,
    pub conflicted: usize,
    /// Left out where they were not looked for.
    pub untracked: Option<usize>,
    pub ignored: Option<usize>,
}

/// The status of the workspace of `branch`, where the metadata of all files tell most of it; `paths` are the caller's,
/// checked.
pub fn status_at_a_glance(
    repo: &Repository,
    branch: &BranchName,
    paths: &[PathBuf],
    request: &Request,
    status: &MetadataStatus,
) -> Result<Option<Status>, Error> {
    let head = head(repo)?;
    let found = Found::status(repo, &head, paths, request, status)?;
    let status = found.map(|found| Status::new(repo, branch, &head, found, request));
    status.transpose()
}

/// The same of what git was asked for, with what it was told to overlook.
pub fn status_of(
    repo: &Repository,
    branch: &BranchName,
    paths: &[PathBuf],
    request: &Request,
    mut found: Found,
) -> Result<Status, Error> {
    if may_have_flagged_files(repo) {
        found::add_overlooked(&mut found, repo, &repo.git2().index()?, paths);
    }
    Status::new(repo, branch, &head(repo)?, found, request)
}

impl Status {
    fn new(
        repo: &Repository,
        branch: &BranchName,
        head: &Head,
        found: Found,
        request: &Request,
    ) -> Result<Self, Error> {
        let counts = Counts {
            staged: found.staged.len(),
            unstaged: found.unstaged.len(),
            conflicted: found.conflicted.len(),
            untracked: request.untracked.then_some(found.untracked.len()),
            ignored: request.ignored.then_some(found.ignored.len()),
        };
        let with_lists = request.verbosity > Verbosity::Minimal;
        let upstream = match with_lists {
            true => Upstream::of(repo, branch, head)?,
            false => None,
        };
        Ok(Self {
            on: head.branch.clone(),
            upstream,
            operation: Operation::under_way(repo, head),
            clean: !found.has_tracked_changes() && found.untracked.is_empty(),
            counts,
            staged: with_lists.then_some(found.staged),
            unstaged: with_lists.then_some(found.unstaged),
            conflicted: with_lists.then_some(found.conflicted),
            untracked: (with_lists && request.untracked).then_some(found.untracked),
            ignored: (with_lists && request.ignored).then_some(found.ignored),
            submodules: Vec::new(),
            truncated: false,
        })
    }
}

impl Upstream {
    /// `None` where the remote was never seen to have the branch.
    fn of(repo: &Repository, branch: &BranchName, head: &Head) -> Result<Option<Self>, Error> {
        let Some(remote) = read_ref(repo, &branch.remote_ref())? else {
            return Ok(None);
        };
        let (ahead, behind) = repo
            .git2()
            .graph_ahead_behind(head.commit.git2(), remote.git2())?;
        Ok(Some(Self {
            name: format!("origin/{branch}"),
            ahead,
            behind,
        }))
    }
}
