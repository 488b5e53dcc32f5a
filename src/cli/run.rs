//! `make`, `git`, `task` and `rerun`: start a run and watch it to its end.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::args::{GitArgs, MakeArgs, RerunArgs, TaskArgs, Wanted};
use super::client::{Answer, Start};
use super::exit::{self, Failure};
use super::fan_out;
use super::follow;
use super::progress::Progress;
use super::request::{What, on_branch, on_branches};
use super::signals::{Interrupts, Role};
use super::stream::EventStream;
use branchyard_model::{BranchName, RunId};

pub(super) async fn make(context: &Context, args: &MakeArgs) -> Result<u8, Failure> {
    match args.wanted() {
        Wanted::One(branch, words) => {
            let place = (args.repo(), &branch);
            let request = on_branch(place, "make", What::new(), &words, args.flags());
            start(context, &request, args.flags().detach).await
        }
        Wanted::Many(branches, words) => {
            let place = (args.repo(), &branches[..], args.output());
            let request = on_branches(place, "make", What::new(), &words, args.flags());
            fan_out::start(context, &request, args.output(), args.flags().detach).await
        }
    }
}

pub(super) async fn git(context: &Context, args: &GitArgs) -> Result<u8, Failure> {
    let Some((operation, words)) = args.command.split_first() else {
        return Err(Failure::usage("name a git operation, such as status"));
    };
    if operation.starts_with('-') {
        return Err(
            Failure::usage(format!("{operation} is no option of `branchyard git`"))
                .help("options for git stand after the operation: `branchyard git app main log --oneline`"),
        );
    }
    let what = What::from_iter([("operation".to_owned(), json!(operation))]);
    let place = (&args.repo, &args.branch);
    let request = on_branch(place, "git", what, words, &args.flags);
    start(context, &request, args.flags.detach).await
}

pub(super) async fn task(context: &Context, args: &TaskArgs) -> Result<u8, Failure> {
    let what = What::from_iter([("task".to_owned(), json!(args.task))]);
    let (flags, detach) = (&args.flags, args.flags.detach);
    if let Ok(branch) = BranchName::parse(&args.branch) {
        let request = on_branch((&args.repo, &branch), "task", what, &args.args, flags);
        return start(context, &request, detach).await;
    }
    let branches = [args.branch.clone()];
    let place = (&args.repo, &branches[..], args.output);
    let request = on_branches(place, "task", what, &args.args, flags);
    fan_out::start(context, &request, args.output, detach).await
}

pub(super) async fn rerun(context: &Context, args: &RerunArgs) -> Result<u8, Failure> {
    let env: BTreeMap<_, _> = args.env.iter().cloned().collect();
    let request = Start {
        path: format!("/stream/runs/{}/rerun", args.run),
        body: match env.is_empty() {
            true => json!({}),
            false => json!({ "env": env }),
        },
        key: args.idempotency_key.clone(),
    };
    start(context, &request, args.detach).await
}

async fn start(context: &Context, request: &Start, detach: bool) -> Result<u8, Failure> {
    let client = &context.client;
    if detach {
        let answer = client.start_detached(request).await?;
        return print_started(context, &answer);
    }
    let progress = Progress::new(&context.console);
    let clear = progress.clearing();
    let interrupts = Interrupts::listen(Role::Initiator, client, context.console, clear)?;
    let (subject, response) = tokio::select! {
        started = client.start(request) => started?,
        // Not accepted yet, and who asked is gone: the daemon sees that.
        () = interrupts.wait() => return Ok(exit::CANCELLED),
    };
    let stream = EventStream::started(client.clone(), subject, response, false);
    follow::watch_one(context, stream, &interrupts, progress).await
}

fn print_started(context: &Context, answer: &Answer) -> Result<u8, Failure> {
    #[derive(Deserialize)]
    struct Started {
        run_id: RunId,
    }
    if context.console.json() {
        context.console.print_json(answer)?;
    } else {
        let started: Started = answer.parse()?;
        context.console.print_line(&started.run_id.to_string())?;
    }
    Ok(exit::OK)
}
