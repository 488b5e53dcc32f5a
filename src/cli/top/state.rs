//! What `top` knows: the runs under way and the latest that ended, and how busy the machine is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::cli::client::Client;
use crate::cli::exit::Failure;
use branchyard::app::{Load, Queue};
use branchyard::http::Listed;
use branchyard_model::{RunId, RunRecord};

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

    pub(super) fn machine(&self) -> &Load {
        &self.machine
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Those under way, the longest first, then those that ended, the latest first.
    pub(super) fn runs(&self) -> impl Iterator<Item = &RunRecord> {
        let (under_way, ended): (Vec<_>, Vec<_>) = self
            .runs
            .values()
            .rev()
            .partition(|run| !run.state.is_ended());
        under_way.into_iter().rev().chain(ended)
    }
}
