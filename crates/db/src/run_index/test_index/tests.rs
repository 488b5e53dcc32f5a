//! The index of test results as others see it.

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::super::fixture::Yard;
use super::*;
use TestState::{Failed, Passed, Skipped};
use branchyard_model::{CommitId, TestCase, TestState, TestVerdict};

fn repo() -> RepoName {
    RepoName::parse("demo").unwrap()
}

fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

fn report(tests: &[(&str, TestState)]) -> TestReport {
    let case = |(name, state): &(&str, TestState)| TestCase::new("s", *name, *state);
    TestReport {
        tests: tests.iter().map(case).collect(),
        ..TestReport::default()
    }
}

/// A job of a new pipeline, some seconds after 1970, on a tree of one digit.
fn job(on: &str, seconds: i64, tree: char) -> TestedAt {
    let id = CommitId::parse(&tree.to_string().repeat(40)).unwrap();
    TestedAt {
        branch: branch(on),
        commit: Some(id.clone()),
        tree: Some(id),
        at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds),
        by: TestedBy::Job {
            pipeline_id: PipelineId::new(),
            file: "ci.yml".to_owned(),
            job: "test".to_owned(),
            attempt: 1,
        },
    }
}

fn pipeline(tested: &TestedAt) -> PipelineId {
    match &tested.by {
        TestedBy::Job { pipeline_id, .. } => *pipeline_id,
        TestedBy::Run { .. } => panic!("{tested:?}"),
    }
}

/// Puts one test into the index.
fn put(index: &TestIndex, tested: &TestedAt, state: TestState) {
    index.put(&repo(), tested, report(&[("a", state)]));
    index.catch_up();
}

fn told(index: &TestIndex, of: &TestedBranches) -> Vec<TestHistory> {
    index.history(&repo(), of, |_| true).unwrap()
}

fn of_base() -> TestedBranches {
    TestedBranches {
        base: Some(branch("main")),
        ..TestedBranches::default()
    }
}

fn rows(yard: &Yard, table: &str) -> i64 {
    let from = Connection::open(yard.path()).unwrap();
    let count = format!("SELECT count(*) FROM {table}");
    from.query_row(&count, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_test_is_told_by_its_latest_results_with_counts_and_durations() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let states = [Passed, Failed, Skipped, Failed, Passed];
    let mut reports = Vec::new();
    for (n, state) in (0_u8..).zip(states) {
        let mut report = report(&[("a", state)]);
        report.tests[0].ms = Some(u64::from(n) * 10);
        report.tests[0].file = (n == 3).then(|| "a.rs".to_owned());
        reports.push((job("main", i64::from(n), char::from(b'0' + n)), report));
    }
    // In no particular order: it is the time that counts.
    for (tested, report) in reports.iter().rev() {
        index.put(&repo(), tested, report.clone());
    }
    let told = told(&index, &TestedBranches::default());
    assert_eq!(told.len(), 1);
    let test = &told[0];
    assert_eq!(
        (&test.suite[..], &test.name[..], test.file.as_deref()),
        ("s", "a", Some("a.rs"))
    );
    assert_eq!((test.state, test.flaky, test.new), (Passed, false, false));
    assert_eq!((test.passed, test.failed, test.skipped), (2, 2, 1));
    assert_eq!((test.ms, test.median_ms), (Some(40), Some(20)));
    assert_eq!((&test.last, &test.failing_since), (&reports[4].0, &None));
}

#[test]
fn a_test_fails_since_the_first_failure_after_it_passed_on_that_branch() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let mut first = None;
    let history = [
        ("main", Failed),
        ("main", Passed),
        ("main", Failed),
        ("other", Passed),
        ("main", Skipped),
        ("main", Failed),
    ];
    for (n, (on, state)) in (0_u8..).zip(history) {
        let tested = job(on, i64::from(n), char::from(b'0' + n));
        put(&index, &tested, state);
        if n == 2 {
            first = Some(tested);
        }
    }
    assert_eq!(
        told(&index, &TestedBranches::default())[0].failing_since,
        first
    );
}

#[test]
fn a_test_is_flaky_where_one_job_passes_and_fails_it_on_the_same_files() {
    let yard = Yard::new();
    let index = yard.store().tests();
    put(&index, &job("main", 1, 'a'), Passed);
    put(&index, &job("main", 2, 'b'), Failed);
    // Another job may well fail where this one passes.
    let mut other = job("main", 3, 'a');
    let TestedBy::Job { job: name, .. } = &mut other.by else {
        panic!("{other:?}");
    };
    "other".clone_into(name);
    put(&index, &other, Failed);
    let all = told(&index, &TestedBranches::default());
    assert_eq!(
        all.iter().map(|test| test.flaky).collect::<Vec<_>>(),
        [false, false]
    );
    put(&index, &job("main", 4, 'b'), Passed);
    let all = told(&index, &TestedBranches::default());
    let flaky: Vec<_> = all
        .iter()
        .map(|test| (test.last.by.series(), test.flaky))
        .collect();
    assert_eq!(
        flaky,
        [
            ("ci.yml/other".to_owned(), false),
            ("ci.yml/test".to_owned(), true)
        ]
    );
}

#[test]
fn what_a_producer_finds_flaky_is() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let mut report = report(&[("a", Passed)]);
    report.tests[0].verdict = Some(TestVerdict::Flaky);
    index.put(&repo(), &job("main", 1, 'a'), report);
    assert!(told(&index, &TestedBranches::default())[0].flaky);
}

