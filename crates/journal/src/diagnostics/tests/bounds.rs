//! Whatever is printed, what is kept stays small, and is found quickly.

use proptest::prelude::*;

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
    ] {
        for start in [
            "",
            "x.c:3:5: error: ",
            "error: ",
            "E   ",
            "make: *** [",
            "thread 'x' panicked at ",
        ] {
            let line = format!("{start}{}", piece.repeat(64 * 1024 / piece.len()));
            let log = format!(
                "Traceback (most recent call last):\n=== FAILURES ===\n__ t __\n{line}\n{line}"
            );
            assert_bounded(&collect(&line));
            assert_bounded(&collect(log));
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
    ]);
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
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
