//! `merge`: another line of history into this branch.

use std::path::Path;

use git2::{Commit, Oid};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::integration::{Ended, Origin, Way, at, base_of, begin, command, stages_nothing};
use super::strategy::{Strategy, StrategyOption};
use super::verb::{Effect, VerbEntry};
use super::{Verbosity, input, revision};
use crate::{Error, Git, Repository, head};
use branchyard_model::{BranchName, ErrorKind, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "merge",
    title: "Merge",
    description: "Merges another branch, tag or commit into this branch; also as a squash, or fast-forward only. Conflicts are an answer: `state` is conflicts and the merge waits; resolve with git_resolve, then action continue, or abort to put all back.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// With one under way: continue once nothing is in conflict, or abort.
    pub action: MergeAction,
    /// What to merge, needed to start: a branch, `origin/main`, a tag or a commit. One at a time.
    #[serde(default, deserialize_with = "one")]
    #[schemars(with = "Option<String>")]
    pub from: Option<String>,
    /// Whether the branch may simply be moved forward where it has no commits of its own.
    pub ff: FastForward,
    /// Stage all changes, without a merge commit; with `message` they are committed too.
    pub squash: bool,
    /// The message of the commit; git's usual one where there is none.
    pub message: Option<String>,
    /// How the sides are merged; `ort` where nothing is said.
    pub strategy: Option<Strategy>,
    /// Finer wishes for the strategy: ours, theirs, patience, ignore_all_space, …
    #[schemars(with = "Vec<String>")]
    pub strategy_options: Vec<StrategyOption>,
    /// Merge a history that has no commit in common with this one.
    pub allow_unrelated: bool,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub enum MergeAction {
    #[default]
    Start,
    Continue,
    Abort,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FastForward {
    /// Where it can be done.
    #[default]
    Auto,
    /// Or not at all.
    Only,
    /// Never: there is always a merge commit.
    Never,
}

impl Request {
    /// What makes no sense together, before anything is looked at.
    pub fn check(&self) -> Result<(), Problem> {
        if self.action != MergeAction::Start {
            if self.from.is_some() {
                return Err(Problem::unprocessable("from", "it belongs to action start"));
            }
            if self.action == MergeAction::Abort && self.message.is_some() {
                let detail = "it belongs to actions start and continue";
                return Err(Problem::unprocessable("message", detail));
            }
            return self.check_message();
        }
        if self.from.is_none() {
            return Err(Problem::unprocessable("from", "what is to be merged?")
                .help("name a branch, a remote branch such as `origin/main`, a tag or a commit"));
        }
        if self.squash && self.ff == FastForward::Never {
            let detail = "a squash makes no merge commit, which `ff: never` asks for";
            return Err(Problem::unprocessable("ff", detail));
        }
        self.check_message()
    }

    fn check_message(&self) -> Result<(), Problem> {
        let Some(message) = &self.message else {
            return Ok(());
        };
        input::check_no_nul(message)?;
        input::check_argument("message", message)
    }
}

/// Begins a merge into `branch`, which is checked out at `dir`.
pub async fn start(
    git: &Git,
    dir: &Path,
    branch: &BranchName,
    request: &Request,
) -> Result<(Origin, Ended), Error> {
    let (asked, into) = (request.clone(), branch.clone());
    let (origin, theirs, message) = at(dir, move |repo| prepare(repo, &asked, &into)).await?;
    let unrelated = "--allow-unrelated-histories";
    let merge = command(git, dir)
        .args(["merge", "--no-edit", "--no-autostash"])
        .arg(match request.ff {
            FastForward::Auto => "--ff",
            FastForward::Only => "--ff-only",
            FastForward::Never => "--no-ff",
        })
        .args(request.strategy.map(Strategy::arg))
        .args(request.strategy_options.iter().map(|option| option.arg()))
        .args(request.allow_unrelated.then_some(unrelated));
    let merge = match request.squash {
        true => merge.arg("--squash"),
        false => merge.args(["-m", &message]),
    };
    let ended = begin(git, merge.arg(theirs.to_string()), dir).await?;
    if request.squash
        && ended == Ended::Done
        && let Some(message) = &request.message
        && !at(dir, stages_nothing).await?
    {
        let commit = command(git, dir).args(["commit", "-m", message]);
        commit.output().await?;
    }
    Ok((origin, ended))
}

/// What is merged, resolved, with nothing in its way. Blocks.
fn prepare(
    repo: &Repository,
    request: &Request,
    into: &BranchName,
) -> Result<(Origin, Oid, String), Error> {
    let from = request.from.as_deref().unwrap_or_default();
    let theirs = revision::commit(repo, "from", from)?;
    let ours = head(repo)?.commit;
    let base = base_of(repo, ours.git2(), theirs.id())?;
    if base.is_none() && !request.allow_unrelated {
        let detail = format!("{from} has no commit in common with {into}");
        return Err(conflict("unrelated_histories", detail)
            .field("from")
            .help("`allow_unrelated: true` merges it all the same")
            .into());
    }
    let is_ahead = base != Some(ours.git2()) && base != Some(theirs.id());
    if request.ff == FastForward::Only && is_ahead {
        let detail = format!("{into} has commits that {from} lacks, so it cannot be moved forward");
        return Err(conflict("not_fast_forward", detail)
            .field("ff")
            .help("merge with `ff: auto`, or rebase first (git_rebase)")
            .into());
    }
    let way = match request.strategy {
        Some(Strategy::Ours) => Way::default(),
        _ => Way::of_merge(repo, ours.git2(), theirs.id())?,
    };
    way.check(repo)?;
    let origin = Origin {
        head: ours.git2(),
        brought: vec![theirs.id()],
        planned: None,
    };
    let message = request.message.clone();
    let message = message.unwrap_or_else(|| usual_message(repo, from, &theirs, into));
    Ok((origin, theirs.id(), message))
}

/// Git is given an id, and would name that in its message.
fn usual_message(repo: &Repository, from: &str, theirs: &Commit<'_>, into: &BranchName) -> String {
    let is = |prefix: &str| {
        repo.git2()
            .find_reference(&format!("{prefix}{from}"))
            .is_ok()
    };
    let what = if is("refs/heads/") {
        format!("branch '{from}'")
    } else if is("refs/tags/") {
        format!("tag '{from}'")
    } else if is("refs/remotes/") {
        format!("remote-tracking branch '{from}'")
    } else if is("refs/remotes/origin/") {
        format!("remote-tracking branch 'origin/{from}'")
    } else {
        format!("commit '{}'", theirs.id())
    };
    format!("Merge {what} into {into}")
}

fn conflict(code: &str, detail: String) -> Problem {
    Problem::new(ErrorKind::Conflict, code, detail)
}

/// One revision. Of several it is said that they are not merged at once.
fn one<'de, D: Deserializer<'de>>(given: D) -> Result<Option<String>, D::Error> {
    let given = Value::deserialize(given)?;
    if given.is_array() {
        return Err(D::Error::custom(
            "several at once (an octopus merge) are not supported: merge one after the other",
        ));
    }
    Option::deserialize(given).map_err(D::Error::custom)
}
