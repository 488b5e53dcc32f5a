//! pytest: verbose or with dots, with or without its short summary.

use std::collections::{HashMap, VecDeque};

use super::pytest_lines::{Word, failed, heading, is_progress, suite_and_name, summary, verbose};
use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::MessageText;
use crate::kept::KeptTests;
use crate::source_line::SourceLine;
use branchyard_model::TestState;

/// So many failures are remembered until the summary tells which test each is of.
const MOST_FAILURES: usize = 1000;

#[derive(Default)]
pub(super) struct Pytest {
    run: Option<PytestRun>,
}

struct PytestRun {
    kept: KeptTests,
    part: PytestPart,
    /// By the title: a test's name without its file.
    failures: HashMap<String, VecDeque<PytestFailure>>,
    failure_count: usize,
    open: Option<(String, PytestFailure)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PytestPart {
    Tests,
    /// What failed, with what it printed: none of it is another producer's.
    Failures,
    ShortSummary,
}

#[derive(Default)]
struct PytestFailure {
    /// How far in the first line of the message is: that depends on the style of tracebacks.
    indent: Option<usize>,
    message: MessageText,
    at: Option<SourceLine>,
}

impl Producer for Pytest {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        let head = heading(line, '=');
        if head == Some("test session starts") {
            // Output of a test may have a whole session in it.
            if self
                .run
                .as_ref()
                .is_some_and(|run| run.part == PytestPart::Failures)
            {
                return true;
            }
            self.finish(total);
            self.run = Some(PytestRun::new());
            return true;
        }
        // With `-q` the last line has no rule around it, and there is no first line.
        let last = head.or(self.run.is_some().then_some(line));
        if let Some(counts) = last.and_then(summary) {
            let mut run = self.run.take().unwrap_or_else(PytestRun::new);
            run.name_failures();
            run.kept.set_counts(counts);
            total.absorb(run.kept);
            return true;
        }
        let part = head.and_then(part);
        if self.run.is_none() && (part.is_some() || is_progress(line)) {
            self.run = Some(PytestRun::new());
        }
        let Some(run) = &mut self.run else {
            return false;
        };
        if let Some(part) = part {
            run.end_failure();
            run.part = part;
            return true;
        }
        run.line(line)
    }

    /// Without its last line, a session was cut off: what it named counts.
    fn finish(&mut self, total: &mut Total) {
        if let Some(run) = self.run.take()
            && run.kept.counts().total() > 0
        {
            total.absorb(run.kept);
        }
    }
}

fn part(head: &str) -> Option<PytestPart> {
    match head {
        "FAILURES" | "ERRORS" => Some(PytestPart::Failures),
        "short test summary info" => Some(PytestPart::ShortSummary),
        "warnings summary" | "PASSES" | "XFAILURES" | "XPASSES" => Some(PytestPart::Failures),
        _ => None,
    }
}

impl PytestRun {
    fn new() -> Self {
        Self {
            kept: KeptTests::of_run(),
            part: PytestPart::Tests,
            failures: HashMap::new(),
            failure_count: 0,
            open: None,
        }
    }

    fn line(&mut self, line: &str) -> bool {
        match self.part {
            PytestPart::Tests => match verbose(line) {
                Some((node, word, reason)) => self.test(node, word, reason),
                None => return is_progress(line),
            },
            PytestPart::Failures => self.failure(line),
            PytestPart::ShortSummary => match failed(line) {
                Some((node, reason)) => self.failed(node, reason),
                None => return false,
            },
        }
        true
    }

    fn test(&mut self, node: &str, word: Word, reason: &str) {
        let (suite, name) = suite_and_name(node);
        let state = match word {
            // It failed in this attempt. The next one says what counts.
            Word::Rerun if self.kept.has_failed(suite, name) => return,
            Word::Rerun => TestState::Failed,
            Word::Ended(TestState::Failed) if self.kept.has_failed(suite, name) => return,
            Word::Ended(TestState::Passed) if self.kept.passed_again(suite, name, None) => return,
            Word::Ended(state) => state,
        };
        let mut case = named(suite, name, state);
        case.message = (!reason.is_empty()).then(|| crate::excerpt::name(reason));
        self.kept.add(case);
    }

    /// Below `___ TestGroup.test_fails ___`: source, lines that begin with `E` and say why, and the place.
    fn failure(&mut self, line: &str) {
        if let Some(title) = heading(line, '_').filter(|_| line.starts_with("__")) {
            self.end_failure();
            let stage = title
                .strip_prefix("ERROR at ")
                .and_then(|said| said.split_once(" of "));
            let title = stage.map_or(title, |(_, test)| test);
            self.open = Some((crate::excerpt::name(title), PytestFailure::default()));
            return;
        }
        let Some((_, failure)) = &mut self.open else {
            return;
        };
        if let Some(said) = line.strip_prefix("E  ") {
            let spaces = said.len() - said.trim_start_matches(' ').len();
            let indent = *failure.indent.get_or_insert(spaces);
            failure.message.push_line(&said[spaces.min(indent)..]);
        } else if let Some((place, _)) = line.split_once(": ")
            && !line.starts_with(' ')
            && let Some(at) = SourceLine::parse(place)
        {
            failure.at = Some(at);
        }
    }

    fn end_failure(&mut self) {
        if let Some((title, failure)) = self.open.take()
            && self.failure_count < MOST_FAILURES
        {
            self.failure_count += 1;
            self.failures.entry(title).or_default().push_back(failure);
        }
    }

    /// Without a short summary and with dots, only what it says of failures has names.
    fn name_failures(&mut self) {
        self.end_failure();
        if self.kept.counts().total() > 0 {
            return;
        }
        let mut all: Vec<_> = self.failures.drain().collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (title, failures) in all {
            for failure in failures {
                let mut case = named("", &title, TestState::Failed);
                case.message = failure.message.finish();
                if let Some(at) = failure.at {
                    (case.suite, case.file) = (at.file.clone(), Some(at.file));
                    case.line = Some(at.line);
                }
                self.kept.add(case);
            }
        }
    }

    /// A line of the short summary. All failed tests are in it, so that it names those that dots did not.
    fn failed(&mut self, node: &str, reason: &str) {
        let (suite, name) = suite_and_name(node);
        if !self.kept.has_failed(suite, name) {
            self.kept.add(named(suite, name, TestState::Failed));
        }
        let title = match node.split_once("::") {
            Some((_, inner)) => inner.replace("::", "."),
            None => node.to_owned(),
        };
        let failure = self.failures.get_mut(&title).and_then(VecDeque::pop_front);
        let (mut message, at) = failure.map_or((None, None), |failure| {
            (failure.message.finish(), failure.at)
        });
        if message.is_none() && !reason.is_empty() {
            message = Some(crate::excerpt::name(reason));
        }
        self.kept.explain(suite, name, message, at);
    }
}
