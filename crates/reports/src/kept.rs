//! The tests that were found so far: all counted, and as many kept as there is room for.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::excerpt;
use crate::source_line::SourceLine;
use branchyard_model::{TestCase, TestCounts, TestReport, TestState, TestVerdict};

/// So many tests are kept.
const MOST_CASES: usize = 100_000;
/// So many bytes the tests of a report may take together.
const ROOM_OF_REPORT: usize = 32 * 1024 * 1024;
/// So many those of one run of a producer in a log: several runs may be open at once.
const ROOM_OF_RUN: usize = 8 * 1024 * 1024;

/// Tests of one report, or of one run of a producer in a log.
pub(crate) struct KeptTests {
    counts: TestCounts,
    /// How many were added: the place of the next one in the report's order.
    added: usize,
    /// What is looked at first, and goes last: failed and flaky tests.
    failed: Vec<Placed>,
    others: Vec<Placed>,
    /// How many bytes more there is room for.
    room: usize,
    /// Where in `failed` the latest test of an id is. The key is the id's hash.
    index: HashMap<u64, usize>,
    hasher: RandomState,
}

/// The order of a test that is about to go.
const DROPPED: usize = usize::MAX;

/// A test and its place in the report's order.
struct Placed {
    order: usize,
    case: TestCase,
}

impl KeptTests {
    pub(crate) fn of_report() -> Self {
        Self::with_room(ROOM_OF_REPORT)
    }

    pub(crate) fn of_run() -> Self {
        Self::with_room(ROOM_OF_RUN)
    }

