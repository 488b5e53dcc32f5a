//! `make` on many branches: start a group of runs and watch it to its end.

use serde::Deserialize;

use super::Context;
use super::board::Board;
use super::client::{Answer, Start};
use super::exit::{self, Failure};
use super::signals::{Interrupts, Role};
use super::stream::EventStream;
use super::watch::watch;
use branchyard_model::GroupId;

pub(super) async fn start(
    context: &Context,
    request: &Start,
    output: bool,
    detach: bool,
) -> Result<u8, Failure> {
    let client = &context.client;
    if detach {
        let answer = client.start_detached(request).await?;
        return print_started(context, &answer);
    }
    let mut board = Board::new(context.console, output);
    let clear = board.clearing();
    let interrupts = Interrupts::listen(Role::Initiator, client, context.console, clear)?;
    let (subject, response) = tokio::select! {
        started = client.start(request) => started?,
        // Not accepted yet, and who asked is gone: the daemon sees that.
        () = interrupts.wait() => return Ok(exit::CANCELLED),
    };
    let stream = EventStream::started(client.clone(), subject, response, output);
    watch(stream, &interrupts, &mut board).await
}

fn print_started(context: &Context, answer: &Answer) -> Result<u8, Failure> {
    #[derive(Deserialize)]
    struct Started {
        group_id: GroupId,
    }
    if context.console.json() {
        context.console.print_json(answer)?;
    } else {
        let started: Started = answer.parse()?;
        context.console.print_line(&started.group_id.to_string())?;
    }
    Ok(exit::OK)
}
