//! The tables, version by version. A version that was released is never changed, only followed.

use rusqlite_migration::{M, Migrations};

use super::row::INSERT;
use super::test_index;
use crate::{Durability, Newer, Schema};

/// What is filtered by has a column; everything else is in `record`, the run's JSON. Ids are kept as
/// text, whose order is the order of time. Every index has the id right after what it finds runs by, so that
/// a page of a filtered list is one seek and a walk backwards. What follows the id is what else may be asked
/// for, and who may see it: a walk past runs that are not wanted looks at nothing but the index.
const VERSIONS: &[M<'static>] = &[
    M::up(
        "CREATE TABLE runs (
        id TEXT NOT NULL PRIMARY KEY,
        repo TEXT NOT NULL,
        branch TEXT NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        ended INTEGER NOT NULL,
        created_at INTEGER NOT NULL, -- microseconds since 1970
        principal TEXT NOT NULL,
        group_id TEXT,
        idempotency_key TEXT,
        idempotency_request TEXT,
        log_bytes INTEGER NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX by_repo ON runs (repo, id);
    CREATE INDEX by_repo_and_branch ON runs (repo, branch, id);
    CREATE INDEX by_branch ON runs (branch, id);
    CREATE INDEX by_kind ON runs (kind, id);
    CREATE INDEX by_state ON runs (state, id);
    CREATE INDEX by_group ON runs (group_id, id) WHERE group_id IS NOT NULL;
    CREATE INDEX by_age ON runs (created_at, id, ended, log_bytes);
    CREATE INDEX unended ON runs (id) WHERE ended = 0;
    CREATE INDEX keyed ON runs (created_at, id) WHERE idempotency_key IS NOT NULL;",
    ),
    M::up(
        "ALTER TABLE runs ADD COLUMN reuse TEXT; -- what a run saw that may answer for a later one
    CREATE INDEX reusable ON runs (reuse, id) WHERE reuse IS NOT NULL;
    DROP INDEX by_repo;
    DROP INDEX by_repo_and_branch;
    DROP INDEX by_branch;
    DROP INDEX by_kind;
    DROP INDEX by_state;
    CREATE INDEX newest ON runs (id, repo, branch, kind, state, created_at);
    CREATE INDEX by_repo ON runs (repo, id, branch, kind, state, created_at);
    CREATE INDEX by_repo_and_branch ON runs (repo, branch, id, kind, state, created_at);
    CREATE INDEX by_branch ON runs (branch, id, repo, kind, state, created_at);
    CREATE INDEX by_kind ON runs (kind, id, repo, branch, state, created_at);
    CREATE INDEX by_state ON runs (state, id, repo, branch, kind, created_at);",
    ),
    M::up(
        "ALTER TABLE runs ADD COLUMN tested INTEGER NOT NULL DEFAULT 0; -- its tests are known
    ALTER TABLE runs ADD COLUMN tested_tree TEXT; -- what they were run on, if exactly a commit's tree
    CREATE INDEX tested ON runs (repo, branch, id, tested_tree) WHERE tested = 1;",
    ),
    M::up(
        "CREATE TABLE tests (
        id INTEGER NOT NULL PRIMARY KEY,
        repo TEXT NOT NULL,
        suite TEXT NOT NULL,
        name TEXT NOT NULL,
        file TEXT
    ) STRICT;
    CREATE UNIQUE INDEX tests_by_name ON tests (repo, suite, name);
    CREATE TABLE test_reports (
        id INTEGER NOT NULL PRIMARY KEY,
        origin TEXT NOT NULL, -- the pipeline or run
        job TEXT NOT NULL, -- empty, and the attempt 0, of a run
        attempt INTEGER NOT NULL,
        repo TEXT NOT NULL,
        branch TEXT NOT NULL,
        series TEXT NOT NULL, -- what its results are compared within
        at INTEGER NOT NULL, -- microseconds since 1970
        about TEXT NOT NULL, -- where and when, as JSON
        size INTEGER NOT NULL,
        results BLOB -- of the latest alone
    ) STRICT;
    CREATE UNIQUE INDEX test_reports_by_origin ON test_reports (origin, job, attempt);
    CREATE INDEX test_reports_kept ON test_reports (repo, at) WHERE results IS NOT NULL;",
    ),
];

/// The runs' directories have everything that is in it.
pub(super) static SCHEMA: Schema = Schema {
    name: "run index",
    anew: "makes a new one from the runs' directories",
    migrations: Migrations::from_slice(VERSIONS),
    statements: &[INSERT, test_index::INSERT],
    durability: Durability::Rebuilt,
    newer: Newer::SetAside,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_can_be_reached() {
        assert_eq!(SCHEMA.migrations.validate(), Ok(()));
    }
}
