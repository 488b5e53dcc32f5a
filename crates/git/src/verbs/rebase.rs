//! `rebase`: the commits of this branch, made again on top of another.

use std::path::Path;

use git2::Oid;
use schemars::JsonSchema;
use serde::Deserialize;

use super::integration::{Ended, Origin, Way, at, base_of, begin, command, with_usual_cleanup};
use super::picks::PickAction;
use super::strategy::StrategyOption;
use super::verb::{Effect, VerbEntry};
use super::{Verbosity, revision};
use crate::{Error, Git, Repository, head, read_ref};
use branchyard_model::{BranchName, ErrorKind, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "rebase",
    title: "Rebase",
    description: "Replays this branch's commits on another branch or commit. Stops at conflicts (`ours` is what is rebased onto, `theirs` the replayed commit): resolve with git_resolve, then action continue, skip or abort. The old tip is `head_before`.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// With one under way: continue once nothing is in conflict, skip the commit at which it stopped, or abort.
    pub action: PickAction,
    /// Where the commits go: a branch, `origin/main`, a tag or a commit. The branch's own remote branch, if left out.
    pub onto: Option<String>,
    /// Commits that this has are not replayed; the same as `onto` where it is not given.
    pub upstream: Option<String>,
    /// Stay where the branch began, and only make the commits again: with `autosquash`, to tidy up.
    pub keep_base: bool,
    /// Join commits called `fixup! …` and `squash! …` with those they name.
    pub autosquash: bool,
    /// Make merge commits again too, in place of one straight line.
    pub rebase_merges: bool,
    /// As for git_merge. In a rebase `ours` is what is rebased onto.
    #[schemars(with = "Vec<String>")]
    pub strategy_options: Vec<StrategyOption>,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

impl Request {
    /// What makes no sense together, before anything is looked at.
    pub fn check(&self) -> Result<(), Problem> {
        let misplaced = |field: &str, why: &str| Err(Problem::unprocessable(field, why));
        if self.action != PickAction::Start && self.onto.is_some() {
            return misplaced("onto", "it belongs to action start");
        }
        if self.action != PickAction::Start && self.upstream.is_some() {
            return misplaced("upstream", "it belongs to action start");
        }
        if self.keep_base && self.onto.is_some() {
            return misplaced("onto", "with `keep_base` the branch stays where it began");
        }
        Ok(())
    }
}

/// Begins a rebase of `branch`, which is checked out at `dir`.
pub async fn start(
    git: &Git,
    dir: &Path,
    branch: &BranchName,
    request: &Request,
) -> Result<(Origin, Ended), Error> {
    let (asked, of) = (request.clone(), branch.clone());
    let (origin, onto, upstream) = at(dir, move |repo| prepare(repo, &asked, &of)).await?;
    let mut command = command(git, dir);
    if request.autosquash {
        // Between messages that are joined git writes notes.
        command = with_usual_cleanup(command);
    }
    // Git heeds it only where the list could be edited; its editor here leaves the list as it is.
    let autosquash = ["--interactive", "--autosquash"];
    let autosquash = autosquash.iter().filter(|_| request.autosquash);
    let command = command
        .args(["rebase", "--merge", "--no-autostash", "--no-fork-point"])
        .arg("--empty=drop")
        .args(autosquash)
        .args(request.rebase_merges.then_some("--rebase-merges"))
        .args(request.strategy_options.iter().map(|option| option.arg()));
    let command = match request.keep_base {
        true => command.arg("--keep-base"),
        false => command.args(["--onto", &onto.to_string()]),
    };
    let ended = begin(git, command.arg(upstream.to_string()), dir).await?;
    Ok((origin, ended))
}

/// Where from and where to, resolved, with nothing in the way. Blocks.
fn prepare(
    repo: &Repository,
    request: &Request,
    branch: &BranchName,
) -> Result<(Origin, Oid, Oid), Error> {
    let here = head(repo)?.commit;
    let named = |field: &str, revision: &Option<String>| {
        let found = revision.as_deref();
        let found = found.map(|revision| revision::commit(repo, field, revision));
        Ok::<_, Error>(found.transpose()?.map(|commit| commit.id()))
    };
    let onto = named("onto", &request.onto)?;
    let upstream = named("upstream", &request.upstream)?;
    let upstream = match upstream.or(onto) {
        Some(commit) => commit,
        None => read_ref(repo, &branch.remote_ref())?
            .ok_or_else(|| no_upstream(branch))?
            .git2(),
    };
    let onto = match request.keep_base {
        true => base_of(repo, here.git2(), upstream)?.unwrap_or(upstream),
        false => onto.unwrap_or(upstream),
    };
    Way::of_rebase(repo, here.git2(), upstream, onto)?.check_untouched(repo)?;
    let origin = Origin {
        head: here.git2(),
        brought: vec![onto],
        planned: None,
    };
    Ok((origin, onto, upstream))
}

fn no_upstream(branch: &BranchName) -> Problem {
    let detail = format!(
        "the remote was never seen to have {branch}, so it is not clear what to rebase onto"
    );
    Problem::new(ErrorKind::Unprocessable, "no_upstream", detail)
        .field("onto")
        .help("name it, as in `onto: \"origin/main\"`")
}
