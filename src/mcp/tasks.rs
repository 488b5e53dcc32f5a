//! Runs as tasks of the protocol's extension, for clients that declare it: a call that starts a run answers with a
//! task where the run takes longer than a moment, and the client looks in by `tasks/get`. A task is its run under another
//! name, so it outlives the session and the daemon.

use std::time::Duration;

use jiff::Timestamp;
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use super::call::Call;
use super::outcome::{self, Wanted};
use super::reply;
use crate::app::runs;
use branchyard_model::{EndState, Problem, RunId, RunRecord, RunState, Scope};

/// What ends within this is answered at once.
pub(super) const MOMENT: Duration = Duration::from_secs(2);
/// How often a client is to look in.
const POLL: Duration = Duration::from_secs(2);

/// The task that a run, which has not ended, is to its client.
pub(super) fn begun(call: &Call, run: RunId) -> Result<CreateTaskResult, Problem> {
    Ok(CreateTaskResult::new(task(&runs::get(call.app(), run)?)))
}

/// How a task stands; with its result, once there is one.
pub(super) async fn get(call: &Call, id: &str) -> Result<GetTaskResult, Problem> {
    call.app().require(Scope::RepoRead)?;
    let record = runs::get(call.app(), run_of(id)?)?;
    let payload = match record.state {
        RunState::Queued | RunState::Preparing | RunState::Running => TaskPayload::Working,
        RunState::Ended(EndState::Cancelled) => TaskPayload::Cancelled,
        RunState::Ended(_) => {
            let reply = outcome::of(call, &record, Wanted::Since(0))
                .await?
                .bounded()?;
            let Ok(Value::Object(result)) = serde_json::to_value(reply.into_result()) else {
                return Err(reply::unwritable("it is no object"));
            };
            TaskPayload::Completed { result }
        }
    };
    let task = DetailedTask::new(task(&record), payload);
    Ok(GetTaskResult::new(task))
}

/// The run that is behind a task.
pub(super) fn run_of(id: &str) -> Result<RunId, Problem> {
    RunId::parse(id).map_err(|_| Problem::unprocessable("taskId", "there is no such task"))
}

fn task(record: &RunRecord) -> Task {
    let updated = record.ended_at.unwrap_or_else(Timestamp::now);
    let state = record.state.as_str();
    let poll = u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX);
    Task::new(
        record.run_id.to_string(),
        TaskStatus::Working,
        record.created_at.to_string(),
        updated.to_string(),
    )
    .with_status_message(format!("{}: {state}", outcome::command(record)))
    .with_poll_interval_ms(poll)
}
