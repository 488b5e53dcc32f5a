//! `top`: what happens in the yard, live. On a terminal a screen that is drawn anew whenever something changes; elsewhere,
//! and with `--json`, a line for each change.

mod screen;
mod state;

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::Context;
use super::client::{Client, Query};
use super::exit::{self, Failure};
use super::render::printable;
use super::signals::StopSignals;
use super::stream::Lines;
use screen::Screen;
use state::TopState;

/// Changes that come together are drawn together.
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);
/// How often load, memory and disk are asked for.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_secs(1);

/// Show what happens in the yard, live
///
/// On a terminal: how busy the machine is, the runs under way and the latest that ended; Ctrl-C
/// leaves. Piped, there is a line for each change: time, kind, change, repository, branch and
/// what else there is to say, with tabs between. With --json, the events themselves.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard top
  branchyard top | grep -w failed
  branchyard top --json")]
pub(crate) struct Args {}

pub(super) async fn run(context: &Context) -> Result<u8, Failure> {
    let console = context.console;
    let is_drawn = console.stdout_is_terminal && !console.json;
    let mut signals = StopSignals::listen()?;
    let showing = async {
        match is_drawn {
            true => draw(context).await,
            false => print(context).await,
        }
    };
    tokio::select! {
        ended = showing => ended,
        // To stop looking is no failure.
        () = signals.next() => Ok(exit::OK),
    }
}

/// The stream of all changes, taken up again where it broke.
struct Changes {
    client: Client,
    lines: Lines,
    response: reqwest::Response,
    last: Option<String>,
}

impl Changes {
    async fn open(client: &Client) -> Result<Self, Failure> {
        Ok(Self {
            response: client.lines("/stream/events").await?,
            client: client.clone(),
            lines: Lines::default(),
            last: None,
        })
    }

    /// The next change, and its line; `None` where the connection broke.
    async fn next(&mut self) -> Result<Option<(Value, Vec<u8>)>, Failure> {
        loop {
            while let Some(line) = self.lines.line()? {
                let Ok(change) = serde_json::from_slice::<Value>(line) else {
                    continue;
                };
                self.last = change["id"].as_str().map(str::to_owned);
                let line = line.to_vec();
                return Ok(Some((change, line)));
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.lines.push(&chunk),
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    async fn resume(&mut self) -> Result<(), Failure> {
        self.lines = Lines::default();
        loop {
            tokio::time::sleep(RETRY).await;
            let query = Query::default().with("from", self.last.as_deref());
            match self.client.lines(&query.after("/stream/events")).await {
                Ok(response) => {
                    self.response = response;
                    return Ok(());
                }
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(client) = self.client.elsewhere() {
                self.client = client;
            }
        }
    }
}

async fn print(context: &Context) -> Result<u8, Failure> {
    let console = &context.console;
    let mut changes = Changes::open(&context.client).await?;
    loop {
        match changes.next().await? {
            None => changes.resume().await?,
            Some((_, mut line)) if console.json => {
                line.push(b'\n');
                console.passage().print(&line)?;
            }
            Some((change, _)) => {
                if let Some(line) = words(&change) {
                    console.print_line(&line)?;
                }
            }
        }
    }
}

/// Time, kind, change, repo, branch, and what else there is to say, with tabs between.
fn words(change: &Value) -> Option<String> {
    let kind = change["type"].as_str()?;
    let run = &change["run"];
    let text = |value: &Value| printable(value.as_str().unwrap_or_default());
    let place = match kind {
        "run" => run,
        "workspace" | "repo" | "salvage" | "reap" => change,
        _ => return None,
    };
    let (what, more) = match kind {
        "run" => (text(&run["state"]), text(&run["run_id"])),
        "reap" => (text(&change["action"]), text(&change["why"])),
        _ => (text(&change["change"]), text(&change["salvage"])),
    };
    let at = text(&change["at"]);
    let (repo, branch) = (text(&place["repo"]), text(&place["branch"]));
    Some(format!("{at}\t{kind}\t{what}\t{repo}\t{branch}\t{more}"))
}

async fn draw(context: &Context) -> Result<u8, Failure> {
    let mut changes = Changes::open(&context.client).await?;
    let mut state = TopState::read(&changes.client).await?;
    let screen = Screen::open(context.console)?;
    let mut look_at = Instant::now() + BETWEEN_LOOKS;
    let mut draw_at = Instant::now();
    let mut is_stale = true;
    loop {
        tokio::select! {
            () = sleep_until(draw_at), if is_stale => {
                screen.draw(&state)?;
                is_stale = false;
                draw_at = Instant::now() + BETWEEN_DRAWINGS;
            }
            () = sleep_until(look_at) => {
                // Where it fails the connection is about to break, too.
                let _ = state.look(&changes.client).await;
                look_at = Instant::now() + BETWEEN_LOOKS;
                is_stale = true;
            }
            change = changes.next() => {
                match change? {
                    Some((change, _)) => {
                        if state.take(&change) {
                            state = TopState::read(&changes.client).await?;
                        }
                    }
                    None => {
                        state.lose();
                        screen.draw(&state)?;
                        changes.resume().await?;
                        state = TopState::read(&changes.client).await?;
                    }
                }
                is_stale = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_is_a_line_with_tabs() {
        let run = json!({"type": "run", "id": "1-2", "at": "T", "change": "ended", "run": {
            "run_id": "R", "state": "failed", "repo": "app", "branch": "main"}});
        assert_eq!(words(&run).unwrap(), "T\trun\tfailed\tapp\tmain\tR");
        let pinned = json!({"type": "workspace", "at": "T", "change": "pinned", "repo": "app", "branch": "a\tb"});
        let line = words(&pinned).unwrap();
        assert!(line.starts_with("T\tworkspace\tpinned\tapp\t"), "{line}");
        assert_eq!(line.matches('\t').count(), 5, "{line}");
        assert!(words(&json!({"type": "hello"})).is_none());
    }
}
