//! What `top` shows: the runs under way and the latest that ended, and how busy the machine is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::super::client::Client;
use super::super::exit::Failure;

/// More than fit on any screen.
const REMEMBERED: usize = 200;

#[derive(Debug, Default)]
pub(super) struct TopState {
    machine: Machine,
    /// By id, which sorts by the time of the request.
    runs: BTreeMap<String, Run>,
    /// The daemon is not there at the moment.
    is_lost: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Machine {
    pub(super) cores: usize,
    pub(super) load: [f64; 3],
    pub(super) memory: Amounts,
    pub(super) disk: Amounts,
    pub(super) runs: QueueLength,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Amounts {
    pub(super) total: Option<u64>,
    #[serde(alias = "available")]
    pub(super) free: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct QueueLength {
    pub(super) running: usize,
    pub(super) waiting: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct Run {
    pub(super) run_id: String,
    pub(super) state: String,
    pub(super) repo: String,
    pub(super) branch: String,
    pub(super) argv: Vec<String>,
    pub(super) principal: String,
    pub(super) created_at: Option<Timestamp>,
    pub(super) duration_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Run>,
}

impl Run {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "preparing" | "running")
    }
}

impl TopState {
    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(super) fn runs(&self) -> &BTreeMap<String, Run> {
        &self.runs
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

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
            let page: Page = client.get(path).await?.parse()?;
            let runs = page.items.into_iter();
            state.runs.extend(runs.map(|run| (run.run_id.clone(), run)));
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
                if let Ok(run) = Run::deserialize(&change["run"]) {
                    self.runs.insert(run.run_id.clone(), run);
                }
                self.forget();
            }
            Some("queue") => {
                if let Ok(queue) = QueueLength::deserialize(change) {
                    self.machine.runs = queue;
                }
            }
            _ => {}
        }
        false
    }

    /// The oldest that ended, beyond what is remembered.
    fn forget(&mut self) {
        while self.runs.len() > REMEMBERED {
            let ended = self.runs.values().find(|run| !run.is_under_way());
            let Some(id) = ended.map(|run| run.run_id.clone()) else {
                return;
            };
            self.runs.remove(&id);
        }
    }
}
