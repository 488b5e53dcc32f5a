//! `cargo nextest`.

use super::panic_output::PanicOutput;
use super::tally::tally;
use super::{Producer, Total};
use crate::case::named;
use crate::kept::KeptTests;
use crate::seconds;
use branchyard_model::{TestCounts, TestState};

#[derive(Default)]
pub(super) struct Nextest {
    run: Option<NextestRun>,
}

struct NextestRun {
    kept: KeptTests,
    /// After the summary, what failed is told again.
    is_over: bool,
    /// The test that the output below is of.
    current: Option<(String, String)>,
    stdout: PanicOutput,
    stderr: PanicOutput,
    stream: Option<Stream>,
}

#[derive(Clone, Copy)]
struct Stream {
    is_stderr: bool,
    /// Versions before 0.9.84 did not indent output.
    is_indented: bool,
}

/// `TRY 2 FAIL [   0.054s] (3/7) sample tests::returns_an_error`
struct StatusLine<'a> {
    word: &'a str,
    ms: Option<u64>,
    suite: &'a str,
    name: &'a str,
}

impl Producer for Nextest {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        // What a test printed may look like a run of its own.
        let is_output = self.run.as_ref().is_some_and(|run| run.stream.is_some());
        if !is_output && is_start(line) {
            self.finish(total);
            self.run = Some(NextestRun::new());
            return true;
        }
        let Some(run) = &mut self.run else {
            return false;
        };
        if run.line(line) {
            return true;
        }
        self.finish(total);
        false
    }

    fn finish(&mut self, total: &mut Total) {
        if let Some(mut run) = self.run.take() {
            run.end_output();
            total.absorb(run.kept);
        }
    }
}

impl NextestRun {
    fn new() -> Self {
        Self {
            kept: KeptTests::of_run(),
            is_over: false,
            current: None,
            stdout: PanicOutput::default(),
            stderr: PanicOutput::default(),
            stream: None,
        }
    }

    /// Until the summary each line is of the run: what tests print as well. `false` once it is not.
    fn line(&mut self, line: &str) -> bool {
        if let Some(status) = status(line) {
            self.status(&status);
            return true;
        }
        if !self.is_over
            && let Some(counts) = summary(line)
        {
            self.end_output();
            self.kept.set_counts(counts);
            self.is_over = true;
            return true;
        }
        if let Some(stream) = stream(line) {
            self.stream = Some(stream);
            return true;
        }
        if let Some(stream) = self.stream
            && !line.starts_with("error: test run failed")
        {
            let text = match stream.is_indented {
                true => line.strip_prefix("    "),
                false => Some(line),
            };
            if let Some(text) = text.or(line.is_empty().then_some("")) {
                match stream.is_stderr {
                    true => self.stderr.line(text),
                    false => self.stdout.line(text),
                }
                return true;
            }
        }
        !self.is_over || line.is_empty() || line.starts_with(' ')
    }

    fn status(&mut self, status: &StatusLine<'_>) {
        self.end_output();
        let StatusLine {
            suite, name, ms, ..
        } = *status;
        match outcome(status.word) {
            Some(TestState::Failed) => {
                self.current = Some((suite.to_owned(), name.to_owned()));
                // A further attempt, or the list at the end.
                if self.is_over || self.kept.has_failed(suite, name) {
                    return;
                }
                self.add(TestState::Failed, status);
            }
            Some(_) if self.is_over => {}
            Some(TestState::Passed) if self.kept.passed_again(suite, name, ms) => {}
            Some(state) => self.add(state, status),
            None => {}
        }
    }

    fn add(&mut self, state: TestState, status: &StatusLine<'_>) {
        let mut case = named(status.suite, status.name, state);
        case.ms = status.ms;
        self.kept.add(case);
    }

    fn end_output(&mut self) {
        let stdout = std::mem::take(&mut self.stdout);
        let stderr = std::mem::take(&mut self.stderr);
        self.stream = None;
        if let Some((suite, name)) = self.current.take() {
            let told = match stderr.is_empty() {
                true => stdout,
                false => stderr,
            };
            let (message, at) = told.finish();
            self.kept.explain(&suite, &name, message, at);
        }
    }
}

