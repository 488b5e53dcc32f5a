//! Input that is too long, too deep or too much.

use std::io::{self, BufRead, BufReader, Read};

use branchyard_model::TestReport;
use branchyard_reports::{LogReader, junit};

use crate::counted;

/// What tests may take: the strings and the cases themselves.
fn kept_bytes(tests: &TestReport) -> usize {
    let texts = tests.tests.iter().map(|case| {
        let texts = [&case.message, &case.file].into_iter().flatten();
        let texts: usize = texts.map(String::len).sum();
        texts + case.suite.len() + case.name.len() + size_of_val(case)
    });
    texts.sum()
}

/// A report that is made while it is read.
struct Generated<F> {
    next: F,
    chunk: Vec<u8>,
    read: usize,
    made: usize,
}

fn generated<F: FnMut() -> Option<Vec<u8>>>(next: F) -> Generated<F> {
    Generated {
        next,
        chunk: Vec::new(),
        read: 0,
        made: 0,
    }
}

impl<F: FnMut() -> Option<Vec<u8>>> Read for Generated<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.chunk.len() {
            self.chunk = (self.next)().unwrap_or_default();
            self.made += self.chunk.len();
            self.read = 0;
        }
        let rest = &self.chunk[self.read..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

/// A beginning, the same part so many times, and an end.
fn repeated(start: &str, count: usize, part: impl Fn(usize) -> String, end: &str) -> impl BufRead {
    let (start, end) = (start.to_owned(), end.to_owned());
    let mut at = 0;
    BufReader::new(generated(move || {
        at += 1;
        match at - 1 {
            0 => Some(start.clone().into_bytes()),
            number if number <= count => Some(part(number).into_bytes()),
            number if number == count + 1 => Some(end.clone().into_bytes()),
            _ => None,
        }
    }))
}

#[test]
fn a_report_of_fifty_megabytes_is_read_in_bounded_memory() {
    let output = "x &lt; y\n".repeat(560);
    let mut number = 0;
    let mut source = generated(move || {
        number += 1;
        match number {
            1 => Some(b"<testsuites><testsuite name='s'>".to_vec()),
            2..=10_001 if number % 10 == 0 => Some(
                format!("<testcase name='t{number}'><failure message='{output}'/></testcase>")
                    .into_bytes(),
            ),
            2..=10_001 => Some(
                format!("<testcase name='t{number}'><system-out>{output}</system-out></testcase>")
                    .into_bytes(),
            ),
            10_002 => Some(b"</testsuite></testsuites>".to_vec()),
            _ => None,
        }
    });
    let tests = junit(BufReader::new(&mut source)).unwrap();
    assert!(source.made > 50_000_000, "{}", source.made);
    assert_eq!(counted(tests.counts), (9_000, 1_000, 0));
    assert_eq!((tests.tests.len(), tests.left_out), (10_000, 0));
    assert!(
        kept_bytes(&tests) < 8 * 1024 * 1024,
        "{}",
        kept_bytes(&tests)
    );
}

#[test]
fn more_tests_than_are_kept_are_counted() {
    let part = |number: usize| match number % 1000 {
        0 => format!(
            "<testcase name='{number}'><error>{}</error></testcase>",
            "e".repeat(5000)
        ),
        _ => format!("<testcase name='{number}'/>"),
    };
    let report = repeated("<testsuite name='s'>", 150_000, part, "</testsuite>");
    let tests = junit(report).unwrap();
    assert_eq!(counted(tests.counts), (149_850, 150, 0));
    assert_eq!(tests.left_out, 150_000 - tests.tests.len() as u64);
    let failed = tests.tests.iter().filter(|case| case.message.is_some());
    assert_eq!(failed.count(), 150, "all that failed are kept");
    assert!(kept_bytes(&tests) < 33 * 1024 * 1024);
}

/// Each of these is one text, attribute, comment or section of 20 MB.
#[test]
fn one_long_piece_is_cut_wherever_it_stands() {
    let long = |_| "日本<![CDATA[".replace("<![CDATA[", "]- ?").repeat(1000);
    for (start, end) in [
        (
            "<testsuite><testcase name='a'><failure>",
            "</failure></testcase></testsuite>",
        ),
        (
            "<testsuite><testcase name='a'><failure message='",
            "'/></testcase></testsuite>",
        ),
        (
            "<testsuite><testcase name=\"a",
            "\"><error/></testcase></testsuite>",
        ),
        (
            "<testsuite><testcase name='a'><failure><![CDATA[",
            "]]></failure></testcase></testsuite>",
        ),
        (
            "<testsuite><!--",
            "--><testcase name='a'><failure/></testcase></testsuite>",
        ),
        (
            "<testsuite><?x ",
            "?><testcase name='a'><failure/></testcase></testsuite>",
        ),
    ] {
        let tests = junit(repeated(start, 2_000, long, end));
        let tests = tests.unwrap_or_else(|error| panic!("{start}: {error}"));
        assert_eq!(counted(tests.counts), (0, 1, 0), "{start}");
        assert!(kept_bytes(&tests) < 8 * 1024, "{start}");
    }
}

#[test]
fn what_cannot_be_cut_is_refused() {
    for (start, part, reason) in [
        ("<testsuite ", "a ", "1 MiB"),
        ("<testsuite><", "a", "1 MiB"),
        ("<!DOCTYPE x [", "<!ENTITY a 'b'>", "1 MiB"),
        ("<testsuite>", "<testsuite>", "100 deep"),
    ] {
        let error = junit(repeated(start, 5_000_000, |_| part.to_owned(), "")).unwrap_err();
        assert!(error.reason.contains(reason), "{start}: {error}");
        assert!(error.position < 2 * 1024 * 1024, "{start}: {error}");
    }
}

#[test]
fn an_error_of_the_source_is_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = junit(BufReader::new(Broken)).unwrap_err();
    assert!(error.reason.contains("the disk is gone"), "{error}");
}

