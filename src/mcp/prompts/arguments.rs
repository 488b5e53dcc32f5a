//! The arguments of a prompt. People fill them in by hand: an empty one is one that was left out.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::mcp::scope::ToolScope;
use branchyard_model::{BranchName, Problem, RepoName, RunId};

pub(super) struct Arguments {
    given: JsonObject,
    /// What is meant where nothing is given.
    scope: Arc<ToolScope>,
}

impl Arguments {
    pub(super) fn new(given: JsonObject, scope: Arc<ToolScope>) -> Self {
        Self { given, scope }
    }

    pub(super) fn run(&mut self) -> Result<Option<RunId>, Problem> {
        let help = "the `runs` tool finds the ids of runs";
        self.take("run_id", |run| {
            RunId::parse(run).map_err(|problem| problem.help(help))
        })
    }

    pub(super) fn repo(&mut self) -> Result<Option<RepoName>, Problem> {
        let repo = self.take("repo", RepoName::parse)?;
        Ok(repo.or_else(|| self.scope.repo().cloned()))
    }

    pub(super) fn branch(&mut self) -> Result<Option<BranchName>, Problem> {
        let branch = self.take("branch", BranchName::parse)?;
        Ok(branch.or_else(|| self.scope.branch().cloned()))
    }

    /// To be called when all have been taken: what is left is unknown.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(unknown) => {
                let detail = format!("the prompt takes no argument {unknown:?}");
                Err(Problem::unprocessable(unknown, detail))
            }
        }
    }

    fn take<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        match self.given.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => parse(text.trim()).map(Some),
            Some(other) => {
                let detail = format!("{other} is not a text");
                Err(Problem::unprocessable(name, detail))
            }
        }
    }
}

/// An argument that cannot be done without.
pub(super) fn needed<T>(value: Option<T>, name: &str) -> Result<T, Problem> {
    value.ok_or_else(|| {
        Problem::unprocessable(name, format!("the argument {name} is missing"))
            .help("`list` tells the repos and branches there are")
    })
}
