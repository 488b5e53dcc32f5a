//! Jest: files that passed or failed, with their tests where it is verbose.

use super::groups::{Groups, joined};
use super::tally::tally;
use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::{MessageText, name};
use crate::kept::KeptTests;
use crate::seconds;
use crate::source_line::SourceLine;
use branchyard_model::{TestCounts, TestState};

#[derive(Default)]
pub(super) struct Jest {
    run: Option<JestRun>,
}

/// Nothing of it counts before its summary has come.
struct JestRun {
    kept: KeptTests,
    file: String,
    groups: Groups,
    failure: Option<JestFailure>,
}

/// Below `● group › test`.
struct JestFailure {
    name: String,
    message: MessageText,
    at: Option<SourceLine>,
    is_source: bool,
}

impl Producer for Jest {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        if let Some(file) = file(line) {
            let run = self.run.get_or_insert_with(JestRun::new);
            run.end_failure();
            run.file = name(file);
            run.groups.clear();
            return true;
        }
        let Some(mut run) = self.run.take() else {
            return false;
        };
        if let Some(counts) = summary(line) {
            run.end_failure();
            run.kept.set_counts(counts);
            total.absorb(run.kept);
            return true;
        }
        self.run.insert(run).line(line)
    }

    fn finish(&mut self, _: &mut Total) {
        self.run = None;
    }
}

impl JestRun {
    fn new() -> Self {
        Self {
            kept: KeptTests::of_run(),
            file: String::new(),
            groups: Groups::default(),
            failure: None,
        }
    }

    fn line(&mut self, line: &str) -> bool {
        let said = line.trim_start();
        let indent = line.len() - said.len();
        if line.starts_with("Test Suites: ") || line.starts_with("Summary of all failing tests") {
            self.end_failure();
            return true;
        }
        if let Some(title) = said.strip_prefix("● ").filter(|_| indent == 2) {
            self.end_failure();
            let is_test = !matches!(title, "Console" | "Test suite failed to run");
            self.failure = is_test.then(|| JestFailure::new(title));
            return true;
        }
        if let Some(failure) = &mut self.failure {
            // All of a failure is indented, also what has lines of its own.
            if said.is_empty() || indent >= 4 {
                failure.line(line);
                return true;
            }
            self.end_failure();
        }
        if let Some((state, title)) = tick(said) {
            self.test(indent, state, title);
            return true;
        }
        if indent >= 2 && !said.is_empty() {
            self.groups.open(indent, said);
        }
        false
    }

    fn test(&mut self, indent: usize, state: TestState, title: &str) {
        let (title, time) = time(title);
        let mut path = self.groups.around(indent);
        path.push(title);
        let mut case = named(&self.file, &joined(&path), state);
        case.ms = time;
        self.kept.add(case);
    }

    /// A test that is not named above is named by its failure alone.
    fn end_failure(&mut self) {
        if let Some(failure) = self.failure.take() {
            if !self.kept.has_failed(&self.file, &failure.name) {
                let case = named(&self.file, &failure.name, TestState::Failed);
                self.kept.add(case);
            }
            let message = failure.message.finish();
            self.kept
                .explain(&self.file, &failure.name, message, failure.at);
        }
    }
}

impl JestFailure {
    fn new(title: &str) -> Self {
        Self {
            name: name(title),
            message: MessageText::default(),
            at: None,
            is_source: false,
        }
    }

    fn line(&mut self, line: &str) {
        self.at = self.at.take().or_else(|| SourceLine::of_stack_frame(line));
        // From the excerpt of the source on, nothing says more of why.
        let is_source = line.trim_start().trim_start_matches("> ").split_once(" |");
        self.is_source |= is_source.is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok());
        if !self.is_source && self.at.is_none() {
            self.message
                .push_line(line.strip_prefix("    ").unwrap_or(line));
        }
    }
}

/// `FAIL ./sample.test.js (5.2 s)`
fn file(line: &str) -> Option<&str> {
    let said = line.strip_prefix(' ').unwrap_or(line);
    let said = said.strip_prefix("PASS ").or(said.strip_prefix("FAIL "))?;
    let (file, _) = time(said.trim());
    // The name of a project may stand before it.
    let file = file.rsplit(' ').next()?;
    let is_script = [
        ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue",
    ];
    is_script
        .iter()
        .any(|ending| file.ends_with(ending))
        .then_some(file)
}

fn tick(said: &str) -> Option<(TestState, &str)> {
    let (sign, title) = said.split_once(' ')?;
    let title = match sign {
        "✓" | "✕" | "√" | "×" => title,
        "○" => title.strip_prefix("skipped ").unwrap_or(title),
        "✎" => title.strip_prefix("todo ").unwrap_or(title),
        _ => return None,
    };
    let state = match sign {
        "✓" | "√" => TestState::Passed,
        "✕" | "×" => TestState::Failed,
        _ => TestState::Skipped,
    };
    Some((state, title))
}

/// `name (27 ms)`
fn time(title: &str) -> (&str, Option<u64>) {
    let timed = title
        .strip_suffix(')')
        .and_then(|title| title.rsplit_once(" ("));
    match timed.and_then(|(title, time)| Some((title, seconds::with_unit(time)?))) {
        Some((title, ms)) => (title, Some(ms)),
        None => (title, None),
    }
}

/// `Tests:       2 failed, 1 skipped, 1 todo, 2 passed, 6 total`
fn summary(line: &str) -> Option<TestCounts> {
    let said = line.strip_prefix("Tests: ")?;
    let (mut counts, mut has_total) = (TestCounts::default(), false);
    for (number, word) in tally(said, ", ")? {
        match word {
            "passed" => counts.passed = number,
            "failed" => counts.failed = number,
            "skipped" | "todo" => counts.skipped = counts.skipped.saturating_add(number),
            "total" => has_total = true,
            _ => return None,
        }
    }
    has_total.then_some(counts)
}