#[test]
fn a_line_of_any_length_is_taken() {
    let mut log = LogReader::default();
    let long = vec![b'.'; 50_000_000];
    log.line(&long);
    log.line(b"running 1 test");
    log.line(&[b"test ", &long[..], b" ... ok"].concat());
    log.line(b"test result: ok. 1 passed; 0 failed; 0 ignored");
    let tests = log.finish().unwrap();
    assert_eq!(counted(tests.counts), (1, 0, 0));
}

/// Lines that each format holds on to, in numbers that none of them may keep.
#[test]
fn a_log_is_read_in_bounded_memory() {
    let name = "n".repeat(1000);
    let kinds: [(&str, &dyn Fn(usize) -> String); 8] = [
        ("running 9 tests", &|n| format!("test {n}{name} ... FAILED")),
        (" Nextest run ID 1", &|n| {
            format!("  TRY 1 FAIL [   0.1s] a {n}{name}")
        }),
        ("== test session starts ==", &|n| {
            format!("a.py::{n}{name} FAILED [  1%]")
        }),
        ("TAP version 13", &|n| format!("not ok {} - {name}", n + 2)),
        ("TAP version 13", &|n| {
            format!("{}# Subtest: {n}{name}\nok 2 - a", " ".repeat(n % 300))
        }),
        ("", &|n| {
            format!("{{\"Action\":\"fail\",\"Package\":\"a\",\"Test\":\"{n}{name}\"}}")
        }),
        ("", &|n| format!("    ✔ {n}{name} (1.5ms)")),
        ("PASS a.test.js", &|n| format!("  ✓ {n}{name}")),
    ];
    for (first, kind) in kinds {
        let mut log = LogReader::default();
        log.line(first.as_bytes());
        for number in 0..10_000 {
            for line in kind(number).split('\n') {
                log.line(line.as_bytes());
            }
        }
        for last in [
            "Tests:       10000 passed, 10000 total",
            "  10000 passing (1s)",
        ] {
            log.line(last.as_bytes());
        }
        let tests = log.finish().unwrap();
        let kept = kept_bytes(&tests);
        assert!(kept < 9 * 1024 * 1024, "{first}: {kept}");
        assert!(
            tests.counts.total() >= 10_000,
            "{first}: {:?}",
            tests.counts
        );
    }
}