/// ` Nextest run ID … with nextest profile: default`, and `    Starting 7 tests across 2 binaries`.
fn is_start(line: &str) -> bool {
    let said = line.trim_start();
    let started = said.strip_prefix("Starting ").is_some_and(|said| {
        let count = said.split(' ').next().unwrap_or_default();
        count.parse::<u32>().is_ok() && said.contains(" across ") && said.contains(" binar")
    });
    said.len() < line.len() && (started || said.starts_with("Nextest run ID "))
}

fn status(line: &str) -> Option<StatusLine<'_>> {
    let (words, rest) = line.strip_prefix(' ')?.split_once(" [")?;
    let (time, rest) = rest.split_once("] ")?;
    let mut words = words.split_ascii_whitespace();
    let word = match words.next()? {
        "TRY" => {
            words.next()?.parse::<u32>().ok()?;
            words.next()?
        }
        word => word,
    };
    let is_word = word
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    let rest = rest.trim_start();
    // How many tests are done, since 0.9.98.
    let rest = match rest.strip_prefix('(') {
        Some(counted) => counted.split_once(") ")?.1.trim_start(),
        None => rest,
    };
    let (suite, name) = rest.split_once(' ')?;
    let time = time.trim().trim_start_matches(['>', ' ']);
    let ms = seconds::with_unit(time);
    (is_word && ms.is_some()).then_some(StatusLine {
        word,
        ms,
        suite,
        name,
    })
}

/// `None` for what is no end of an attempt.
fn outcome(word: &str) -> Option<TestState> {
    match word {
        "PASS" | "LEAK" => Some(TestState::Passed),
        "SKIP" => Some(TestState::Skipped),
        "SLOW" | "FLAKY" | "START" | "STRT" | "RETRY" | "DELAY" | "TERMINATING" | "SETUP" => None,
        // FAIL, TIMEOUT, and any signal by its name.
        _ => Some(TestState::Failed),
    }
}

/// `  stderr ───`, and before 0.9.84 `--- STDERR:              sample tests::fails ---`.
fn stream(line: &str) -> Option<Stream> {
    let said = line.trim_end_matches(['─', ' ']);
    let is_ruled = said.len() < line.len();
    let (is_stderr, is_indented) = match said.trim_start() {
        "stdout" | "output" if is_ruled => (false, true),
        "stderr" if is_ruled => (true, true),
        old if old.starts_with("--- STDOUT: ") => (false, false),
        old if old.starts_with("--- STDERR: ") => (true, false),
        _ => return None,
    };
    Some(Stream {
        is_stderr,
        is_indented,
    })
}

/// `     Summary [   1.324s] 7 tests run: 4 passed (1 flaky), 3 failed, 1 skipped`
fn summary(line: &str) -> Option<TestCounts> {
    let said = line.trim_start().strip_prefix("Summary [")?;
    let (_, said) = said.split_once("] ")?;
    let (_, said) = said.split_once(" run: ")?;
    let mut counts = TestCounts::default();
    let mut rest = said;
    let mut plain = String::new();
    while let Some((before, inner)) = rest.split_once(" (") {
        plain.push_str(before);
        let (inner, after) = inner.split_once(')')?;
        let flaky = tally(inner, ", ")?
            .into_iter()
            .find(|(_, word)| *word == "flaky");
        counts.flaky = flaky.map_or(counts.flaky, |(number, _)| number);
        rest = after;
    }
    plain.push_str(rest);
    for (number, word) in tally(&plain, ", ")? {
        match word {
            "passed" => counts.passed = number,
            "skipped" => counts.skipped = number,
            "failed" | "timed out" | "exec failed" | "failed to execute" => {
                counts.failed = counts.failed.saturating_add(number);
            }
            _ => {}
        }
    }
    Some(counts)
}
