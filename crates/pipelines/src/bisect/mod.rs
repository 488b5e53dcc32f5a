//! Bisects: the first bad commit between two. A bisect is a pipeline whose jobs are made round by round, each of them the same
//! command at another commit. So it is followed, cancelled, retried and taken up after a restart as any pipeline, and a
//! commit's command is started at most once.

mod answer;
mod checks;
mod choose;
mod history;
mod jobs;
mod narrow;
mod request;
mod rounds;
mod start;

#[cfg(test)]
mod tests;

pub(crate) use rounds::Bisect;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use request::BisectRequest;

use branchyard_model::{BisectRecord, BisectTest, CommitId};

/// What a bisect has in the place of a workflow file, and the event that it is of.
pub(crate) const NAME: &str = "bisect";

/// What a bisect does, frozen when it was asked for but for the tests, which every round adds to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BisectPlan {
    pub(crate) good: CommitId,
    pub(crate) bad: CommitId,
    pub(crate) task: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// What the command may take at one commit.
    pub(crate) timeout: Duration,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) parallel: usize,
    /// How many suspects there were.
    pub(crate) commits: usize,
    /// By the ids of their jobs.
    pub(crate) tests: BTreeMap<String, BisectTest>,
}

impl BisectPlan {
    /// Before the first round.
    pub(crate) fn record(&self) -> BisectRecord {
        let paths = self.paths.iter();
        BisectRecord {
            good: self.good.clone(),
            bad: self.bad.clone(),
            task: self.task.clone(),
            argv: self.argv.clone(),
            paths: paths.map(|path| path.to_string_lossy().into()).collect(),
            parallel: self.parallel,
            commits: self.commits,
            left: self.commits,
            rounds: 0,
            answer: None,
        }
    }

    /// The round that began last.
    pub(crate) fn round(&self) -> u32 {
        self.tests.values().map(|it| it.round).max().unwrap_or(0)
    }
}
