//! Tests that are written as a report and read back, and bytes that are no report at all.

use branchyard_model::{TestCase, TestState};
use branchyard_reports::{LogReader, junit};
use proptest::prelude::*;

use crate::log;

fn state() -> impl Strategy<Value = TestState> {
    prop_oneof![
        Just(TestState::Passed),
        Just(TestState::Failed),
        Just(TestState::Skipped)
    ]
}

/// A test with a name of these characters, and a message if it did not pass.
fn case(names: &'static str) -> impl Strategy<Value = TestCase> {
    let message = "[a-zA-Zü日<>&\"' ]{0,20}[a-zä]";
    (names, names, state(), message, any::<bool>(), any::<u32>()).prop_map(
        |(suite, name, state, message, has_message, ms)| TestCase {
            suite,
            name,
            state,
            ms: (ms % 3 != 0).then_some(u64::from(ms)),
            message: (has_message && state != TestState::Passed).then_some(message),
            file: None,
            line: None,
            verdict: None,
        },
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

fn as_junit(cases: &[TestCase]) -> String {
    let mut text = "<?xml version=\"1.0\"?><testsuites><testsuite name=\"all\">".to_owned();
    for case in cases {
        let (suite, name) = (escaped(&case.suite), escaped(&case.name));
        let time = case
            .ms
            .map(|ms| format!(" time=\"{}.{:03}\"", ms / 1000, ms % 1000));
        let time = time.unwrap_or_default();
        text += &format!("<testcase classname=\"{suite}\" name=\"{name}\"{time}>");
        let message = escaped(case.message.as_deref().unwrap_or_default());
        match case.state {
            TestState::Passed => {}
            TestState::Failed => text += &format!("<failure message=\"{message}\"/>"),
            TestState::Skipped => text += &format!("<skipped>{message}</skipped>"),
        }
        text += "</testcase>";
    }
    text + "</testsuite></testsuites>"
}

fn as_tap(cases: &[TestCase]) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", cases.len());
    for (number, case) in (1..).zip(cases) {
        let is_ok = ["not ok", "ok"][usize::from(case.state != TestState::Failed)];
        let skip = ["", " # SKIP"][usize::from(case.state == TestState::Skipped)];
        let message = case.message.as_deref().unwrap_or_default();
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('#', "\\#");
        let (suite, name) = (escaped(&case.suite), escaped(&case.name));
        text += &format!("# Subtest: {suite}\n    {is_ok} 1 - {name}{skip}\n");
        text += &format!("      ---\n      message: |\n        {message}\n");
        if let Some(ms) = case.ms {
            text += &format!("      duration_ms: {ms}\n");
        }
        text += &format!("      ...\n    1..1\n{is_ok} {number} - {suite}\n");
    }
    text
}

fn as_libtest(cases: &[TestCase]) -> String {
    let of = |state| cases.iter().filter(move |case| case.state == state);
    let mut text =
        "     Running unittests src/lib.rs (target/debug/deps/all-0123456789abcdef)\n".to_owned();
    text += &format!("\nrunning {} tests\n", cases.len());
    for case in cases {
        let word = match case.state {
            TestState::Passed => "ok",
            TestState::Failed => "FAILED",
            TestState::Skipped => "ignored",
        };
        text += &format!("test {} ... {word}", case.name);
        if let (TestState::Skipped, Some(reason)) = (case.state, &case.message) {
            text += &format!(", {}", reason.trim());
        }
        text += "\n";
    }
    text += "\nfailures:\n\n";
    for case in of(TestState::Failed) {
        if let Some(message) = &case.message {
            text += &format!("---- {} stdout ----\n{message}\n\n", case.name);
        }
    }
    text += "failures:\n";
    for case in of(TestState::Failed) {
        text += &format!("    {}\n", case.name);
    }
    let count = |state| of(state).count();
    let (passed, failed) = (count(TestState::Passed), count(TestState::Failed));
    let ignored = count(TestState::Skipped);
    text + &format!(
        "\ntest result: x. {passed} passed; {failed} failed; {ignored} ignored; finished in 0.01s\n"
    )
}

proptest! {
    #[test]
    fn junit_is_read_back(cases in prop::collection::vec(case("[a-z<>&\"'#ü日:.]{1,12}"), 0..20)) {
        let tests = junit(as_junit(&cases).as_bytes()).unwrap();
        let failed = cases.iter().filter(|case| case.state == TestState::Failed).count();
        prop_assert_eq!(tests.counts.failed, failed as u64);
        prop_assert_eq!(tests.counts.total(), cases.len() as u64);
        prop_assert_eq!(tests.tests, cases);
    }

    #[test]
    fn tap_is_read_back(cases in prop::collection::vec(case("[a-z<>&\"'#\\\\ü日:.]{0,10}[a-z]"), 1..20)) {
        let tests = log(as_tap(&cases).as_bytes()).unwrap();
        prop_assert_eq!(tests.tests, cases);
        prop_assert_eq!(tests.left_out, 0);
    }

    #[test]
    fn libtest_is_read_back(cases in prop::collection::btree_map("[a-z_]{1,8}(::[a-z_]{1,8})?", case("[a-z]"), 1..20)) {
        let cases = cases.into_iter().map(|(name, case)| TestCase {
            suite: "all".to_owned(),
            name,
            ms: None,
            // A reason is told in one line, which is trimmed.
            message: case.message.map(|message| message.trim().to_owned()),
            ..case
        });
        let cases: Vec<_> = cases.collect();
        let tests = log(as_libtest(&cases).as_bytes()).unwrap();
        prop_assert_eq!(tests.tests, cases);
        prop_assert_eq!(tests.left_out, 0);
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = junit(&bytes[..]);
        log(&bytes);
    }

    /// Pieces of reports, in any order.
    #[test]
    fn markup_never_panics(pieces in prop::collection::vec(piece(), 0..40), cut in 1_usize..20) {
        let text = pieces.concat();
        let whole = junit(text.as_bytes());
        // However the bytes come, the same is read.
        let by_pieces = junit(std::io::BufReader::with_capacity(cut, text.as_bytes()));
        prop_assert_eq!(whole.map_err(|error| error.reason), by_pieces.map_err(|error| error.reason));
    }

    /// Lines of all formats, in any order.
    #[test]
    fn lines_never_panic(lines in prop::collection::vec(line(), 0..60)) {
        let mut reader = LogReader::default();
        for line in &lines {
            reader.line(line.as_bytes());
        }
        if let Some(tests) = reader.finish() {
            let named = tests.tests.len() as u64;
            prop_assert_eq!(named + tests.left_out, tests.counts.total());
            prop_assert!(tests.counts.flaky <= tests.counts.passed);
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(
            &[
                "<testsuite name='a'>",
                "</testsuite>",
                "<testcase name=\"b\" time='1,0'>",
                "</testcase>",
                "<testcase/>",
                "<failure message='",
                "'/>",
                "<failure>",
                "</failure>",
                "<![CDATA[",
                "]]>",
                "<!--",
                "-->",
                "<?xml",
                "?>",
                "&lt;",
                "&#",
                "&",
                ";",
                "\"",
                "'",
                ">",
                "<",
                "]]",
                "--",
                "日",
                "<skipped/>",
                "<stackTrace>",
                "</stackTrace>",
                "<!DOCTYPE a [",
                "]>",
                "\u{feff}",
            ][..]
        )
        .prop_map(str::to_owned),
        "\\PC{0,5}",
    ]
}

fn line() -> impl Strategy<Value = String> {
    let known = prop::sample::select(
        &[
            "running 2 tests",
            "test a ... ok",
            "test b ... FAILED",
            "failures:",
            "---- b stdout ----",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored",
            "     Running x (a/b-0123456789abcdef)",
            " Nextest run ID 1",
            "        PASS [   0.1s] (1/2) a b",
            "  TRY 1 FAIL [   0.1s] a b",
            "  stderr ───",
            "     Summary [   1.3s] 7 tests run: 4 passed (1 flaky), 3 failed, 1 skipped",
            "=== test session starts ===",
            "a.py::b PASSED [ 10%]",
            "a.py::b RERUN",
            "=== FAILURES ===",
            "___ b ___",
            "E   why",
            "a.py:1: x",
            "=== short test summary info ===",
            "FAILED a.py::b - c",
            "== 1 failed, 2 passed in 0.1s ==",
            "TAP version 13",
            "1..2",
            "ok 1 - a",
            "not ok 2 b # TODO",
            "    not ok 1",
            "  ---",
            "    ---",
            "  message: |",
            "    text",
            "  ...",
            "# Subtest: a",
            "# todo 1",
            "Bail out! x",
            "PASS a.test.js",
            "FAIL b.test.js (1 s)",
            "    ✓ a (1 ms)",
            "  ✕ b",
            "  ● b",
            "    at a (b.js:1:2)",
            "Tests:       1 failed, 2 passed, 3 total",
            "▶ a",
            "  ✔ b (1.5ms)",
            "✖ b (1ms) # TODO",
            "ℹ tests 1",
            "ℹ suites 0",
            "ℹ todo 0",
            "✖ failing tests:",
            "test at a.js:1:2",
            "  2 passing (1ms)",
            "  1 failing",
            "  1) a",
            "       b:",
            "  - c",
            "{\"Action\":\"fail\",\"Package\":\"a\",\"Test\":\"b\"}",
            "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"b\"}",
            "FAIL\ta [build failed]",
            "",
        ][..],
    );
    prop_oneof![
        4 => known.prop_map(str::to_owned),
        1 => " {0,6}\\PC{0,20}",
    ]
}