#[test]
fn a_failure_is_new_where_the_base_passes_and_unseen_branches_count_for_nothing() {
    let yard = Yard::new();
    let index = yard.store().tests();
    put(&index, &job("main", 1, 'a'), Passed);
    put(&index, &job("mine", 2, 'b'), Failed);
    let all = told(&index, &of_base());
    assert_eq!((all[0].new, all[0].last.branch.as_str()), (true, "mine"));
    let of_mine = TestedBranches {
        branch: Some(branch("mine")),
        ..of_base()
    };
    let mine = told(&index, &of_mine);
    assert_eq!((mine[0].new, mine[0].passed, mine[0].failed), (true, 0, 1));
    let unseen = |name: &'static str| {
        let is_seen = move |branch: &BranchName| branch.as_str() != name;
        index.history(&repo(), &of_base(), is_seen).unwrap()
    };
    assert!(!unseen("main")[0].new);
    assert_eq!(
        (unseen("mine")[0].state, unseen("mine")[0].failed),
        (Passed, 0)
    );
    put(&index, &job("main", 3, 'c'), Failed);
    assert!(!told(&index, &of_mine)[0].new);
}

#[test]
fn failures_come_first_then_flaky_tests_each_by_name() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let one = [
        ("z", Passed),
        ("y", Failed),
        ("x", Failed),
        ("b", Passed),
        ("a", Skipped),
    ];
    index.put(&repo(), &job("main", 1, 'a'), report(&[("z", Failed)]));
    index.put(&repo(), &job("main", 2, 'a'), report(&one));
    let all = told(&index, &TestedBranches::default());
    let names: Vec<_> = all.iter().map(|test| &test.name[..]).collect();
    assert_eq!(names, ["x", "y", "z", "a", "b"]);
}

#[test]
fn of_a_test_that_a_report_has_twice_the_worst_counts() {
    let yard = Yard::new();
    let index = yard.store().tests();
    index.put(
        &repo(),
        &job("main", 1, 'a'),
        report(&[("a", Passed), ("a", Failed), ("a", Skipped)]),
    );
    let all = told(&index, &TestedBranches::default());
    assert_eq!((all.len(), all[0].state, all[0].failed), (1, Failed, 1));
}

#[test]
fn only_the_latest_reports_have_results_and_all_are_known() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let reports: Vec<_> = (0..50).map(|n| job("main", n, 'a')).collect();
    for (n, tested) in reports.iter().enumerate() {
        let own = format!("of {n}");
        index.put(&repo(), tested, report(&[("a", Passed), (&own, Passed)]));
        index.catch_up();
    }
    let all = told(&index, &TestedBranches::default());
    assert_eq!(
        all.len(),
        21,
        "one in each of the latest 20, and the one in all of them"
    );
    assert_eq!(all.iter().map(|test| test.passed).max(), Some(20));
    assert_eq!(rows(&yard, "tests"), 21, "names go with the last result");
    assert_eq!(index.known().unwrap().len(), 50);
    // An old one that comes late takes the place of none.
    put(&index, &job("main", -1, 'b'), Failed);
    assert!(
        told(&index, &TestedBranches::default())
            .iter()
            .all(|test| test.failed == 0)
    );
    assert_eq!(index.known().unwrap().len(), 51);
}

#[test]
fn no_number_of_branches_has_more_results_than_a_repo_may() {
    let yard = Yard::new();
    let index = yard.store().tests();
    for n in 0..450 {
        put(&index, &job(&format!("b{n}"), n, 'a'), Passed);
    }
    assert_eq!(told(&index, &TestedBranches::default())[0].passed, 400);
}

#[test]
fn a_report_is_put_twice_for_one_and_goes_with_its_pipeline() {
    let yard = Yard::new();
    let index = yard.store().tests();
    let (old, new) = (job("main", 1, 'a'), job("main", 2, 'b'));
    index.put(&repo(), &old, report(&[("a", Passed), ("b", Passed)]));
    for _ in 0..2 {
        put(&index, &new, Failed);
    }
    assert_eq!(told(&index, &TestedBranches::default())[0].failed, 1);
    index.remove_pipeline(pipeline(&old));
    assert_eq!(index.known().unwrap(), [new.by.clone()].into());
    assert_eq!(rows(&yard, "tests"), 1);
    index.remove_pipeline(pipeline(&new));
    index.remove_run(RunId::new());
    assert!(index.known().unwrap().is_empty());
    assert_eq!((rows(&yard, "tests"), rows(&yard, "test_reports")), (0, 0));
}

#[test]
fn what_is_written_is_there_after_the_file_was_opened_again() {
    let yard = Yard::new();
    let run = TestedAt {
        by: TestedBy::Run {
            run_id: RunId::new(),
        },
        commit: None,
        tree: None,
        ..job("main", 1, 'a')
    };
    yard.store()
        .tests()
        .put(&repo(), &run, report(&[("a", Failed)]));
    let index = yard.store().tests();
    assert_eq!(index.known().unwrap(), [run.by.clone()].into());
    assert_eq!(told(&index, &TestedBranches::default())[0].last, run);
}

#[test]
fn a_full_disk_holds_few_reports_in_memory() {
    let yard = Yard::new();
    let store = yard.store();
    let index = store.tests();
    let other = Connection::open(yard.path()).unwrap();
    // A lock stands for the full disk; the writer waits for it for a while, with the reports that it was handed.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..100 {
        index.put(&repo(), &job("main", n, 'a'), report(&[("a", Passed)]));
    }
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(index.known().unwrap().len(), WAITING);
    put(&index, &job("main", 200, 'a'), Passed);
    assert_eq!(index.known().unwrap().len(), WAITING + 1);
}
