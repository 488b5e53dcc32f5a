//! Waiting for a pipeline's end, no longer than a client waits for its answer, with progress on the way.

use std::convert::Infallible;

use tokio::time::Instant;

use super::call::Call;
use super::progress::AT_LEAST_EVERY;
use super::reply::cut;
use super::waiting::{Leaving, NOT_OFTENER_THAN, OnCancel, Wait};
use crate::app::pipelines;
use branchyard_model::{JobState, PipelineId, PipelineRecord, Problem, StepState};
use branchyard_pipelines::LivePipeline;

/// What is shown of the name of a job or a step.
const NAME: usize = 100;

/// Waits until the pipeline has ended, a job of it has failed where `fail_fast`, `wait` is over since `since`, or the
/// client wants no answer any more. The pipeline as it is then.
pub(super) async fn until_settled(
    call: &Call,
    id: PipelineId,
    (since, wait): (Instant, Wait),
    (fail_fast, on_cancel): (bool, OnCancel),
) -> Result<PipelineRecord, Problem> {
    if let Some(live) = pipelines::live(call.app(), id)? {
        let mut leaving = Leaving::new(on_cancel, || pipelines::cancel(call.app(), id).map(drop));
        tokio::select! {
            () = live.settled(fail_fast) => leaving.stay(),
            () = tokio::time::sleep_until(wait.end(since)) => leaving.stay(),
            () = call.cancelled().cancelled() => {}
            never = tell(call, &live) => match never {},
        }
    }
    pipelines::get(call.app(), id)
}

/// Tells progress for as long as it is polled.
async fn tell(call: &Call, live: &LivePipeline) -> Infallible {
    if !call.progress().is_wanted() {
        return std::future::pending().await;
    }
    let (began, mut changes) = (Instant::now(), live.watch());
    loop {
        let words = words(&changes.borrow_and_update());
        let seconds = began.elapsed().as_secs();
        call.progress().tell(format!("{seconds} s: {words}")).await;
        tokio::time::sleep(NOT_OFTENER_THAN).await;
        // Without news the same is told again: a client is promised a word.
        let _ = tokio::time::timeout(AT_LEAST_EVERY - NOT_OFTENER_THAN, changes.changed()).await;
    }
}

/// `2 of 5 jobs ended; test: make test`
fn words(record: &PipelineRecord) -> String {
    let ended = record.jobs.iter().filter(|job| job.state.is_ended());
    let mut text = format!("{} of {} jobs ended", ended.count(), record.jobs.len());
    let mut running = record.jobs.iter();
    if let Some(job) = running.find(|job| job.state == JobState::Running) {
        let mut steps = job.steps.iter();
        let step = steps.find(|step| step.state == StepState::Running);
        let step = step.map_or("running", |step| &step.name);
        text.push_str(&format!("; {}: {}", cut(&job.name, NAME), cut(step, NAME)));
    }
    text
}
