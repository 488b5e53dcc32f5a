//! What `top` shows: the runs under way and the latest that ended, and how busy the machine is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::super::client::Client;
use super::super::exit::Failure;
use super::super::render::{Cell, Listing, Tone, human_duration, human_size};
use branchyard::app::{Load, Queue};
use branchyard::http::Listed;
use branchyard_model::{EndState, RunId, RunRecord, RunState};

/// More than fit on any screen.
const REMEMBERED: usize = 200;

#[derive(Debug, Default)]
pub(super) struct TopState {
    machine: Load,
    /// By id, which sorts by the time of the request.
    runs: BTreeMap<RunId, RunRecord>,
    /// The daemon is not there at the moment.
    is_lost: bool,
}

impl TopState {
    /// The daemon has gone.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// All of it, from the daemon.
    pub(super) async fn read(client: &Client) -> Result<Self, Failure> {
        let mut state = Self::default();
        state.look(client).await?;
        let latest = format!("/api/runs?limit={REMEMBERED}");
        // Those under way may be older than the latest.
        for path in [
            &latest,
            "/api/runs?state=running",
            "/api/runs?state=preparing",
            "/api/runs?state=queued",
        ] {
            let page: Listed<RunRecord, RunId> = client.get(path).await?.parse()?;
            let runs = page.items.into_iter();
            state.runs.extend(runs.map(|run| (run.run_id, run)));
        }
        Ok(state)
    }

    /// How the machine is doing now.
    pub(super) async fn look(&mut self, client: &Client) -> Result<(), Failure> {
        self.machine = client.get("/api/machine").await?.parse()?;
        Ok(())
    }

    /// Takes a change; returns whether everything has to be read again.
    pub(super) fn take(&mut self, change: &Value) -> bool {
        match change["type"].as_str() {
            Some("reset") => return true,
            Some("run") => {
                if let Ok(run) = RunRecord::deserialize(&change["run"]) {
                    self.runs.insert(run.run_id, run);
                }
                self.forget();
            }
            Some("queue") => {
                if let Ok(queue) = Queue::deserialize(change) {
                    self.machine.runs.queue = queue;
                }
            }
            _ => {}
        }
        false
    }

    /// The oldest that ended, beyond what is remembered.
    fn forget(&mut self) {
        while self.runs.len() > REMEMBERED {
            let ended = self.runs.values().find(|run| run.state.is_ended());
            let Some(id) = ended.map(|run| run.run_id) else {
                return;
            };
            self.runs.remove(&id);
        }
    }

    /// As text for a terminal of this width.
    pub(super) fn shown(&self, width: u16, color: bool, now: Timestamp) -> String {
        let machine = &self.machine;
        let [one, five, fifteen] = machine.load;
        let mut text = format!(
            "{} running, {} waiting    load {one:.2} {five:.2} {fifteen:.2} on {} cores    memory {}    disk {}\n",
            machine.runs.queue.running,
            machine.runs.queue.waiting,
            machine.cores,
            free(machine.memory.available, Some(machine.memory.total)),
            free(machine.disk.free, machine.disk.total),
        );
        text.push_str(match self.is_lost {
            true => "the daemon is not there; looking for it\n",
            false => "\n",
        });
        let (under_way, ended): (Vec<_>, Vec<_>) = self
            .runs
            .values()
            .rev()
            .partition(|run| !run.state.is_ended());
        let runs = under_way.into_iter().rev().chain(ended);
        let listing = Listing::of("STATE, REPO, BRANCH, COMMAND, WHO, TIME", runs, |run| {
            let tone = match run.state {
                RunState::Ended(EndState::Succeeded) => Tone::Good,
                RunState::Ended(_) => Tone::Bad,
                _ => Tone::Plain,
            };
            let age = now.duration_since(run.created_at).as_millis();
            let age = u64::try_from(age).ok();
            let took = run.duration_ms.or(age).map(human_duration);
            vec![
                Cell::text(run.state.as_str())
                    .shown_as(run.state.as_str().replace('_', " "))
                    .tone(tone),
                Cell::text(&run.spec.repo),
                Cell::whole(&run.spec.branch),
                Cell::text(run.spec.argv.join(" ")),
                Cell::text(&run.spec.principal),
                Cell::maybe(took),
            ]
        });
        match listing.is_empty() {
            true => text.push_str("no runs yet\n"),
            false => text.push_str(&listing.table(Some(width), color)),
        }
        text
    }
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
        let text = state.shown(100, false, now);
        assert!(text.starts_with("1 running, 1 waiting"), "{text}");
        let places: Vec<_> = ["make 1", "make 3", "make 4", "make 2"]
            .iter()
            .map(|command| text.find(command).unwrap())
            .collect();
        assert!(places.is_sorted(), "{text}");
        assert!(text.contains("1m00s"), "{text}");
    }
}
