//! The reports of real producers, dialects of them, hostile input, and what is read back.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod bounds;
mod fixtures;
mod junit_dialects;
mod logs;
mod mutations;
mod producers;
mod round_trips;

use branchyard_model::{TestCounts, TestReport};
use branchyard_reports::LogReader;

/// The tests that a log tells of.
fn log(text: &[u8]) -> Option<TestReport> {
    let mut reader = LogReader::default();
    for line in text.split(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.finish()
}

/// Passed, failed and skipped.
fn counted(counts: TestCounts) -> (u64, u64, u64) {
    (counts.passed, counts.failed, counts.skipped)
}
