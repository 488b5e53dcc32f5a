//! `top`: what happens in the yard, live. On a terminal a screen that is drawn anew whenever something changes; elsewhere,
//! and with `--json`, a line for each change.

mod changes;
mod keys;
mod lines;
mod screen;
mod state;
mod view;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::Context;
use super::client::Client;
use super::exit::{self, Failure};
use super::follow;
use super::open::link_to;
use super::render::printable;
use super::run_name::short;
use super::signals::StopSignals;
use super::subject::Subject;
use branchyard_model::RunId;
use changes::{Changes, Happened};
use keys::KeyPresses;
use screen::Screen;
use state::TopState;
use view::{TopAction, View};

/// Changes that come together are drawn together.
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);
/// How often load, memory and disk are asked for.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// Show what happens in the yard, live
///
/// On a terminal: how busy the machine is, the runs under way and the latest that ended, each with
/// its first error. Keys select a run to follow (Enter), to cancel (c) or to open in the browser
/// (o), and filter the list (/); ? names them all, and q or Ctrl-C leaves. Piped, there is a line for each change: time, kind, change, repository, branch and
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
    let mut signals = StopSignals::listen_to_all()?;
    let showing = async {
        match is_drawn {
            true => draw(context).await.map(Some),
            false => print(context).await.map(|()| None),
        }
    };
    let left = tokio::select! {
        left = showing => left?,
        // To stop looking is no failure.
        () = signals.next() => None,
    };
    match left {
        Some((Some(run), client)) => {
            let context = Context { console, client };
            follow::onlook(&context, run).await
        }
        _ => Ok(exit::OK),
    }
}

async fn print(context: &Context) -> Result<(), Failure> {
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

/// Shows the screen until a key leaves it; returns the run that is to be followed then, and the daemon as it was
/// reached last.
async fn draw(context: &Context) -> Result<(Option<RunId>, Client), Failure> {
    let mut changes = Changes::open(&context.client).await?;
    let mut state = TopState::read(changes.client()).await?;
    let screen = Screen::open(context.console)?;
    let mut keys = match screen.has_keys() {
        true => KeyPresses::listen()
            .map_err(|error| Failure::local(format!("cannot read keys: {error}")))?,
        false => KeyPresses::none(),
    };
    let mut resized = signal(SignalKind::window_change())
        .map_err(|error| Failure::local(format!("cannot listen for signals: {error}")))?;
    let mut view = View::new(screen.has_keys());
    let mut look_at = Instant::now() + BETWEEN_LOOKS;
    let mut draw_at = Instant::now();
    let mut is_stale = true;
    loop {
        tokio::select! {
            () = sleep_until(draw_at), if is_stale => {
                let color = context.console.color_stdout;
                screen.draw(&view.lines(&state, screen.size(), color, Timestamp::now()))?;
                is_stale = false;
                draw_at = Instant::now() + BETWEEN_DRAWINGS;
            }
            pressed = keys.next() => {
                for key in pressed {
                    match view.press(key, &state, screen.size().1) {
                        Some(TopAction::Quit) => return Ok((None, changes.client().clone())),
                        Some(TopAction::Follow(run)) => return Ok((Some(run), changes.client().clone())),
                        Some(TopAction::Cancel(run)) => view.say(cancel(changes.client(), run).await),
                        Some(TopAction::Open(run)) => view.say(open_page(changes.client(), run).await),
                        None => {}
                    }
                }
                // A key is answered at once.
                (is_stale, draw_at) = (true, Instant::now());
            }
            _ = resized.recv() => (is_stale, draw_at) = (true, Instant::now()),
            () = sleep_until(look_at), if !state.is_lost() => {
                // Where it fails the connection is about to break, too.
                let _ = state.look(changes.client()).await;
                look_at = Instant::now() + BETWEEN_LOOKS;
                is_stale = true;
            }
            happened = changes.go_on(state.is_lost()) => {
                match happened? {
                    Happened::Changed(change) => {
                        if state.take(&change) {
                            state = TopState::read(changes.client()).await?;
                        }
                    }
                    Happened::Broken => state.lose(),
                    Happened::Resumed => state = TopState::read(changes.client()).await?,
                }
                is_stale = true;
            }
        }
    }
}

/// What became of it, in words.
async fn cancel(client: &Client, run: RunId) -> String {
    match client.cancel(Subject::Run(run), false).await {
        Ok(_) => format!("cancelling {}", short(run)),
        Err(error) => Failure::from(error).detail,
    }
}

async fn open_page(client: &Client, run: RunId) -> String {
    let link = match link_to(client, Some(run)).await {
        Ok((link, _)) => link,
        Err(failure) => return failure.detail,
    };
    match open::that_detached(link) {
        Ok(()) => format!("opening {} in the browser", short(run)),
        Err(_) => format!(
            "no browser could be started here: `branchyard open --print {}`",
            short(run)
        ),
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