    fn with_room(room: usize) -> Self {
        Self {
            counts: TestCounts::default(),
            added: 0,
            failed: Vec::new(),
            others: Vec::new(),
            room,
            index: HashMap::new(),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn add(&mut self, case: TestCase) {
        let count = self.counts.state_mut(case.state);
        *count = count.saturating_add(1);
        self.counts.flaky = self.counts.flaky.saturating_add(u64::from(case.is_flaky()));
        self.keep(case);
    }

    fn keep(&mut self, case: TestCase) {
        let order = self.added;
        self.added += 1;
        let is_first = case.state == TestState::Failed || case.is_flaky();
        let size = size(&case);
        if is_first {
            let is_full = self.failed.len() + self.others.len() >= MOST_CASES;
            self.make_room(size, usize::from(is_full));
        }
        if self.room < size || self.failed.len() + self.others.len() >= MOST_CASES {
            return;
        }
        self.room -= size;
        if is_first {
            let id = self.id(&case.suite, &case.name);
            self.index.insert(id, self.failed.len());
            self.failed.push(Placed { order, case });
        } else {
            self.others.push(Placed { order, case });
        }
    }

    /// Lets go of tests that did not fail, the latest first: at least so many, and until there is room.
    fn make_room(&mut self, size: usize, least: usize) {
        let mut gone = 0;
        while self.room < size || gone < least {
            let Some(last) = self.others.pop() else {
                return;
            };
            self.room += self::size(&last.case);
            gone += 1;
        }
    }

    fn id(&self, suite: &str, name: &str) -> u64 {
        self.hasher.hash_one((suite, name))
    }

    /// By names as they stand in a log: those of a test are cut.
    fn failed_mut(&mut self, suite: &str, name: &str) -> Option<&mut TestCase> {
        let (suite, name) = (excerpt::name(suite), excerpt::name(name));
        let at = *self.index.get(&self.id(&suite, &name))?;
        let case = &mut self.failed.get_mut(at)?.case;
        (case.state == TestState::Failed).then_some(case)
    }

    pub(crate) fn has_failed(&mut self, suite: &str, name: &str) -> bool {
        self.failed_mut(suite, name).is_some()
    }

    /// Says why a test failed. The latest reason counts. A test that is not kept is passed over.
    pub(crate) fn explain(
        &mut self,
        suite: &str,
        name: &str,
        message: Option<String>,
        at: Option<SourceLine>,
    ) {
        if !self.has_failed(suite, name) {
            return;
        }
        let texts = [message.as_ref(), at.as_ref().map(|at| &at.file)];
        let added = texts.into_iter().flatten().map(String::len).sum();
        self.make_room(added, 0);
        let room = self.room;
        let Some(case) = self.failed_mut(suite, name).filter(|_| added <= room) else {
            return;
        };
        let before = size(case);
        case.message = message.or(case.message.take());
        if let Some(at) = at {
            (case.file, case.line) = (Some(at.file), Some(at.line));
        }
        let after = size(case);
        self.room = self.room + before - after;
    }

    /// A test that failed passed when it was run again. `false` if no such test is kept.
    pub(crate) fn passed_again(&mut self, suite: &str, name: &str, ms: Option<u64>) -> bool {
        let Some(case) = self.failed_mut(suite, name) else {
            return false;
        };
        (case.state, case.verdict, case.ms) = (TestState::Passed, Some(TestVerdict::Flaky), ms);
        self.counts.failed = self.counts.failed.saturating_sub(1);
        self.counts.passed = self.counts.passed.saturating_add(1);
        self.counts.flaky = self.counts.flaky.saturating_add(1);
        true
    }

    /// The producer's own counts take the place of those of the tests that it named. Where it named more, the first
    /// ones were none of its own. It does not always say how many are flaky.
    pub(crate) fn set_counts(&mut self, said: TestCounts) {
        for (state, named, most) in [
            (TestState::Passed, self.counts.passed, said.passed),
            (TestState::Failed, self.counts.failed, said.failed),
            (TestState::Skipped, self.counts.skipped, said.skipped),
        ] {
            if named > most {
                self.keep_latest(state, most);
            }
        }
        let flaky = self.counts.flaky.max(said.flaky);
        self.counts = TestCounts {
            flaky: flaky.min(said.passed),
            ..said
        };
    }

    pub(crate) fn counts(&self) -> TestCounts {
        self.counts
    }

    /// Drops the tests of a state but for the latest `most`.
    fn keep_latest(&mut self, state: TestState, most: u64) {
        for pile in [&mut self.failed, &mut self.others] {
            let mut seen = 0_u64;
            for placed in pile.iter_mut().rev() {
                seen += u64::from(placed.case.state == state);
                if placed.case.state == state && seen > most {
                    placed.order = DROPPED;
                    self.room += size(&placed.case);
                }
            }
            pile.retain(|placed| placed.order != DROPPED);
        }
        let ids = self.failed.iter().enumerate();
        self.index = ids
            .map(|(at, placed)| (self.id(&placed.case.suite, &placed.case.name), at))
            .collect();
    }

    /// Takes the tests of another one over, behind its own.
    pub(crate) fn absorb(&mut self, other: Self) {
        let counts = self.counts + other.counts;
        for case in other.in_order() {
            self.keep(case);
        }
        self.counts = counts;
    }

    /// Takes the tests of a whole report over, behind its own.
    pub(crate) fn take(&mut self, tests: TestReport) {
        self.counts = self.counts + tests.counts;
        tests.tests.into_iter().for_each(|case| self.keep(case));
    }

    fn in_order(self) -> impl Iterator<Item = TestCase> {
        let mut all = self.failed;
        all.extend(self.others);
        all.sort_by_key(|placed| placed.order);
        all.into_iter().map(|placed| placed.case)
    }

    pub(crate) fn finish(self) -> TestReport {
        let counts = self.counts;
        let cases: Vec<_> = self.in_order().collect();
        TestReport {
            counts,
            left_out: counts.total().saturating_sub(cases.len() as u64),
            tests: cases,
        }
    }
}

fn size(case: &TestCase) -> usize {
    let texts = [&case.message, &case.file].into_iter().flatten();
    let texts: usize = texts.map(String::len).sum();
    size_of::<Placed>() + case.suite.len() + case.name.len() + texts
}

#[cfg(test)]
mod tests;
