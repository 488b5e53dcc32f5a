//! What becomes of a log: `recorded` is what real tools printed, `shapes` what else they are known to
//! print, `ordinary` what is no complaint, and `bounds` what none of them would print.

mod bounds;
mod ordinary;
mod recorded;
mod recorded_builds;
mod recorded_go_java;
mod recorded_scripts;
mod shapes;

use super::{Collector, Diagnostics};
use branchyard_model::Severity;

pub(super) fn collect(log: impl AsRef<[u8]>) -> Diagnostics {
    let mut collector = Collector::default();
    for (number, line) in (1..).zip(log.as_ref().split(|byte| *byte == b'\n')) {
        collector.line(number, line);
    }
    collector.finish(false)
}

/// Each as `log line: severity tool file:line:column message`.
pub(super) fn told(log: impl AsRef<[u8]>) -> Vec<String> {
    let diagnostics = collect(log);
    let lines = diagnostics.items.iter().map(|item| {
        let severity = match item.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut place = item.file.clone().unwrap_or_else(|| "-".to_owned());
        for part in [item.line, item.column].into_iter().flatten() {
            place = format!("{place}:{part}");
        }
        let (number, tool, message) = (item.log_line, &item.tool, &item.message);
        format!("{number}: {severity} {tool} {place} {message}")
    });
    lines.collect()
}

#[test]
fn other_compilers_are_understood() {
    for (line, expected) in [
        (
            "./x.go:3:5: undefined: y",
            "error go ./x.go:3:5 undefined: y",
        ),
        (
            "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
            "error tsc src/a.ts:3:5 TS2304: Cannot find name 'x'.",
        ),
        (
            "src/a.ts:3:5 - error TS2304: Cannot find name 'x'.",
            "error tsc src/a.ts:3:5 TS2304: Cannot find name 'x'.",
        ),
        (
            "a.cs(3): warning CS01: odd",
            "warning generic a.cs:3 CS01: odd",
        ),
        (
            "A.java:3: error: ';' expected",
            "error javac A.java:3 ';' expected",
        ),
        (
            "a.py:3: error: Name \"x\" is not defined  [name-defined]",
            "error generic a.py:3 Name \"x\" is not defined  [name-defined]",
        ),
        (
            "a.py:3:80: E501 line too long",
            "error generic a.py:3:80 E501 line too long",
        ),
        (
            "a.py:1:0: C0114: Missing docstring",
            "warning generic a.py:1:0 C0114: Missing docstring",
        ),
        (
            "p.y:3.5-9: error: unexpected x",
            "error generic p.y:3:5 unexpected x",
        ),
        (
            "a.js:3:5: unexpected token",
            "error generic a.js:3:5 unexpected token",
        ),
        (
            "x.cpp:1:1: internal compiler error: Segmentation fault",
            "error gcc x.cpp:1:1 Segmentation fault",
        ),
        (
            "/usr/include/c++/12/vector:35: error: bad",
            "error gcc /usr/include/c++/12/vector:35 bad",
        ),
        (
            "/usr/bin/ld: main.o:main.c:(.text+0x5): undefined reference to `foo'",
            "error gcc main.c undefined reference to `foo'",
        ),
        (
            "x86_64-linux-gnu-gcc-12: fatal error: no input files",
            "error gcc - no input files",
        ),
        (
            "clang: error: linker command failed with exit code 1",
            "error gcc - linker command failed with exit code 1",
        ),
        (
            "ninja: error: loading 'build.ninja'",
            "error ninja - loading 'build.ninja'",
        ),
        (
            "/bin/sh: 1: frobnicate: not found",
            "error generic - frobnicate: not found",
        ),
        (
            "fatal: not a git repository",
            "error generic - not a git repository",
        ),
        (
            "error: pathspec 'x' did not match",
            "error generic - pathspec 'x' did not match",
        ),
        (
            "error: test failed, to rerun pass `--lib`",
            "error rustc - test failed, to rerun pass `--lib`",
        ),
        (
            "make: warning:  Clock skew detected.",
            "warning make - Clock skew detected.",
        ),
        ("make: *** [all] Error 1", "error make - [all] Error 1"),
        (
            "thread 'x' panicked at 'boom', src/lib.rs:3:5",
            "error rustc src/lib.rs:3:5 boom",
        ),
    ] {
        assert_eq!(told(line), [format!("1: {expected}")], "{line}");
    }
}

