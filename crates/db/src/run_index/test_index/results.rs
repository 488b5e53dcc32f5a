//! The results of one report as bytes. They are only ever read as a whole: those of 10,000 tests are one value of 130 kB, in
//! place of 10,000 rows.

use branchyard_model::TestState;

/// The test's id, how it ended and how long it took.
const LENGTH: usize = 8 + 1 + 4;
const FLAKY: u8 = 1 << 7;
/// In place of a duration.
const UNKNOWN: u32 = u32::MAX;

/// How one test of a report went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TestResult {
    /// The row of its name.
    pub(super) test: i64,
    pub(super) state: TestState,
    pub(super) is_flaky: bool,
    pub(super) ms: Option<u32>,
}

impl TestResult {
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let state = match self.state {
            TestState::Failed => 0,
            TestState::Passed => 1,
            TestState::Skipped => 2,
        };
        let flaky = if self.is_flaky { FLAKY } else { 0 };
        to.extend(self.test.to_le_bytes());
        to.push(state | flaky);
        to.extend(self.ms.unwrap_or(UNKNOWN).to_le_bytes());
    }

    fn read(bytes: &[u8; LENGTH]) -> Self {
        let [test @ .., how, a, b, c, d] = bytes;
        let ms = u32::from_le_bytes([*a, *b, *c, *d]);
        Self {
            test: i64::from_le_bytes(*test),
            state: match how & !FLAKY {
                0 => TestState::Failed,
                1 => TestState::Passed,
                _ => TestState::Skipped,
            },
            is_flaky: how & FLAKY != 0,
            ms: (ms != UNKNOWN).then_some(ms),
        }
    }
}

pub(super) fn read(bytes: &[u8]) -> impl Iterator<Item = TestResult> {
    bytes.as_chunks().0.iter().map(TestResult::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_as_they_were() {
        let mut all = Vec::new();
        for state in [TestState::Failed, TestState::Passed, TestState::Skipped] {
            for (test, is_flaky, ms) in [
                (1, false, None),
                (i64::MAX, true, Some(0)),
                (7, true, Some(90_000)),
            ] {
                all.push(TestResult {
                    test,
                    state,
                    is_flaky,
                    ms,
                });
            }
        }
        let mut bytes = Vec::new();
        all.iter().for_each(|result| result.write(&mut bytes));
        assert_eq!(read(&bytes).collect::<Vec<_>>(), all);
    }
}
