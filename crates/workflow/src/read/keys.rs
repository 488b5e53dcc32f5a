//! Every key that a workflow or an action may have, and what is done with it. docs/PIPELINES.md has each of these rows.

use KeySupport::{NoEffect, NotYet, Own, Taken};

/// What is done with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySupport {
    Taken,
    /// Allowed: there is nothing here for it to do.
    NoEffect,
    /// Branchyard's own: only files in `.branchyard/workflows/` have it.
    Own,
    /// Refused as `not_supported_yet`.
    NotYet,
}

/// A key, the mapping that it stands in, and what is done with it.
#[derive(Debug, Clone, Copy)]
pub struct SupportRow {
    pub level: &'static str,
    pub key: &'static str,
    pub support: KeySupport,
}

pub(super) const FILE: &str = "file";
pub(super) const ON: &str = "on";
pub(super) const TRIGGER: &str = "on.<event>";
pub(super) const CRON: &str = "on.schedule[]";
pub(super) const DISPATCH: &str = "on.workflow_dispatch";
pub(super) const INPUT: &str = "on.workflow_dispatch.inputs.<input>";
pub(super) const DEFAULTS: &str = "defaults";
pub(super) const DEFAULTS_RUN: &str = "defaults.run";
pub(super) const CONCURRENCY: &str = "concurrency";
pub(super) const JOB: &str = "jobs.<job>";
pub(super) const RUNS_ON: &str = "jobs.<job>.runs-on";
pub(super) const STRATEGY: &str = "jobs.<job>.strategy";
pub(super) const RETRY: &str = "jobs.<job>.retry";
pub(super) const STEP: &str = "jobs.<job>.steps[]";
pub(super) const ACTION: &str = "action";
pub(super) const ACTION_INPUT: &str = "action.inputs.<input>";
pub(super) const ACTION_OUTPUT: &str = "action.outputs.<output>";
pub(super) const RUNS: &str = "action.runs";
pub(super) const ACTION_STEP: &str = "action.runs.steps[]";

const fn row(level: &'static str, key: &'static str, support: KeySupport) -> SupportRow {
    SupportRow {
        level,
        key,
        support,
    }
}

const ROWS: &[SupportRow] = &[
    row(FILE, "name", Taken),
    row(FILE, "description", NoEffect),
    row(FILE, "run-name", Taken),
    row(FILE, "on", Taken),
    row(FILE, "permissions", NoEffect),
    row(FILE, "env", Taken),
    row(FILE, "defaults", Taken),
    row(FILE, "concurrency", Taken),
    row(FILE, "jobs", Taken),
    row(ON, "push", Taken),
    row(ON, "pull_request", Taken),
    row(ON, "merge_group", Taken),
    row(ON, "schedule", Taken),
    row(ON, "workflow_dispatch", Taken),
    row(TRIGGER, "branches", Taken),
    row(TRIGGER, "branches-ignore", Taken),
    row(TRIGGER, "tags", Taken),
    row(TRIGGER, "tags-ignore", Taken),
    row(TRIGGER, "paths", Taken),
    row(TRIGGER, "paths-ignore", Taken),
    row(TRIGGER, "types", Taken),
    row(CRON, "cron", Taken),
    row(CRON, "timezone", Taken),
    row(DISPATCH, "inputs", Taken),
    row(INPUT, "description", NoEffect),
    row(INPUT, "type", Taken),
    row(INPUT, "required", Taken),
    row(INPUT, "default", Taken),
    row(INPUT, "options", Taken),
    row(INPUT, "deprecationMessage", NoEffect),
    row(DEFAULTS, "run", Taken),
    row(DEFAULTS_RUN, "shell", Taken),
    row(DEFAULTS_RUN, "working-directory", Taken),
    row(CONCURRENCY, "group", Taken),
    row(CONCURRENCY, "cancel-in-progress", Taken),
    row(CONCURRENCY, "queue", Taken),
    row(JOB, "name", Taken),
    row(JOB, "permissions", NoEffect),
    row(JOB, "needs", Taken),
    row(JOB, "if", Taken),
    row(JOB, "runs-on", Taken),
    row(JOB, "env", Taken),
    row(JOB, "defaults", Taken),
    row(JOB, "strategy", Taken),
    row(JOB, "timeout-minutes", Taken),
    row(JOB, "continue-on-error", Taken),
    row(JOB, "outputs", Taken),
    row(JOB, "concurrency", Taken),
    row(JOB, "steps", Taken),
    row(JOB, "container", NotYet),
    row(JOB, "services", NotYet),
    row(JOB, "environment", NotYet),
    row(JOB, "uses", NotYet),
    row(JOB, "with", NotYet),
    row(JOB, "secrets", NotYet),
    row(JOB, "snapshot", NotYet),
    row(JOB, "cancel-timeout-minutes", NotYet),
    row(JOB, "approve", NotYet),
    row(JOB, "network", NotYet),
    row(JOB, "inputs", Own),
    row(JOB, "retry", Own),
    row(JOB, "reports", Own),
    row(JOB, "hold", Own),
    row(JOB, "warm", Own),
    row(JOB, "reuse", Own),
    row(RUNS_ON, "labels", Taken),
    row(RUNS_ON, "group", NoEffect),
    row(STRATEGY, "matrix", Taken),
    row(STRATEGY, "fail-fast", Taken),
    row(STRATEGY, "max-parallel", Taken),
    row(RETRY, "max", Own),
    row(RETRY, "on", Own),
    row(STEP, "id", Taken),
    row(STEP, "name", Taken),
    row(STEP, "if", Taken),
    row(STEP, "run", Taken),
    row(STEP, "shell", Taken),
    row(STEP, "env", Taken),
    row(STEP, "working-directory", Taken),
    row(STEP, "timeout-minutes", Taken),
    row(STEP, "continue-on-error", Taken),
    row(STEP, "uses", Taken),
    row(STEP, "with", Taken),
    row(STEP, "background", Taken),
    row(STEP, "cancel", Taken),
    row(STEP, "wait", Taken),
    row(STEP, "wait-all", Taken),
    row(STEP, "parallel", NotYet),
];

