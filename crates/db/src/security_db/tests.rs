//! The file as others see it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Condition, Error, Opened, SecurityDb, TokenRow};
use crate as database;
use branchyard_runtime::background::Loops;

struct Yard(TempDir);

impl Yard {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trust.db")
    }

    fn open(&self) -> (SecurityDb, Condition) {
        let Opened { trust, found, .. } =
            SecurityDb::open(&self.path(), &Loops::default(), || false).unwrap();
        (trust, found)
    }
}

fn token(id: &str, name: &str) -> TokenRow {
    TokenRow {
        id: id.to_owned(),
        name: name.to_owned(),
        hash: [7; 32],
        role: Some("dev".to_owned()),
        grant_json: "{}".to_owned(),
        parent: None,
        account: None,
        created_by: "session".to_owned(),
        created_at: "2026-01-02T03:04:05.123456Z".parse().unwrap(),
        expires_at: Some("2026-01-03T03:04:05Z".parse().unwrap()),
        revoked_at: None,
        last_used_at: None,
    }
}

#[tokio::test]
async fn tokens_come_back_as_they_were_kept() {
    let yard = Yard::new();
    let (trust, found) = yard.open();
    assert_eq!(found, Condition::Fresh);
    let (first, mut second) = (token("1", "one"), token("2", "two"));
    second.parent = Some(first.id.clone());
    second.account = Some("token:one".to_owned());
    second.role = None;
    assert!(trust.add_token(first.clone()).await.unwrap());
    assert!(trust.add_token(second.clone()).await.unwrap());
    let (used, taken_back) = (
        Timestamp::UNIX_EPOCH,
        "2026-02-01T00:00:00Z".parse().unwrap(),
    );
    trust.note_token_use("1", used);
    trust
        .revoke_tokens(vec!["1".to_owned(), "2".to_owned()], taken_back)
        .await
        .unwrap();
    trust
        .revoke_tokens(vec!["1".to_owned()], Timestamp::MAX)
        .await
        .unwrap();
    drop(trust);
    let (trust, found) = yard.open();
    assert_eq!(found, Condition::Sound);
    let expected = [
        TokenRow {
            revoked_at: Some(taken_back),
            last_used_at: Some(used),
            ..first
        },
        TokenRow {
            revoked_at: Some(taken_back),
            ..second
        },
    ];
    assert_eq!(trust.tokens(Timestamp::UNIX_EPOCH).unwrap(), expected);
}

#[tokio::test]
async fn a_name_is_given_once_even_among_many_that_are_kept_at_once() {
    let yard = Yard::new();
    let (trust, _) = yard.open();
    let adding: Vec<_> = (0..20)
        .map(|n| {
            let (trust, token) = (
                trust.clone(),
                token(&n.to_string(), &format!("name-{}", n % 5)),
            );
            tokio::spawn(async move { trust.add_token(token).await })
        })
        .collect();
    let mut added = Vec::new();
    for adding in adding {
        added.push(adding.await.unwrap().unwrap());
    }
    assert_eq!(added.iter().filter(|added| **added).count(), 5);
    assert_eq!(trust.tokens(Timestamp::UNIX_EPOCH).unwrap().len(), 5);
    assert!(!trust.add_token(token("new", "name-1")).await.unwrap());
}

#[tokio::test]
async fn what_is_over_is_left_out_and_what_has_no_name_let_go_of() {
    let yard = Yard::new();
    let (trust, _) = yard.open();
    for (id, name) in [("1", "1"), ("2", "named"), ("3", "3")] {
        let mut token = token(id, name);
        token.expires_at = None;
        assert!(trust.add_token(token).await.unwrap());
    }
    let (early, late) = ("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z");
    let (early, late): (Timestamp, Timestamp) = (early.parse().unwrap(), late.parse().unwrap());
    let mut strange = token("4", "strange");
    // Beyond what can be read again.
    strange.expires_at = Some(Timestamp::MAX);
    assert!(trust.add_token(strange).await.unwrap());
    let ids = ["1", "2"].map(str::to_owned).to_vec();
    trust.revoke_tokens(ids, early).await.unwrap();
    let names = |trust: &SecurityDb, since| {
        let rows = trust.tokens(since).unwrap();
        rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&trust, late), ["3"]);
    assert_eq!(names(&trust, early), ["1", "named", "3"]);
    trust.forget_tokens(late);
    drop(trust);
    let (trust, _) = yard.open();
    assert_eq!(names(&trust, early), ["named", "3"]);
}

#[test]
fn only_its_owner_reads_it() {
    let yard = Yard::new();
    let mode = || yard.path().metadata().unwrap().permissions().mode() & 0o777;
    drop(yard.open());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(yard.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let (_trust, _) = yard.open();
    assert_eq!(mode(), 0o600);
    for part in database::parts(&yard.path())
        .iter()
        .filter(|part| part.exists())
    {
        assert_eq!(part.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_damaged_one_is_kept_aside_and_one_of_a_newer_version_left_alone() {
    let yard = Yard::new();
    fs::write(yard.path(), "not a database".repeat(1000)).unwrap();
    let (trust, found) = yard.open();
    let Condition::Damaged { aside, .. } = found else {
        panic!("{found:?}");
    };
    assert!(aside.exists() && trust.tokens(Timestamp::UNIX_EPOCH).unwrap().is_empty());
    drop(trust);
    let connection = Connection::open(yard.path()).unwrap();
    connection
        .execute_batch("PRAGMA user_version = 1000")
        .unwrap();
    drop(connection);
    let before = fs::read(yard.path()).unwrap();
    let error = SecurityDb::open(&yard.path(), &Loops::default(), || false).unwrap_err();
    assert!(matches!(error, Error::Newer { .. }), "{error}");
    assert!(fs::read(yard.path()).unwrap() == before);
}

#[tokio::test]
async fn what_nobody_waits_for_is_tried_again() {
    let yard = Yard::new();
    let (trust, _) = yard.open();
    assert!(trust.add_token(token("1", "one")).await.unwrap());
    let mut failures = 2;
    trust.0.database.note(move |to| {
        if failures > 0 {
            failures -= 1;
            let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
            return Err(rusqlite::Error::SqliteFailure(busy, None));
        }
        to.execute("UPDATE tokens SET name = 'two'", []).map(drop)
    });
    drop(trust);
    let (trust, _) = yard.open();
    assert_eq!(trust.tokens(Timestamp::UNIX_EPOCH).unwrap()[0].name, "two");
}
