//! Webhooks of GitHub, and of Gogs, Gitea and Forgejo, which took over its events.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::pull::Branch;
use super::{HookNews, Payload, PullNews, Unreadable};

#[derive(Deserialize)]
struct PullEvent {
    pull_request: PullRequest,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct PullRequest {
    number: NonZeroU64,
    title: String,
    state: String,
    base: BranchEnd,
    head: BranchEnd,
}

#[derive(Deserialize)]
struct BranchEnd {
    #[serde(rename = "ref")]
    branch: String,
}

pub(super) fn news(event: &str, payload: &Payload<'_>) -> Result<HookNews, Unreadable> {
    Ok(match event {
        "push" | "create" | "delete" | "merge_group" => HookNews::Refs,
        "pull_request" => HookNews::Pull(pull(payload)?),
        // What Gitea and Forgejo call their `pull_request` where a hook can be set to a part of these events.
        "pull_request_assign"
        | "pull_request_label"
        | "pull_request_milestone"
        | "pull_request_review_request"
        | "pull_request_sync" => HookNews::Pull(pull(payload)?),
        _ => HookNews::Nothing,
    })
}

fn pull(payload: &Payload<'_>) -> Result<PullNews, Unreadable> {
    let PullEvent {
        pull_request,
        repository,
    } = payload.read()?;
    let base = Branch {
        field: "pull_request.base.ref",
        name: pull_request.base.branch,
    };
    let head = Branch {
        field: "pull_request.head.ref",
        name: pull_request.head.branch,
    };
    PullNews::new(
        "refs/pull",
        pull_request.number,
        &pull_request.title,
        base,
        head,
        (
            pull_request.state == "open",
            repository.map(|repository| repository.full_name),
        ),
    )
}
