//! Whatever is printed, what is kept stays small, and is found quickly.

use proptest::prelude::*;

use super::super::cargo_json::LONGEST;
use super::super::found::{LONGEST_MESSAGE, MOST_ITEMS};
use super::super::place::LONGEST_FILE;
use super::super::{Collector, Diagnostics};
use super::collect;

fn assert_bounded(diagnostics: &Diagnostics) {
    let summary = &diagnostics.summary;
    assert!(diagnostics.items.len() <= MOST_ITEMS);
    assert_eq!(
        diagnostics.truncated,
        diagnostics.items.len() < summary.errors + summary.warnings
    );
    for item in &diagnostics.items {
        assert!(!item.message.is_empty() && item.message.chars().count() <= LONGEST_MESSAGE);
        assert!(
            item.file
                .as_ref()
                .is_none_or(|file| file.len() <= LONGEST_FILE)
        );
    }
}

#[test]
fn monstrous_lines_stay_small_and_quick() {
    let began = std::time::Instant::now();
    for piece in [
        "x:3:",
        "error: ",
        "E   ",
        "é",
        "[",
        "]",
        "(3,5): error ",
        "File \"",
        " panicked at ",
        "undefined reference to :(",
        "make[",
        "= ",
        "_ ",
        "\x1b[31m",
        "\r",
        ": ",
        "*** [",
        "  ",
        "/",
        ", col ",
        "] ",
        "--- FAIL: ",
        "\t",
    ] {
        for start in [
            "",
            "x.c:3:5: error: ",
            "error: ",
            "E   ",
            "make: *** [",
            "thread 'x' panicked at ",
            "CMake Error at ",
            "A.java:3: error: ",
            "[ERROR] /A.java:[3,5] ",
            "/x.js: line ",
            "=== RUN   ",
            "    --- FAIL: ",
            "    a_test.go:3: ",
            "FAILED: ",
            "panic: ",
            "{\"reason\":\"",
        ] {
            let line = format!("{start}{}", piece.repeat(64 * 1024 / piece.len()));
            let log = format!(
                "Traceback (most recent call last):\n=== FAILURES ===\n__ t __\n{line}\n{line}"
            );
            let others = format!(
                "/x.js\n--- FAIL: T (0.00s)\nCMake Error:\nA.java:3: error: x\npanic: x\ngoroutine 1 [x]:\n{line}\n{line}"
            );
            assert_bounded(&collect(&line));
            assert_bounded(&collect(log));
            assert_bounded(&collect(others));
        }
    }
    assert!(began.elapsed().as_secs() < 20, "quadratic somewhere");
}

/// Pieces of what the parsers look for, so that random text gets deep into them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x.c",
        "src/é.rs",
        ":",
        "3",
        "99999999999",
        ": ",
        " ",
        "error",
        "warning",
        "[E1]",
        "note",
        "\n",
        "\r",
        "\x1b[1m",
        "make",
        "make[1]",
        "*** ",
        "[",
        "] ",
        "Error 1",
        " --> ",
        "thread 'x' panicked at ",
        "Traceback (most recent call last):",
        "  File \"",
        "\", line ",
        ", in ",
        "ValueError",
        "The above exception was the direct cause of the following exception:",
        "  | ",
        "  + Exception Group ",
        "=== FAILURES ===",
        "=== short test summary info ===",
        "___ t ___",
        "E   ",
        "FAILED ",
        "::",
        " - ",
        "undefined reference to ",
        "/usr/bin/ld: ",
        ":(",
        "(",
        ",",
        "): ",
        "left: ",
        "  ",
        "é",
        "--- Captured x ---",
        "/x/a.js\n",
        "  3:5  error  ",
        "  no-x",
        ": line 3, col 5, Error - ",
        " [Error/no-x]",
        "--- FAIL: T (0.00s)\n",
        "=== RUN   T\n",
        "    a_test.go:3: ",
        "FAIL\texample.com/x\t0.1s\n",
        "panic: ",
        "\ngoroutine 1 [running]:\n",
        "\t/x/a.go:3 +0x1",
        "A.java:3: error: ",
        "[ERROR] ",
        "A.java:[3,5] ",
        "\n  ^\n",
        "  symbol: ",
        "CMake Error at x.cmake:3 (x):\n",
        "CMake Warning",
        "Call Stack (most recent call first):\n",
        "FAILED: ",
        "ninja: ",
        "build stopped: ",
        "\n{\"reason\":\"compiler-message\",\"message\":{\"level\":\"error\",\"message\":\"",
        "\"}}\n",
        "\\u0000",
    ]);
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_report_of_cargo_is_read_up_to_a_length() {
    let report = |length| {
        let rendered = "x".repeat(length);
        format!(
            r#"{{"reason":"compiler-message","message":{{"rendered":"{rendered}","level":"error","message":"bad"}}}}"#
        )
    };
    assert_eq!(collect(report(LONGEST / 2)).summary.errors, 1);
    assert_eq!(collect(report(LONGEST)).summary.errors, 0);
    let deep = format!(r#"{{"reason":"x","y":{}"#, "[".repeat(LONGEST / 2));
    assert_eq!(collect(deep).summary.errors, 0);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(log in prop::collection::vec(any::<u8>(), 0..2_000)) {
        assert_bounded(&collect(log));
    }

    #[test]
    fn no_text_is_too_strange(log in pieces()) {
        assert_bounded(&collect(log));
    }
}

/// `cargo test --release --lib how_fast -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn how_fast() {
    let command = "gcc -std=c11 -O2 -g -Wall -Wextra -Werror -Iinclude -DVERSION=\"1:2\" -MMD -c src/module/file.c -o build/file.o";
    for (name, line) in [
        ("numbers", "1234567"),
        ("longer numbers", "1234567890"),
        ("commands", command),
        ("commands without a colon", &command.replace(':', ".")),
        (
            "times",
            "[12:30:45] compiling module seventeen of three hundred",
        ),
        ("colours", "\x1b[32m   Compiling\x1b[0m something v1.0.0"),
        ("indented", "    some text, and some more of it"),
        ("paths", "/build/src/module/file.c.o"),
        ("passing tests", "--- PASS: TestSomething (0.00s)"),
        (
            "warnings",
            "src/module/file.c:12:5: warning: unused variable 'x' [-Wunused-variable]",
        ),
    ] {
        let lines = 20_000_000 / line.len();
        let mut collector = Collector::default();
        let mut round = || {
            let began = std::time::Instant::now();
            for number in 0..lines {
                collector.line(number as u64 + 1, std::hint::black_box(line.as_bytes()));
            }
            began.elapsed()
        };
        let best = (0..10).map(|_| round()).min().unwrap().as_secs_f64();
        let rate = (lines * (line.len() + 1)) as f64 / best / 1e6;
        let each = best / lines as f64 * 1e9;
        println!("{name}: {rate:.0} MB/s, {each:.1} ns a line");
        assert_bounded(&collector.finish(false));
    }
}
