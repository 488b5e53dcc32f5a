use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;

use super::*;
use crate::security_db::Opened;
use branchyard_runtime::background::Loops;
use branchyard_runtime::clock::SteadyClock;

fn kept() -> Retention {
    let nowhere = std::path::Path::new("/dev/null/clock");
    Retention {
        age: Duration::from_secs(3600),
        count: 100,
        clock: SteadyClock::open(nowhere.to_owned(), nowhere),
    }
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("trust.db")
    }

    fn open(&self) -> Audit {
        let Opened { trust, .. } =
            SecurityDb::open(&self.path(), &Loops::default(), || false).unwrap();
        Audit::open(&trust, kept(), &Loops::default(), || false).unwrap()
    }

    /// A connection of somebody else's.
    fn other(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// A connection to a file that has the tables.
    fn tables(&self) -> Connection {
        drop(self.open());
        self.other()
    }
}

fn call(action: &str) -> Call {
    Call::new(Via::Http, action)
}

fn all(audit: &Audit) -> Vec<(String, AuditOutcome)> {
    let page = audit.page(&Filter::default(), Order::OldestFirst, 1000);
    let told = |record: Record| (record.call.action, record.end.outcome);
    page.unwrap().into_iter().map(told).collect()
}

fn put(to: &Connection, call: &Call, outcome: AuditOutcome) {
    tables::write(call, &End::new(outcome), to).unwrap();
}

fn expire(to: &Connection, retention: &Retention) {
    retention::expire(to, retention, retention.clock.now()).unwrap();
}

fn ids(from: &Connection) -> Vec<i64> {
    let mut ids = from.prepare("SELECT id FROM audit ORDER BY id").unwrap();
    let ids = ids.query_map([], |row| row.get(0)).unwrap();
    ids.map(Result::unwrap).collect()
}

#[tokio::test]
async fn every_call_that_began_is_recorded_once_whatever_becomes_of_it() {
    let place = Place::new();
    let audit = place.open();
    audit
        .begin(call("done"))
        .await
        .unwrap()
        .end(End::new(AuditOutcome::Allowed));
    drop(audit.begin(call("dropped")).await);
    audit.begin(call("looked")).await.unwrap().forget();
    let mut refused = audit.begin(call("refused")).await.unwrap();
    refused.tell(|call| call.run = Some("r".repeat(5000)));
    refused.end(End::new(AuditOutcome::Refused).status(403));
    let under_way = audit.begin(call("under way")).await.unwrap();
    // What a kill leaves: the note is in the file, and nobody takes it back.
    let copy = place.dir.path().join("copy.db");
    let copied = copy.to_str().unwrap();
    place.other().execute("VACUUM INTO ?", [copied]).unwrap();
    drop(under_way);
    let told = tokio::task::spawn_blocking(move || all(&audit))
        .await
        .unwrap();
    let expected = [
        ("done", AuditOutcome::Allowed),
        ("dropped", AuditOutcome::Unknown),
        ("refused", AuditOutcome::Refused),
        ("under way", AuditOutcome::Unknown),
    ];
    assert_eq!(
        told,
        expected.map(|(action, outcome)| (action.to_owned(), outcome))
    );

    let Opened { trust, .. } = SecurityDb::open(&copy, &Loops::default(), || false).unwrap();
    let audit = Audit::open(&trust, kept(), &Loops::default(), || false).unwrap();
    tokio::task::spawn_blocking(move || {
        let last = audit
            .page(&Filter::default(), Order::NewestFirst, 1)
            .unwrap();
        assert_eq!(last[0].call.action, "under way");
        assert_eq!(last[0].end.code.as_deref(), Some("daemon_ended"));
        let run = audit
            .page(&Filter::default(), Order::OldestFirst, 3)
            .unwrap()[2]
            .call
            .run
            .clone();
        assert_eq!(run.unwrap().len(), 200, "what a caller chose is cut");
        assert_eq!(all(&audit).len(), 4);
    })
    .await
    .unwrap();
}

#[test]
fn sqlite_itself_refuses_to_change_or_remove_what_is_young() {
    let place = Place::new();
    let audit = place.tables();
    for _ in 0..3 {
        put(&audit, &call("make"), AuditOutcome::Allowed);
    }
    let other = place.other();
    for attempt in [
        "UPDATE audit SET principal = 'somebody else'",
        "UPDATE audit SET id = 99 WHERE id = 1",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE id = 1",
        "INSERT OR REPLACE INTO audit (id, at, via, action, outcome, count)
            VALUES (1, 0, 'http', 'x', 'allowed', 1)",
        "UPDATE audit_horizon SET everything = -1",
        "DELETE FROM audit_horizon",
        "INSERT OR REPLACE INTO audit_horizon VALUES (1, 0, 0)",
        "INSERT INTO audit_horizon VALUES (2, 0, 0)",
    ] {
        let refused = other.execute(attempt, []).unwrap_err();
        let code = refused.sqlite_error_code();
        assert_eq!(
            code,
            Some(rusqlite::ErrorCode::ConstraintViolation),
            "{attempt}"
        );
    }
    assert_eq!(ids(&other), [1, 2, 3]);
    // What is below the horizon may go, and nothing else.
    other
        .execute("UPDATE audit_horizon SET everything = 2", [])
        .unwrap();
    assert!(other.execute("DELETE FROM audit", []).is_err());
    other
        .execute("DELETE FROM audit WHERE id <= 2", [])
        .unwrap();
    assert_eq!(ids(&other), [3]);
    put(&audit, &call("make"), AuditOutcome::Allowed);
    assert_eq!(ids(&other), [3, 4], "no id is given twice");
}

#[test]
fn the_oldest_go_by_age_and_number_and_it_is_said() {
    let place = Place::new();
    let audit = place.tables();
    let mut old = call("old");
    old.at = Timestamp::now() - Duration::from_secs(7200);
    put(&audit, &old, AuditOutcome::Allowed);
    put(&audit, &call("young"), AuditOutcome::Allowed);
    // Its call came long ago, and it stands behind a younger one.
    put(&audit, &old, AuditOutcome::Allowed);
    expire(&audit, &kept());
    let other = place.other();
    assert_eq!(ids(&other), [2, 3, 4]);
    let said: (String, i64) = other
        .query_row("SELECT action, count FROM audit WHERE id = 4", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(said, (EXPIRED.to_owned(), 1));
    expire(&audit, &kept());
    assert_eq!(ids(&other), [2, 3, 4], "nothing to do, nothing to say");
}

#[test]
fn refusals_push_out_nothing_but_refusals() {
    let place = Place::new();
    let count = 10;
    let (audit, retention) = (place.tables(), Retention { count, ..kept() });
    put(&audit, &call("make"), AuditOutcome::Allowed);
    for _ in 0..100 {
        put(&audit, &call("GET /api/repos"), AuditOutcome::Refused);
    }
    put(&audit, &call("make"), AuditOutcome::Allowed);
    expire(&audit, &retention);
    let other = place.other();
    let left = |outcome: &str| {
        let sql = "SELECT count(*) FROM audit WHERE action <> ? AND outcome = ?";
        let count: i64 = other
            .query_row(sql, [EXPIRED, outcome], |row| row.get(0))
            .unwrap();
        count
    };
    assert_eq!((left("allowed"), left("refused")), (2, 5));
    // And all together are no more than so many.
    for _ in 0..20 {
        put(&audit, &call("make"), AuditOutcome::Allowed);
    }
    expire(&audit, &retention);
    assert_eq!((left("allowed"), left("refused")), (10, 0));
}
