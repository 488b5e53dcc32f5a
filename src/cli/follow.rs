//! `follow`: watch what somebody started, a run or a group.

use std::sync::Arc;

use super::Context;
use super::args::{EitherId, FollowArgs};
use super::board::Board;
use super::client::ClientError;
use super::exit::Failure;
use super::progress::Progress;
use super::screen::Screen;
use super::signals::{Clear, Interrupts, Role};
use super::stream::EventStream;
use super::subject::Subject;
use super::watch::watch;

pub(super) async fn follow(context: &Context, args: &FollowArgs) -> Result<u8, Failure> {
    let progress = Progress::new(&context.console);
    let mut board = Board::new(context.console, args.output);
    let (line, lines) = (progress.clearing(), board.clearing());
    let clear: Clear = Arc::new(move || {
        line();
        lines();
    });
    let interrupts = Interrupts::listen(Role::Onlooker, &context.client, context.console, clear)?;
    let stream = open(context, args).await?;
    match stream.subject() {
        Subject::Run(_) => watch_one(context, stream, &interrupts, progress).await,
        Subject::Group(_) => watch(stream, &interrupts, &mut board).await,
    }
}

async fn open(context: &Context, args: &FollowArgs) -> Result<EventStream, Failure> {
    let opened = async |subject, output| {
        let (client, from) = (context.client.clone(), args.from.clone());
        EventStream::follow(client, subject, from, output).await
    };
    let group = Subject::Group(args.id.group());
    if args.group {
        return Ok(opened(group, args.output).await?);
    }
    match opened(Subject::Run(args.id.run()), false).await {
        // Ids look alike: what is no run may be a group.
        Err(error) if error.is_not_found() => opened(group, args.output)
            .await
            .map_err(|error| nowhere(error, args.id)),
        stream => Ok(stream?),
    }
}

/// Shows one run, whoever started it.
pub(super) async fn watch_one(
    context: &Context,
    stream: EventStream,
    interrupts: &Interrupts,
    progress: Progress,
) -> Result<u8, Failure> {
    let Subject::Run(run) = stream.subject() else {
        return Err(Failure::daemon(
            "the daemon answered with a group in place of a run",
        ));
    };
    let mut screen = Screen::new(run, context.console, progress);
    watch(stream, interrupts, &mut screen).await
}

fn nowhere(error: ClientError, id: EitherId) -> Failure {
    match error.is_not_found() {
        true => Failure::daemon(format!("there is no run or group {}", id.run()))
            .help("`branchyard runs` lists the runs and their ids"),
        false => error.into(),
    }
}
