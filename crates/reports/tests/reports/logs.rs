//! Logs that are not whole, that have several producers in them, or none.

use branchyard_model::{TestReport, TestState};

use crate::{counted, log};

fn read(text: &str) -> TestReport {
    log(text.as_bytes()).unwrap_or_else(|| panic!("no tests in {text}"))
}

#[test]
fn numbers_alone_are_no_tests() {
    for text in [
        "",
        "\n\n\n",
        "3 passed, 1 failed\n12 tests\n",
        "10 passed in 1.2s\n",
        "ok 1 - fine\nnot ok 2 - broken\n",
        "1..10\n",
        "test everything ... ok\n",
        "test result: ok. 3 passed; 0 failed; 0 ignored\n",
        "Tests: 3 passed, 3 total\n",
        "PASS the salt\nTests:       none\n",
        "  ✔ Container db Started (1.2ms)\n  ✔ Built\n",
        "  - one\n  - two\n  1) three\n",
        "2 passing cars\n  5 failing\n",
        "        PASS [   0.004s] crate test\n",
        "{\"Action\":\"pass\",\"Test\":\"a\"}\n{\"Action\":\"deploy\",\"Package\":\"a\"}\n",
        "FAIL\texample.com/a [build failed]\n",
        "FAILED a.py::b - why\nERROR a.py\n",
        "running 5 jobs\n",
        "error[E0433]: failed to resolve\n --> src/lib.rs:1:5\n",
        "ℹ tests many\n",
        "=== 3 apples in 1.2s ===\n",
    ] {
        assert_eq!(log(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn several_producers_are_summed() {
    let text = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\
        == test session starts ==\na.py::b FAILED [100%]\n== 1 failed in 0.1s ==\n\
        TAP version 13\nok 1 - c\n1..1\nTAP version 13\n1..1\nok 1 - d # SKIP\n\
        {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"e\"}\n\
        PASS f.test.js\n  ✓ f (1 ms)\nTests:       1 passed, 1 total\n\
        \n  group\n    ✔ g\n\n  1 passing (1ms)\n\
        ✔ h (1.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n";
    let tests = read(text);
    let mut names: Vec<_> = tests.tests.iter().map(|case| &case.name[..]).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g", "h"]);
    assert_eq!((counted(tests.counts), tests.left_out), ((6, 1, 1), 0));
}

#[test]
fn colours_and_overwritten_lines_make_no_difference() {
    let text = "\r\x1b[2Krunning 2 tests\r\ntest a ... \x1b[32mok\x1b[0m\r\n\
        10%\r50%\rtest b ... \x1b[31mFAILED\x1b[0m\r\n\
        test result: \x1b[31mFAILED\x1b[0m. 1 passed; 1 failed; 0 ignored\r\n";
    assert_eq!(counted(read(text).counts), (1, 1, 0));
}

#[test]
fn what_a_test_prints_is_not_taken_for_tests() {
    let text = "running 2 tests\ntest a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\n\
        running 7 tests\ntest x ... ok\ntest result: ok. 7 passed; 0 failed; 0 ignored\n\
        == test session starts ==\n== 9 passed in 0.1s ==\nTAP version 13\n1..1\nok 1 - y\n\
        \nfailures:\n    a\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.tests.len()), ((1, 1, 0), 2));
    let message = tests.tests[0].message.as_deref().unwrap();
    assert!(message.contains("9 passed"), "{message}");
}

#[test]
fn a_harness_that_is_quiet_names_what_failed() {
    let text = "running 3 tests\n.F.\nfailures:\n\n---- t::a stdout ----\n\
        thread 't::a' panicked at 'no', src/a.rs:3:5\nnote: run with `RUST_BACKTRACE=1` environment variable\n\n\
        \nfailures:\n    t::a\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.left_out), ((2, 1, 0), 2));
    let failed = &tests.tests[0];
    assert_eq!((failed.name.as_str(), failed.line), ("t::a", Some(3)));
    assert!(!failed.message.as_deref().unwrap().contains("note:"));
}

#[test]
fn a_run_that_was_cut_off_counts_what_it_named() {
    let tests = read("running 3 tests\ntest a ... ok\ntest b ... FAILED\n");
    assert_eq!(counted(tests.counts), (1, 1, 0));
    let tests = read("== test session starts ==\na.py::b PASSED [ 50%]\nKilled\n");
    assert_eq!(counted(tests.counts), (1, 0, 0));
    let killed = "    Starting 3 tests across 1 binary\n        PASS [   0.1s] a b\n";
    assert_eq!(counted(read(killed).counts), (1, 0, 0));
    assert_eq!(counted(read(&killed.repeat(2)).counts), (2, 0, 0));
}

#[test]
fn nextest_tells_each_failure_once() {
    let old = "    Starting 3 tests across 1 binary\n        FAIL [   0.004s] krate t::a\n\n\
        --- STDOUT:              krate t::a ---\nrunning 1 test\ntest t::a ... FAILED\n\
        test result: FAILED. 0 passed; 1 failed; 0 ignored\n\
        --- STDERR:              krate t::a ---\nthread 't::a' panicked at src/a.rs:3:5:\nno\n\n\
        \x20    TIMEOUT [  60.1s] krate t::b\n     SIGSEGV [   0.1s] krate t::c\n        SLOW [> 60.0s] krate t::b\n\
        ------------\n     Summary [  60.2s] 3 tests run: 0 passed, 2 failed, 1 timed out, 0 skipped\n\
        \x20       FAIL [   0.004s] krate t::a\n     TIMEOUT [  60.1s] krate t::b\n     SIGSEGV [   0.1s] krate t::c\n\
        error: test run failed\n";
    let tests = read(old);
    assert_eq!((counted(tests.counts), tests.tests.len()), ((0, 3, 0), 3));
    let failed = &tests.tests[0];
    assert_eq!(
        (failed.suite.as_str(), failed.line, failed.ms),
        ("krate", Some(3), Some(4))
    );
    assert_eq!(
        failed.message.as_deref(),
        Some("thread 't::a' panicked at src/a.rs:3:5:\nno")
    );
}

#[test]
fn pytest_with_several_workers_is_read() {
    let text = "== test session starts ==\nscheduling tests via LoadScheduling\n\n\
        a.py::b \na.py::c \n[gw0] [ 50%] PASSED a.py::b \n[gw1] [100%] FAILED a.py::c \n\
        == short test summary info ==\nFAILED a.py::c - assert 0\nERROR b.py - ImportError: no\n\
        == 1 failed, 1 passed, 1 error, 3 warnings in 61.20s (0:01:01) ==\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.left_out), ((1, 2, 0), 0));
    assert_eq!(tests.tests[1].message.as_deref(), Some("assert 0"));
    assert_eq!(tests.tests[2].name, "b.py");
    assert_eq!(
        counted(read("== no tests ran in 0.01s ==\n").counts),
        (0, 0, 0)
    );
}

#[test]
fn pytest_without_a_short_summary_names_what_failed() {
    let text = ".F  [100%]\n== FAILURES ==\n__ TestA.test_b __\na.py:3: in test_b\n    assert x\n\
        E   AssertionError: no\n E\nE     more\n1 failed, 1 passed in 0.1s\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.left_out), ((1, 1, 0), 1));
    let failed = &tests.tests[0];
    assert_eq!(
        (&failed.suite[..], &failed.name[..]),
        ("a.py", "TestA.test_b")
    );
    assert_eq!(
        failed.message.as_deref(),
        Some("AssertionError: no\n  more")
    );
}

/// With `--nocapture`, what tests print stands between the lines of the harness.
#[test]
fn no_more_tests_are_named_than_counted() {
    let text = "running 1 test\ntest fake ... ok\ntest real ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.left_out), ((1, 0, 0), 0));
    assert_eq!(tests.tests[0].name, "real");
}

#[test]
fn go_tells_of_packages_that_fail_outside_of_tests() {
    let text = r#"{"ImportPath":"p/x [p/x.test]","Action":"build-output","Output":"x/x_test.go:5:2: undefined: y\n"}
{"ImportPath":"p/x [p/x.test]","Action":"build-fail"}
{"Action":"start","Package":"p/x"}
{"Action":"output","Package":"p/x","Output":"FAIL\tp/x [build failed]\n"}
{"Action":"fail","Package":"p/x","Elapsed":0,"FailedBuild":"p/x [p/x.test]"}
{"Action":"run","Package":"p/y","Test":"TestA"}
{"Action":"fail","Package":"p/y","Test":"TestA","Elapsed":1.5}
{"Action":"fail","Package":"p/y","Elapsed":1.6}
{"Action":"skip","Package":"p/none","Elapsed":0}
{"Action":"pass","Package":"p/z","Elapsed":0}"#;
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.tests.len()), ((0, 2, 0), 2));
    let broken = &tests.tests[0];
    assert_eq!(
        (broken.suite.as_str(), broken.name.as_str()),
        ("p/x", "[package]")
    );
    assert_eq!(
        (broken.file.as_deref(), broken.line),
        (Some("x/x_test.go"), Some(5))
    );
    assert_eq!(tests.tests[1].ms, Some(1_500));
}

#[test]
fn tap_of_all_versions_is_read() {
    let text = "TAP version 14\n# Subtest: a.js\n    # Subtest: inner\n        ok 1 - deep # time=1ms\n        1..1\n\
        \x20   ok 1 - inner # time=2ms\n    not ok 2 - bad\n      ---\n      at:\n        line: 1\n        file: lib/a.js\n        line: 7\n\
        \x20     message: 'no & <no>'\n      ...\n    1..2\nnot ok 1 - a.js # time=5ms\n1..3\nok 2 - b \\# c\nBail out! the server is gone\n";
    let tests = read(text);
    assert_eq!(counted(tests.counts), (2, 2, 0));
    let shown = tests
        .tests
        .iter()
        .map(|case| format!("{}|{}", case.suite, case.name));
    let shown: Vec<_> = shown.collect();
    assert_eq!(
        shown,
        ["a.js › inner|deep", "a.js|bad", "|b # c", "|Bail out!"]
    );
    let bad = &tests.tests[1];
    assert_eq!((bad.file.as_deref(), bad.line), (Some("lib/a.js"), Some(7)));
    assert_eq!(bad.message.as_deref(), Some("no & <no>"));
    // A parent that fails by itself is not lost.
    let tests = read("1..1\n    ok 1 - a\n    1..2\nnot ok 1 - planned two\n");
    assert_eq!(counted(tests.counts), (1, 1, 0));
}

#[test]
fn lists_before_mocha_are_not_its_tests() {
    let text = "  - clean\n  - build\n  3) look\n\n  group\n    ✔ a\n    - b\n    1) c\n\n\n  1 passing (1s)\n  1 pending\n  1 failing\n\n\
        \x20 1) group\n       c:\n     Error: no\n      at Context.<anonymous> (test/a.js:3:4)\n";
    let tests = read(text);
    assert_eq!((counted(tests.counts), tests.left_out), ((1, 1, 1), 0));
    let names = tests
        .tests
        .iter()
        .map(|case| (&case.suite[..], &case.name[..]));
    let names: Vec<_> = names.collect();
    assert_eq!(names, [("group", "a"), ("group", "b"), ("group", "c")]);
    let failed = &tests.tests[2];
    assert_eq!(failed.state, TestState::Failed);
    assert_eq!(
        (failed.file.as_deref(), failed.line),
        (Some("test/a.js"), Some(3))
    );
    // Another reporter names only what failed.
    let tests =
        read("\n  .!.\n\n  2 passing (10ms)\n  1 failing\n\n  1) a\n       b:\n     Error: no\n");
    assert_eq!((counted(tests.counts), tests.left_out), ((2, 1, 0), 2));
    assert_eq!(
        (&tests.tests[0].suite[..], &tests.tests[0].name[..]),
        ("a", "b")
    );
}
