//! A file that cannot be used is kept aside, whatever is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::fixture::{Yard, record};
use super::{Condition, Error, RunIndex};
use crate as database;
use branchyard_runtime::background::Loops;

/// A store of a hundred runs, closed in good order.
fn hundred_runs() -> Yard {
    let yard = Yard::new();
    let store = yard.store();
    for _ in 0..100 {
        store.put(&record(), 0);
    }
    yard
}

/// The store works, says what it found, and the old file is where it says.
fn found_damaged(yard: &Yard) -> (PathBuf, String) {
    let (store, found) = yard.open();
    let Condition::Damaged { aside, why } = found else {
        panic!("{found:?}");
    };
    assert!(store.ids().unwrap().is_empty());
    let run = record();
    store.put(&run, 0);
    drop(store);
    let (store, found) = yard.open();
    assert_eq!(found, Condition::Sound);
    assert_eq!(store.ids().unwrap(), [run.run_id].into());
    (aside, why)
}

fn damaged_by(damage: impl FnOnce(&Path)) -> String {
    let yard = hundred_runs();
    damage(&yard.path());
    let left = fs::read(yard.path()).ok();
    let (aside, why) = found_damaged(&yard);
    assert!(fs::read(aside).ok() == left, "kept as it was");
    why
}

fn truncate(path: &Path, len: u64) {
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(len)
        .unwrap();
}

#[test]
fn a_truncated_file_is_kept_aside() {
    assert_eq!(damaged_by(|path| truncate(path, 0)), "it is empty");
    for len in [1, 100, 4096] {
        damaged_by(|path| truncate(path, len));
    }
    damaged_by(|path| {
        let len = path.metadata().unwrap().len();
        truncate(path, len / 2);
    });
}

#[test]
fn garbage_is_kept_aside() {
    damaged_by(|path| fs::write(path, "not a database".repeat(1000)).unwrap());
    // The header is whole, a page in the middle is not.
    damaged_by(|path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0xa5);
        fs::write(path, bytes).unwrap();
    });
}

#[test]
fn a_directory_in_its_place_is_kept_aside() {
    let yard = Yard::new();
    fs::create_dir(yard.path()).unwrap();
    fs::write(yard.path().join("inside"), "x").unwrap();
    let (aside, why) = found_damaged(&yard);
    assert!(why.ends_with("yard.db is a directory"), "{why}");
    assert!(aside.join("inside").exists());
}

#[test]
fn a_file_of_another_version_or_kind_is_kept_aside() {
    let sql = |sql: &'static str| {
        move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap()
    };
    let newer = damaged_by(sql("PRAGMA user_version = 1000"));
    assert_eq!(newer, "it was made by a newer version of branchyard");
    let foreign = damaged_by(sql("DROP TABLE runs; PRAGMA user_version = 0"));
    assert_eq!(foreign, "it has no tables");
    let other_table = damaged_by(sql("DROP TABLE runs; CREATE TABLE runs (id)"));
    assert!(
        other_table.contains("no column named repo"),
        "{other_table}"
    );
}

/// What a crash leaves: the files as they are while the store is in use.
fn crashed() -> Yard {
    let (yard, crashed) = (hundred_runs(), Yard::new());
    let store = yard.store();
    store.put(&record(), 0);
    assert_eq!(store.ids().unwrap().len(), 101);
    for (from, to) in database::parts(&yard.path())
        .iter()
        .zip(database::parts(&crashed.path()))
    {
        fs::copy(from, to).unwrap();
    }
    crashed
}

#[test]
fn a_crash_loses_nothing() {
    let (store, found) = crashed().open();
    assert_eq!(found, Condition::Sound);
    assert_eq!(store.ids().unwrap().len(), 101);
}

#[test]
fn without_its_log_it_is_as_it_was_before() {
    let yard = crashed();
    let [_, log, _] = database::parts(&yard.path());
    fs::remove_file(log).unwrap();
    let (store, found) = yard.open();
    assert_eq!(found, Condition::Sound);
    assert_eq!(store.ids().unwrap().len(), 100, "for the caller to compare");
    store.put(&record(), 0);
    assert_eq!(store.ids().unwrap().len(), 101);
}

#[test]
fn a_log_without_its_file_is_kept_aside() {
    let yard = crashed();
    fs::remove_file(yard.path()).unwrap();
    let (aside, why) = found_damaged(&yard);
    assert_eq!(why, "it is gone, and its log was left behind");
    let [_, log, _] = database::parts(&aside);
    assert!(log.exists());
}

#[test]
fn damaged_twice_is_kept_twice() {
    let yard = hundred_runs();
    let mut kept = Vec::new();
    for garbage in ["one", "two"] {
        fs::write(yard.path(), garbage).unwrap();
        let (_, found) = yard.open();
        let Condition::Damaged { aside, .. } = found else {
            panic!("{found:?}");
        };
        kept.push(fs::read_to_string(aside).unwrap());
    }
    assert_eq!(kept, ["one", "two"]);
}

#[test]
fn a_missing_directory_is_an_error_and_nothing_is_set_aside() {
    let yard = Yard::new();
    let error = RunIndex::open(
        &yard.dir.path().join("no/yard.db"),
        &Loops::default(),
        || false,
    )
    .unwrap_err();
    assert!(matches!(error, Error::Sqlite { .. }), "{error}");
}

#[tokio::test]
async fn damage_that_shows_later_is_kept_aside_and_the_owner_told() {
    let yard = hundred_runs();
    let store = yard.store();
    assert_eq!(store.ids().unwrap().len(), 100);
    // Pages that are still in memory, or in the log, would hide it.
    store.put(&record(), 0);
    store.catch_up();
    let other = Connection::open(yard.path()).unwrap();
    other
        .pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
        .unwrap();
    drop(other);
    let len = yard.path().metadata().unwrap().len();
    let file = fs::File::options().write(true).open(yard.path()).unwrap();
    let garbage = vec![0xa5; usize::try_from(len).unwrap() - 4096];
    std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 4096).unwrap();

    assert!(store.ids().unwrap().is_empty());
    store.emptied().await;
    let run = record();
    store.put(&run, 0);
    assert_eq!(store.ids().unwrap(), [run.run_id].into());
    let kept = fs::read_dir(yard.dir.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("yard.db.damaged-")
    });
    assert!(kept.count() > 0);
    drop(store);
    let (store, found) = yard.open();
    assert_eq!(found, Condition::Sound);
    assert_eq!(store.ids().unwrap(), [run.run_id].into());
}
