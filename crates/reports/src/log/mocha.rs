//! Mocha, as its spec reporter prints it, and what its other reporters print below.

use super::groups::{Groups, joined};
use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::MessageText;
use crate::kept::KeptTests;
use crate::seconds;
use crate::source_line::SourceLine;
use branchyard_model::{TestCounts, TestState};

/// A test's name stands in so many lines at most.
const MOST_TITLES: usize = 100;

#[derive(Default)]
pub(super) struct Mocha {
    run: Option<MochaRun>,
}

/// Nothing of it counts before its summary has come: any list looks like skipped tests.
struct MochaRun {
    kept: KeptTests,
    groups: Groups,
    said: TestCounts,
    part: MochaPart,
    failure: Option<MochaFailure>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MochaPart {
    Tests,
    Summary,
    Failures,
}

/// Below `  2) group`: the names down to the test, which ends with a colon, and then why it failed.
#[derive(Default)]
struct MochaFailure {
    titles: Vec<String>,
    is_named: bool,
    message: MessageText,
    at: Option<SourceLine>,
    is_stack: bool,
}

impl Producer for Mocha {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        let said = line.trim_start();
        let indent = line.len() - said.len();
        if let Some(number) = passing(line) {
            if self
                .run
                .as_ref()
                .is_some_and(|run| run.part != MochaPart::Tests)
            {
                self.finish(total);
            }
            let run = self.run.get_or_insert_with(MochaRun::new);
            (run.part, run.said.passed) = (MochaPart::Summary, number);
            return true;
        }
        let listed = listed(said).filter(|_| indent >= 2);
        let has_passed = matches!(listed, Some((TestState::Passed, _)));
        if has_passed
            && self
                .run
                .as_ref()
                .is_some_and(|run| run.part != MochaPart::Tests)
        {
            self.finish(total);
        }
        if self.run.is_none() && listed.is_none() && indent < 2 {
            return false;
        }
        let run = self.run.get_or_insert_with(MochaRun::new);
        match (run.part, listed) {
            (MochaPart::Tests, Some((state, title))) => run.test(indent, state, title),
            (MochaPart::Tests, None) if indent >= 2 && !said.is_empty() => {
                run.groups.open(indent, said);
            }
            (MochaPart::Tests, None) => {}
            (MochaPart::Summary, _) => return run.summary(said),
            (MochaPart::Failures, _) => run.failure_line(line, indent),
        }
        // Others have such lines as well.
        false
    }

    fn finish(&mut self, total: &mut Total) {
        if let Some(mut run) = self.run.take()
            && run.part != MochaPart::Tests
        {
            run.end_summary();
            run.end_failure();
            run.kept.set_counts(run.said);
            total.absorb(run.kept);
        }
    }
}

impl MochaRun {
    fn new() -> Self {
        Self {
            kept: KeptTests::of_run(),
            groups: Groups::default(),
            said: TestCounts::default(),
            part: MochaPart::Tests,
            failure: None,
        }
    }

    fn test(&mut self, indent: usize, state: TestState, title: &str) {
        let timed = title
            .strip_suffix(')')
            .and_then(|title| title.rsplit_once(" ("));
        let timed = timed.and_then(|(title, time)| Some((title, seconds::with_unit(time)?)));
        let (title, ms) = timed.map_or((title, None), |(title, ms)| (title, Some(ms)));
        let mut case = named(&joined(&self.groups.around(indent)), title, state);
        case.ms = ms;
        self.kept.add(case);
    }

    /// `  1 pending`, `  2 failing`.
    fn summary(&mut self, said: &str) -> bool {
        let counted = said.split_once(' ');
        let counted = counted.and_then(|(number, word)| Some((number.parse::<u32>().ok()?, word)));
        match counted {
            Some((number, "pending")) => self.said.skipped = number.into(),
            Some((number, "failing")) => self.said.failed = number.into(),
            _ if said.is_empty() && self.said.failed == 0 => {}
            _ => {
                self.end_summary();
                return false;
            }
        }
        true
    }

    fn end_summary(&mut self) {
        if self.part == MochaPart::Summary {
            // Lists of another program may have come before.
            self.kept.set_counts(self.said);
            self.part = MochaPart::Failures;
        }
    }

    fn failure_line(&mut self, line: &str, indent: usize) {
        let said = line.trim_start();
        let next = numbered(said).filter(|_| indent == 2);
        let title = match (next, &self.failure) {
            (Some(title), _) => {
                self.end_failure();
                self.failure = Some(MochaFailure::default());
                title
            }
            (None, Some(failure)) if !failure.is_named => said,
            _ => {
                if let Some(failure) = &mut self.failure {
                    failure.line(line);
                }
                return;
            }
        };
        if let Some(failure) = &mut self.failure {
            failure.is_named = title.ends_with(':') || failure.titles.len() >= MOST_TITLES;
            let title = title.strip_suffix(':').unwrap_or(title);
            failure.titles.push(crate::excerpt::name(title));
        }
    }

    fn end_failure(&mut self) {
        let Some(failure) = self.failure.take() else {
            return;
        };
        let titles: Vec<_> = failure.titles.iter().map(String::as_str).collect();
        if let Some((title, groups)) = titles.split_last() {
            let suite = crate::excerpt::name(&joined(groups));
            if !self.kept.has_failed(&suite, title) {
                self.kept.add(named(&suite, title, TestState::Failed));
            }
            let message = failure.message.finish();
            self.kept.explain(&suite, title, message, failure.at);
        }
    }
}

impl MochaFailure {
    fn line(&mut self, line: &str) {
        self.at = self.at.take().or_else(|| SourceLine::of_stack_frame(line));
        self.is_stack |= line.trim_start().starts_with("at ");
        if !self.is_stack {
            self.message.push_line(line);
        }
    }
}

/// `✔ passes (102ms)`, `- is skipped`, `2) fails`.
fn listed(said: &str) -> Option<(TestState, &str)> {
    let ticked = ["✔ ", "✓ ", "√ "].into_iter();
    if let Some(title) = { ticked }.find_map(|sign| said.strip_prefix(sign)) {
        return Some((TestState::Passed, title));
    }
    let skipped = said
        .strip_prefix("- ")
        .map(|title| (TestState::Skipped, title));
    skipped.or_else(|| numbered(said).map(|title| (TestState::Failed, title)))
}

fn numbered(said: &str) -> Option<&str> {
    let (number, title) = said.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| title)
}

/// `  2 passing (102ms)`
fn passing(line: &str) -> Option<u64> {
    let (number, time) = line.strip_prefix("  ")?.split_once(" passing (")?;
    let time = time.strip_suffix(')').and_then(seconds::with_unit);
    let number = number.trim().parse::<u32>().ok()?;
    time.map(|_| number.into())
}
