//! What `cherry_pick` and `revert` have in common: commits that are applied one after the other.

use std::path::Path;

use git2::{Commit, Oid, Sort};
use schemars::JsonSchema;
use serde::Deserialize;

use super::integration::{Ended, Origin, Step, Way, at, command, go_on};
use super::operation::Operation;
use super::revision;
use super::strategy::StrategyOption;
use crate::{Error, Git, Repository, head};
use branchyard_model::Problem;
use branchyard_runtime::disk::Moment;

/// As many may be applied by one call.
const MOST: usize = 500;

/// What is to be done with an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub enum PickAction {
    #[default]
    Start,
    Continue,
    /// Leave out the commit at which it stopped, and go on.
    Skip,
    Abort,
}

/// Commits to apply, and how.
pub(super) struct Picks {
    pub operation: Operation,
    pub commits: Vec<String>,
    pub range: Option<String>,
    pub no_commit: bool,
    pub mainline: Option<usize>,
    pub strategy_options: Vec<StrategyOption>,
    /// What only one of the two verbs has.
    pub args: &'static [&'static str],
}

impl Picks {
    /// What makes no sense together, before anything is looked at.
    pub(super) fn check(&self, action: PickAction) -> Result<(), Problem> {
        let named = !self.commits.is_empty() || self.range.is_some();
        let refused = |field: &str, why: &str| Err(Problem::unprocessable(field, why));
        match action {
            PickAction::Start if !named => return refused("commits", "which commits?"),
            PickAction::Start => {}
            _ if named => return refused("commits", "they belong to action start"),
            _ => return Ok(()),
        }
        if !self.commits.is_empty() && self.range.is_some() {
            return refused("range", "give commits or a range, not both");
        }
        if self.commits.len() > MOST {
            return refused("commits", &format!("at most {MOST} at once"));
        }
        if self.mainline == Some(0) {
            return refused("mainline", "parents are counted from 1");
        }
        if self.no_commit && (self.commits.len() > 1 || self.range.is_some()) {
            return Err(Problem::unprocessable(
                "no_commit",
                "only one commit at a time can be applied without committing it",
            )
            .help("let them be committed, and join them afterwards"));
        }
        Ok(())
    }

    /// The commits, resolved, with nothing in their way. Blocks.
    fn prepare(&self, repo: &Repository) -> Result<(Origin, Vec<Oid>), Error> {
        let mut commits = Vec::new();
        for revision in &self.commits {
            commits.push(revision::commit(repo, "commits", revision)?);
        }
        if let Some(range) = &self.range {
            commits = in_range(repo, range)?;
        }
        let here = head(repo)?.commit;
        let mut steps = Vec::new();
        for commit in &commits {
            self.check_mainline(commit)?;
            let (id, ours) = (commit.id(), here.git2());
            steps.extend(Step::of(repo, self.operation, id, ours, self.mainline)?);
        }
        let way = Way::of(repo, &steps)?;
        match self.no_commit {
            // Else what was applied could not be told from what was there.
            true => way.check_untouched(repo)?,
            false => way.check(repo)?,
        }
        let origin = Origin {
            head: here.git2(),
            brought: Vec::new(),
            planned: Some(commits.len()),
        };
        Ok((origin, commits.iter().map(Commit::id).collect()))
    }

    fn check_mainline(&self, commit: &Commit<'_>) -> Result<(), Problem> {
        let (id, parents) = (commit.id(), commit.parent_count());
        match self.mainline {
            None if parents > 1 => Err(Problem::unprocessable(
                "mainline",
                format!(
                    "{id} is a merge: which of its {parents} parents is the one to compare it with?"
                ),
            )
            .help("`mainline: 1` is the branch that was merged into")),
            Some(number) if parents < 2 || number > parents => Err(Problem::unprocessable(
                "mainline",
                format!("{id} has {parents} parent(s), so there is no choice of number {number}"),
            )),
            _ => Ok(()),
        }
    }
}

/// Begins to apply them to what is checked out at `dir`.
pub(super) async fn start(picks: Picks, git: &Git, dir: &Path) -> Result<(Origin, Ended), Error> {
    let operation = picks.operation;
    let mut command = command(git, dir).args([operation.name()]).args(picks.args);
    if picks.no_commit {
        command = command.arg("--no-commit");
    }
    if let Some(mainline) = picks.mainline {
        command = command.arg(format!("--mainline={mainline}"));
    }
    command = command.args(picks.strategy_options.iter().map(|option| option.arg()));
    let (origin, commits) = at(dir, move |repo| picks.prepare(repo)).await?;
    let command = command.args(commits.iter().map(Oid::to_string));
    let ended = go_on(git, command, dir, operation, Moment::now()).await?;
    Ok((origin, ended))
}

/// The commits of `A..B`, the oldest first.
fn in_range<'repo>(repo: &'repo Repository, range: &str) -> Result<Vec<Commit<'repo>>, Error> {
    let ends = range
        .split_once("..")
        .filter(|(_, to)| !to.starts_with('.'));
    let Some((from, to)) = ends else {
        return Err(Problem::unprocessable("range", "it is no range")
            .help("write `A..B`: what B has and A has not")
            .into());
    };
    let mut walk = repo.git2().revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(revision::commit(repo, "range", to)?.id())?;
    walk.hide(revision::commit(repo, "range", from)?.id())?;
    let mut found = Vec::new();
    for id in walk {
        found.push(repo.git2().find_commit(id?)?);
        if found.len() > MOST {
            let detail = format!("it has more than {MOST} commits");
            return Err(Problem::unprocessable("range", detail).into());
        }
    }
    match found.is_empty() {
        true => Err(Problem::unprocessable("range", "there is no commit in it").into()),
        false => Ok(found),
    }
}
