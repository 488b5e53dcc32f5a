//! What goes of the audit by its age and number. That something went is recorded, too.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::record::{AuditOutcome, Call, End, Via};
use super::tables;
use branchyard_runtime::clock::SteadyClock;

/// What is to be kept at most, whichever is reached first.
#[derive(Debug, Clone)]
pub struct Retention {
    pub age: Duration,
    /// Refusals, which anybody can cause, have half of it at most, and so push nothing else out.
    pub count: usize,
    pub clock: SteadyClock,
}

/// The oldest records beyond that go, within a transaction of the caller's.
pub(super) fn expire(
    to: &Connection,
    retention: &Retention,
    now: Timestamp,
) -> rusqlite::Result<()> {
    // Refusals first: what they made room for need not go.
    let refused = beyond(to, "outcome = 'refused'", retention.count / 2)?;
    to.execute(
        "UPDATE audit_horizon SET refused = max(refused, ?)",
        [refused],
    )?;
    let mut gone = to.execute(
        "DELETE FROM audit WHERE outcome = 'refused' AND id <= (SELECT refused FROM audit_horizon)",
        [],
    )?;
    let everything = too_old(to, retention, now)?.max(beyond(to, "1", retention.count)?);
    to.execute(
        "UPDATE audit_horizon SET everything = max(everything, ?)",
        [everything],
    )?;
    gone += to.execute(
        "DELETE FROM audit WHERE id <= (SELECT everything FROM audit_horizon)",
        [],
    )?;
    if gone == 0 {
        return Ok(());
    }
    let mut end = End::new(AuditOutcome::Allowed).detail(format!(
        "{gone} records went, all of them up to {everything} and refusals up to {refused}"
    ));
    end.count = gone as u64;
    tables::write(&Call::new(Via::Daemon, EXPIRED), &end, to)
}

/// The action of the record that says so.
pub const EXPIRED: &str = "audit.expire";

/// The action of the record that says that others are missing.
pub const MISSING: &str = "audit.missing";

/// The last id before the first record that is young enough.
fn too_old(from: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<i64> {
    let cutoff = now.saturating_sub(retention.age).unwrap_or(Timestamp::MIN);
    from.query_row(
        "SELECT coalesce((SELECT min(id) - 1 FROM audit WHERE at >= ?), (SELECT max(id) FROM audit), 0)",
        [cutoff.as_microsecond()],
        |row| row.get(0),
    )
}

/// The id of the newest record that is one too many.
fn beyond(from: &Connection, which: &str, count: usize) -> rusqlite::Result<i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let sql = format!("SELECT id FROM audit WHERE {which} ORDER BY id DESC LIMIT 1 OFFSET ?");
    let newest = from.query_row(&sql, [count], |row| row.get(0)).optional()?;
    Ok(newest.unwrap_or(0))
}
