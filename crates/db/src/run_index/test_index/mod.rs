//! Tests over time, in the same file as the index of runs: the results of the latest reports of each repo. The truth is
//! the reports on disk. Each of them has a row here for as long as it is there, so that those that are missing can be
//! told; only the latest have their results too.

mod query;
mod results;
mod write;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::Error;
use crate::database::Database;
use branchyard_model::{
    BranchName, PipelineId, RepoName, RunId, TestHistory, TestReport, TestedAt, TestedBy,
};

pub use query::TestedBranches;
pub(super) use write::INSERT;

/// So many reports wait to be written at most: they are large, and a disk may stay full for long.
const WAITING: usize = 16;

/// The index of test results; cheap to clone.
#[derive(Debug, Clone)]
pub struct TestIndex {
    database: Arc<Database>,
    room: Arc<Semaphore>,
}

impl TestIndex {
    pub(super) fn of(database: Arc<Database>) -> Self {
        let room = Arc::new(Semaphore::new(WAITING));
        Self { database, room }
    }

    /// Takes note of a report; returns at once. Where too many wait, it is left out: those that are missing here are
    /// looked for from time to time.
    pub fn put(&self, repo: &RepoName, tested: &TestedAt, report: TestReport) {
        let Ok(place) = self.room.clone().try_acquire_owned() else {
            tracing::debug!(%repo, "too many test reports wait to be indexed");
            return;
        };
        let (repo, tested) = (repo.clone(), tested.clone());
        self.database.note(move |to| {
            // It is free again when the report is.
            let _ = &place;
            write::put(&repo, &tested, &report, to)
        });
    }

    /// Returns when all that was handed over so far is written, or was tried to be. Blocks.
    pub fn catch_up(&self) {
        self.database.catch_up();
    }

    /// Forgets the reports of a pipeline; returns at once.
    pub fn remove_pipeline(&self, id: PipelineId) {
        self.remove(id.to_string());
    }

    /// The same of a run.
    pub fn remove_run(&self, id: RunId) {
        self.remove(id.to_string());
    }

    fn remove(&self, origin: String) {
        self.database.note(move |to| write::remove(&origin, to));
    }

    /// Every report that is known here.
    pub fn known(&self) -> Result<HashSet<TestedBy>, Error> {
        self.database.catch_up();
        self.database.read(query::known)
    }

    /// The tests of a repo by their latest results on branches of which `is_seen` holds: those that fail first, then flaky
    /// ones, each by name.
    pub fn history(
        &self,
        repo: &RepoName,
        of: &TestedBranches,
        is_seen: impl Fn(&BranchName) -> bool,
    ) -> Result<Vec<TestHistory>, Error> {
        self.database.catch_up();
        let (reports, names) = self
            .database
            .read(|from| query::kept(from, repo, &is_seen))?;
        Ok(query::histories(&reports, &names, of))
    }
}
