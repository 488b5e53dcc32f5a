//! What is asked of the audit.

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::record::{AuditOutcome, Record};
use super::tables::{COLUMNS, record};
use crate::filter::{conditions, text};
use branchyard_model::{BranchName, RepoName};

/// Which records are wanted: those that all of it fits.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub principal: Option<String>,
    pub action: Option<String>,
    pub repo: Option<RepoName>,
    pub branch: Option<BranchName>,
    /// The id of a run, group, salvage or token.
    pub run: Option<String>,
    pub outcome: Option<AuditOutcome>,
    /// Only of calls that came at that time or later.
    pub since: Option<Timestamp>,
    /// Only of calls that came before that time.
    pub until: Option<Timestamp>,
    /// Only records with a greater id.
    pub after: Option<i64>,
    /// Only records with a smaller id.
    pub before: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    OldestFirst,
}

impl Filter {
    /// The statement and its values. The order is that of an index, so rows come without a sort.
    fn sql(&self, order: Order) -> (String, Vec<Value>) {
        let outcome = self.outcome.map(AuditOutcome::as_str);
        let time = |time: Timestamp| Value::Integer(time.as_microsecond());
        let (filter, values) = conditions([
            ("principal = ?", self.principal.as_ref().map(text)),
            ("action = ?", self.action.as_ref().map(text)),
            ("repo = ?", self.repo.as_ref().map(text)),
            ("branch = ?", self.branch.as_ref().map(text)),
            ("run = ?", self.run.as_ref().map(text)),
            ("outcome = ?", outcome.map(|outcome| text(&outcome))),
            // A record is written when its call has ended, so ids and times agree only roughly: an id bounds
            // the walk, and the time itself decides.
            (
                "at >= ? AND id >= (SELECT min(id) FROM audit INDEXED BY audit_by_time WHERE at >= ?)",
                self.since.map(time),
            ),
            (
                "at < ? AND id <= (SELECT max(id) FROM audit INDEXED BY audit_by_time WHERE at < ?)",
                self.until.map(time),
            ),
            ("id > ?", self.after.map(Value::Integer)),
            ("id < ?", self.before.map(Value::Integer)),
        ]);
        let direction = match order {
            Order::NewestFirst => "DESC",
            Order::OldestFirst => "ASC",
        };
        let sql = format!("SELECT {COLUMNS} FROM audit {filter} ORDER BY id {direction}");
        (sql, values)
    }
}

pub(super) fn page(
    from: &Connection,
    filter: &Filter,
    order: Order,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let (sql, values) = filter.sql(order);
    let mut statement = from.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), record)?;
    rows.take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security_db::audit::tables::{VERSION, WITH_CLIENT};

    #[test]
    fn no_page_needs_a_sort() {
        let from = Connection::open_in_memory().unwrap();
        from.execute_batch(VERSION).unwrap();
        from.execute_batch(WITH_CLIENT).unwrap();
        let all = Filter::default;
        let name = || Some("x".to_owned());
        let time = || Some(Timestamp::now());
        for filter in [
            all(),
            Filter {
                principal: name(),
                ..all()
            },
            Filter {
                action: name(),
                ..all()
            },
            Filter {
                run: name(),
                ..all()
            },
            Filter {
                outcome: Some(AuditOutcome::Refused),
                ..all()
            },
            Filter {
                since: time(),
                until: time(),
                ..all()
            },
            Filter {
                principal: name(),
                since: time(),
                before: Some(7),
                ..all()
            },
        ] {
            for order in [Order::NewestFirst, Order::OldestFirst] {
                let (sql, values) = filter.sql(order);
                let mut explained = from.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let steps = explained
                    .query_map(params_from_iter(values), |row| row.get::<_, String>(3))
                    .unwrap();
                for step in steps.map(Result::unwrap) {
                    assert!(!step.contains("TEMP B-TREE"), "{filter:?}: {step}");
                }
            }
        }
    }
}
