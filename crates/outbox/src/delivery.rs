//! What is told of a message and of its way.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::{DeliveryId, PipelineId, RepoName, RunId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is to be sent, or sent again.
    Waiting,
    Delivered,
    /// The receiver is gone, by what it or the configuration says, or did not take it for a day. Of a command: it failed four
    /// times.
    Failed,
}

/// A message to a forge or webhook, or a command at the end of a run or pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    pub delivery_id: DeliveryId,
    /// `status`, `webhook` or `after`.
    pub kind: String,
    /// The context and the commit of a status, or the name of a webhook or command.
    pub to: String,
    /// What it says, in a word or two.
    pub says: String,
    pub repo: RepoName,
    /// What it is about, unless that is a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_id: Option<PipelineId>,
    /// The run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub state: DeliveryState,
    /// How often it was sent and did not arrive.
    pub failures: u32,
    /// Why it did not arrive the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub made_at: Timestamp,
    /// When it is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}
