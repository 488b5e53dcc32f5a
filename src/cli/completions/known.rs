//! What the daemon has, for completions: repositories, branches, tasks and runs. Asked for only where such a word is
//! completed, and given up where no answer comes soon: at a tab nobody waits.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, CommandFactory};
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;

use crate::cli::Cli;
use crate::cli::client::{Client, Query, command_line, encode};
use crate::cli::endpoint::{Lookup, Named, Surroundings};
use crate::cli::here::Here;
use crate::cli::run_name::short;
use branchyard::http::Listed;
use branchyard_model::{RunId, RunRecord};

/// For all answers together.
const PATIENCE: Duration = Duration::from_millis(800);
/// The remote may be far away; what is here is known without it.
const PATIENCE_WITH_REMOTE: Duration = Duration::from_millis(500);
const RUNS: u32 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Repo,
    Branch,
    Task,
    Run,
    /// A run, or a repository before a branch.
    RunOrRepo,
}

/// The command line, its values known.
pub(super) fn taught(command: Command, words: &[OsString]) -> Command {
    let asker = Arc::new(Asker::of(words));
    teach(command, &asker)
}

fn teach(command: Command, asker: &Arc<Asker>) -> Command {
    let has_run_and_branch = ["run", "branch"]
        .iter()
        .all(|id| command.get_positionals().any(|it| it.get_id() == id));
    let taught = command.mut_args(|argument| match kind(&argument, has_run_and_branch) {
        Some(kind) => {
            let asker = asker.clone();
            argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                asker.candidates(kind, &typed.to_string_lossy())
            }))
        }
        None => argument,
    });
    taught.mut_subcommands(|command| teach(command, asker))
}

fn kind(argument: &Arg, has_run_and_branch: bool) -> Option<Kind> {
    Some(match argument.get_id().as_str() {
        "repo" => Kind::Repo,
        "branch" | "base" => Kind::Branch,
        "task" => Kind::Task,
        "run" if has_run_and_branch => Kind::RunOrRepo,
        "run" | "runs" | "before" if is_of_runs(argument) => Kind::Run,
        _ => return None,
    })
}

/// Pipelines and messages are named alike.
fn is_of_runs(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().any(|name| name.as_str() == "RUN")
}

/// What the words so far say of the daemon and of the repository.
struct Asker {
    lookup: Lookup,
    repo: Option<String>,
}

impl Asker {
    fn of(words: &[OsString]) -> Self {
        let matches = Cli::command()
            .ignore_errors(true)
            .try_get_matches_from(words)
            .unwrap_or_default();
        let named = Named {
            url: raw(&matches, "url"),
            key_file: raw(&matches, "key_file").map(Into::into),
            ca_file: raw(&matches, "ca_file").map(Into::into),
        };
        let mut inner = &matches;
        while let Some((_, further)) = inner.subcommand() {
            inner = further;
        }
        let repo = raw(inner, "repo").or_else(|| raw(inner, "run"));
        let here = || Some(Here::find().ok()??.repo.to_string());
        Self {
            lookup: Lookup::new(named, Surroundings::from_env()),
            repo: repo.or_else(here),
        }
    }

    fn candidates(&self, kind: Kind, typed: &str) -> Vec<CompletionCandidate> {
        let Ok(client) = Client::find(self.lookup.clone()) else {
            return Vec::new();
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else {
            return Vec::new();
        };
        let asking = async { tokio::time::timeout(PATIENCE, self.ask(&client, kind, typed)).await };
        let found = runtime.block_on(asking).ok().flatten();
        runtime.shutdown_background();
        found.unwrap_or_default()
    }

    async fn ask(
        &self,
        client: &Client,
        kind: Kind,
        typed: &str,
    ) -> Option<Vec<CompletionCandidate>> {
        Some(match kind {
            Kind::Repo => repos(client, typed).await?,
            Kind::Branch => branches(client, self.repo.as_deref()?, typed).await?,
            Kind::Task => tasks(client, self.repo.as_deref()?, typed).await?,
            Kind::Run => runs(client, typed).await?,
            Kind::RunOrRepo => {
                let mut found = runs(client, typed).await.unwrap_or_default();
                found.extend(repos(client, typed).await.unwrap_or_default());
                found
            }
        })
    }
}

fn raw(matches: &ArgMatches, id: &str) -> Option<String> {
    let mut raw = matches.try_get_raw(id).ok()??;
    raw.next().map(|word| word.to_string_lossy().into_owned())
}

async fn get(client: &Client, path: &str) -> Option<Value> {
    client.get(path).await.ok()?.parse().ok()
}

/// The items of a list, each named by a field.
fn named(page: &Value, field: &str, typed: &str) -> Vec<CompletionCandidate> {
    let items = page["items"].as_array().into_iter().flatten();
    let names = items.filter_map(|item| item[field].as_str());
    let names = names.filter(|name| name.starts_with(typed));
    names.map(CompletionCandidate::new).collect()
}

async fn repos(client: &Client, typed: &str) -> Option<Vec<CompletionCandidate>> {
    Some(named(&get(client, "/api/repos").await?, "name", typed))
}

/// The workspaces, and the branches of the remote where it answers soon.
async fn branches(client: &Client, repo: &str, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let path = format!("/api/repos/{}/branches", encode(repo));
    let with_remote = format!("{path}?remote=true");
    let remote = tokio::time::timeout(PATIENCE_WITH_REMOTE, get(client, &with_remote));
    let (remote, here) = tokio::join!(remote, get(client, &path));
    let page = remote.ok().flatten().or(here)?;
    Some(named(&page, "branch", typed))
}

async fn tasks(client: &Client, repo: &str, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let repo = get(client, &format!("/api/repos/{}", encode(repo))).await?;
    let tasks = repo["tasks"].as_array()?.iter();
    let names = tasks.filter_map(|task| task.as_str().or(task["name"].as_str()));
    let names = names.filter(|name| name.starts_with(typed));
    Some(names.map(CompletionCandidate::new).collect())
}

/// Each by the end of its id, or by all of it where that is what is being typed.
async fn runs(client: &Client, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let query = Query::default().with("limit", Some(RUNS));
    let page = client.get(&query.after("/api/runs")).await.ok()?;
    let page: Listed<RunRecord, RunId> = page.parse().ok()?;
    let last = "@last"
        .starts_with(typed)
        .then(|| CompletionCandidate::new("@last").help(Some("the newest run".into())));
    let named = page.items.iter().filter_map(|run| {
        let names = [short(run.run_id), run.run_id.to_string()];
        let name = names.into_iter().find(|name| name.starts_with(typed))?;
        let (spec, state) = (&run.spec, run.state.as_str());
        let command = command_line(&spec.argv);
        let help = format!("{state}: {command} on {} {}", spec.repo, spec.branch);
        Some(CompletionCandidate::new(name).help(Some(help.into())))
    });
    Some(last.into_iter().chain(named).collect())
}
