//! What is asked of the index.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::filter::{conditions, text};
use branchyard_model::{
    BranchName, CommitId, GroupId, Idempotency, RepoName, RunId, RunKind, RunRecord, RunState,
};

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub repo: Option<RepoName>,
    pub branch: Option<BranchName>,
    pub kind: Option<RunKind>,
    /// Only runs of another kind than this.
    pub besides: Option<RunKind>,
    pub state: Option<RunState>,
    pub group: Option<GroupId>,
    /// Only those that this principal asked for.
    pub principal: Option<String>,
    /// Only those whose command line has this in it.
    pub command: Option<String>,
    /// Only runs requested at that time or later.
    pub since: Option<Timestamp>,
    /// Only runs whose id starts or ends so.
    pub part: Option<String>,
    /// Only runs older than this one: the last of the page before.
    pub before: Option<RunId>,
}

impl Filter {
    /// The statement and its values. The order is that of an index, so rows come without a sort.
    fn sql(&self) -> (String, Vec<Value>) {
        let since = self.since.map(Timestamp::as_microsecond);
        let (filter, values) = conditions([
            ("repo = ?", self.repo.as_ref().map(text)),
            ("branch = ?", self.branch.as_ref().map(text)),
            ("kind = ?", self.kind.map(|kind| text(&kind.as_str()))),
            ("kind <> ?", self.besides.map(|kind| text(&kind.as_str()))),
            ("state = ?", self.state.map(|state| text(&state.as_str()))),
            ("group_id = ?", self.group.as_ref().map(text)),
            ("principal = ?", self.principal.as_ref().map(text)),
            // Of the record no more: it may hold what callers set in the environment.
            (
                "instr(json_extract(record, '$.argv'), ?) > 0",
                self.command.as_ref().map(text),
            ),
            (
                "? IN (substr(id, 1, length(?)), substr(id, -length(?)))",
                self.part.as_ref().map(text),
            ),
            ("id < ?", self.before.as_ref().map(text)),
            // Ids and times agree but for the clock's jumps: the oldest id bounds the walk, and the
            // time itself decides.
            (
                "created_at >= ? AND id >= (SELECT min(id) FROM runs INDEXED BY by_age WHERE created_at >= ?)",
                since.map(Value::Integer),
            ),
        ]);
        let sql = format!("SELECT id, repo, branch FROM runs {filter} ORDER BY id DESC");
        (sql, values)
    }
}

pub(super) fn list(
    from: &Connection,
    filter: &Filter,
    limit: usize,
    is_seen: impl Fn(&RepoName, &BranchName) -> bool,
) -> rusqlite::Result<Vec<RunRecord>> {
    let (sql, values) = filter.sql();
    let mut statement = from.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut places = HashMap::new();
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        // There are many runs, of few branches.
        let place: (String, String) = (row.get(1)?, row.get(2)?);
        let place = places.entry(place);
        let is_wanted = *place.or_insert_with_key(|(repo, branch)| {
            let place = RepoName::parse(repo)
                .ok()
                .zip(BranchName::parse(branch).ok());
            place.is_some_and(|(repo, branch)| is_seen(&repo, &branch))
        });
        if is_wanted {
            found.extend(get(from, run_id(row)?)?);
        }
    }
    Ok(found)
}

/// `?2` is a JSON array of branches: one statement seeks for each of hundreds.
const NEWEST_OF_BRANCHES: &str = "SELECT runs.id, record FROM json_each(?2) AS wanted JOIN runs ON runs.id =
    (SELECT id FROM runs WHERE repo = ?1 AND branch = wanted.value AND kind <> ?3 ORDER BY id DESC LIMIT 1)";

pub(super) fn newest_of_branches(
    from: &Connection,
    repo: &RepoName,
    branches: &[BranchName],
    besides: RunKind,
) -> rusqlite::Result<Vec<RunRecord>> {
    let names: Vec<_> = branches.iter().map(BranchName::as_str).collect();
    let wanted = serde_json::Value::from(names).to_string();
    let mut statement = from.prepare_cached(NEWEST_OF_BRANCHES)?;
    let rows = statement.query_map(params![repo.as_str(), wanted, besides.as_str()], record)?;
    rows.filter_map(Result::transpose).collect()
}

pub(super) fn get(from: &Connection, run: RunId) -> rusqlite::Result<Option<RunRecord>> {
    let found = from
        .prepare_cached("SELECT id, record FROM runs WHERE id = ?")?
        .query_row([run.to_string()], record)
        .optional()?;
    Ok(found.flatten())
}

const REUSABLE: &str = "SELECT id, record FROM runs WHERE reuse = ? ORDER BY id DESC LIMIT ?";

pub(super) fn reusable(
    from: &Connection,
    inputs: &str,
    limit: usize,
) -> rusqlite::Result<Vec<RunRecord>> {
    let mut statement = from.prepare_cached(REUSABLE)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![inputs, limit], record)?;
    rows.filter_map(Result::transpose).collect()
}

/// A run whose tests are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedRun {
    pub run: RunId,
    /// What they were run on, if exactly a commit's tree.
    pub tree: Option<CommitId>,
}

