//! `serve`: from the command line to the daemon's composition root.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::client::encode;
use branchyard::server::{Server, THIS_PROGRAM};
use branchyard_config::{Config, Flags};
use branchyard_process::endure_file_limit;
use branchyard_runs::SandboxReport;
use branchyard_runtime::telemetry;

/// How many threads for blocking work there are at least, and how long an idle one is kept: for good.
const THREADS_AT_START: usize = 8;
const KEPT: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How long blocking work may go on after everything else has ended.
const LAST_THREADS: Duration = Duration::from_secs(2);

/// Has the allocator return what is free to the system also when nothing happens any more; by itself it does so only
/// in passing, when there is more to allocate.
#[cfg(feature = "jemalloc")]
fn give_memory_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::warn!(%error, "memory that was in use once is not given back");
    }
}

/// Start the daemon
///
/// Serves until it is stopped with Ctrl-C or SIGTERM. Then it takes no new runs and waits for
/// those under way, up to `timeouts.shutdown` or a second signal. What has not ended by then
/// goes on, and the next daemon takes it back.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard serve
  branchyard serve --config workspaces.toml --listen 127.0.0.1:4000")]
pub(crate) struct Args {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The directory that holds clones, workspaces and state
    #[arg(long, value_name = "DIR")]
    workspaces: Option<PathBuf>,
    /// Read the session key from this file
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// Runs the daemon until it is told to stop.
pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let flags = Flags {
        listen: args.listen,
        workspaces: args.workspaces.clone(),
        key_file: args.key_file.clone(),
    };
    let config = Config::from_process(args.config.clone(), flags)?;
    telemetry::start_logging(config.log.as_str());
    for variable in &config.unknown_variables {
        tracing::warn!(
            variable,
            "the environment has a variable that looks like a setting and is none; it is ignored"
        );
    }
    #[cfg(feature = "jemalloc")]
    give_memory_back();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(KEPT)
        .build()?;
    start_threads(&runtime);
    let outcome = runtime.block_on(serve(config));
    // A thread that is stuck in the kernel must not keep the daemon from ending.
    runtime.shutdown_timeout(LAST_THREADS);
    outcome?;
    Ok(0)
}

/// Starts some threads for blocking work, which are never given up: where the machine has no room for another thread,
/// such work then waits for one of them. Without any, tokio panics in the task that asked.
fn start_threads(runtime: &Runtime) {
    let gate = Arc::new(RwLock::new(()));
    let shut = gate.write();
    for _ in 0..THREADS_AT_START {
        let gate = gate.clone();
        drop(runtime.spawn_blocking(move || drop(gate.read())));
    }
    drop(shut);
}

async fn serve(config: Config) -> anyhow::Result<()> {
    endure_file_limit()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("failed to listen on {}", config.listen))?;
    let workspaces = config.workspaces.clone();
    let example = Example::of(&config);
    let server = Server::open(config, &listener, THIS_PROGRAM.into()).await?;
    welcome(&server, &workspaces, &example)?;
    tell_of_sandbox(&server.sandbox());

    // One task hears all signals: the first means stop, any further one means hurry.
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let (first, second) = (stop.clone(), hurry.clone());
    let listening = tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first.is_cancelled() {
                second.cancel();
            }
            first.cancel();
        }
    });
    server
        .serve(listener, stop.cancelled_owned(), hurry.cancelled_owned())
        .await?;
    listening.abort();
    Ok(())
}

/// What builds are kept from, and a warning where that is nothing.
fn tell_of_sandbox(sandbox: &SandboxReport) {
    for (profile, why) in &sandbox.obstacles {
        tracing::warn!(%profile, why, "a sandbox is not to be had on this machine");
    }
    let in_use = sandbox.mechanisms.iter().filter(|one| one.available);
    let by: Vec<_> = in_use.map(|one| &*one.name).collect();
    tracing::info!(
        profile = sandbox.profile.as_str(),
        by = by.join(", "),
        "the sandbox of builds"
    );
    if sandbox.leaves_bare() {
        tracing::warn!(
            "builds run without a sandbox: whoever may build is trusted as the user of this daemon"
        );
    }
}

/// What a person can try first.
enum Example {
    /// To build a branch that is known.
    Build(String, String),
    /// To see which branches a repository has.
    Branches(String),
    /// To tell of a repository.
    Register,
}

impl Example {
    fn of(config: &Config) -> Self {
        let known = config.repos.iter().find_map(|(name, repo)| {
            let branch = repo.default_branch.as_ref().or(repo.prewarm.first())?;
            Some(Self::Build(name.to_string(), branch.to_string()))
        });
        let named = || config.repos.keys().next();
        let branches = || named().map(|name| Self::Branches(name.to_string()));
        known.or_else(branches).unwrap_or(Self::Register)
    }

    /// What curl is given beside the key: options and the address.
    fn of_curl(&self, url: &str) -> String {
        match self {
            Self::Build(repo, branch) => {
                let branch = encode(branch);
                format!(
                    "-N -H 'Accept: text/plain' --json '{{}}' {url}/stream/repos/{repo}/branches/{branch}/make"
                )
            }
            Self::Branches(repo) => format!("'{url}/api/repos/{repo}/branches?remote=true'"),
            Self::Register => format!("{url}/api/repos"),
        }
    }

    /// The command that does it.
    fn of_shell(&self) -> anyhow::Result<String> {
        Ok(match self {
            Self::Build(repo, branch) => format!("make {repo} {}", quoted(branch)?),
            Self::Branches(repo) => format!("branches {repo} --remote"),
            Self::Register => "repos add NAME URL".to_owned(),
        })
    }
}

/// Prints what a person needs to reach the daemon; the key itself is never shown.
fn welcome(server: &Server, workspaces: &Path, example: &Example) -> anyhow::Result<()> {
    let url = server.url();
    let header = workspaces.join(".branchyard/auth.header");
    let header = header.to_string_lossy();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "branchyard {} serves {url}/",
        env!("CARGO_PKG_VERSION")
    )?;
    if let Some(socket) = server.socket() {
        writeln!(out, "  socket       {}", socket.display())?;
    }
    writeln!(out, "  workspaces   {}", workspaces.display())?;
    let at_header = quoted(&format!("@{header}"))?;
    let request = example.of_curl(url);
    writeln!(out, "  with curl    curl -H {at_header} {request}")?;
    let program = quoted(&this_program())?;
    let address = match server.socket() {
        Some(socket) => quoted(&format!("unix:{}", socket.display()))?,
        None => url.to_owned(),
    };
    let place = match server.is_found_by_clients() {
        true => String::new(),
        false => format!(" --url {address} --key-file {}", quoted(&header)?),
    };
    let command = example.of_shell()?;
    writeln!(out, "  in a browser {program}{place} open")?;
    writeln!(out, "  in a shell   {program}{place} {command}")?;
    writeln!(out, "  for agents   {program}{place} mcp config claude")?;
    Ok(out.flush()?)
}

/// How to call this very program from any directory: it need not be in anybody's PATH.
fn this_program() -> String {
    std::env::current_exe().map_or_else(
        |_| "branchyard".to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

fn quoted(text: &str) -> anyhow::Result<String> {
    Ok(shlex::try_quote(text)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::tests::parse;

    #[test]
    fn the_key_file_of_serve_is_its_own_flag() {
        for words in [
            &["serve", "--key-file", "k"][..],
            &["--key-file", "k", "serve"],
        ] {
            let Command::Serve(args) = parse(words).command else {
                panic!("not serve");
            };
            assert_eq!(args.key_file, Some("k".into()));
        }
    }
}
