//! Which worktrees are held, the oldest first.

use std::sync::Arc;

use parking_lot::Mutex;

use branchyard_model::PipelineId;
use branchyard_workspace::HeldScratch;

#[derive(Debug, Default)]
pub(crate) struct HeldWorktrees(Mutex<Vec<HeldWorktree>>);

#[derive(Debug)]
struct HeldWorktree {
    pipeline: PipelineId,
    job: String,
    worktree: Arc<HeldScratch>,
}

impl HeldWorktree {
    fn is_of(&self, (pipeline, job): (PipelineId, &str)) -> bool {
        self.pipeline == pipeline && self.job == job
    }
}

impl HeldWorktrees {
    /// Adds one. Returns whose were given back because there are more than `most`.
    pub(crate) fn keep(
        &self,
        (pipeline, job): (PipelineId, &str),
        worktree: HeldScratch,
        most: usize,
    ) -> Vec<(PipelineId, String)> {
        let mut all = self.0.lock();
        all.push(HeldWorktree {
            pipeline,
            job: job.to_owned(),
            worktree: Arc::new(worktree),
        });
        let beyond = all.len().saturating_sub(most);
        all.drain(..beyond)
            .map(|held| (held.pipeline, held.job))
            .collect()
    }

    pub(crate) fn find(&self, of: (PipelineId, &str)) -> Option<Arc<HeldScratch>> {
        let all = self.0.lock();
        let held = all.iter().find(|held| held.is_of(of));
        held.map(|held| held.worktree.clone())
    }

    /// Gives one back. Whether there was one.
    pub(crate) fn let_go(&self, of: (PipelineId, &str)) -> bool {
        let mut all = self.0.lock();
        let before = all.len();
        all.retain(|held| !held.is_of(of));
        all.len() < before
    }

    /// Gives back all of a pipeline.
    pub(crate) fn forget(&self, pipeline: PipelineId) {
        self.0.lock().retain(|held| held.pipeline != pipeline);
    }
}
