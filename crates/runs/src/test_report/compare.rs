//! Which failures are new, which were there before, and which come and go.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use branchyard_model::{TestCase, TestCounts, TestReport, TestState, TestVerdict};

/// What earlier runs told of the tests, by their identity.
#[derive(Debug, Default)]
pub struct Earlier {
    /// On the tree of the run that is judged.
    same_tree: HashMap<u64, Outcomes>,
    /// In the latest run of the base that has the test.
    base: HashMap<u64, TestState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    passed: bool,
    failed: bool,
}

impl Earlier {
    /// Adds a run on the same tree.
    pub fn add_same_tree(&mut self, report: &TestReport) {
        for (id, state) in states(report) {
            let outcomes = self.same_tree.entry(id).or_default();
            outcomes.passed |= state == TestState::Passed;
            outcomes.failed |= state == TestState::Failed;
        }
    }

    /// Adds a run of the base, the latest first.
    pub fn add_base(&mut self, report: &TestReport) {
        for (id, state) in states(report) {
            self.base.entry(id).or_insert(state);
        }
    }

    /// Whether a failure of the report is still to be found in the base.
    pub fn lacks_base_of(&self, report: &TestReport) -> bool {
        let mut failed = report.tests.iter().filter(|test| has_failed(test));
        failed.any(|test| !self.base.contains_key(&identity(test)))
    }

    /// Tells new, known and flaky tests apart, and puts what is looked at first in front. What the producer itself found to
    /// be flaky stays so.
    pub fn judge(&self, report: &mut TestReport) {
        for test in &mut report.tests {
            let id = identity(test);
            let outcomes = self.same_tree.get(&id).copied().unwrap_or_default();
            let verdict = match (test.state, self.base.get(&id)) {
                (TestState::Failed, _) if outcomes.passed => Some(TestVerdict::Flaky),
                (TestState::Passed, _) if outcomes.failed => Some(TestVerdict::Flaky),
                (TestState::Failed, Some(TestState::Passed)) => Some(TestVerdict::New),
                (TestState::Failed, Some(TestState::Failed)) => Some(TestVerdict::Known),
                _ => None,
            };
            test.verdict = test.verdict.or(verdict);
        }
        let counted = |verdict| {
            let of = |test: &&TestCase| test.verdict == Some(verdict);
            u64::try_from(report.tests.iter().filter(of).count()).unwrap_or(u64::MAX)
        };
        report.counts = TestCounts {
            new: counted(TestVerdict::New),
            known: counted(TestVerdict::Known),
            flaky: counted(TestVerdict::Flaky),
            ..report.counts
        };
        // A stable sort: within a state, tests stay in the order of their producer.
        report
            .tests
            .sort_by_key(|test| (test.state, test.verdict.is_none(), test.verdict));
    }
}

fn has_failed(test: &TestCase) -> bool {
    test.state == TestState::Failed
}

/// How each test ended; of one that a report has twice, the worst counts.
fn states(report: &TestReport) -> HashMap<u64, TestState> {
    let mut states = HashMap::new();
    for test in &report.tests {
        let state = states.entry(identity(test)).or_insert(test.state);
        // Failed is the first, skipped the last.
        *state = test.state.min(*state);
    }
    states
}

/// Of many thousands of tests the names are long, and two with one digest would only be told one verdict.
fn identity(test: &TestCase) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&test.suite, &test.name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn report(tests: &[(&str, TestState)]) -> TestReport {
        let case = |(name, state): &(&str, TestState)| TestCase::new("s", *name, *state);
        TestReport {
            tests: tests.iter().map(case).collect(),
            ..TestReport::default()
        }
    }

    /// Random numbers that are the same in every run of the test.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, below: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % below
        }
    }

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn rolled(dice: &mut Dice) -> TestReport {
        let mut tests = Vec::new();
        for name in NAMES {
            let state = match dice.roll(8) {
                0..=3 => TestState::Passed,
                4..=5 => TestState::Failed,
                6 => TestState::Skipped,
                _ => continue,
            };
            tests.push((name, state));
        }
        report(&tests)
    }

    /// The definition, word for word, over whole histories.
    fn model(own: &TestCase, same_tree: &[TestReport], base: &[TestReport]) -> Option<TestVerdict> {
        let state_in = |report: &TestReport| {
            let mut found = report.tests.iter().filter(|test| test.name == own.name);
            found.next().map(|test| test.state)
        };
        let on_tree: Vec<_> = same_tree.iter().filter_map(state_in).collect();
        let of_base = base.iter().find_map(state_in);
        let opposite = match own.state {
            TestState::Passed => TestState::Failed,
            TestState::Failed => TestState::Passed,
            TestState::Skipped => return None,
        };
        if on_tree.contains(&opposite) {
            return Some(TestVerdict::Flaky);
        }
        match (own.state, of_base) {
            (TestState::Failed, Some(TestState::Passed)) => Some(TestVerdict::New),
            (TestState::Failed, Some(TestState::Failed)) => Some(TestVerdict::Known),
            _ => None,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_model_over_seeded_histories() {
        let mut seen = BTreeMap::new();
        for seed in 1..=100 {
            let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
            let same_tree: Vec<_> = (0..dice.roll(4)).map(|_| rolled(&mut dice)).collect();
            let base: Vec<_> = (0..dice.roll(4)).map(|_| rolled(&mut dice)).collect();
            let mut own = rolled(&mut dice);
            let mut earlier = Earlier::default();
            same_tree.iter().for_each(|run| earlier.add_same_tree(run));
            base.iter().for_each(|run| earlier.add_base(run));
            earlier.judge(&mut own);
            for test in &own.tests {
                let expected = model(test, &same_tree, &base);
                assert_eq!(test.verdict, expected, "seed {seed}, {test:?}");
                *seen.entry(test.verdict).or_insert(0_u32) += 1;
            }
            let flaky = own
                .tests
                .iter()
                .filter(|test| test.verdict == Some(TestVerdict::Flaky));
            assert_eq!(own.counts.flaky, flaky.count() as u64);
        }
        assert_eq!(seen.len(), 4, "each verdict, and none: {seen:?}");
    }

    #[test]
    fn a_test_that_fails_one_time_in_five_is_flaky_after_ten_runs_of_one_tree() {
        for fails_at in 0..5 {
            let mut earlier = Earlier::default();
            let mut last = report(&[]);
            for run in 0..10 {
                let state = match run % 5 == fails_at {
                    true => TestState::Failed,
                    false => TestState::Passed,
                };
                last = report(&[("a", state)]);
                earlier.judge(&mut last);
                earlier.add_same_tree(&last);
            }
            assert_eq!(last.tests[0].verdict, Some(TestVerdict::Flaky));
        }
    }

    #[test]
    fn of_a_test_that_a_report_has_twice_the_worst_counts() {
        let twice = report(&[("a", TestState::Passed), ("a", TestState::Failed)]);
        let mut earlier = Earlier::default();
        earlier.add_base(&twice);
        let mut own = report(&[("a", TestState::Failed), ("a", TestState::Passed)]);
        assert!(!earlier.lacks_base_of(&own));
        earlier.judge(&mut own);
        assert_eq!(own.tests[0].verdict, Some(TestVerdict::Known));
        assert_eq!(own.tests[1].verdict, None);
    }
}