#[test]
fn what_only_looks_like_a_complaint_is_left_alone() {
    for line in [
        "12:30:45: error: a time",
        "12:30:45 error: a time",
        "[12:30:45] error: a time",
        "2024-01-01T12:30:45: error: a time",
        "Nov 15 12:30:45: error: a time",
        "http://example.com:80: error: an address",
        "example.com:8080: error: a host",
        "localhost:8080: cannot connect",
        "10.0.0.1:8080: error: a host",
        "server.py:12: cannot connect, trying again",
        "main.go:12: undefined behaviour is not expected",
        "    at Foo.bar(Foo.java:12): error: a frame",
        "\t/x/main.go:12 +0x1d undefined ",
        "main.go:12 +0x1d undefined ",
        "x.c:3:5: note: 'x' undeclared here",
        "x.cpp:3:5:   required from 'expected <T>'",
        "In file included from x.c:3:5: error:",
        "gcc -DX=\"error: y\" -c x.c",
        "echo 'x.c:3:5: error: quoted'",
        "test error: fine ... ok",
        "0 errors, 0 warnings: not found",
        "warning: `p` (lib) generated 3 warnings (1 duplicate)",
        "warning: 2 warnings emitted",
        "make: *** Waiting for unfinished jobs....",
        "make: *** Deleting file 'x'",
        "make: [Makefile:2: all] Error 1 (ignored)",
        "make[1]: Entering directory 'error: x'",
        "File \"x.ml\", line 3, characters 4-9:",
        "  File \"x.py\", line 3, in f",
        "  --> src/x.rs:3:5",
        "FAILED tests/x.py::name - outside of a summary",
        "compilation terminated.",
    ] {
        assert_eq!(told(line), [""; 0], "{line}");
    }
}

#[test]
fn only_the_end_of_an_overwritten_line_counts() {
    assert_eq!(
        told("x.c:1:1: error: old\r50%\rx.c:2:1: error: new\r"),
        ["1: error gcc x.c:2:1 new"]
    );
    assert_eq!(told("x.c:1:1: error: old\r100%"), [""; 0]);
}

#[test]
fn two_compilers_may_write_at_once() {
    let log = "error[E0308]: mismatched types\nx.c:2:1: error: bad\n --> src/a.rs:4:18\n";
    assert_eq!(
        told(log),
        [
            "1: error rustc src/a.rs:4:18 mismatched types [E0308]",
            "2: error gcc x.c:2:1 bad"
        ]
    );
}

#[test]
fn a_report_that_breaks_off_hides_nothing_after_it() {
    let report = "=== FAILURES ===\n___ test_x ___\nE   assert 0\nt.py:3: AssertionError\n";
    for end in [
        "make: *** [Makefile:2: test] Terminated",
        "1 failed in 0.05s",
        "=== 1 failed in 1s ===",
    ] {
        assert_eq!(
            told(format!("{report}{end}\nx.c:2:1: error: bad\n")),
            [
                "3: error pytest t.py:3 test_x: assert 0",
                "6: error gcc x.c:2:1 bad"
            ],
            "{end}"
        );
    }
}

#[test]
fn tests_beyond_what_is_held_are_counted_once() {
    let mut log = String::from("=== FAILURES ===\n");
    for test in 0..3_000 {
        log += &format!("___ test_{test} ___\nE   assert 0\nt.py:{test}: AssertionError\n");
    }
    log += "=== short test summary info ===\n";
    for test in 0..3_000 {
        log += &format!("FAILED t.py::test_{test} - assert 0\n");
    }
    let diagnostics = collect(log);
    assert_eq!(diagnostics.summary.errors, 3_000);
    assert_eq!(diagnostics.items[499].line, Some(499));
}

#[test]
fn the_summary_names_the_first_that_matters() {
    let log = "a.c:1:1: warning: w\nmake: *** [Makefile:1: all] Error 1\nb.c:1:1: error: e\n";
    let summary = collect(log).summary;
    assert_eq!((summary.errors, summary.warnings), (1, 1));
    assert_eq!(summary.first.unwrap().file.as_deref(), Some("b.c"));
    let warned = collect("a.c:1:1: warning: w").summary;
    assert_eq!(warned.first.unwrap().file.as_deref(), Some("a.c"));
    assert_eq!(collect("fine").summary.first, None);
}

#[test]
fn it_is_stored_as_json() {
    let diagnostics = collect("a.c:1:1: warning: w\nx.c:2: error: e");
    let json = serde_json::to_string(&diagnostics).unwrap();
    assert_eq!(
        serde_json::from_str::<Diagnostics>(&json).unwrap(),
        diagnostics
    );
}
