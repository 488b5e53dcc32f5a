//! The `branchyard` command: `serve`, which is the daemon, and the client commands, which speak
//! HTTP to one.
//!
//! A client command promises three things to a script: its stdout holds what was asked for and
//! nothing else (notes, progress and errors go to stderr); a run's output comes out byte for byte;
//! and the exit code says how it ended (see [`exit`]). It never prints the key, and it reads the
//! environment in [`endpoint`] only.

mod args;
mod branches;
mod client;
mod completions;
mod doctor;
mod endpoint;
mod exit;
mod files;
mod progress;
mod render;
mod repos;
mod run;
mod runs;
mod screen;
mod serve;
mod signals;
mod stream;

use std::future::Future;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, ClientCommand, Command};
use client::Client;
use endpoint::{Lookup, Surroundings};
use exit::Failure;
use render::Console;

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            // Help and version come this way too, with 0. A closed pipe is nobody's concern here.
            let _ = refusal.print();
            return ExitCode::from(u8::try_from(refusal.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let surroundings = Surroundings::from_env();
    let console = Console::new(&cli.global, &surroundings);
    match dispatch(cli, surroundings, console) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            console.failure(&failure);
            ExitCode::from(failure.exit)
        }
    }
}

/// What every client command is given.
struct Context {
    console: Console,
    client: Client,
}

fn dispatch(cli: Cli, surroundings: Surroundings, console: Console) -> Result<u8, Failure> {
    let lookup = Lookup::new(&cli.global, surroundings);
    match cli.command {
        // The daemon makes its own runtime.
        Command::Serve(args) => Ok(serve::serve(&args)?),
        Command::CheckConfig(args) => serve::check_config(&console, &args),
        Command::Completions(args) => completions::print(&console, args.shell),
        Command::Doctor => block_on(doctor::doctor(&console, &lookup)),
        Command::Client(command) => {
            let client = Client::find(lookup)?;
            block_on(ask(&Context { console, client }, command))
        }
    }
}

async fn ask(context: &Context, command: ClientCommand) -> Result<u8, Failure> {
    match command {
        ClientCommand::Make(args) => run::make(context, &args).await,
        ClientCommand::Git(args) => run::git(context, &args).await,
        ClientCommand::Task(args) => run::task(context, &args).await,
        ClientCommand::Follow(args) => run::follow(context, &args).await,
        ClientCommand::Ls(args) => files::ls(context, &args).await,
        ClientCommand::Cat(args) => files::cat(context, &args).await,
        ClientCommand::Env(args) => files::env(context, &args).await,
        ClientCommand::Repos(args) => repos::repos(context, args.action).await,
        ClientCommand::Branches(args) => branches::list(context, &args).await,
        ClientCommand::Prepare(args) => branches::prepare(context, &args).await,
        ClientCommand::Rm(args) => branches::remove(context, &args).await,
        ClientCommand::Runs(args) => runs::list(context, &args).await,
        ClientCommand::Cancel(args) => runs::cancel(context, args.run).await,
    }
}

fn block_on(answer: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    // One worker beside this thread: signals are heard while stdout blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::local(format!("cannot start: {error}")))?;
    let answer = runtime.block_on(answer);
    // Nothing that is still under way (a name lookup, say) may hold up the exit.
    runtime.shutdown_background();
    answer
}
