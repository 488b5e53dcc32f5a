//! `mcp`: a coding agent on stdio, passed on to the daemon's `/mcp` message by message, and the
//! configuration that agents need for it.
//!
//! It knows no tools and keeps nothing of what is said but how the session was opened ([`session`]) and
//! what is watched in it ([`watched`]). What the flags fix goes by header with every request ([`scope`]).
//! stdout holds messages and nothing else. When stdin is closed the agent is gone, or listens a moment
//! longer: what it waits for beyond that is dropped, which ends no build but one that was to end
//! with its call.

mod answer;
mod config;
mod daemon;
mod events;
mod input;
mod listen;
mod message;
mod output;
mod proxy;
mod refusal;
mod scope;
mod session;
mod underway;
mod watched;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Client, ClientError};
use super::endpoint::Lookup;
use super::exit::{self, Failure};
use super::render::Console;
use super::signals::StopSignals;

use branchyard::http::ProblemDocument;
use config::ConfigArgs;
use daemon::{Cut, Daemon};
use input::InputLine;
use message::{Message, MessageKind};
use output::Output;
use proxy::Proxy;
use refusal::{INVALID_REQUEST, Refusal};
use scope::ScopeArgs;

/// How long each last thing may take when the agent is gone.
const PARTING: Duration = Duration::from_secs(1);
/// A daemon that is there answers the first question within this.
const HELLO: Duration = Duration::from_secs(10);

/// Serve a coding agent over stdio, as an MCP server
///
/// Passes messages of the Model Context Protocol between stdin and stdout and the daemon's /mcp.
/// Agents start it by themselves; `branchyard mcp config` prints what their configuration needs.
/// It goes on when the daemon is started anew, and ends when stdin is closed; builds go on,
/// but for those whose call asked to end with it. What --repo and --branch fix, a call may leave out.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard mcp
  branchyard mcp --repo app --branch main
  branchyard mcp --toolsets yard,build,git_read --read-only
  branchyard mcp config claude --repo app")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(subcommand)]
    action: Option<McpAction>,
}

#[derive(Debug, clap::Subcommand)]
enum McpAction {
    Config(ConfigArgs),
}

pub(super) fn run(console: Console, lookup: Lookup, args: &Args) -> Result<u8, Failure> {
    if let Some(McpAction::Config(args)) = &args.action {
        return config::config(&console, &lookup, args);
    }
    let client = Client::find(lookup)?;
    super::block_on(serve(console, client, &args.scope))
}

/// Serves the agent on stdin and stdout until it goes.
async fn serve(console: Console, client: Client, scope: &ScopeArgs) -> Result<u8, Failure> {
    let mut signals = StopSignals::listen()?;
    let url = client.endpoint().url.clone();
    let daemon = Daemon::new(client, scope::header_map(scope), console);
    check(&daemon, &url).await?;
    if io::stdin().is_terminal() {
        console
            .note("this speaks to coding agents; `branchyard mcp config` prints how they start it");
    }

    let gone = CancellationToken::new();
    let (output, written) = Output::open(gone.clone())?;
    let lines = input::lines(daemon.max_body(), gone.clone())?;
    let proxy = Arc::new(Proxy::new(daemon, output, console));
    tokio::select! {
        () = pass_on(&proxy, lines) => {}
        // What it said last may be stuck, or take longer than anybody waits for.
        () = async { gone.cancelled().await; tokio::time::sleep(PARTING).await } => {}
        () = signals.next() => {}
    }
    if let Some(session) = proxy.sessions().current() {
        // One that stays is forgotten by the daemon in time.
        let daemon = proxy.daemon();
        let ending = daemon.send(Method::DELETE, session.headers(), Bytes::new());
        let _ = tokio::time::timeout(PARTING, ending).await;
    }
    drop(proxy);
    let _ = tokio::time::timeout(PARTING, written).await;
    Ok(exit::OK)
}

/// Without a daemon, or with flags that it does not take, there is no use in waiting for the first message.
async fn check(daemon: &Daemon, url: &str) -> Result<(), Failure> {
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {
                "name": "branchyard", "version": env!("CARGO_PKG_VERSION"),
            },
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    });
    let hello = Message::parse(hello.to_string().into_bytes())
        .map_err(|refusal| Failure::local(refusal.message()))?;
    let asking = daemon.post(hello.headers(None), hello.line.clone());
    let answered = tokio::time::timeout(HELLO, asking).await;
    let silent = |_| {
        Failure::daemon(format!("the daemon at {url} does not answer"))
            .help("`branchyard doctor` looks for what is wrong")
    };
    match answered.map_err(silent)? {
        Ok(_) => Ok(()),
        Err(Cut::Unsent(failure) | Cut::Broken(failure)) => Err(failure),
        Err(Cut::Refused(status, body)) => {
            let mut problem: ProblemDocument = serde_json::from_slice(&body).unwrap_or_default();
            let said = Refusal::said(Value::Null, status, &body);
            if problem.detail.is_empty() {
                said.message().clone_into(&mut problem.detail);
            }
            Err(ClientError::Refused { status, problem }.into())
        }
    }
}

/// Requests go side by side; everything else, and what opens a session, keeps its order.
async fn pass_on(proxy: &Arc<Proxy>, mut lines: mpsc::Receiver<InputLine>) {
    let mut tasks = JoinSet::new();
    let mut listening = JoinSet::new();
    while let Some(line) = lines.recv().await {
        while tasks.try_join_next().is_some() {}
        let message = match line {
            InputLine::Whole(line) if line.trim_ascii().is_empty() => continue,
            InputLine::Whole(line) => Message::parse(line),
            InputLine::TooLong(id, most) => {
                let why =
                    format!("the message is longer than the daemon takes: {most} bytes at most");
                Err(Refusal::new(id, INVALID_REQUEST, why))
            }
        };
        let message = match message {
            Ok(message) => message,
            Err(refusal) => {
                proxy.refuse(&refusal).await;
                continue;
            }
        };
        match message.kind.clone() {
            MessageKind::Request { id, .. } => {
                let size = message.line.len();
                match proxy.underway().enter(&id, size, message.is_newer()) {
                    Err(refusal) => proxy.refuse(&refusal).await,
                    Ok(place) if message.is_initialize() => {
                        proxy.request(&message, &id, &place).await;
                    }
                    Ok(place) => {
                        let proxy = proxy.clone();
                        let dropped = place.call().dropped.clone();
                        tasks.spawn(async move {
                            let asking = proxy.request(&message, &id, &place);
                            dropped.run_until_cancelled(asking).await;
                        });
                    }
                }
            }
            MessageKind::Cancel { id } => {
                let proxy = proxy.clone();
                tasks.spawn(async move { proxy.cancel(&message, &id).await });
            }
            MessageKind::Notification { .. } | MessageKind::Response => {
                proxy.notify(&message).await;
                if message.is_initialized() {
                    proxy.sessions().confirmed(message.line.clone()).await;
                    if listening.is_empty() {
                        listening.spawn(listen::listen(proxy.clone()));
                    }
                }
            }
        }
    }
    // Whoever has nothing more to say may wait for answers still, as a script does.
    while tasks.join_next().await.is_some() {}
}
