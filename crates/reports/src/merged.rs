//! The tests of several reports as those of one.

use crate::kept::KeptTests;
use branchyard_model::TestReport;

/// Reports one after another, in the room of one.
pub struct Merged(KeptTests);

impl Default for Merged {
    fn default() -> Self {
        Self(KeptTests::of_report())
    }
}

impl Merged {
    pub fn add(&mut self, tests: TestReport) {
        self.0.take(tests);
    }

    pub fn finish(self) -> TestReport {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::junit;

    #[test]
    fn counts_are_added_and_cases_stay_in_order() {
        let mut merged = Merged::default();
        for name in ["a", "b"] {
            let report = format!(
                "<testsuite><testcase name='{name}'/><testcase name='{name}2'><failure/></testcase></testsuite>"
            );
            merged.add(junit(report.as_bytes()).unwrap());
        }
        let tests = merged.finish();
        assert_eq!((tests.counts.passed, tests.counts.failed), (2, 2));
        let names: Vec<_> = tests.tests.iter().map(|case| &case.name[..]).collect();
        assert_eq!(names, ["a", "a2", "b", "b2"]);
    }
}
