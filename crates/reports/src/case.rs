//! A test, as far as its line in a report goes.

use branchyard_model::{TestCase, TestState};

use crate::excerpt;

/// A test by names of bearable length.
pub(crate) fn named(suite: &str, name: &str, state: TestState) -> TestCase {
    TestCase::new(excerpt::name(suite), excerpt::name(name), state)
}
