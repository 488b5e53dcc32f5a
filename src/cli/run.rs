//! `make`, `git`, `task` and `follow`: start a run or find one, and watch it to its end.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Context;
use super::args::{FollowArgs, GitArgs, MakeArgs, RunFlags, TaskArgs};
use super::client::{Answer, encode};
use super::exit::{self, Failure};
use super::progress::Progress;
use super::screen::Screen;
use super::signals::{Interrupts, Role};
use super::stream::{Ending, More, RunStream};
use crate::model::{BranchName, RepoName, RunId};

pub async fn make(context: &Context, args: &MakeArgs) -> Result<u8, Failure> {
    let path = stream_path(&args.repo, &args.branch, "make");
    let body = body(&args.flags, &args.args, Map::new());
    start(context, &path, &body, args.flags.detach).await
}

pub async fn git(context: &Context, args: &GitArgs) -> Result<u8, Failure> {
    let path = stream_path(&args.repo, &args.branch, "git");
    let Some((operation, words)) = args.command.split_first() else {
        return Err(Failure::usage("name a git operation, such as status"));
    };
    if operation.starts_with('-') {
        return Err(
            Failure::usage(format!("{operation} is no option of `branchyard git`"))
                .help("options for git stand after the operation: `branchyard git app main log --oneline`"),
        );
    }
    let what = Map::from_iter([("operation".to_owned(), json!(operation))]);
    let body = body(&args.flags, words, what);
    start(context, &path, &body, args.flags.detach).await
}

pub async fn task(context: &Context, args: &TaskArgs) -> Result<u8, Failure> {
    let path = stream_path(&args.repo, &args.branch, "task");
    let what = Map::from_iter([("task".to_owned(), json!(args.task))]);
    let body = body(&args.flags, &args.args, what);
    start(context, &path, &body, args.flags.detach).await
}

pub async fn follow(context: &Context, args: &FollowArgs) -> Result<u8, Failure> {
    let progress = Progress::new(&context.console);
    let interrupts = listen(context, Role::Onlooker, &progress)?;
    let stream = RunStream::follow(context.client.clone(), args.run, args.from.clone()).await?;
    watch(context, stream, &interrupts, progress).await
}

async fn start(context: &Context, path: &str, body: &Value, detach: bool) -> Result<u8, Failure> {
    let client = &context.client;
    if detach {
        let answer = client.start_detached(path, body).await?;
        return print_started(context, &answer);
    }
    let progress = Progress::new(&context.console);
    let interrupts = listen(context, Role::Initiator, &progress)?;
    let response = tokio::select! {
        response = client.start(path, body) => response?,
        // Not accepted yet, and who asked is gone: the daemon sees that.
        () = interrupts.wait() => return Ok(exit::CANCELLED),
    };
    let stream = RunStream::started(client.clone(), response);
    watch(context, stream, &interrupts, progress).await
}

/// Shows everything until the run ends, and turns its end into ours.
async fn watch(
    context: &Context,
    mut stream: RunStream,
    interrupts: &Interrupts,
    progress: Progress,
) -> Result<u8, Failure> {
    let mut screen = Screen::new(context.console, progress);
    let watched = watch_to_the_end(&mut stream, interrupts, &mut screen).await;
    let told = match watched {
        Ok(ending) => screen.ended(&ending),
        Err(failure) => {
            screen.clear();
            Err(failure)
        }
    };
    match told {
        // Whatever became of it, it was Ctrl-C that ended it for whoever pressed it.
        Ok(_) if interrupts.happened() => Ok(exit::CANCELLED),
        Err(mut failure) if interrupts.happened() => {
            failure.exit = exit::CANCELLED;
            Err(failure)
        }
        told => told,
    }
}

async fn watch_to_the_end(
    stream: &mut RunStream,
    interrupts: &Interrupts,
    screen: &mut Screen,
) -> Result<Ending, Failure> {
    loop {
        if let Some(run) = stream.run() {
            interrupts.run_is(run);
        }
        match stream.more().await? {
            More::Bytes => {}
            More::Broken(cause) => {
                screen.note("the connection broke; taking it up again")?;
                stream.resume(&cause).await?;
                continue;
            }
            More::NothingLeft => return stream.recorded_ending().await,
        }
        let shown = stream
            .drain(|line, event| screen.take(line, event))
            .and_then(|ending| screen.flush().map(|()| ending));
        match shown {
            Ok(Some(ending)) => return Ok(ending),
            Ok(None) => {}
            Err(failure) => {
                interrupts.abandon().await;
                return Err(failure);
            }
        }
    }
}

fn listen(context: &Context, role: Role, progress: &Progress) -> Result<Interrupts, Failure> {
    Interrupts::listen(role, &context.client, context.console, progress.clone())
}

fn print_started(context: &Context, answer: &Answer) -> Result<u8, Failure> {
    #[derive(Deserialize)]
    struct Started {
        run_id: RunId,
    }
    if context.console.json {
        context.console.print_json(answer)?;
    } else {
        let started: Started = answer.parse()?;
        context.console.print_line(&started.run_id.to_string())?;
    }
    Ok(exit::OK)
}

fn stream_path(repo: &RepoName, branch: &BranchName, verb: &str) -> String {
    let repo = encode(repo.as_str());
    let branch = encode(branch.as_str());
    format!("/stream/repos/{repo}/branches/{branch}/{verb}")
}

/// Only what was said: the defaults are the daemon's.
fn body(flags: &RunFlags, args: &[String], what: Map<String, Value>) -> Value {
    let mut body = what;
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    if !args.is_empty() {
        set("args", json!(args));
    }
    if !flags.env.is_empty() {
        let env: Map<String, Value> = flags
            .env
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        set("env", Value::Object(env));
    }
    if let Some(timeout) = &flags.timeout {
        set("timeout", json!(timeout));
    }
    if let Some(commit) = &flags.commit {
        set("sync", json!("commit"));
        set("commit", json!(commit.as_str()));
    } else if let Some(sync) = flags.sync {
        set("sync", json!(sync.as_str()));
    }
    for (field, is_set) in [
        ("clean", flags.clean),
        ("stale", flags.stale),
        ("detach", flags.detach),
    ] {
        if is_set {
            set(field, json!(true));
        }
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, ClientCommand, Command};
    use super::*;
    use clap::Parser;

    fn body_of(words: &[&str]) -> Value {
        match Cli::try_parse_from(["branchyard", "make", "app", "main"].iter().chain(words))
            .unwrap()
            .command
        {
            Command::Client(ClientCommand::Make(args)) => body(&args.flags, &args.args, Map::new()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_holds_what_was_said_and_nothing_else() {
        assert_eq!(body_of(&[]), json!({}));
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            body_of(&[
                "--commit",
                sha,
                "--timeout",
                "10m",
                "--env",
                "A=1",
                "--env",
                "A=2",
                "--env",
                "B=",
                "--clean",
                "--stale",
                "--",
                "-j8",
                "all"
            ]),
            json!({
                "args": ["-j8", "all"], "env": {"A": "2", "B": ""}, "timeout": "10m",
                "sync": "commit", "commit": sha, "clean": true, "stale": true,
            })
        );
        assert_eq!(
            body_of(&["--sync", "reset", "--detach"]),
            json!({"sync": "reset", "detach": true})
        );
    }

    #[test]
    fn a_branch_with_a_slash_is_one_segment() {
        let repo = RepoName::parse("app").unwrap();
        let branch = BranchName::parse("feature/login").unwrap();
        assert_eq!(
            stream_path(&repo, &branch, "make"),
            "/stream/repos/app/branches/feature%2Flogin/make"
        );
    }
}
