//! Who works on a branch: what was done there lately and by whom, and who waits for what.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use branchyard_db::security_db::audit::{AuditOutcome, Filter, Record};
use branchyard_model::{BranchName, Holder, Problem, RepoName};

/// What is older is history, which the runs and the log of the branch tell.
const LATELY: SignedDuration = SignedDuration::from_hours(24);

/// Who works on a branch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Who changed or built something there within a day, the latest first.
    pub items: Vec<Worker>,
    /// Who has the lock of the workspace.
    pub holder: Option<Holder>,
    /// Who waits for that lock, in their order; `since` is when they began to wait.
    pub waiting: Vec<Holder>,
}

/// One caller at work on a branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    pub principal: String,
    /// The program that they use, as it calls itself.
    pub client: Option<String>,
    /// The name of their latest call in the audit, such as `make` or `git.commit`.
    pub last_call: String,
    pub last_at: Timestamp,
    /// How many calls they made, of the newest 500 of all.
    pub calls: u64,
}

pub async fn activity(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<Activity, Problem> {
    app.check(repo, branch)?;
    let workspace = app.yard().workspaces.look_at(&app.repo(repo)?, branch);
    let filter = Filter {
        repo: Some(repo.clone()),
        branch: Some(branch.clone()),
        outcome: Some(AuditOutcome::Allowed),
        since: Some(Timestamp::now() - LATELY),
        ..Filter::default()
    };
    let records = app.auditor().newest(&filter).await?;
    Ok(Activity {
        items: workers(records),
        holder: workspace.queue().holder(),
        waiting: workspace.queue().waiting(),
    })
}

/// The records, which come newest first, by who they are of.
fn workers(records: Vec<Record>) -> Vec<Worker> {
    let mut workers: Vec<Worker> = Vec::new();
    for Record { call, end, .. } in records {
        let Some(principal) = call.principal else {
            continue;
        };
        let is_same =
            |worker: &&mut Worker| worker.principal == principal && worker.client == call.client;
        match workers.iter_mut().find(is_same) {
            Some(worker) => worker.calls += end.count,
            None => workers.push(Worker {
                principal,
                client: call.client,
                last_call: call.action,
                last_at: call.at,
                calls: end.count,
            }),
        }
    }
    workers
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_db::security_db::audit::{Call, End, Via};

    #[test]
    fn each_caller_is_named_once_with_what_they_did_last() {
        let record = |id, principal: Option<&str>, client: &str, action: &str| Record {
            id,
            call: Call {
                principal: principal.map(str::to_owned),
                client: Some(client.to_owned()),
                ..Call::new(Via::Mcp, action)
            },
            end: End::new(AuditOutcome::Allowed),
        };
        let found = workers(vec![
            record(5, Some("token:a"), "agent/1", "git.commit"),
            record(4, Some("token:b"), "agent/1", "make"),
            record(3, None, "agent/1", "make"),
            record(2, Some("token:a"), "agent/1", "make"),
            record(1, Some("token:a"), "curl/8", "make"),
        ]);
        let told = found.iter().map(|worker| {
            let client = worker.client.as_deref().unwrap();
            (
                &worker.principal[..],
                client,
                &worker.last_call[..],
                worker.calls,
            )
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("token:a", "agent/1", "git.commit", 2),
                ("token:b", "agent/1", "make", 1),
                ("token:a", "curl/8", "make", 1),
            ]
        );
    }
}