const ACTION_ROWS: &[SupportRow] = &[
    row(ACTION, "name", NoEffect),
    row(ACTION, "description", NoEffect),
    row(ACTION, "author", NoEffect),
    row(ACTION, "branding", NoEffect),
    row(ACTION, "inputs", Taken),
    row(ACTION, "outputs", Taken),
    row(ACTION, "runs", Taken),
    row(ACTION_INPUT, "description", NoEffect),
    row(ACTION_INPUT, "required", Taken),
    row(ACTION_INPUT, "default", Taken),
    row(ACTION_INPUT, "deprecationMessage", NoEffect),
    row(ACTION_OUTPUT, "description", NoEffect),
    row(ACTION_OUTPUT, "value", Taken),
    row(RUNS, "using", Taken),
    row(RUNS, "steps", Taken),
    row(ACTION_STEP, "id", Taken),
    row(ACTION_STEP, "name", Taken),
    row(ACTION_STEP, "if", Taken),
    row(ACTION_STEP, "run", Taken),
    row(ACTION_STEP, "shell", Taken),
    row(ACTION_STEP, "env", Taken),
    row(ACTION_STEP, "working-directory", Taken),
    row(ACTION_STEP, "continue-on-error", Taken),
    row(ACTION_STEP, "uses", Taken),
    row(ACTION_STEP, "with", Taken),
];

/// Events of GitHub that never come here. A trigger for one is a warning: it starts nothing.
pub(super) const FOREIGN_EVENTS: &[&str] = &[
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "image_version",
    "issue_comment",
    "issues",
    "label",
    "milestone",
    "page_build",
    "project",
    "project_card",
    "project_column",
    "public",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_target",
    "registry_package",
    "release",
    "repository_dispatch",
    "status",
    "watch",
    "workflow_call",
    "workflow_run",
];

/// Every key that a workflow may have.
pub fn support_table() -> &'static [SupportRow] {
    ROWS
}

/// Every key that the file of an action may have.
pub fn action_support_table() -> &'static [SupportRow] {
    ACTION_ROWS
}

fn all() -> impl Iterator<Item = &'static SupportRow> {
    ROWS.iter().chain(ACTION_ROWS)
}

pub(super) fn find(level: &str, key: &str) -> Option<&'static SupportRow> {
    all().find(|row| row.level == level && row.key == key)
}

pub(super) fn keys_of(level: &str) -> impl Iterator<Item = &'static str> {
    all()
        .filter(move |row| row.level == level)
        .map(|row| row.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_a_level_is_there_once() {
        for (at, row) in all().enumerate() {
            let is_other = |other: &SupportRow| other.level == row.level && other.key == row.key;
            assert!(
                !all().skip(at + 1).any(is_other),
                "{} {}",
                row.level,
                row.key
            );
        }
        assert!(FOREIGN_EVENTS.iter().all(|event| find(ON, event).is_none()));
    }

    #[test]
    fn the_page_has_every_event_that_never_comes() {
        let page = include_str!("../../../../docs/PIPELINES.md");
        let missing = FOREIGN_EVENTS
            .iter()
            .filter(|event| !page.contains(&format!("`{event}`")));
        assert_eq!(missing.count(), 0);
    }
}
