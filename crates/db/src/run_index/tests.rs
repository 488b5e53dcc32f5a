//! The store as others see it.

use std::sync::Barrier;
use std::time::Duration;

use jiff::Timestamp;

use super::fixture::{Yard, record};
use super::{Condition, Filter};
use branchyard_model::{
    About, BranchName, CommitId, Diagnostic, DiagnosticsSummary, EndState, ErrorKind, GroupId,
    Idempotency, OnDisconnect, Problem, RepoName, RunId, RunKind, RunRecord, RunState, Severity,
    SyncMode,
};

fn json(record: &RunRecord) -> serde_json::Value {
    serde_json::to_value(record).unwrap()
}

fn ids(records: &[RunRecord]) -> Vec<RunId> {
    records.iter().map(|record| record.run_id).collect()
}

/// A run with something in every field.
fn full() -> RunRecord {
    let mut run = record();
    run.spec.kind = RunKind::Git;
    run.spec.branch = BranchName::parse("feature/länge").unwrap();
    run.spec.argv = vec!["git".to_owned(), "log".to_owned(), "a\0b\n".to_owned()];
    run.spec.env = [("CC".to_owned(), "cc".to_owned())].into();
    let commit = CommitId::parse(&"ab".repeat(20)).unwrap();
    run.spec.sync = SyncMode::Commit(commit.clone());
    run.spec.stale = true;
    run.spec.on_disconnect = OnDisconnect::Continue;
    run.spec.group = Some(GroupId::new());
    run.state = RunState::Ended(EndState::Signalled);
    run.created_at = "2026-01-02T03:04:05.123456789Z".parse().unwrap();
    run.started_at = Some("2026-01-02T03:04:06Z".parse().unwrap());
    run.ended_at = Some("2026-01-02T03:04:07Z".parse().unwrap());
    run.exit_code = Some(-1);
    run.signal = Some(9);
    run.duration_ms = Some(2000);
    run.about = Some(About {
        commit: commit.clone(),
        tree: commit,
        dirty: Some(true),
        ahead: 1,
        behind: 2,
        fetched_at: Some(Timestamp::UNIX_EPOCH),
        stale: true,
    });
    run.error = Some(Problem::new(ErrorKind::Conflict, "drifted", "moved").help("go back"));
    run.reason = Some("killed".to_owned());
    run.diagnostics = Some(DiagnosticsSummary {
        errors: 1,
        warnings: 2,
        first: Some(Diagnostic {
            file: Some("a.c".to_owned()),
            line: Some(3),
            column: Some(4),
            severity: Severity::Error,
            message: "no".to_owned(),
            tool: "gcc".to_owned(),
            log_line: 5,
        }),
    });
    run.idempotency = Some(Idempotency {
        key: "k".to_owned(),
        request: "r".to_owned(),
    });
    run
}

#[test]
fn a_run_comes_back_with_every_field() {
    let yard = Yard::new();
    let (store, found) = yard.open();
    assert_eq!(found, Condition::Fresh);
    for run in [full(), record()] {
        store.put(&run, 7);
        let back = store.get(run.run_id).unwrap().unwrap();
        assert_eq!(json(&back), json(&run));
        assert_eq!(back.spec.timeout, run.spec.timeout);
    }
    assert!(store.get(RunId::new()).unwrap().is_none());
}

#[test]
fn the_last_word_on_a_run_counts() {
    let yard = Yard::new();
    let store = yard.store();
    let mut run = record();
    for n in 0..500 {
        run.exit_code = Some(n);
        store.put(&run, 0);
    }
    let listed = store.list(&Filter::default(), 10, |_, _| true).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].exit_code, Some(499));
    store.remove(&[run.run_id]);
    assert!(store.get(run.run_id).unwrap().is_none());
    store.remove(&[run.run_id]);
    store.put(&run, 0);
    assert!(store.get(run.run_id).unwrap().is_some());
}

