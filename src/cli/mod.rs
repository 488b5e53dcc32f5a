//! The `branchyard` command: `serve`, which is the daemon, and the client commands, which speak
//! HTTP to one.
//!
//! A client command promises three things to a script: its stdout holds what was asked for and
//! nothing else (notes, progress and errors go to stderr); a run's output comes out byte for byte;
//! and the exit code says how it ended (see [`exit`]). It never prints the key, and it reads the
//! environment in [`endpoint`] only.

mod args;
mod audit;
mod board;
mod branches;
mod cancel;
mod client;
mod completions;
mod diagnostics;
mod doctor;
mod endpoint;
mod exit;
mod fan_out;
mod files;
mod finding;
mod follow;
mod log;
mod mcp;
mod open;
mod outlet;
mod progress;
mod reap;
mod render;
mod repos;
mod request;
mod rows;
mod run;
mod runs;
mod salvage;
mod screen;
mod serve;
mod signals;
mod stream;
mod subject;
mod terminal;
mod token;
mod top;
mod verdict;
mod watch;

use std::ffi::OsStr;
use std::future::Future;
use std::process::ExitCode;

use args::{Cli, ClientCommand, Command, McpAction};
use client::Client;
use endpoint::{Lookup, Surroundings};
use exit::Failure;
use render::Console;

use branchyard_git::{CREDENTIAL_COMMAND, credential_helper_main};
use branchyard_process::{INIT_COMMAND, SUPERVISOR_COMMAND, init_main, supervisor_main};

/// Parses the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    // Not for people, and on every run's way: nothing else is looked at first.
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == SUPERVISOR_COMMAND => return supervisor_main(),
        Some(word) if word == INIT_COMMAND => return init_main(),
        Some(word) if word == CREDENTIAL_COMMAND => {
            let operation = words.next();
            return credential_helper_main(operation.as_deref().and_then(OsStr::to_str));
        }
        _ => {}
    }
    let cli = match Cli::read(std::env::args_os().collect()) {
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

impl Context {
    /// Prints an answer byte for byte, as it comes; `broke_off` says what to do about one that ends early.
    async fn print_as_it_comes(
        &self,
        mut response: reqwest::Response,
        broke_off: impl FnOnce(Failure) -> Failure,
    ) -> Result<u8, Failure> {
        let mut passage = self.console.passage();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => passage.print(&chunk)?,
                Ok(None) => return Ok(exit::OK),
                Err(error) => return Err(broke_off(self.client.broken(&error).into())),
            }
        }
    }
}

fn dispatch(cli: Cli, surroundings: Surroundings, console: Console) -> Result<u8, Failure> {
    let lookup = Lookup::new(&cli.global, surroundings);
    match cli.command {
        // The daemon makes its own runtime.
        Command::Serve(args) => Ok(serve::serve(&args)?),
        Command::CheckConfig(args) => serve::check_config(&console, &args),
        Command::Completions(args) => completions::print(&console, args.shell),
        Command::Mcp(args) => match args.action {
            Some(McpAction::Config(args)) => mcp::config(&console, &lookup, &args),
            None => {
                let client = Client::find(lookup)?;
                block_on(mcp::serve(console, client, &args.scope))
            }
        },
        Command::Doctor(args) => block_on(doctor::doctor(&console, &lookup, args.fix)),
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
        ClientCommand::Rerun(args) => run::rerun(context, &args).await,
        ClientCommand::Follow(args) => follow::follow(context, &args).await,
        ClientCommand::Log(args) => log::log(context, &args).await,
        ClientCommand::Diagnostics(args) => diagnostics::list(context, &args).await,
        ClientCommand::Ls(args) => files::ls(context, &args).await,
        ClientCommand::Cat(args) => files::cat(context, &args).await,
        ClientCommand::Env(args) => files::env(context, &args).await,
        ClientCommand::Repos(args) => repos::repos(context, args.action).await,
        ClientCommand::Branches(args) => branches::list(context, &args).await,
        ClientCommand::Prepare(args) => branches::prepare(context, &args).await,
        ClientCommand::Rm(args) => branches::remove(context, &args).await,
        ClientCommand::Salvage(args) => salvage::salvage(context, &args.action).await,
        ClientCommand::Token(args) => token::token(context, &args.action).await,
        ClientCommand::Whoami => token::whoami(context).await,
        ClientCommand::Reap(args) => reap::reap(context, &args).await,
        ClientCommand::Pin(args) => reap::pin(context, &args).await,
        ClientCommand::Unpin(args) => reap::unpin(context, &args).await,
        ClientCommand::Runs(args) => runs::list(context, &args).await,
        ClientCommand::Open(args) => open::open(context, &args).await,
        ClientCommand::Top => top::top(context).await,
        ClientCommand::Audit(args) => audit::audit(context, &args).await,
        ClientCommand::Cancel(args) => cancel::cancel(context, &args).await,
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
