//! What tools are known to print in one situation or another, and what becomes of it where several of
//! them write at once.

use super::super::{Collector, Directories};
use super::told;

#[test]
fn go_tests_are_told_once_with_their_reason() {
    for (log, expected) in [
        // Testify's message begins a line of its own.
        (
            "--- FAIL: TestX (0.00s)\n    a_test.go:9: \n        \tError Trace:\t/x/a_test.go:9\n        \tError:      \tNot equal: \n",
            "2: error go a_test.go:9 TestX: Not equal:",
        ),
        (
            "=== RUN   TestX\n    a_test.go:9: \n        \tError:      \tShould be true\n--- FAIL: TestX (0.00s)\n",
            "2: error go a_test.go:9 TestX: Should be true",
        ),
        // Tests that run at once say which of them speaks.
        (
            "=== RUN   TestX\n=== PAUSE TestX\n=== RUN   TestY\n=== CONT  TestX\n    a_test.go:9: one\n=== NAME  TestY\n    a_test.go:12: two\n--- PASS: TestY (0.00s)\n--- FAIL: TestX (1.50s)\n",
            "5: error go a_test.go:9 TestX: one",
        ),
        (
            "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub (0.00s)\npanic: boom [recovered]\n\tpanic: boom\n\ngoroutine 6 [running]:\nexample.com/app.TestX.func1()\n\t/x/a_test.go:3 +0x1d\n",
            "3: error go /x/a_test.go:3 TestX/sub: panic: boom",
        ),
        (
            "panic: test timed out after 1s\n\ngoroutine 17 [running]:\ntesting.(*M).startAlarm.func1()\n\t/usr/lib/go/src/testing/testing.go:2 +0x1\n\n",
            "1: error go - panic: test timed out after 1s",
        ),
        (
            "go: cannot find main module, but found .git/config in /x",
            "1: error go - cannot find main module, but found .git/config in /x",
        ),
    ] {
        assert_eq!(told(log), [expected], "{log}");
    }
}

#[test]
fn more_failed_go_tests_than_are_held_are_counted() {
    let mut log = String::new();
    for test in 0..3_000 {
        log += &format!("--- FAIL: Test{test} (0.00s)\n    a_test.go:{test}: no\n");
    }
    assert_eq!(super::collect(log).summary.errors, 3_000);
}

#[test]
fn javac_points_to_columns_in_characters() {
    for (log, expected) in [
        (
            "A.java:3: error: x\n\t\tint é = y;\n\t\t        ^\n1 error\n",
            "1: error javac A.java:3:11 x",
        ),
        ("A.java:3: error: x\n1 error\n", "1: error javac A.java:3 x"),
        (
            "> Task :app:compileJava FAILED\n/x/A.java:3: warning: [removal] old\n  old();\n  ^\n",
            "2: warning javac /x/A.java:3:3 [removal] old",
        ),
        // An older compiler plugin.
        (
            "[ERROR] /x/A.java:[3,5] error: ';' expected",
            "1: error javac /x/A.java:3:5 ';' expected",
        ),
        // The details are of the message before the caret, and not of what follows.
        (
            "A.java:3: error: x\n y\n ^\ndone\n  found: two\n",
            "1: error javac A.java:3:2 x",
        ),
    ] {
        assert_eq!(told(log), [expected], "{log}");
    }
}

#[test]
fn two_compilers_may_write_into_each_other() {
    let log = "A.java:3: error: x\nb.c:1:1: error: y\n    z\n    ^\nCMake Error at CMakeLists.txt:3 (foo):\nb.c:2:1: error: y\n/x/a.js\nb.c:3:1: error: y\n  3:5  error  z  no-z\n";
    assert_eq!(
        told(log),
        [
            "1: error javac A.java:3:5 x",
            "2: error gcc b.c:1:1 y",
            "6: error gcc b.c:2:1 y",
            "8: error gcc b.c:3:1 y",
        ]
    );
}

