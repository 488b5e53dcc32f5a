//! A message to someone outside, as it is kept until it has arrived.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delivery::{Delivery, DeliveryState};
use branchyard_forge::CommitStatus;
use branchyard_model::{CommitId, DeliveryId, PipelineId, RepoName};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutgoingMessage {
    pub(crate) id: DeliveryId,
    /// What a newer message takes the place of, as long as it has not arrived.
    pub(crate) about: String,
    pub(crate) repo: RepoName,
    pub(crate) pipeline: PipelineId,
    pub(crate) to: Addressee,
    pub(crate) made_at: Timestamp,
    pub(crate) state: DeliveryState,
    /// How often it was sent and did not arrive.
    pub(crate) failures: u32,
    /// Why it did not arrive the last time.
    pub(crate) problem: Option<String>,
    /// When it is to be sent.
    pub(crate) next_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
}

/// Who is told what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Addressee {
    /// The forge of the repo.
    Status {
        commit: CommitId,
        status: CommitStatus,
    },
    /// A webhook, by its name in the configuration.
    Webhook { name: String, body: Value },
}

impl OutgoingMessage {
    pub(crate) fn new(
        about: String,
        (repo, pipeline): (&RepoName, PipelineId),
        to: Addressee,
        now: Timestamp,
    ) -> Self {
        Self {
            id: DeliveryId::new(),
            about,
            repo: repo.clone(),
            pipeline,
            to,
            made_at: now,
            state: DeliveryState::Waiting,
            failures: 0,
            problem: None,
            next_at: now,
            ended_at: None,
        }
    }

    /// Who is to have it: a webhook by its name, or the forge of a repo.
    pub(crate) fn receiver(&self) -> String {
        match &self.to {
            Addressee::Status { .. } => format!("forge of {}", self.repo),
            Addressee::Webhook { name, .. } => format!("webhook {name}"),
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.state == DeliveryState::Waiting
    }

    /// As callers see it.
    pub(crate) fn shown(&self) -> Delivery {
        let (kind, to, says) = match &self.to {
            Addressee::Status { commit, status } => (
                "status",
                format!("{} at {commit}", status.context),
                status.description.clone(),
            ),
            Addressee::Webhook { name, body } => {
                let says = body["type"].as_str().unwrap_or_default();
                ("webhook", name.clone(), says.to_owned())
            }
        };
        Delivery {
            delivery_id: self.id,
            kind: kind.to_owned(),
            to,
            says,
            repo: self.repo.clone(),
            pipeline_id: self.pipeline,
            state: self.state,
            failures: self.failures,
            problem: self.problem.clone(),
            made_at: self.made_at,
            next_at: self.is_waiting().then_some(self.next_at),
            ended_at: self.ended_at,
        }
    }
}
