//! Who did what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::audit::{AuditFilter, AuditOutcome, AuditRecord};
use crate::mcp::call::Call;
use crate::mcp::reply::{Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, Problem, RepoName, Scope, moment};

/// Records on one page, where they fit.
const PAGE: usize = 100;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<AuditArgs, ListedRecords<'_>, _>(
        &ToolEntry {
            name: "audit",
            title: "Who did what",
            description: "Lists who changed what in the yard and whom it refused, the newest first: by principal, \
                action, repo, branch, run, outcome or time. Use it to find out how something came to be; go on \
                with next_cursor.",
            set: Toolset::Admin,
            right: Scope::Admin,
            effect: Effect::READS,
        },
        audit,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditArgs {
    /// Only what this principal did, such as session or token:ci.
    principal: Option<String>,
    /// Only this action, such as make, git.push or branch.remove.
    action: Option<String>,
    /// Only what was done in this repo.
    repo: Option<RepoName>,
    /// Only what was done on this branch.
    branch: Option<BranchName>,
    /// Only what made or touched this run, group, salvage or token.
    run_id: Option<String>,
    /// Only what was allowed, refused, failed, or came to an unknown end.
    outcome: Option<AuditOutcome>,
    /// Only since then: a time such as 2026-11-15T08:00:00Z, or how long ago, such as 2h.
    since: Option<String>,
    /// Only before then, written as since is.
    until: Option<String>,
    /// An answer's next_cursor.
    cursor: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedRecords<'a> {
    records: &'a [AuditRecord],
    /// There are older ones.
    truncated: bool,
    next_cursor: Option<i64>,
}

async fn audit(call: Call, asked: AuditArgs) -> Result<Reply, Problem> {
    let time = |field, given: Option<String>| given.map(|text| moment(field, &text)).transpose();
    let filter = AuditFilter {
        principal: asked.principal,
        action: asked.action,
        repo: asked.repo,
        branch: asked.branch,
        run: asked.run_id,
        outcome: asked.outcome,
        since: time("since", asked.since)?,
        until: time("until", asked.until)?,
        after: None,
        before: asked.cursor,
    };
    let auditor = call.app().auditor();
    let (found, more) = auditor.page(call.app().principal(), filter, PAGE).await?;
    fitted_items(found.len(), |count| {
        let records = &found[..count];
        let truncated = more || count < found.len();
        let listed = ListedRecords {
            records,
            truncated,
            next_cursor: records.last().filter(|_| truncated).map(|record| record.id),
        };
        call.reply(&listed, records.iter().map(line).collect::<String>())
    })
}

fn line(record: &AuditRecord) -> String {
    let AuditRecord { call, end, .. } = record;
    let who = call.principal.as_deref().or(call.peer.as_deref());
    let place = match (&call.repo, &call.branch) {
        (Some(repo), Some(branch)) => format!(" {repo}/{branch}"),
        (Some(repo), None) => format!(" {repo}"),
        (None, _) => String::new(),
    };
    let code = end.code.as_ref().map(|code| format!(" ({code})"));
    format!(
        "{} {} {}{place}: {}{}\n",
        call.at,
        who.unwrap_or("the daemon"),
        call.action,
        end.outcome.as_str(),
        code.unwrap_or_default(),
    )
}
