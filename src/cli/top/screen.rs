//! The screen of `top`. What was on the terminal before is there again when it goes.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;

use super::super::exit::Failure;
use super::super::render::{Cell, Console, Listing, Tone, human_duration, human_size};
use super::state::TopState;
use branchyard_model::{EndState, RunState};

/// The terminal's other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Where the terminal does not say.
const USUAL: (u16, u16) = (80, 24);

pub(super) struct Screen {
    console: Console,
}

impl Screen {
    pub(super) fn open(console: Console) -> Result<Self, Failure> {
        console.print(ENTER.as_bytes())?;
        Ok(Self { console })
    }

    pub(super) fn draw(&self, state: &TopState) -> Result<(), Failure> {
        let (width, height) = match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL,
        };
        let text = shown(state, width, self.console.color_stdout, Timestamp::now());
        let mut drawn = HOME.to_owned();
        for line in text.lines().take(height.into()) {
            let _ = write!(drawn, "{line}{CLEAR_LINE}\r\n");
        }
        // The last line has no end: it would push the first one out.
        drawn.truncate(drawn.trim_end().len());
        drawn.push_str(CLEAR_BELOW);
        self.console.print(drawn.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = io::stdout().write_all(LEAVE.as_bytes());
        let _ = io::stdout().flush();
    }
}

fn shown(state: &TopState, width: u16, color: bool, now: Timestamp) -> String {
    let machine = state.machine();
    let [one, five, fifteen] = machine.load;
    let mut text = format!(
        "{} running, {} waiting    load {one:.2} {five:.2} {fifteen:.2} on {} cores    memory {}    disk {}\n",
        machine.runs.queue.running,
        machine.runs.queue.waiting,
        machine.cores,
        free(machine.memory.available, Some(machine.memory.total)),
        free(machine.disk.free, machine.disk.total),
    );
    text.push_str(match state.is_lost() {
        true => "the daemon is not there; looking for it\n",
        false => "\n",
    });
    let mut listing = Listing::new("STATE, REPO, BRANCH, COMMAND, WHO, TIME");
    let (under_way, ended): (Vec<_>, Vec<_>) = state
        .runs()
        .values()
        .rev()
        .partition(|run| !run.state.is_ended());
    for run in under_way.into_iter().rev().chain(ended) {
        let tone = match run.state {
            RunState::Ended(EndState::Succeeded) => Tone::Good,
            RunState::Ended(_) => Tone::Bad,
            _ => Tone::Plain,
        };
        let age = now.duration_since(run.created_at).as_millis();
        let age = u64::try_from(age).ok();
        let took = run.duration_ms.or(age).map(human_duration);
        listing.row(vec![
            Cell::text(run.state.as_str())
                .shown_as(run.state.as_str().replace('_', " "))
                .tone(tone),
            Cell::text(&run.spec.repo),
            Cell::whole(&run.spec.branch),
            Cell::text(run.spec.argv.join(" ")),
            Cell::text(&run.spec.principal),
            Cell::maybe(took),
        ]);
    }
    match listing.is_empty() {
        true => text.push_str("no runs yet\n"),
        false => text.push_str(&listing.table(Some(width), color)),
    }
    text
}

fn free(free: Option<u64>, total: Option<u64>) -> String {
    match (free, total) {
        (Some(free), Some(total)) => format!("{} free of {}", human_size(free), human_size(total)),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_under_way_stand_before_those_that_ended() {
        let mut state = TopState::default();
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        for (id, run_state) in [
            ("1", "running"),
            ("2", "succeeded"),
            ("3", "queued"),
            ("4", "failed"),
        ] {
            let run_id = format!("0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6{id}");
            let run = json!({"type": "run", "run": {"run_id": run_id, "state": run_state, "repo": "app", "branch": "main",
                "kind": "make", "argv": ["make", id], "timeout_ms": 1, "sync": "auto", "stale": false,
                "on_disconnect": "cancel", "principal": "session", "created_at": "2026-01-01T00:00:00Z",
                "duration_ms": null}});
            assert!(!state.take(&run));
        }
        assert!(!state.take(&json!({"type": "queue", "running": 1, "waiting": 1})));
        assert!(state.take(&json!({"type": "reset"})));
        let text = shown(&state, 100, false, now);
        assert!(text.starts_with("1 running, 1 waiting"), "{text}");
        let places: Vec<_> = ["make 1", "make 3", "make 4", "make 2"]
            .iter()
            .map(|command| text.find(command).unwrap())
            .collect();
        assert!(places.is_sorted(), "{text}");
        assert!(text.contains("1m00s"), "{text}");
    }
}
