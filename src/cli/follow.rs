//! `follow`: watch what somebody started, a run or a group.

use std::sync::Arc;

use super::Context;
use super::board::Board;
use super::exit::Failure;
use super::progress::Progress;
use super::run_name::RunArgs;
use super::screen::Screen;
use super::signals::{Clear, Interrupts, Role};
use super::stream::EventStream;
use super::subject::Subject;
use super::values;
use super::watch::watch;
use branchyard_model::RunId;

/// Show a run's output, or how a group goes, from the start or from a cursor
///
/// Works for queued, running and finished runs alike, and ends with the run's exit code. Goes
/// on where it was when the daemon is started anew meanwhile. Ctrl-C stops looking; the run
/// goes on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard follow                     the newest run
  branchyard follow app main            the newest run of a branch
  branchyard follow 4f5a6b              by the start or the end of its id
  branchyard follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --json
  branchyard follow --group 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6c --output")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) of: RunArgs,
    /// It is the id of a group
    #[arg(long)]
    group: bool,
    /// Of a group: show what its runs print too
    #[arg(long)]
    output: bool,
    /// Begin after this event: the "id" of a line that --json printed
    #[arg(long, value_name = "CURSOR")]
    from: Option<String>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let watcher = Watcher::new(context, Role::Onlooker, args.output)?;
    let stream = open(context, args).await?;
    watcher.watch(context, stream).await
}

/// The same of a run whose id is known.
pub(super) async fn onlook(context: &Context, run: RunId) -> Result<u8, Failure> {
    let watcher = Watcher::new(context, Role::Onlooker, false)?;
    let client = context.client.clone();
    let stream = EventStream::follow(client, Subject::Run(run), None, false).await?;
    watcher.watch(context, stream).await
}

async fn open(context: &Context, args: &Args) -> Result<EventStream, Failure> {
    let opened = async |subject, output| {
        let (client, from) = (context.client.clone(), args.from.clone());
        EventStream::follow(client, subject, from, output).await
    };
    let id = args.of.find(context).await?;
    let group = Subject::Group(values::group(&id.to_string()).map_err(Failure::usage)?);
    if args.group {
        return Ok(opened(group, args.output).await?);
    }
    match opened(Subject::Run(id), false).await {
        // Ids look alike: what is no run may be a group.
        Err(error) if error.is_not_found() => match opened(group, args.output).await {
            Err(error) if error.is_not_found() => {
                let help = "`branchyard runs` lists the runs and their ids";
                Err(Failure::daemon(format!("there is no run or group {id}")).help(help))
            }
            stream => Ok(stream?),
        },
        stream => Ok(stream?),
    }
}

/// Shows a run or a group, once it is known which of them it is.
#[derive(Debug)]
pub(super) struct Watcher {
    progress: Progress,
    board: Board,
    interrupts: Interrupts,
}

impl Watcher {
    /// Hears signals from now on.
    pub(super) fn new(context: &Context, role: Role, output: bool) -> Result<Self, Failure> {
        let progress = Progress::new(&context.console);
        let board = Board::new(context.console, output);
        let (line, lines) = (progress.clearing(), board.clearing());
        let clear: Clear = Arc::new(move || {
            line();
            lines();
        });
        let interrupts = Interrupts::listen(role, &context.client, context.console, clear)?;
        Ok(Self {
            progress,
            board,
            interrupts,
        })
    }

    pub(super) fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    pub(super) async fn watch(
        mut self,
        context: &Context,
        stream: EventStream,
    ) -> Result<u8, Failure> {
        match stream.subject() {
            Subject::Run(run) => {
                let mut screen = Screen::new(run, context.console, self.progress);
                watch(stream, &self.interrupts, &mut screen).await
            }
            Subject::Group(_) | Subject::Pipeline(_) => {
                watch(stream, &self.interrupts, &mut self.board).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    #[test]
    fn a_cursor_is_passed_on_as_written() {
        let Command::Client(ClientCommand::Follow(args)) =
            parse(&["follow", RUN, "--from", "17.3"]).command
        else {
            panic!("not follow");
        };
        assert_eq!(args.from.as_deref(), Some("17.3"));
    }
}
