//! `node --test`, as its spec reporter prints it. Its TAP is read as any TAP is.

use std::collections::{HashMap, VecDeque};

use super::groups::{Groups, joined};
use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::{MessageText, name};
use crate::kept::KeptTests;
use crate::seconds;
use crate::source_line::SourceLine;
use branchyard_model::{TestCounts, TestState};

/// So many tests that failed are remembered for the list of failures, which names no suites.
const MOST_FAILURES: usize = 1000;

#[derive(Default)]
pub(super) struct NodeTest {
    run: Option<NodeRun>,
}

/// Nothing of it counts before its summary has come: many programs print ticks.
struct NodeRun {
    kept: KeptTests,
    /// What has others in it: a suite, or a test with subtests. Nothing tells which it is.
    parents: KeptTests,
    groups: Groups,
    said: TestCounts,
    is_over: bool,
    /// The suites of tests that failed, by their names.
    failed: HashMap<String, VecDeque<String>>,
    failed_count: usize,
    failure: Option<NodeFailure>,
}

/// One of the list of failures: `test at sample.test.js:8:3`, and the name below.
#[derive(Default)]
struct NodeFailure {
    at: Option<SourceLine>,
    test: Option<(String, String)>,
    message: MessageText,
}

impl Producer for NodeTest {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        let said = line.trim_start_matches(' ');
        let indent = line.len() - said.len();
        if let Some(run) = &mut self.run
            && run.is_over
        {
            if run.failure_line(line) {
                return true;
            }
            self.finish(total);
        }
        if let Some(title) = said.strip_prefix("▶ ") {
            let run = self.run.get_or_insert_with(NodeRun::new);
            run.groups.open(indent, title);
        } else if let Some(ticked) = tick(said) {
            let run = self.run.get_or_insert_with(NodeRun::new);
            run.test(indent, ticked);
        } else if let Some((word, number)) = count(line) {
            let run = self.run.get_or_insert_with(NodeRun::new);
            run.count(word, number);
            return true;
        }
        // Mocha has much the same lines.
        false
    }

    fn finish(&mut self, total: &mut Total) {
        if let Some(mut run) = self.run.take()
            && run.is_over
        {
            run.end_failure();
            total.absorb(run.kept);
        }
    }
}

impl NodeRun {
    fn new() -> Self {
        Self {
            kept: KeptTests::of_run(),
            parents: KeptTests::of_run(),
            groups: Groups::default(),
            said: TestCounts::default(),
            is_over: false,
            failed: HashMap::new(),
            failed_count: 0,
            failure: None,
        }
    }

    fn test(&mut self, indent: usize, (state, title, ms): (TestState, &str, u64)) {
        let is_parent = self.groups.has(indent, title);
        self.groups.close(indent);
        let suite = joined(&self.groups.around(indent));
        let mut case = named(&suite, title, state);
        case.ms = Some(ms);
        if is_parent {
            self.parents.add(case);
            return;
        }
        if state == TestState::Failed && self.failed_count < MOST_FAILURES {
            self.failed_count += 1;
            let suites = self.failed.entry(case.name.clone()).or_default();
            suites.push_back(case.suite.clone());
        }
        self.kept.add(case);
    }

    /// `ℹ todo 1` is the last count that matters.
    fn count(&mut self, word: &str, number: u64) {
        match word {
            "suites" if number == 0 => {
                let parents = std::mem::replace(&mut self.parents, KeptTests::of_run());
                self.kept.absorb(parents);
            }
            "pass" => self.said.passed = number,
            "fail" => self.said.failed = number,
            "cancelled" => self.said.failed = self.said.failed.saturating_add(number),
            "skipped" => self.said.skipped = number,
            "todo" => {
                self.said.skipped = self.said.skipped.saturating_add(number);
                self.is_over = true;
                // Ticks of another program may have come before.
                self.kept.set_counts(self.said);
            }
            _ => {}
        }
    }

    /// A line behind the summary. `false` if it is none of this run.
    fn failure_line(&mut self, line: &str) -> bool {
        if let Some(place) = line.strip_prefix("test at ") {
            self.end_failure();
            self.failure = Some(NodeFailure {
                at: SourceLine::parse(place),
                ..NodeFailure::default()
            });
            return true;
        }
        let is_inner = line.is_empty() || line.starts_with(' ');
        match &mut self.failure {
            None => line == "✖ failing tests:" || line.starts_with("ℹ ") || line.is_empty(),
            Some(failure) if failure.test.is_some() => {
                if is_inner {
                    let text = line.strip_prefix("  ").unwrap_or(line);
                    failure.message.push_line(text);
                }
                is_inner
            }
            Some(failure) => {
                let Some((_, title, _)) = tick(line) else {
                    return is_inner;
                };
                let title = name(title);
                let suite = self.failed.get_mut(&title).and_then(VecDeque::pop_front);
                failure.test = Some((suite.unwrap_or_default(), title));
                true
            }
        }
    }

    fn end_failure(&mut self) {
        if let Some(failure) = self.failure.take()
            && let Some((suite, name)) = failure.test
        {
            let message = failure.message.finish();
            self.kept.explain(&suite, &name, message, failure.at);
        }
    }
}

/// `✔ passes (27.9ms) # SKIP why`. Each has its time.
fn tick(said: &str) -> Option<(TestState, &str, u64)> {
    let (sign, rest) = said.split_once(' ')?;
    let state = match sign {
        "✔" => TestState::Passed,
        "✖" => TestState::Failed,
        "﹣" | "⚠" => TestState::Skipped,
        _ => return None,
    };
    let (rest, is_open) = match rest.rsplit_once("ms) # ") {
        Some((rest, word)) => (rest, word.starts_with("TODO") || word.starts_with("SKIP")),
        None => (rest.strip_suffix("ms)")?, false),
    };
    let (title, time) = rest.rsplit_once(" (")?;
    let ms = seconds::with_unit(&format!("{time}ms"))?;
    let state = if is_open { TestState::Skipped } else { state };
    Some((state, title, ms))
}

/// `ℹ tests 9`
fn count(line: &str) -> Option<(&str, u64)> {
    let (word, number) = line.strip_prefix("ℹ ")?.split_once(' ')?;
    Some((word, number.parse::<u32>().ok()?.into()))
}
