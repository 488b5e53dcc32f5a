//! Runs as people name them: by an id, the start or the end of one, as the newest of all, or as the newest of a branch.

use super::Context;
use super::client::Query;
use super::exit::Failure;
use super::here::Here;
use super::values::{self, is_part};
use branchyard::http::Listed;
use branchyard_model::{BranchName, RepoName, RunId, RunKind, RunRecord};

const LAST: &str = "@last";
/// So much of an id is shown in a table.
const SHOWN: usize = 8;
/// So many of the newest are looked at: steps of pipelines are runs as well.
const NEWEST: u32 = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunName {
    Id(RunId),
    /// The start or the end of an id.
    Part(String),
    /// The newest of all.
    Last,
    Newest(RepoName, BranchName),
}

// No doc comment: clap would take it for the help of the command.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// The run: its id, the start or the end of that, or @last; with BRANCH a repository. The newest run if left out: of the workspace whose directory this is, or else of all
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// The branch, with a repository before it: the newest run there
    #[arg(value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
}

impl RunArgs {
    /// The run that is meant, or why these words name none.
    pub(super) fn name(&self) -> Result<RunName, String> {
        match (&self.run, &self.branch) {
            (None, _) => Ok(RunName::Last),
            (Some(repo), Some(branch)) => Ok(RunName::Newest(values::repo(repo)?, branch.clone())),
            (Some(run), None) => RunName::parse(run),
        }
    }

    /// Where none is named in the directory of a workspace, it is the newest there.
    pub(super) async fn find(&self, context: &Context) -> Result<RunId, Failure> {
        let here = match self.run {
            None => Here::find()?,
            Some(_) => None,
        };
        let name = match here {
            Some(here) => RunName::Newest(here.repo, here.branch),
            None => self.name().map_err(Failure::usage)?,
        };
        name.find(context).await
    }
}

impl RunName {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == LAST {
            Ok(Self::Last)
        } else if let Ok(id) = RunId::parse(text) {
            Ok(Self::Id(id))
        } else if is_part(text) {
            Ok(Self::Part(text.to_owned()))
        } else {
            Err(
                "not a run id, nor the start or the end of one with 4 digits or more, nor @last; \
                 `branchyard runs` lists the runs and their ids"
                    .to_owned(),
            )
        }
    }

    /// Asks the daemon which one is meant, unless that is said.
    pub(super) async fn find(&self, context: &Context) -> Result<RunId, Failure> {
        let query = match self {
            Self::Id(id) => return Ok(*id),
            Self::Part(part) => Query::default()
                .with("limit", Some(2))
                .with("part", Some(part)),
            Self::Last => Query::default().with("limit", Some(NEWEST)),
            Self::Newest(repo, branch) => Query::default()
                .with("limit", Some(NEWEST))
                .with("repo", Some(repo))
                .with("branch", Some(branch)),
        };
        let answer = context.client.get(&query.after("/api/runs")).await?;
        let page: Listed<RunRecord, RunId> = answer.parse()?;
        if let Self::Part(part) = self {
            return match &*page.items {
                [only] => Ok(only.run_id),
                [] => Err(none(format!(
                    "no run has an id that starts or ends with {part}"
                ))),
                [one, other, ..] => {
                    let detail = format!(
                        "more than one run has an id that starts or ends with {part}: {} and {}",
                        one.run_id, other.run_id
                    );
                    Err(Failure::daemon(detail).help("give more of the id"))
                }
            };
        }
        let mut whole = page
            .items
            .iter()
            .filter(|run| run.spec.kind != RunKind::Step);
        let newest = whole.next().map(|run| run.run_id);
        newest.ok_or_else(|| {
            none(match self {
                Self::Newest(repo, branch) => format!("there is no run of {repo} {branch}"),
                _ => "there is no run yet".to_owned(),
            })
        })
    }
}

/// The end of an id: enough of it to find the run by, where people read.
pub(super) fn short(id: RunId) -> String {
    let id = id.to_string();
    id[id.len() - SHOWN..].to_owned()
}

fn none(detail: String) -> Failure {
    Failure::daemon(detail).help("`branchyard runs` lists the runs and their ids")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_a_part_of_its_id() {
        let id = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
        let part = |text: &str| Ok(RunName::Part(text.to_owned()));
        assert_eq!(
            RunName::parse(id),
            Ok(RunName::Id(RunId::parse(id).unwrap()))
        );
        assert_eq!(RunName::parse("@last"), Ok(RunName::Last));
        assert_eq!(RunName::parse("5a6b"), part("5a6b"));
        assert_eq!(RunName::parse("0197a3b4-5c"), part("0197a3b4-5c"));
        for text in ["", "a6b", "latest", "../runs", "-a3b4", "@first"] {
            assert!(RunName::parse(text).is_err(), "{text}");
        }
    }
}
