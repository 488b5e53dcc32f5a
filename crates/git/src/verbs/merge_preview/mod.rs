//! `merge_preview`: would one branch merge into another? Tried by `git merge-tree`, which merges as
//! `git merge` does and touches no index, no file and no ref; libgit2 finds renames otherwise, and would
//! tell of conflicts that git does not have. The objects that it writes are in nobody's way.

mod outcome;

use std::path::Path;
use std::time::Duration;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changelog::End;
use super::integration::base_of;
use super::verb::{Effect, Render, VerbEntry};
use super::{Verbosity, budget, revision};
use crate::command::GitCommand;
use crate::version::MERGE_TREE;
use crate::{Error, Git, Repository, head, read_ref};
use branchyard_model::{BranchName, ErrorKind, Problem};

pub use outcome::{Conflict, Side};

const PATIENCE: Duration = Duration::from_secs(60);
/// Of the listing of conflicts.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;

pub const VERB: VerbEntry = VerbEntry {
    name: "merge_preview",
    title: "Would it merge?",
    description: "Tries whether this branch would merge into another (the default branch if none is named), and lists files in conflict, touching no workspace.",
    effect: Effect::READS.reaching_out(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Where to: a branch, of which what the remote has counts, or any tag or commit. The remote's default
    /// branch where not given.
    pub into: Option<String>,
    /// What is to be merged: a branch, tag or commit; this branch as it is committed where not given.
    pub from: Option<String>,
    /// Ask the remote for the branches that were named first, so that the answer is about what it has now.
    pub fetch: bool,
    /// How much is told of each conflict.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergePreview {
    pub outcome: Outcome,
    pub into: End,
    pub from: End,
    /// Where the two parted.
    pub merge_base: Option<String>,
    /// How many commits the merge would bring to `into`.
    pub incoming: usize,
    /// How many commits `into` has that `from` has not.
    pub missing: usize,
    /// How many files are in conflict.
    pub conflicted: usize,
    /// The files in conflict.
    pub conflicts: Vec<Conflict>,
    /// The lists are cut.
    pub truncated: bool,
    /// The tree that the merge would make, with conflict markers where there are conflicts; with `full`.
    pub merged_tree: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// `into` has all of it.
    AlreadyMerged,
    /// `into` has nothing of its own and can just move on.
    FastForward,
    /// It merges without conflicts.
    Clean,
    Conflicts,
    /// They have no commit in common, so that git does not merge them.
    Unrelated,
}

impl Request {
    /// The branches that the remote is to be asked for.
    pub fn branches_to_fetch(&self, default: Option<&str>) -> Vec<BranchName> {
        let named = [self.into.as_deref().or(default), self.from.as_deref()];
        let branches = named.into_iter().flatten().map(BranchName::parse);
        branches.filter_map(Result::ok).collect()
    }
}

/// The two commits, and how they stand to each other.
#[derive(Debug, Clone)]
pub struct Pair {
    into: (String, Oid),
    from: (String, Oid),
    base: Option<Oid>,
    incoming: usize,
    missing: usize,
}

/// Finds both commits. `default` is the default branch.
pub fn pair(repo: &Repository, request: &Request, default: Option<&str>) -> Result<Pair, Error> {
    let into = match request.into.as_deref().or(default) {
        Some(named) => at_remote(repo, named)?,
        None => {
            return Err(Problem::unprocessable("into", "no default branch is known")
                .help("name the branch to merge into")
                .into());
        }
    };
    let from = match &request.from {
        Some(named) => (named.clone(), revision::commit(repo, "from", named)?.id()),
        None => ("HEAD".to_owned(), head(repo)?.commit.git2()),
    };
    let base = base_of(repo, into.1, from.1)?;
    let (incoming, missing) = repo.git2().graph_ahead_behind(from.1, into.1)?;
    Ok(Pair {
        into,
        from,
        base,
        incoming,
        missing,
    })
}

/// A merge goes to what the remote has, which a workspace's own branch of that name may lag behind.
fn at_remote(repo: &Repository, named: &str) -> Result<(String, Oid), Error> {
    if let Ok(branch) = BranchName::parse(named)
        && let Some(tip) = read_ref(repo, &branch.remote_ref())?
    {
        return Ok((format!("origin/{named}"), tip.git2()));
    }
    let commit = revision::commit(repo, "into", named)?;
    Ok((named.to_owned(), commit.id()))
}

/// Tries the merge, in the repository at `store`.
pub async fn preview(
    git: &Git,
    store: &Path,
    pair: Pair,
    verbosity: Verbosity,
) -> Result<MergePreview, Error> {
    let end = |(name, id): &(String, Oid)| End {
        name: name.clone(),
        id: id.to_string(),
    };
    let mut preview = MergePreview {
        outcome: Outcome::Clean,
        into: end(&pair.into),
        from: end(&pair.from),
        merge_base: pair.base.map(|base| base.to_string()),
        incoming: pair.incoming,
        missing: pair.missing,
        conflicted: 0,
        conflicts: Vec::new(),
        truncated: false,
        merged_tree: None,
    };
    let decided = match pair.base {
        None => Some(Outcome::Unrelated),
        Some(base) if base == pair.from.1 => Some(Outcome::AlreadyMerged),
        Some(base) if base == pair.into.1 => Some(Outcome::FastForward),
        Some(_) => None,
    };
    if let Some(outcome) = decided {
        preview.outcome = outcome;
        return Ok(preview);
    }
    let command = git.at(store).read_only(PATIENCE);
    let tried = tried(command, (pair.into.1, pair.from.1), verbosity).await?;
    if !tried.is_clean {
        preview.outcome = Outcome::Conflicts;
    }
    preview.merged_tree = tried.tree.filter(|_| verbosity == Verbosity::Full);
    preview.conflicted = tried.conflicts.len();
    preview.conflicts = tried.conflicts;
    preview.truncated = tried.truncated;
    Ok(preview)
}

/// What two commits come to when they are merged.
pub(crate) struct TriedMerge {
    pub(crate) is_clean: bool,
    pub(crate) tree: Option<String>,
    pub(crate) conflicts: Vec<Conflict>,
    truncated: bool,
}

/// Merges `from` into `into`, by a `command` that is in their repository.
pub(crate) async fn tried(
    command: GitCommand,
    (into, from): (Oid, Oid),
    verbosity: Verbosity,
) -> Result<TriedMerge, Error> {
    let said = command
        // A store has no files, and the attributes that decide how files merge are the target's.
        .env("GIT_ATTR_SOURCE", into.to_string())
        .args(["merge-tree", "--write-tree", "-z", "--messages"])
        // Callers looked; to git a commit without a parent is related to nothing.
        .arg("--allow-unrelated-histories")
        .args([into.to_string(), from.to_string()])
        .capture(MAX_OUTPUT, |_| {})
        .await
        .map_err(|error| budget::told(error, "try again when the machine has less to do"))?;
    let is_clean = match said.status.code() {
        Some(0) => true,
        Some(1) => false,
        // Nothing else is so much to tell of.
        _ if said.truncated => false,
        _ => {
            let words = String::from_utf8_lossy(&said.stderr);
            let detail = format!("git could not try the merge: {}", words.trim());
            let help =
                format!("this needs git {MERGE_TREE} or later, and all objects of both branches");
            return Err(
                Problem::new(ErrorKind::Unprocessable, "merge_failed", detail)
                    .help(help)
                    .into(),
            );
        }
    };
    let (tree, conflicts) = outcome::parsed(&said.stdout, verbosity);
    Ok(TriedMerge {
        is_clean,
        tree,
        conflicts,
        truncated: said.truncated,
    })
}

impl Render for MergePreview {
    fn text(&self) -> String {
        let (from, into) = (&self.from.name, &self.into.name);
        let mut text = match self.outcome {
            Outcome::AlreadyMerged => format!("{into} has all of {from} already"),
            Outcome::FastForward => format!("{into} can be moved on to {from}"),
            Outcome::Clean => format!("{from} merges into {into} without conflicts"),
            Outcome::Conflicts => format!(
                "{from} does not merge into {into}: {} files in conflict",
                self.conflicted
            ),
            Outcome::Unrelated => format!("{from} and {into} have no commit in common"),
        };
        text += &format!(" ({} commits, {} missing)\n", self.incoming, self.missing);
        for conflict in &self.conflicts {
            text += &format!("{}: {}\n", conflict.path, conflict.kinds.join(", "));
        }
        text
    }
}