#[test]
fn cmake_speaks_of_files_or_of_nothing() {
    for (log, expected) in [
        (
            "CMake Error in sub/CMakeLists.txt:\n  Imported target \"x\" includes\n  nothing.\n\n\nrest",
            "1: error cmake sub/CMakeLists.txt Imported target \"x\" includes nothing.",
        ),
        (
            "CMake Warning:\n  Manually-specified variables were not used by the project:\n\n    UNUSED\n\n\n",
            "1: warning cmake - Manually-specified variables were not used by the project: UNUSED",
        ),
        (
            "CMake Warning (dev) in CMakeLists.txt:\n  No project() command is present.",
            "1: warning cmake CMakeLists.txt No project() command is present.",
        ),
    ] {
        assert_eq!(told(log), [expected], "{log}");
    }
}

#[test]
fn what_ninja_says_counts_where_nothing_explains_it() {
    for (log, expected) in [
        (
            "FAILED: a.o\ncc -c a.c\na.c:1:1: error: x\nninja: build stopped: subcommand failed.",
            "3: error gcc a.c:1:1 x",
        ),
        (
            "ninja: build stopped: subcommand failed.",
            "1: error ninja - build stopped: subcommand failed.",
        ),
        (
            "FAILED: build.ninja\ncmake ..\nninja: error: rebuilding 'build.ninja': subcommand failed",
            "1: error ninja - FAILED: build.ninja",
        ),
        (
            "ninja: warning: premature end of file; recovering",
            "1: warning ninja - premature end of file; recovering",
        ),
    ] {
        assert_eq!(told(log), [expected], "{log}");
    }
}

#[test]
fn cargo_says_that_it_failed_where_nothing_else_does() {
    let finished = r#"{"reason":"build-finished","success":false}"#;
    assert_eq!(told(finished), ["1: error rustc - build failed"]);
    let aborting = r#"{"reason":"compiler-message","message":{"level":"error","message":"aborting due to 1 previous error","spans":[],"children":[],"code":null}}"#;
    assert_eq!(
        told(format!("{finished}\n{aborting}")),
        ["2: error rustc - aborting due to 1 previous error"]
    );
}

#[test]
fn the_same_complaint_in_json_and_as_text_is_told_once() {
    let json = r#"{"reason":"compiler-message","message":{"level":"error","message":"mismatched types","spans":[{"file_name":"src/a.rs","line_start":4,"column_start":18,"is_primary":true}],"code":{"code":"E0308"}}}"#;
    let text = "error[E0308]: mismatched types\n --> src/a.rs:4:18\n";
    assert_eq!(
        told(format!("{json}\n{text}{json}\n")),
        ["1: error rustc src/a.rs:4:18 mismatched types [E0308]"]
    );
}

#[test]
fn go_tests_are_told_in_the_directory_of_their_package() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("main");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/a_test.go"), "").unwrap();
    let mut collector = Collector::new(Directories::of(&root));
    let log =
        "--- FAIL: TestX (0.00s)\n    a_test.go:9: no\nFAIL\nFAIL\texample.com/app/sub\t0.1s\n";
    for (number, line) in (1..).zip(log.lines()) {
        collector.line(number, line.as_bytes());
    }
    let told = collector.finish(false);
    assert_eq!(told.items[0].file.as_deref(), Some("sub/a_test.go"));
}

#[test]
fn annotations_are_told_as_they_say() {
    for (log, expected) in [
        (
            "::error file=src/x.c,line=3,col=7::bad%0Athing",
            "1: error annotation src/x.c:3:7 bad\nthing",
        ),
        (
            "::warning file=a.rs::unused",
            "1: warning annotation a.rs unused",
        ),
        (
            "::error title=Lint::x: y",
            "1: error annotation - Lint: x: y",
        ),
    ] {
        assert_eq!(told(log), [expected], "{log}");
    }
    for log in ["::errors::x", "::error", "::notice::x", "a ::error::x"] {
        assert!(told(log).is_empty(), "{log}");
    }
}
