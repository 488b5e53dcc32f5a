//! The tables, version by version. A version that was released is never changed, only followed.

use rusqlite_migration::{M, Migrations};

use super::{audit, tally, tokens};
use crate::{Durability, Newer, Schema};

/// Times are microseconds since 1970.
const VERSIONS: &[M<'static>] = &[
    M::up(
        "CREATE TABLE tokens (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL UNIQUE, -- for ever: what others keep by a principal's name stays its own
        hash BLOB NOT NULL,
        role TEXT,
        grant_json TEXT NOT NULL,
        parent TEXT,
        created_by TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        revoked_at INTEGER,
        last_used_at INTEGER
    ) STRICT;",
    ),
    M::up(audit::tables::VERSION),
    M::up(
        "ALTER TABLE tokens ADD COLUMN account TEXT; -- whose limits its use counts by; NULL: its own",
    ),
    M::up(tally::VERSION),
    M::up(audit::tables::WITH_CLIENT),
];

pub(super) static SCHEMA: Schema = Schema {
    name: "trust database",
    anew: "starts with an empty one; then only the session key opens the daemon",
    migrations: Migrations::from_slice(VERSIONS),
    statements: &[tokens::INSERT, audit::tables::INSERT],
    durability: Durability::Only,
    newer: Newer::Refuse,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_can_be_reached() {
        assert_eq!(SCHEMA.migrations.validate(), Ok(()));
    }
}
