//! What a viewer of a run is told besides its output. Output itself is bytes in the journal and
//! becomes `stdout` and `stderr` events only on the way out.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    About, EndState, GroupRecord, JobRecord, MemberEnded, MemberStarted, PipelineRecord, Problem,
    RunEnd, RunId, RunRecord, RunState, Summary, Warm, Warning,
};

/// A journalled event, as JSON with its `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Status(Status),
    Warning(Warning),
    /// Output is missing here.
    Gap(Gap),
    Complete(Complete),
    /// The run was refused before its command started.
    Error(Problem),
    /// The first event of a group's journal: which runs there are.
    Group(GroupRecord),
    /// A run of the group has started.
    Started(MemberStarted),
    /// A run of the group has ended.
    Ended(MemberEnded),
    /// The last event of a group's journal.
    Summary(Summary),
    /// The first event of a pipeline's journal: which jobs there are; and again when it has ended.
    Pipeline(Box<PipelineRecord>),
    /// A job of the pipeline is in another state, or one of its steps is.
    Job(JobRecord),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Clone,
    Fetch,
    Worktree,
    Warm,
    Checkout,
    Sync,
    Setup,
}

/// Where a run stands on its way to its command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// `queued`, `preparing`, and then `running` or `cached`.
    pub state: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How many are served first, counting the one under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// In the phase `setup`: the run that sets the workspace up for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// The earlier run that answers for this one: only with `cached`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<RunId>,
    /// What the workspace was made from, if from a sibling: only with the phase `warm`, once that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// What the command is about to see, or would see: only with `running` and `cached`.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

impl Event {
    /// The event that tells the end which is on record.
    pub fn of_end(record: &RunRecord) -> Self {
        let state = match (record.state, &record.error) {
            (_, Some(problem)) => return Self::Error(problem.clone()),
            (RunState::Ended(state), None) => state,
            // Not reached: callers ask for the end of runs that have ended.
            (_, None) => EndState::Lost,
        };
        Self::Complete(Complete {
            end: RunEnd::of(record, state),
            cached: record.cached,
            head_moved: record.head_moved,
            edited_meanwhile: record.edited_meanwhile.clone(),
            warm: record.warm.clone(),
        })
    }
}

impl Status {
    /// From now on.
    pub fn new(state: &str) -> Self {
        Self {
            state: state.to_owned(),
            at: Some(Timestamp::now()),
            ..Self::default()
        }
    }
}

/// Who has the lock of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Such as `make test`.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub who: String,
    pub since: Timestamp,
}

/// Output that was beyond the limit and was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// How many bytes are missing.
    pub bytes: u64,
}

/// The end of a run whose command was started, or that was cancelled before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Complete {
    #[serde(flatten)]
    pub end: RunEnd,
    /// The earlier run whose output and end this is; its command was not started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<RunId>,
    /// Whether the branch was moved while the command ran, as by a commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head_moved: bool,
    /// Files that were changed through the yard while the command ran: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited_meanwhile: Vec<String>,
    /// What its workspace was made from, if it was made for it from a sibling's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
}
