//! What an integration answers: how it ended, or where it stopped and what is to be done next.

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ended, Origin, stages_nothing};
use crate::verbs::conflicts::{Conflict, Hunk, conflicts};
use crate::verbs::operation::{Operation, UnderWay};
use crate::verbs::verb::Render;
use crate::verbs::{Brief, Verbosity};
use crate::{Error, Repository, check_extent, head};

/// As many new commits are listed.
const MOST_COMMITS: usize = 200;
/// As many conflicts are named in words.
const MOST_NAMED: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is done, and committed.
    Done,
    /// There was nothing to do: the branch has it all.
    UpToDate,
    /// It is done and staged; the commit is still to be made.
    Staged,
    /// It stopped at conflicts and is under way.
    Conflicts,
    /// What was to be applied changes nothing here, so no commit was made.
    Nothing,
    /// All is as it was before it began.
    Aborted,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
pub struct IntegrationOutcome {
    pub state: State,
    /// What is under way now, how far it is, and what `ours` and `theirs` mean.
    pub operation: Option<UnderWay>,
    /// The conflicts that are to be resolved before it goes on.
    pub conflicts: Vec<Conflict>,
    /// How many there are, listed or not.
    pub conflicts_total: usize,
    /// The tip of the branch before the operation began.
    pub head_before: String,
    /// The commits that it made so far, the newest first.
    pub commits: Option<Vec<Brief>>,
    /// How many it made, listed or not.
    pub commits_total: usize,
    /// How many commits of others it brought to this branch.
    pub brought: usize,
    /// How many commits changed nothing here or were skipped, and were not made again.
    pub dropped: Option<usize>,
    /// How much the branch changed by it.
    pub changed: Option<Changed>,
    /// Lists or texts were shortened to fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What to do now.
    pub next: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    pub files: usize,
    pub insertions: usize,
    pub deletions: usize,
}

impl IntegrationOutcome {
    /// Of an operation that began at `origin` and has ended or stopped now. Blocks.
    pub fn read(
        repo: &Repository,
        origin: &Origin,
        ended: Ended,
        verbosity: Verbosity,
    ) -> Result<Self, Error> {
        let here = head(repo)?;
        let operation = UnderWay::read(repo)?;
        let found = conflicts(repo)?;
        let (commits, total) = made(repo, here.commit.git2(), origin)?;
        let state = match ended {
            Ended::Stopped => State::Conflicts,
            Ended::Aborted => State::Aborted,
            Ended::Done if here.commit.git2() != origin.head => State::Done,
            Ended::Done if !stages_nothing(repo)? => State::Staged,
            Ended::Done if origin.planned.is_some() => State::Nothing,
            Ended::Done => State::UpToDate,
        };
        let dropped = origin.planned.filter(|_| state == State::Done);
        let is_told = verbosity == Verbosity::Full && here.commit.git2() != origin.head;
        let changed = is_told.then(|| changed(repo, origin.head, here.commit.git2()));
        Ok(Self {
            state,
            next: match (state, &operation) {
                (State::Conflicts, Some(under_way)) => Some(next_of(under_way, 1)),
                (State::Staged, _) => Some("git_commit makes the commit".to_owned()),
                _ => None,
            },
            operation,
            conflicts_total: found.len(),
            conflicts: found.into_iter().map(|it| it.told(verbosity)).collect(),
            head_before: origin.head.to_string(),
            truncated: commits.len() < total,
            commits: (verbosity > Verbosity::Minimal).then_some(commits),
            commits_total: total,
            brought: brought(repo, here.commit.git2(), origin)?,
            dropped: dropped.map(|planned| planned.saturating_sub(total)),
            changed: changed.transpose()?,
        })
    }
}

impl Render for IntegrationOutcome {
    fn text(&self) -> String {
        let mut lines = vec![match self.state {
            State::Done => format!(
                "done: {} commit(s) made, {} brought",
                self.commits_total, self.brought
            ),
            State::UpToDate => "up to date: the branch has it all".to_owned(),
            State::Staged => "staged, not committed yet".to_owned(),
            State::Conflicts => format!("stopped at {} conflict(s)", self.conflicts_total),
            State::Nothing => "nothing: it changes nothing here".to_owned(),
            State::Aborted => format!("aborted: all is as it was, at {}", self.head_before),
        }];
        lines.extend(self.operation.iter().flat_map(described));
        lines.extend(named(&self.conflicts, self.conflicts_total));
        lines.extend(self.next.iter().map(|next| format!("next: {next}")));
        lines.join("\n")
    }
}

/// What is under way, in words.
pub fn described(under_way: &UnderWay) -> Vec<String> {
    let mut words = format!(
        "{}, step {} of {}",
        under_way.kind.name(),
        under_way.step,
        under_way.total
    );
    if let Some(commit) = &under_way.applying {
        words.push_str(&format!(": {} {}", commit.id, commit.subject));
    }
    vec![
        words,
        format!("ours is {}", under_way.ours_is.what),
        format!("theirs is {}", under_way.theirs_is.what),
    ]
}

/// Conflicts with their hunks, as many as are of use.
pub fn named(conflicts: &[Conflict], total: usize) -> Vec<String> {
    let shown = &conflicts[..conflicts.len().min(MOST_NAMED)];
    let mut lines = Vec::new();
    for conflict in shown {
        lines.push(format!("{}: {}", conflict.kind.says(), conflict.path));
        lines.extend(conflict.hunks.iter().flatten().map(Hunk::text));
    }
    if total > shown.len() {
        lines.push(format!("… and {} more", total - shown.len()));
    }
    lines
}

/// What to do about an operation that stopped.
pub fn next_of(under_way: &UnderWay, conflicts: usize) -> String {
    let first = match conflicts {
        0 => "nothing is in conflict any more",
        _ => "resolve each conflict with git_resolve (take ours or theirs, or give the content)",
    };
    let rest = match under_way.kind {
        Operation::Apply => "commit with git_commit; git_merge with action abort puts all back",
        kind => kind.way_out(),
    };
    format!("{first}; {rest}")
}

/// The newest of the commits that were made, and how many those are.
fn made(repo: &Repository, tip: Oid, origin: &Origin) -> Result<(Vec<Brief>, usize), Error> {
    let mut walk = repo.git2().revwalk()?;
    walk.push(tip)?;
    walk.hide(origin.head)?;
    for brought in &origin.brought {
        walk.hide(*brought)?;
    }
    Brief::newest(repo, walk, MOST_COMMITS)
}

/// How many commits of what was brought the branch has now and had not before.
fn brought(repo: &Repository, tip: Oid, origin: &Origin) -> Result<usize, Error> {
    let mut count = 0;
    for brought in &origin.brought {
        let is_here = *brought == tip || repo.git2().graph_descendant_of(tip, *brought)?;
        if is_here {
            count += repo.git2().graph_ahead_behind(*brought, origin.head)?.0;
        }
    }
    Ok(count)
}

fn changed(repo: &Repository, from: Oid, to: Oid) -> Result<Changed, Error> {
    let (from, to) = (repo.tree_of(from)?, repo.tree_of(to)?);
    check_extent(repo, Some(&from), Some(&to))?;
    let stats = repo.diff_trees(Some(&from), Some(&to))?.stats()?;
    Ok(Changed {
        files: stats.files_changed(),
        insertions: stats.insertions(),
        deletions: stats.deletions(),
    })
}