#[test]
fn the_newest_come_first_and_each_filter_picks_its_own() {
    let yard = Yard::new();
    let store = yard.store();
    let group = GroupId::new();
    let now = Timestamp::now();
    let mut runs = Vec::new();
    for n in 0..40_i64 {
        let mut run = record();
        run.created_at = now - Duration::from_secs(100) + Duration::from_secs(n.unsigned_abs());
        if n % 2 == 0 {
            run.spec.repo = RepoName::parse("other").unwrap();
        }
        if n % 3 == 0 {
            run.spec.branch = BranchName::parse("feature/x").unwrap();
        }
        if n % 4 == 0 {
            run.spec.kind = RunKind::Task;
        }
        if n % 5 == 0 {
            run.state = RunState::Running;
        }
        if n % 7 == 0 {
            run.spec.group = Some(group);
        }
        runs.push(run);
    }
    // In no particular order: it is the id that counts.
    for run in runs.iter().skip(20).chain(runs.iter().take(20)) {
        store.put(run, 0);
    }
    runs.reverse();
    let expect = |filter: Filter, keep: &dyn Fn(&RunRecord) -> bool| {
        let kept: Vec<_> = runs.iter().filter(|run| keep(run)).cloned().collect();
        assert!(!kept.is_empty());
        let listed = store.list(&filter, 100, |_, _| true).unwrap();
        assert_eq!(ids(&listed), ids(&kept), "{filter:?}");
        let few = store.list(&filter, 3, |_, _| true).unwrap();
        assert_eq!(ids(&few), ids(&kept[..3.min(kept.len())]), "{filter:?}");
    };
    let (other, feature) = (
        RepoName::parse("other").unwrap(),
        BranchName::parse("feature/x").unwrap(),
    );
    let all = Filter::default;
    expect(all(), &|_| true);
    let repo = Some(other.clone());
    expect(Filter { repo, ..all() }, &|run| run.spec.repo == other);
    let branch = Some(feature.clone());
    expect(Filter { branch, ..all() }, &|run| {
        run.spec.branch == feature
    });
    let kind = Some(RunKind::Task);
    expect(Filter { kind, ..all() }, &|run| {
        run.spec.kind == RunKind::Task
    });
    let state = Some(RunState::Running);
    expect(Filter { state, ..all() }, &|run| {
        run.state == RunState::Running
    });
    expect(
        Filter {
            group: Some(group),
            ..all()
        },
        &|run| run.spec.group == Some(group),
    );
    let since = runs[10].created_at;
    expect(
        Filter {
            since: Some(since),
            ..all()
        },
        &|run| run.created_at >= since,
    );
    let before = runs[10].run_id;
    expect(
        Filter {
            before: Some(before),
            ..all()
        },
        &|run| run.run_id < before,
    );
    expect(
        Filter {
            repo: Some(other.clone()),
            branch: Some(feature.clone()),
            since: Some(runs[30].created_at),
            before: Some(runs[1].run_id),
            ..all()
        },
        &|run| {
            run.spec.repo == other
                && run.spec.branch == feature
                && run.created_at >= runs[30].created_at
                && run.run_id < runs[1].run_id
        },
    );
    let future = Filter {
        since: Some(now),
        ..all()
    };
    assert!(store.list(&future, 10, |_, _| true).unwrap().is_empty());
}

#[test]
fn since_goes_by_the_clock_even_where_ids_do_not_follow_it() {
    let yard = Yard::new();
    let store = yard.store();
    let now = Timestamp::now();
    let hours = |n: u64| now + Duration::from_secs(n * 60 * 60);
    let mut runs = [record(), record(), record()];
    for (run, at) in runs.iter_mut().zip([hours(5), hours(1), hours(6)]) {
        run.created_at = at;
        store.put(run, 0);
    }
    let since = Filter {
        since: Some(hours(4)),
        ..Filter::default()
    };
    let listed = store.list(&since, 10, |_, _| true).unwrap();
    assert_eq!(ids(&listed), [runs[2].run_id, runs[0].run_id]);
}

#[test]
fn pages_have_neither_holes_nor_duplicates_while_new_runs_come() {
    let yard = Yard::new();
    let store = yard.store();
    let mut expected: Vec<_> = (0..1000)
        .map(|_| {
            let run = record();
            store.put(&run, 0);
            run.run_id
        })
        .collect();
    expected.reverse();
    let mut seen = Vec::new();
    let mut filter = Filter::default();
    loop {
        let page = ids(&store.list(&filter, 37, |_, _| true).unwrap());
        let Some(last) = page.last() else { break };
        filter.before = Some(*last);
        seen.extend(page);
        for _ in 0..10 {
            store.put(&record(), 0);
        }
    }
    assert_eq!(seen, expected);
}

