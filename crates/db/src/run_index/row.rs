//! A run as a row.

use rusqlite::{Connection, named_params};

use branchyard_model::{CommitId, EndState, RunId, RunRecord, RunState};

pub(super) const INSERT: &str = "INSERT OR REPLACE INTO runs (id, repo, branch, kind, state, ended,
        created_at, principal, group_id, idempotency_key, idempotency_request, log_bytes, reuse,
        tested, tested_tree, record)
    VALUES (:id, :repo, :branch, :kind, :state, :ended,
        :created_at, :principal, :group, :key, :request, :log_bytes, :reuse,
        :tested, :tested_tree, :record)";

/// `ended`: nothing is left to do about it.
pub(super) fn write(
    record: &RunRecord,
    log_bytes: u64,
    ended: bool,
    to: &Connection,
) -> rusqlite::Result<()> {
    let spec = &record.spec;
    let idempotency = record.idempotency.as_ref();
    let json = serde_json::to_string(record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    to.prepare_cached(INSERT)?.execute(named_params! {
        ":id": record.run_id.to_string(),
        ":repo": spec.repo.as_str(),
        ":branch": spec.branch.as_str(),
        ":kind": spec.kind.as_str(),
        ":state": record.state.as_str(),
        ":ended": ended,
        ":created_at": record.created_at.as_microsecond(),
        ":principal": spec.principal,
        ":group": spec.group.map(|group| group.to_string()),
        ":key": idempotency.map(|idempotency| &idempotency.key),
        ":request": idempotency.map(|idempotency| &idempotency.request),
        ":log_bytes": i64::try_from(log_bytes).unwrap_or(i64::MAX),
        ":reuse": inputs_to_reuse(record),
        ":tested": record.tests.is_some(),
        ":tested_tree": record.tested_tree.as_ref().map(CommitId::as_str),
        ":record": json,
    })?;
    Ok(())
}

/// Only a run that succeeded answers for others.
fn inputs_to_reuse(record: &RunRecord) -> Option<&str> {
    let is_green = record.state == RunState::Ended(EndState::Succeeded);
    let reusable = record.reusable.as_ref().filter(|_| is_green)?;
    reusable.after.as_ref()?;
    Some(&reusable.inputs)
}

pub(super) fn delete(runs: &[RunId], from: &Connection) -> rusqlite::Result<()> {
    let mut delete = from.prepare_cached("DELETE FROM runs WHERE id = ?")?;
    for run in runs {
        delete.execute([run.to_string()])?;
    }
    Ok(())
}