pub(super) fn tested(
    from: &Connection,
    (repo, branch): (&RepoName, &BranchName),
    before: RunId,
    limit: usize,
) -> rusqlite::Result<Vec<TestedRun>> {
    let mut statement = from.prepare_cached(
        "SELECT id, tested_tree FROM runs WHERE repo = ? AND branch = ? AND id < ? AND tested = 1
            ORDER BY id DESC LIMIT ?",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let of = params![repo.as_str(), branch.as_str(), before.to_string(), limit];
    let rows = statement.query_map(of, |row| {
        let tree: Option<String> = row.get(1)?;
        Ok(TestedRun {
            run: run_id(row)?,
            tree: tree.and_then(|tree| CommitId::parse(&tree).ok()),
        })
    })?;
    rows.collect()
}

pub(super) fn keys_since(
    from: &Connection,
    since: Timestamp,
) -> rusqlite::Result<Vec<(String, Idempotency, RunId)>> {
    let mut statement = from.prepare_cached(
        "SELECT id, principal, idempotency_key, idempotency_request FROM runs
            WHERE created_at >= ? AND idempotency_key IS NOT NULL ORDER BY created_at, id",
    )?;
    let rows = statement.query_map([since.as_microsecond()], |row| {
        let (key, request) = (row.get(2)?, row.get(3)?);
        Ok((row.get(1)?, Idempotency { key, request }, run_id(row)?))
    })?;
    rows.collect()
}

pub(super) fn run_ids<C: FromIterator<RunId>>(from: &Connection, sql: &str) -> rusqlite::Result<C> {
    from.prepare_cached(sql)?.query_map([], run_id)?.collect()
}

/// The id in the first column.
pub(super) fn run_id(row: &Row<'_>) -> rusqlite::Result<RunId> {
    let text = row.get_ref(0)?.as_str()?;
    RunId::parse(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// The record in the second column, unless it is one that this version does not understand.
fn record(row: &Row<'_>) -> rusqlite::Result<Option<RunRecord>> {
    match serde_json::from_str(row.get_ref(1)?.as_str()?) {
        Ok(record) => Ok(Some(record)),
        Err(error) => {
            let run = row.get_ref(0)?.as_str()?;
            tracing::error!(run, %error, "a run in the index cannot be read and is left out");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_index::fixture::Yard;

    /// How SQLite goes about a statement, step by step.
    fn plan(from: &Connection, sql: &str, values: Vec<Value>) -> Vec<String> {
        let mut explained = from.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explained
            .query_map(params_from_iter(values), |row| row.get(3))
            .unwrap();
        steps.map(Result::unwrap).collect()
    }

    /// Each combination of what can be asked for, by the bits of a number.
    fn filter(bits: u8) -> Filter {
        let has = |bit: u8| bits & (1 << bit) != 0;
        Filter {
            repo: has(0).then(|| RepoName::parse("demo").unwrap()),
            branch: has(1).then(|| BranchName::parse("main").unwrap()),
            kind: has(2).then_some(RunKind::Make),
            state: has(3).then_some(RunState::Running),
            group: has(4).then(GroupId::new),
            since: has(5).then(Timestamp::now),
            before: has(6).then(RunId::new),
            ..Filter::default()
        }
    }

    #[test]
    fn no_page_needs_a_sort_or_a_walk_through_all_runs() {
        let yard = Yard::new();
        let _store = yard.store();
        let from = Connection::open(yard.path()).unwrap();
        for bits in 0..1 << 7 {
            let filter = filter(bits);
            let (sql, values) = filter.sql();
            let steps = plan(&from, &sql, values);
            // Without a condition it walks the ids from the newest and stops at the limit.
            let way = match bits {
                0 => "SCAN runs USING",
                _ => "SEARCH runs USING",
            };
            assert!(steps[0].starts_with(way), "{filter:?}: {steps:?}");
            // Of a group there are few runs, and what else is asked of them stands in their rows.
            let covered = steps[0].contains("COVERING INDEX") || filter.group.is_some();
            assert!(covered, "{filter:?}: {steps:?}");
            for step in &steps[1..] {
                // The lower bound of `since`, from its own index.
                let bound = step.starts_with("SCALAR SUBQUERY")
                    || step.starts_with("SEARCH runs USING COVERING INDEX by_age");
                assert!(bound, "{filter:?}: {steps:?}");
            }
        }
        for (bits, index) in [
            (0, "newest"),
            (0b0001, "by_repo"),
            (0b0010, "by_branch"),
            (0b0011, "by_repo_and_branch"),
            (0b0100, "by_kind"),
            (0b1000, "by_state"),
            (0b1_0000, "by_group"),
        ] {
            let (sql, values) = filter(bits).sql();
            let step = &plan(&from, &sql, values)[0];
            let used = step
                .split(" INDEX ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next());
            assert_eq!(used, Some(index), "{step}");
        }
    }

    #[test]
    fn the_newest_of_each_branch_is_found_by_two_seeks() {
        let yard = Yard::new();
        let _store = yard.store();
        let from = Connection::open(yard.path()).unwrap();
        let values = ["demo", "[]", "step"].map(|value| Value::Text(value.to_owned()));
        let steps = plan(&from, NEWEST_OF_BRANCHES, values.into());
        assert_eq!(
            steps,
            [
                "SCAN wanted VIRTUAL TABLE INDEX 1:",
                "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
                "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH runs USING COVERING INDEX by_repo_and_branch (repo=? AND branch=?)",
            ]
        );
    }

    #[test]
    fn what_can_answer_is_found_by_one_seek() {
        let yard = Yard::new();
        let _store = yard.store();
        let from = Connection::open(yard.path()).unwrap();
        let values = vec![Value::Text("x".to_owned()), Value::Integer(1)];
        let steps = plan(&from, REUSABLE, values);
        assert_eq!(steps, ["SEARCH runs USING INDEX reusable (reuse=?)"]);
    }
}