#[test]
fn unended_runs_and_keys_are_found() {
    let yard = Yard::new();
    let store = yard.store();
    let now = Timestamp::now();
    let (mut old, mut new, mut running) = (record(), record(), record());
    running.state = RunState::Preparing;
    old.created_at = now - Duration::from_secs(30 * 60 * 60);
    for (run, key) in [(&mut old, "old"), (&mut new, "new")] {
        run.idempotency = Some(Idempotency {
            key: key.to_owned(),
            request: format!("digest of {key}"),
        });
        store.put(run, 0);
    }
    store.put(&running, 0);
    assert_eq!(store.unended().unwrap(), [running.run_id]);
    let keys = store
        .keys_since(now - Duration::from_secs(24 * 60 * 60))
        .unwrap();
    let idempotency = new.idempotency.clone().unwrap();
    assert_eq!(keys, [("me".to_owned(), idempotency, new.run_id)]);
    running.state = RunState::Ended(EndState::Lost);
    store.put(&running, 0);
    assert!(store.unended().unwrap().is_empty());
    let all = [old.run_id, new.run_id, running.run_id];
    assert_eq!(store.ids().unwrap(), all.into());
}

#[test]
fn a_store_that_is_opened_again_has_all_that_was_put() {
    let yard = Yard::new();
    let store = yard.store();
    let clone = store.clone();
    let mut put = std::collections::HashSet::new();
    for _ in 0..3000 {
        let run = record();
        store.put(&run, 0);
        put.insert(run.run_id);
    }
    drop(store);
    // Nothing waited for the writer so far; the last one to go does.
    drop(clone);
    assert!(!yard.dir.path().join("yard.db-wal").exists());
    let (store, found) = yard.open();
    assert_eq!(found, Condition::Sound);
    assert_eq!(store.ids().unwrap(), put);
}

#[test]
fn many_threads_put_and_list_at_once() {
    let yard = Yard::new();
    let store = yard.store();
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..50 {
                    let run = record();
                    store.put(&run, 0);
                    // Everyone sees at least what they put themselves.
                    assert!(store.get(run.run_id).unwrap().is_some());
                    let listed = ids(&store.list(&Filter::default(), 20, |_, _| true).unwrap());
                    assert!(listed.is_sorted_by(|a, b| a > b), "{listed:?}");
                }
            });
        }
    });
    assert_eq!(store.ids().unwrap().len(), 400);
}

#[test]
fn a_write_that_failed_is_made_up_for_by_the_next() {
    let yard = Yard::new();
    let store = yard.store();
    let other = rusqlite::Connection::open(yard.path()).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'full'); END",
        )
        .unwrap();
    let (first, second) = (record(), record());
    store.put(&first, 0);
    assert!(store.get(first.run_id).unwrap().is_none(), "it failed");
    other.execute_batch("DROP TRIGGER full").unwrap();
    store.put(&second, 0);
    let listed = store.list(&Filter::default(), 10, |_, _| true).unwrap();
    assert_eq!(ids(&listed), [second.run_id, first.run_id]);
}

#[test]
fn a_row_that_cannot_be_read_does_not_hide_the_others() {
    let yard = Yard::new();
    let store = yard.store();
    let runs = [record(), record(), record()];
    for run in &runs {
        store.put(run, 0);
    }
    store.ids().unwrap();
    let other = rusqlite::Connection::open(yard.path()).unwrap();
    other
        .execute(
            "UPDATE runs SET record = '{}' WHERE id = ?",
            [runs[1].run_id.to_string()],
        )
        .unwrap();
    let listed = store.list(&Filter::default(), 2, |_, _| true).unwrap();
    assert_eq!(ids(&listed), [runs[2].run_id, runs[0].run_id]);
    assert!(store.get(runs[1].run_id).unwrap().is_none());
}
