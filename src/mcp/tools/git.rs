//! Raw git, by the yard's allow-list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::start_and_wait;
use crate::app::{About, GitOutput, QuickRequest, inspect};
use crate::mcp::call::Call;
use crate::mcp::reply::{Reply, fitted};
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::{OnCancel, Wait};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, CommitId, Problem, RepoName, Scope};
use branchyard_runs::argv::{self, Args};
use branchyard_runs::{RunBody, Sync};

/// A diff is worth more of an answer than the output of a build is.
const ROOM: usize = 8_000;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<Git, Said, _>(
        &ToolEntry {
            name: "git",
            title: "Run git",
            description: "Runs a git command in a branch's workspace: status, log, diff, show, branch, add, commit, \
                fetch, pull, push and others of an allow-list. A look answers at once, beside a build; what writes \
                waits for its lock and is a run, as of make.",
            set: Toolset::Build,
            right: Scope::GitRead,
            effect: Effect::DESTROYS.reaching_out(),
        },
        git,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Git {
    repo: RepoName,
    branch: BranchName,
    /// The verb, such as status, log, diff, add, commit or push.
    operation: String,
    /// Its arguments, such as ["-n5", "--oneline"], or one string of them.
    #[serde(default)]
    args: Args,
    /// How many seconds to wait for the end, 50 at most (the default).
    #[serde(default)]
    wait: Wait,
    /// What it means for a command that writes that this call is cancelled: detach or cancel.
    #[serde(default)]
    on_cancel: OnCancel,
}

/// What a look said. A command that writes answers as make does: its schema is here, too.
#[derive(Debug, Serialize, JsonSchema)]
struct Said {
    repo: RepoName,
    branch: BranchName,
    /// The commit that the workspace is at.
    commit: Option<CommitId>,
    /// Only for commands that are runs, as of make: for run_wait and run_log.
    run_id: Option<branchyard_model::RunId>,
    exit_code: Option<i32>,
    /// What it printed: from the beginning for a look, the end of it for a run.
    output: String,
    /// There is more: narrow a look by arguments; read a run's with run_log.
    truncated: bool,
}

async fn git(call: Call, asked: Git) -> Result<Reply, Problem> {
    let words = asked.args.into_words()?;
    if argv::git_quick(&asked.operation, words.clone()).is_ok() {
        let request = QuickRequest {
            operation: asked.operation,
            args: Args::List(words),
        };
        let looking = inspect::git_quick(call.app(), &asked.repo, &asked.branch, request);
        let said = call.in_time(looking).await?;
        return look(&call, &asked.repo, &asked.branch, &said);
    }
    let request = RunBody {
        operation: Some(asked.operation),
        args: Args::List(words),
        // Git does what it is told to, and nothing before that.
        sync: Sync::None,
        ..RunBody::default()
    };
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, asked.on_cancel);
    start_and_wait(&call, place, request.git()?, wait, None).await
}

fn look(
    call: &Call,
    repo: &RepoName,
    branch: &BranchName,
    (about, said): &(About, GitOutput),
) -> Result<Reply, Problem> {
    let printed = [&*said.stdout, &*said.stderr].concat();
    fitted(call.room(ROOM), |room| {
        let output = &printed[..printed.floor_char_boundary(room)];
        let truncated = output.len() < printed.len() || said.truncated;
        let mut text = output.to_owned();
        if truncated {
            text += "\n--- cut: there is more; narrow it by arguments, such as -n or a path";
        }
        let answer = Said {
            repo: repo.clone(),
            branch: branch.clone(),
            commit: Some(about.commit.clone()),
            run_id: None,
            exit_code: said.exit_code,
            truncated,
            output: output.to_owned(),
        };
        call.reply(&answer, text)
    })
}
