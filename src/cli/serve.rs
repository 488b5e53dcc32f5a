//! `serve` and `check-config`: from the command line to the daemon's composition root.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::client::{Answer, encode};
use super::exit::{self, Failure};
use super::render::Console;
use crate::config::{Config, Flags};
use crate::server::{Server, THIS_PROGRAM};
use crate::telemetry;

/// How long blocking work may go on after everything else has ended.
const LAST_THREADS: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The directory that holds clones, workspaces and state
    #[arg(long, value_name = "DIR")]
    pub workspaces: Option<PathBuf>,
    /// Read the session key from this file
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CheckConfigArgs {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Runs the daemon until it is told to stop.
pub fn serve(args: &ServeArgs) -> anyhow::Result<u8> {
    let flags = Flags {
        listen: args.listen,
        workspaces: args.workspaces.clone(),
        key_file: args.key_file.clone(),
    };
    let config = Config::from_process(args.config.clone(), flags)?;
    telemetry::start_logging(config.log.as_str());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(run(config));
    // A thread that is stuck in the kernel must not keep the daemon from ending.
    runtime.shutdown_timeout(LAST_THREADS);
    outcome?;
    Ok(0)
}

/// Says whether the daemon would start with this configuration.
pub fn check_config(console: &Console, args: &CheckConfigArgs) -> Result<u8, Failure> {
    let config = match Config::from_process(args.config.clone(), Flags::default()) {
        Ok(config) => config,
        Err(error) if console.json => {
            let verdict = json!({"valid": false, "detail": error.to_string()});
            console.print_json(&Answer::ours(&verdict))?;
            return Ok(exit::LOCAL);
        }
        Err(error) => return Err(Failure::local(error.to_string())),
    };
    if console.json {
        let repos: Vec<_> = config
            .repos
            .iter()
            .map(|(name, repo)| json!({"name": name, "url": repo.url.as_str()}))
            .collect();
        console.print_json(&Answer::ours(&json!({
            "valid": true,
            "listen": config.listen,
            "workspaces": config.workspaces,
            "repos": repos,
        })))?;
        return Ok(exit::OK);
    }
    let mut text = format!(
        "the configuration is valid\n  listen      {}\n  workspaces  {}\n",
        config.listen,
        config.workspaces.display()
    );
    for (name, repo) in &config.repos {
        text.push_str(&format!("  repo        {name} ({})\n", repo.url.as_str()));
    }
    console.print(text.as_bytes())?;
    Ok(exit::OK)
}

async fn run(config: Config) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("failed to listen on {}", config.listen))?;
    let welcome = Welcome::of(&config);
    let server = Server::open(config, &listener, THIS_PROGRAM.into()).await?;
    welcome.print(server.url(), server.is_found_by_clients())?;
    tracing::warn!(
        "builds run without a sandbox: whoever may build is trusted as the user of this daemon"
    );

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

/// What a person needs to reach the daemon; the key itself is never shown.
struct Welcome {
    workspaces: PathBuf,
    /// A branch to try, where one is known.
    example: Option<(String, String)>,
}

impl Welcome {
    fn of(config: &Config) -> Self {
        let example = config.repos.iter().find_map(|(name, repo)| {
            let branch = repo.default_branch.as_ref().or(repo.prewarm.first())?;
            Some((name.to_string(), branch.to_string()))
        });
        Self {
            workspaces: config.workspaces.clone(),
            example,
        }
    }

    fn print(&self, url: &str, is_found: bool) -> anyhow::Result<()> {
        let header = self.workspaces.join(".branchyard/auth.header");
        let header = header.to_string_lossy();
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "branchyard {} serves {url}/",
            env!("CARGO_PKG_VERSION")
        )?;
        writeln!(out, "  workspaces   {}", self.workspaces.display())?;
        if let Some((repo, branch)) = &self.example {
            let at_header = quoted(&format!("@{header}"))?;
            let branch_segment = encode(branch);
            writeln!(
                out,
                "  with curl    curl -N -H {at_header} -H 'Accept: text/plain' --json '{{}}' {url}/stream/repos/{repo}/branches/{branch_segment}/make"
            )?;
            let program = quoted(&this_program())?;
            let place = match is_found {
                true => String::new(),
                false => format!(" --url {url} --key-file {}", quoted(&header)?),
            };
            let branch = quoted(branch)?;
            writeln!(out, "  in a shell   {program}{place} make {repo} {branch}")?;
            writeln!(out, "  for agents   {program}{place} mcp config claude")?;
        }
        Ok(out.flush()?)
    }
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
