//! Webhooks of GitLab: of projects and groups, and those that an administrator sets for all of them.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::pull::Branch;
use super::{HookNews, Payload, PullNews, Unreadable};

/// What a system hook is about, which its header does not tell: the one or the other, by the kind of event.
#[derive(Deserialize)]
struct SystemEvent {
    object_kind: Option<String>,
    event_name: Option<String>,
}

#[derive(Deserialize)]
struct MergeEvent {
    object_attributes: MergeRequest,
    project: Option<Project>,
}

#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: NonZeroU64,
    title: String,
    state: String,
    target_branch: String,
    source_branch: String,
}

pub(super) fn news(event: &str, payload: &Payload<'_>) -> Result<HookNews, Unreadable> {
    match event {
        "Push Hook" | "Tag Push Hook" => Ok(HookNews::Refs),
        "Merge Request Hook" => pull(payload).map(HookNews::Pull),
        "System Hook" => system_news(payload),
        _ => Ok(HookNews::Nothing),
    }
}

fn system_news(payload: &Payload<'_>) -> Result<HookNews, Unreadable> {
    let event: SystemEvent = payload.read()?;
    match event.object_kind.or(event.event_name).as_deref() {
        Some("push" | "tag_push" | "repository_update") => Ok(HookNews::Refs),
        Some("merge_request") => pull(payload).map(HookNews::Pull),
        _ => Ok(HookNews::Nothing),
    }
}

fn pull(payload: &Payload<'_>) -> Result<PullNews, Unreadable> {
    let MergeEvent {
        object_attributes,
        project,
    } = payload.read()?;
    let base = Branch {
        field: "object_attributes.target_branch",
        name: object_attributes.target_branch,
    };
    let head = Branch {
        field: "object_attributes.source_branch",
        name: object_attributes.source_branch,
    };
    // A merge request is locked while GitLab merges it, and opened again where that fails.
    let is_open = ["opened", "locked"].contains(&&*object_attributes.state);
    PullNews::new(
        "refs/merge-requests",
        object_attributes.iid,
        &object_attributes.title,
        base,
        head,
        (is_open, project.map(|project| project.path_with_namespace)),
    )
}
