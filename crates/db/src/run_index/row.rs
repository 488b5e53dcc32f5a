//! A run as a row.

use rusqlite::{Connection, named_params};

use branchyard_model::{EndState, RunId, RunRecord, RunState};

pub(super) const INSERT: &str = "INSERT OR REPLACE INTO runs (id, repo, branch, kind, state, ended,
        created_at, principal, group_id, idempotency_key, idempotency_request, log_bytes, reuse, record)
    VALUES (:id, :repo, :branch, :kind, :state, :ended,
        :created_at, :principal, :group, :key, :request, :log_bytes, :reuse, :record)";

/// The columns of a run, taken from its record when it is handed over.
#[derive(Debug)]
pub(super) struct Row {
    repo: String,
    branch: String,
    kind: &'static str,
    state: &'static str,
    /// Nothing is left to do about it.
    ended: bool,
    created_at: i64,
    principal: String,
    group: Option<String>,
    key: Option<String>,
    request: Option<String>,
    log_bytes: i64,
    reuse: Option<String>,
    record: String,
}

impl Row {
    pub(super) fn new(record: &RunRecord, log_bytes: u64, ended: bool) -> serde_json::Result<Self> {
        let spec = &record.spec;
        let idempotency = record.idempotency.as_ref();
        Ok(Self {
            repo: spec.repo.to_string(),
            branch: spec.branch.to_string(),
            kind: spec.kind.as_str(),
            state: record.state.as_str(),
            ended,
            created_at: record.created_at.as_microsecond(),
            principal: spec.principal.clone(),
            group: spec.group.map(|group| group.to_string()),
            key: idempotency.map(|idempotency| idempotency.key.clone()),
            request: idempotency.map(|idempotency| idempotency.request.clone()),
            log_bytes: i64::try_from(log_bytes).unwrap_or(i64::MAX),
            reuse: inputs_to_reuse(record),
            record: serde_json::to_string(record)?,
        })
    }

    pub(super) fn write(&self, run: RunId, to: &Connection) -> rusqlite::Result<()> {
        to.prepare_cached(INSERT)?.execute(named_params! {
            ":id": run.to_string(),
            ":repo": self.repo,
            ":branch": self.branch,
            ":kind": self.kind,
            ":state": self.state,
            ":ended": self.ended,
            ":created_at": self.created_at,
            ":principal": self.principal,
            ":group": self.group,
            ":key": self.key,
            ":request": self.request,
            ":log_bytes": self.log_bytes,
            ":reuse": self.reuse,
            ":record": self.record,
        })?;
        Ok(())
    }
}

/// Only a run that succeeded answers for others.
fn inputs_to_reuse(record: &RunRecord) -> Option<String> {
    let is_green = record.state == RunState::Ended(EndState::Succeeded);
    let reusable = record.reusable.as_ref().filter(|_| is_green)?;
    reusable.after.as_ref()?;
    Some(reusable.inputs.clone())
}

pub(super) fn delete(run: RunId, from: &Connection) -> rusqlite::Result<()> {
    from.prepare_cached("DELETE FROM runs WHERE id = ?")?
        .execute([run.to_string()])?;
    Ok(())
}
