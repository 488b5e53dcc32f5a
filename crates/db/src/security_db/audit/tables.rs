//! The tables. SQLite itself holds that a record is neither changed nor removed.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, named_params};

use super::record::{AuditOutcome, Call, End, Record, Via};
use branchyard_model::{BranchName, RepoName};

/// Every index ends in the id by SQLite's own rule, so that a page of a filtered list is one seek and a walk.
///
/// Records may only go that are not above the horizon, which can only rise. A `REPLACE` deletes without
/// asking the trigger for that, hence the ones on `INSERT`.
pub(in crate::security_db) const VERSION: &str = "
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        principal TEXT,
        peer TEXT,
        via TEXT NOT NULL,
        action TEXT NOT NULL,
        repo TEXT,
        branch TEXT,
        run TEXT,
        request TEXT,
        outcome TEXT NOT NULL,
        status INTEGER,
        code TEXT,
        count INTEGER NOT NULL,
        detail TEXT
    ) STRICT;
    CREATE INDEX audit_by_time ON audit (at);
    CREATE INDEX audit_by_principal ON audit (principal);
    CREATE INDEX audit_by_action ON audit (action);
    CREATE INDEX audit_by_repo ON audit (repo);
    CREATE INDEX audit_by_repo_and_branch ON audit (repo, branch);
    CREATE INDEX audit_by_branch ON audit (branch);
    CREATE INDEX audit_by_run ON audit (run);
    CREATE INDEX audit_by_outcome ON audit (outcome);

    -- Calls that have begun; what a crash leaves here is recorded at the next start.
    CREATE TABLE audit_begun (
        number INTEGER PRIMARY KEY,
        call TEXT NOT NULL
    ) STRICT;

    -- Up to which id records have gone: refusals, and all of them.
    CREATE TABLE audit_horizon (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        refused INTEGER NOT NULL,
        everything INTEGER NOT NULL
    ) STRICT;
    INSERT INTO audit_horizon VALUES (1, 0, 0);

    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'a record of the audit is never changed'); END;
    CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
    WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
    BEGIN SELECT raise(ABORT, 'a record of the audit is never replaced'); END;
    CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
    WHEN OLD.id > (SELECT CASE OLD.outcome WHEN 'refused' THEN max(refused, everything) ELSE everything END
        FROM audit_horizon)
    BEGIN SELECT raise(ABORT, 'a record of the audit goes only when it is old'); END;
    CREATE TRIGGER audit_horizon_only_rises BEFORE UPDATE ON audit_horizon
    WHEN NEW.refused < OLD.refused OR NEW.everything < OLD.everything
    BEGIN SELECT raise(ABORT, 'the horizon of the audit only rises'); END;
    CREATE TRIGGER audit_horizon_is_not_replaced BEFORE INSERT ON audit_horizon
    WHEN EXISTS (SELECT 1 FROM audit_horizon)
    BEGIN SELECT raise(ABORT, 'the horizon of the audit only rises'); END;
    CREATE TRIGGER audit_horizon_is_not_removed BEFORE DELETE ON audit_horizon
    BEGIN SELECT raise(ABORT, 'the horizon of the audit only rises'); END;";

pub(in crate::security_db) const WITH_CLIENT: &str = "ALTER TABLE audit ADD COLUMN client TEXT;";

pub(in crate::security_db) const INSERT: &str =
    "INSERT INTO audit (at, principal, peer, via, action, repo, branch, run,
        request, outcome, status, code, count, detail, client)
    VALUES (:at, :principal, :peer, :via, :action, :repo, :branch, :run,
        :request, :outcome, :status, :code, :count, :detail, :client)";

/// As [`record`] reads them.
pub(super) const COLUMNS: &str = "id, at, principal, peer, via, action, repo, branch, run, request, outcome, status, \
     code, count, detail, client";

pub(super) fn write(call: &Call, end: &End, to: &Connection) -> rusqlite::Result<()> {
    to.prepare_cached(INSERT)?.execute(named_params! {
        ":at": call.at.as_microsecond(),
        ":principal": call.principal,
        ":peer": call.peer,
        ":via": call.via.as_str(),
        ":action": call.action,
        ":repo": call.repo.as_ref().map(RepoName::as_str),
        ":branch": call.branch.as_ref().map(BranchName::as_str),
        ":run": call.run,
        ":request": call.request,
        ":outcome": end.outcome.as_str(),
        ":status": end.status,
        ":code": end.code,
        ":count": i64::try_from(end.count).unwrap_or(i64::MAX),
        ":detail": end.detail,
        ":client": call.client,
    })?;
    Ok(())
}

/// A call is about to be made.
pub(super) fn begin(number: i64, call: &Call, to: &Connection) -> rusqlite::Result<()> {
    let call = serde_json::to_string(call)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    to.prepare_cached("INSERT OR REPLACE INTO audit_begun VALUES (?, ?)")?
        .execute((number, call))?;
    Ok(())
}

pub(super) fn forget(number: i64, to: &Connection) -> rusqlite::Result<()> {
    to.prepare_cached("DELETE FROM audit_begun WHERE number = ?")?
        .execute([number])?;
    Ok(())
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let via: String = row.get(4)?;
    let outcome: String = row.get(10)?;
    let count: i64 = row.get(13)?;
    Ok(Record {
        id: row.get(0)?,
        call: Call {
            at: jiff::Timestamp::from_microsecond(row.get(1)?).map_err(|why| unread(1, why))?,
            principal: row.get(2)?,
            peer: row.get(3)?,
            via: Via::ALL
                .into_iter()
                .find(|known| known.as_str() == via)
                .ok_or_else(|| unread(4, format!("{via:?} is no face")))?,
            action: row.get(5)?,
            repo: name(row, 6, RepoName::parse)?,
            branch: name(row, 7, BranchName::parse)?,
            run: row.get(8)?,
            request: row.get(9)?,
            client: row.get(15)?,
        },
        end: End {
            outcome: AuditOutcome::parse(&outcome)
                .ok_or_else(|| unread(10, format!("{outcome:?} is no outcome")))?,
            status: row.get(11)?,
            code: row.get(12)?,
            count: u64::try_from(count).unwrap_or_default(),
            detail: row.get(14)?,
        },
    })
}

fn name<T, E>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Result<T, E>,
) -> rusqlite::Result<Option<T>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text: Option<String> = row.get(column)?;
    text.map(|text| parse(&text).map_err(|why| unread(column, why)))
        .transpose()
}

fn unread(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
