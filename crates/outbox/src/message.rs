//! A message to someone outside, as it is kept until it has arrived.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delivery::{Delivery, DeliveryState};
use branchyard_forge::CommitStatus;
use branchyard_model::{CommitId, DeliveryId, PipelineId, RepoName, RunId};

/// The variable by which a command is told how something ended.
pub(crate) const STATE_VARIABLE: &str = "BRANCHYARD_STATE";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutgoingMessage {
    pub(crate) id: DeliveryId,
    /// What a newer message takes the place of, as long as it has not arrived.
    pub(crate) about: String,
    pub(crate) repo: RepoName,
    #[serde(flatten)]
    pub(crate) subject: MessageSubject,
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

/// What a message tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageSubject {
    Run(RunId),
    Pipeline(PipelineId),
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
    /// A command, by its name in the configuration.
    After {
        name: String,
        variables: BTreeMap<String, String>,
        /// As JSON: so it takes less memory than a value.
        record: String,
    },
}

impl MessageSubject {
    pub(crate) fn id(self) -> String {
        match self {
            Self::Run(id) => id.to_string(),
            Self::Pipeline(id) => id.to_string(),
        }
    }
}

impl OutgoingMessage {
    pub(crate) fn new(
        about: String,
        (repo, subject): (&RepoName, MessageSubject),
        to: Addressee,
        now: Timestamp,
    ) -> Self {
        Self {
            id: DeliveryId::new(),
            about,
            repo: repo.clone(),
            subject,
            to,
            made_at: now,
            state: DeliveryState::Waiting,
            failures: 0,
            problem: None,
            next_at: now,
            ended_at: None,
        }
    }

    /// Who is to have it: a webhook or command by its name, or the forge of a repo.
    pub(crate) fn receiver(&self) -> String {
        match &self.to {
            Addressee::Status { .. } => format!("forge of {}", self.repo),
            Addressee::Webhook { name, .. } => format!("webhook {name}"),
            Addressee::After { name, .. } => format!("command {name}"),
        }
    }

    pub(crate) fn is_command(&self) -> bool {
        matches!(self.to, Addressee::After { .. })
    }

    /// Where it has its files while it runs, if it is a command. Each try has a directory of its own.
    pub(crate) fn home(&self, commands: &Path) -> PathBuf {
        commands.join(format!("{}-{}", self.id, self.failures))
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
            Addressee::After {
                name, variables, ..
            } => {
                let says = variables.get(STATE_VARIABLE).cloned();
                ("after", name.clone(), says.unwrap_or_default())
            }
        };
        let (run_id, pipeline_id) = match self.subject {
            MessageSubject::Run(id) => (Some(id), None),
            MessageSubject::Pipeline(id) => (None, Some(id)),
        };
        Delivery {
            delivery_id: self.id,
            kind: kind.to_owned(),
            to,
            says,
            repo: self.repo.clone(),
            pipeline_id,
            run_id,
            state: self.state,
            failures: self.failures,
            problem: self.problem.clone(),
            made_at: self.made_at,
            next_at: self.is_waiting().then_some(self.next_at),
            ended_at: self.ended_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_tells_of_is_a_key_of_its_own_in_its_file() {
        let repo = RepoName::parse("demo").unwrap();
        let to = || Addressee::Webhook {
            name: "chat".to_owned(),
            body: Value::Null,
        };
        for (subject, key) in [
            (MessageSubject::Run(RunId::new()), "run"),
            (MessageSubject::Pipeline(PipelineId::new()), "pipeline"),
        ] {
            let about = (&repo, subject);
            let message = OutgoingMessage::new("x".to_owned(), about, to(), Timestamp::now());
            let written = serde_json::to_value(&message).unwrap();
            assert_eq!(written[key], subject.id());
            let read: OutgoingMessage = serde_json::from_value(written).unwrap();
            assert_eq!(read, message);
        }
    }
}
