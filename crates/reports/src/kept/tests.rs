use super::*;

fn case(name: &str, state: TestState) -> TestCase {
    TestCase::new("s", name, state)
}

#[test]
fn failed_tests_are_kept_in_preference() {
    let mut kept = KeptTests::of_report();
    for number in 0..MOST_CASES + 5 {
        kept.add(case(&number.to_string(), TestState::Passed));
    }
    kept.add(case("bad", TestState::Failed));
    let tests = kept.finish();
    assert_eq!((tests.counts.passed, tests.counts.failed), (100_005, 1));
    assert_eq!((tests.tests.len(), tests.left_out), (MOST_CASES, 6));
    assert_eq!(tests.tests.last().map(|case| &case.name[..]), Some("bad"));
}

#[test]
fn bytes_are_bounded_too() {
    let mut kept = KeptTests::of_report();
    for number in 0..20_000 {
        kept.add(case(&number.to_string(), TestState::Failed));
        kept.explain("s", &number.to_string(), Some("x".repeat(4096)), None);
    }
    let kept_bytes: usize = kept.failed.iter().map(|placed| size(&placed.case)).sum();
    assert_eq!(kept_bytes + kept.room, ROOM_OF_REPORT);
    let tests = kept.finish();
    assert_eq!(tests.counts.failed, 20_000);
    assert!(tests.left_out > 0);
}

#[test]
fn a_test_that_passed_again_is_flaky_and_counted_once() {
    let mut kept = KeptTests::of_report();
    kept.add(case("a", TestState::Failed));
    assert!(kept.passed_again("s", "a", Some(3)));
    assert!(!kept.passed_again("s", "a", None));
    let tests = kept.finish();
    let counts = TestCounts {
        passed: 1,
        flaky: 1,
        ..TestCounts::default()
    };
    assert_eq!((tests.counts, tests.tests.len()), (counts, 1));
}

#[test]
fn no_more_tests_stay_than_the_producer_counts() {
    let mut kept = KeptTests::of_report();
    for name in ["a", "b", "c"] {
        kept.add(case(name, TestState::Skipped));
        kept.add(case(name, TestState::Failed));
    }
    kept.set_counts(TestCounts {
        passed: 3,
        failed: 2,
        skipped: 1,
        ..TestCounts::default()
    });
    kept.explain("s", "b", Some("why".to_owned()), None);
    let tests = kept.finish();
    let names: String = tests.tests.iter().map(|case| &case.name[..]).collect();
    assert_eq!(names, "bcc");
    assert_eq!(tests.tests[0].message.as_deref(), Some("why"));
    assert_eq!((tests.counts.total(), tests.left_out), (6, 3));
}
