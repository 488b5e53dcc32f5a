//! What a plan needs to know beside the event.

use std::collections::BTreeMap;

use crate::event::WorkflowEvent;
use crate::expression::{ExprObject, ExprValue, to_text};

/// Where and for whom a pipeline runs. Plain data.
#[derive(Debug, Clone, Default)]
pub struct PlanFacts {
    /// `owner/name`, or a name alone.
    pub repository: String,
    pub sha: String,
    pub actor: String,
    pub run_id: String,
    pub run_number: u64,
    pub vars: BTreeMap<String, String>,
    /// Whether the branch is protected.
    pub is_ref_protected: bool,
    /// How long artifacts are kept.
    pub retention_days: u64,
}

/// The context `github`.
pub(super) fn github(
    facts: &PlanFacts,
    event: &WorkflowEvent,
    (workflow, file): (&str, &str),
    inputs: &ExprValue,
) -> ExprValue {
    let (ref_type, ref_name) = match event.git_ref.strip_prefix("refs/tags/") {
        Some(tag) => ("tag", tag),
        None => {
            let name = event
                .git_ref
                .strip_prefix("refs/heads/")
                .or(event.git_ref.strip_prefix("refs/pull/"));
            ("branch", name.unwrap_or(&event.git_ref))
        }
    };
    let owner = facts
        .repository
        .split_once('/')
        .map_or("", |(owner, _)| owner);
    let workflow_ref = format!("{}/{file}@{}", facts.repository, event.git_ref);
    let text = |text: &str| ExprValue::text(text);
    let optional = |value: &Option<String>| ExprValue::text(value.clone().unwrap_or_default());
    ExprValue::object([
        ("repository", text(&facts.repository)),
        ("repository_owner", text(owner)),
        ("ref", text(&event.git_ref)),
        ("ref_name", text(ref_name)),
        ("ref_type", text(ref_type)),
        ("sha", text(&facts.sha)),
        ("event_name", text(event.kind.name())),
        ("event", payload(event, inputs)),
        ("actor", text(&facts.actor)),
        ("triggering_actor", text(&facts.actor)),
        ("run_id", text(&facts.run_id)),
        ("run_number", ExprValue::text(facts.run_number.to_string())),
        ("base_ref", optional(&event.base_ref)),
        ("head_ref", optional(&event.head_ref)),
        ("workflow", text(workflow)),
        ("workflow_ref", ExprValue::Text(workflow_ref)),
        ("ref_protected", ExprValue::Bool(facts.is_ref_protected)),
        (
            "retention_days",
            ExprValue::text(facts.retention_days.to_string()),
        ),
    ])
}

/// `github.event`, with what the event says beside its payload.
fn payload(event: &WorkflowEvent, inputs: &ExprValue) -> ExprValue {
    let mut payload = match &event.payload {
        ExprValue::Object(object) => ExprObject::clone(object),
        _ => ExprObject::default(),
    };
    if let ExprValue::Object(inputs) = inputs
        && inputs.iter().next().is_some()
    {
        // Whatever the type of an input, the event has its text.
        let texts = inputs
            .iter()
            .map(|(name, value)| (name, ExprValue::Text(to_text(value))));
        payload.replace("inputs", ExprValue::object(texts));
    }
    for (name, value) in [("action", &event.activity), ("schedule", &event.cron)] {
        if let Some(value) = value {
            payload.insert(name, ExprValue::text(value.as_str()));
        }
    }
    ExprValue::Object(payload.into())
}
