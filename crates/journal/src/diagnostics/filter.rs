//! Which lines are worth a look, and what of them is looked at.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use branchyard_runtime::ansi::{AnsiFilter, ESC};

/// Nothing that is looked for begins later in a line than this, or is longer.
const LONGEST: usize = 8 * 1024;

/// No complaint is shorter than `error: x`.
const SHORTEST: usize = 8;

/// Every complaint has one of these in it or a shape of its own ([`has_shape`]), also in colour: colours
/// begin and end between words.
const SIGNS: &[&str] = &[
    // With a severity.
    "error:",
    "error[",
    "error\x1b",
    "rror TS",
    ": error ",
    "Error: ",
    "ERROR: ",
    "atal: ",
    "warning:",
    "warning[",
    "warning\x1b",
    ": warning ",
    "Warning: ",
    "WARNING: ",
    // Without one.
    "undefined ",
    "undefined:",
    "undeclared",
    "not defined",
    "not found",
    "not recognized",
    "multiple definition",
    "relocation ",
    "cannot ",
    "expected ",
    "yntax error",
    ".go:",
    ".py:",
    // Rust and Python, in more than one line.
    "panicked at ",
    "Traceback (",
    "File ",
    "above exception",
    // Go's verdicts and panics.
    "--- ",
    "panic: ",
    // javac, which Maven and Gradle quote.
    ".java:",
    // ESLint's compact format.
    ": line ",
    // CMake and ninja.
    "CMake ",
    "FAILED: ",
    "build stopped: ",
    // make.
    "*** ",
    "No such file or",
    "Permission denied",
    // pytest's headlines.
    "= FAILURES =",
    "= ERRORS =",
    "= short test summary",
    "= test session starts",
];

/// What the files end in that ESLint is for.
const SCRIPTS: &[&[u8]] = &[
    b"js", b"ts", b"jsx", b"tsx", b".vue", b".svelte", b".json", b".html", b".md",
];

/// Vectors, not an automaton: twice as fast on a line that has none of them.
static SIGN: LazyLock<Searcher> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the signs are constants")]
    Searcher::new(SIGNS).expect("not too many")
});

/// Whether a line could be a complaint, or begin one. Most lines have no colon at all, and are gone
/// after one quick pass.
pub(super) fn may_complain(line: &[u8]) -> bool {
    if line.len() < SHORTEST {
        return false;
    }
    // Without a colon, there are only pytest's headlines and Python's frames, or anything in colour.
    (matches!(line[0], b'=' | b' ') || has_mark(line)) && SIGN.find(line).is_some()
        || has_shape(line)
}

/// What is told by how it begins and ends costs less than another sign, which every line is searched for.
fn has_shape(line: &[u8]) -> bool {
    match line {
        // Go's tests that speak.
        [b'=', ..] => line.starts_with(b"=== "),
        // The files that ESLint has something to say about, also underlined.
        [b'/', .., b's' | b'x' | b'e' | b'n' | b'l' | b'd'] => {
            SCRIPTS.iter().any(|ending| line.ends_with(ending))
        }
        [ESC, b'[', b'4', b'm', b'/', ..] => true,
        // ESLint's unix format.
        [.., b']'] => memchr::memrchr(b'[', line).is_some_and(|at| {
            line[at..].starts_with(b"[Error") || line[at..].starts_with(b"[Warning")
        }),
        _ => false,
    }
}

fn has_mark(line: &[u8]) -> bool {
    // `memchr` pays only from some length on; two words cover what is shorter.
    match (line.first_chunk(), line.last_chunk()) {
        (Some(first), Some(last)) if line.len() <= 16 => [first, last].into_iter().any(|word| {
            let word = u64::from_ne_bytes(*word);
            has_byte(word, b':') || has_byte(word, ESC)
        }),
        _ => memchr::memchr2(b':', ESC, line).is_some(),
    }
}

/// Whether one of the eight bytes of a word is this one: exclusive or makes it zero, and only a zero
/// borrows into its highest bit.
fn has_byte(word: u64, byte: u8) -> bool {
    const LOWEST: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let zeroed = word ^ u64::from_ne_bytes([byte; 8]);
    zeroed.wrapping_sub(LOWEST) & !zeroed & HIGHEST != 0
}

/// What a terminal would show of a line in the end: no escapes, and of what was overwritten (`\r`) only
/// the last.
pub(super) fn clean(line: &[u8]) -> Cow<'_, str> {
    let end = line
        .iter()
        .rposition(|byte| *byte != b'\r')
        .map_or(0, |last| last + 1);
    let line = &line[..end];
    let line = memchr::memrchr(b'\r', line).map_or(line, |at| &line[at + 1..]);
    let line = &line[..line.len().min(LONGEST)];
    if memchr::memchr(ESC, line).is_none() {
        return String::from_utf8_lossy(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    AnsiFilter::default().pass(line, &mut plain);
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_a_terminal_shows_of_it() {
        for (line, shown) in [
            (&b"plain"[..], "plain"),
            (b"x.c:1: error\r", "x.c:1: error"),
            (b"10%\r20%\rdone", "done"),
            (b"10%\r20%\r\r", "20%"),
            (b"\r", ""),
            (b"\x1b[01m\x1b[Kx.c:1:\x1b[m\x1b[K bad", "x.c:1: bad"),
            (
                b"[\x1b]8;;https://gcc.gnu.org/x\x07-Wall\x1b]8;;\x07]",
                "[-Wall]",
            ),
            (b"caf\xe9: error", "caf\u{fffd}: error"),
        ] {
            assert_eq!(clean(line), shown);
        }
        assert_eq!(clean(&[b'x'; 100_000]).len(), LONGEST);
    }

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for length in SHORTEST..40 {
            let mut line = vec![b'9'; length];
            assert!(!has_mark(&line));
            for at in 0..length {
                for (mark, is_one) in [(b':', true), (ESC, true), (b';', false), (0xba, false)] {
                    line[at] = mark;
                    assert_eq!(has_mark(&line), is_one, "{line:?}");
                }
                line[at] = b'9';
            }
        }
    }

    #[test]
    fn vectors_have_room_for_all_signs() {
        // Beyond, the searcher silently compares hashes, byte by byte.
        assert!(SIGNS.len() <= 64);
    }

    #[test]
    fn lines_of_no_interest_are_passed_over() {
        for line in [
            "",
            "12345",
            "gcc -Wall -Werror -c main.c -o main.o",
            "12:30:45 compiling",
            "    1 | int x;",
            "make[1]: Entering directory '/x'",
            "/usr/bin/cc -c /x/main.c -o /x/main.o",
            "-- Detecting C compiler ABI info: done",
        ] {
            assert!(!may_complain(line.as_bytes()), "{line}");
        }
    }
}
