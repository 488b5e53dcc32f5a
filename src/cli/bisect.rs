//! `bisect`: looks for the first bad commit, and watches that to its end.

use std::collections::HashSet;
use std::time::Duration;

use super::Context;
use super::client::{Answer, Client, Start, help_of, repo_path};
use super::exit::{self, Failure};
use super::signals::StopSignals;
use super::values::{self, BranchArgs};
use branchyard_model::{BisectCommit, BisectVerdict, PipelineId, PipelineRecord, PipelineState};
use branchyard_pipelines::BisectRequest;
use branchyard_runs::argv::Args as Words;
use serde_json::json;

/// How often it is told what became of commits, at least.
const LOOK: &str = "2s";
const RETRY: Duration = Duration::from_secs(1);

/// Find the first bad commit between two
///
/// Runs a command at commits between a good and a bad one, several at the same time, each in a clean worktree of its own, as
/// `git bisect run` does one after another. The command exits with 0 where all is well, with 125 where the commit cannot be
/// tested, and with another code up to 127 where it is bad. With anything else the bisect stops.
///
/// Prints the first bad commit and exits with 0. If skipped commits leave several, prints those and exits with 1. Exits with
/// 125 if it stopped, and 130 if it was cancelled. Ctrl-C cancels it.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "branchyard bisect [OPTIONS] --good <COMMIT> <REPO> <BRANCH> -- <PROGRAM> [ARGS...]\n       \
                            branchyard bisect [OPTIONS] --good <COMMIT> --task <TASK> <REPO> <BRANCH> [-- ARGS...]"
)]
#[command(after_long_help = "\
Examples:
  branchyard bisect app main --good v1.2 -- make -s test
  branchyard bisect app main --good main~200 --path src -- sh -c 'make -s || exit 125; ./check'
  branchyard bisect app main --good v1.2 --task lint")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// A commit at which all was well: an id, tag or branch, or one from there such as v1.2~3
    #[arg(long, value_name = "COMMIT")]
    good: String,
    /// A commit of the branch that is bad [default: its newest]
    #[arg(long, value_name = "COMMIT")]
    bad: Option<String>,
    /// Run this task that the operator declared, in place of a program
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The program and its arguments; or further arguments of the task
    #[arg(value_name = "PROGRAM", last = true, required_unless_present = "task")]
    command: Vec<String>,
    /// Suspect only commits that change this file or directory; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// How many commits are tested at the same time [default: 3, where there are as many slots]
    #[arg(long, value_name = "NUMBER")]
    parallel: Option<usize>,
    /// End the command after this long at one commit, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<String>,
    /// Add a variable to the command's environment; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// A name for this request: sent again with the same one, it finds the same bisect
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print the id of its pipeline and leave; it goes on without us
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let mut signals = StopSignals::listen()?;
    let detach = args.detach;
    let answer = context.client.start_detached(&args.request()).await?;
    let started: PipelineRecord = answer.parse()?;
    let id = started.pipeline_id;
    if detach {
        return context.show(&answer, |_: PipelineRecord| {
            context.console.print_line(&id.to_string())
        });
    }
    let mut progress = BisectProgress::default();
    progress.begin(context, &started);
    let mut client = context.client.clone();
    let mut is_cancelled = false;
    loop {
        let path = format!("/api/pipelines/{id}?wait={LOOK}");
        let asked = tokio::select! {
            asked = client.get_slowly(&path) => asked,
            () = signals.next() => {
                if is_cancelled {
                    return Ok(exit::CANCELLED);
                }
                is_cancelled = true;
                cancel(&client, id).await?;
                context.console.note("cancelling; once more to leave at once");
                continue;
            }
        };
        let answer = match asked {
            Ok(answer) => answer,
            Err(error) if error.may_pass() => {
                tokio::time::sleep(RETRY).await;
                client = client.elsewhere().unwrap_or(client);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let record: PipelineRecord = answer.parse()?;
        progress.show(context, &record);
        if record.state.is_ended() {
            return ended(context, &answer, &record);
        }
    }
}

async fn cancel(client: &Client, id: PipelineId) -> Result<(), Failure> {
    let path = format!("/api/pipelines/{id}/cancel");
    client.post(&path, &json!({})).await?;
    Ok(())
}

impl Args {
    fn request(self) -> Start {
        let (argv, words) = match self.task {
            Some(_) => (Vec::new(), self.command),
            None => (self.command, Vec::new()),
        };
        let body = BisectRequest {
            branch: Some(self.at.branch),
            good: self.good,
            bad: self.bad,
            task: self.task,
            argv,
            args: Words::List(words),
            env: self.env.into_iter().collect(),
            timeout: self.timeout,
            paths: self.paths,
            parallel: self.parallel,
        };
        let path = repo_path(&self.at.repo, "/bisect");
        Start::new(path, &body, self.idempotency_key.as_ref())
    }
}

/// What was said of the commits.
#[derive(Debug, Default)]
struct BisectProgress {
    told: HashSet<String>,
    round: u32,
}

impl BisectProgress {
    fn begin(&self, context: &Context, started: &PipelineRecord) {
        let commits = started.bisect.as_ref().map_or(0, |bisect| bisect.commits);
        let note = format!(
            "pipeline {}: {commits} commits may be the first bad one",
            started.pipeline_id
        );
        context.console.note(&note);
    }

    fn show(&mut self, context: &Context, record: &PipelineRecord) {
        let Some(bisect) = &record.bisect else {
            return;
        };
        for job in &record.jobs {
            let verdict = job.bisect.as_ref().and_then(|test| test.verdict);
            let Some(verdict) = verdict.filter(|it| *it != BisectVerdict::Unneeded) else {
                continue;
            };
            if self.told.insert(job.job.clone()) {
                let note = format!("{:<4} {}", verdict.as_str(), job.name);
                context.console.note(&note);
            }
        }
        if bisect.rounds > self.round && !record.state.is_ended() {
            self.round = bisect.rounds;
            let note = format!("round {}: {} commits are left", self.round, bisect.left);
            context.console.note(&note);
        }
    }
}

fn ended(context: &Context, answer: &Answer, record: &PipelineRecord) -> Result<u8, Failure> {
    for warning in &record.warnings {
        context.console.warning(&warning.message);
    }
    let found = record
        .bisect
        .as_ref()
        .and_then(|bisect| bisect.answer.as_ref());
    let first = found.and_then(|found| found.first_bad.as_ref());
    if context.console.json {
        context.console.print_json(answer)?;
    } else {
        let line = |commit: &BisectCommit| format!("{} {}", commit.commit, commit.subject);
        let suspects = found.map_or(&[][..], |found| &found.suspects);
        for commit in first.into_iter().chain(suspects) {
            context.console.print_line(&line(commit))?;
        }
        let reason = record.reason.as_deref().unwrap_or(record.state.as_str());
        context.console.note(reason);
        if let Some(run) = first.and_then(|first| first.run_id) {
            let note = format!("`branchyard log {run}` shows what the command printed there");
            context.console.note(&note);
        }
        let help = record.error.as_ref().and_then(help_of);
        help.iter().for_each(|help| context.console.note(help));
    }
    Ok(match (first, found, record.state) {
        (Some(_), ..) => exit::OK,
        (None, _, PipelineState::Cancelled) => exit::CANCELLED,
        (None, Some(_), _) => exit::LOCAL,
        (None, None, _) => exit::DAEMON,
    })
}
