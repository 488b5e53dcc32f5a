//! Questions about runs whose answers are on disk, asked where blocking is allowed.

use super::App;
use crate::diagnostics::Diagnostics;
use crate::model::{ErrorKind, Problem, RunId, RunRecord};
use crate::runs::Runs;
use crate::store::Filter;

impl App {
    /// Runs by `filter`, newest first, at most `limit`; and whether there are more.
    pub async fn runs_by(
        &self,
        filter: Filter,
        limit: usize,
    ) -> Result<(Vec<RunRecord>, bool), Problem> {
        self.ask_runs(move |runs| runs.list(&filter, limit)).await
    }

    /// Errors and warnings in the output of an ended run.
    pub async fn diagnostics(&self, run: RunId) -> Result<Diagnostics, Problem> {
        self.ask_runs(move |runs| runs.diagnostics(run)).await
    }

    async fn ask_runs<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Runs) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let runs = self.runs.clone();
        tokio::task::spawn_blocking(move || ask(&runs))
            .await
            .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
    }
}
