//! A run: one command in one workspace, from its request to its end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    About, Author, BranchName, CommitId, DiagnosticsSummary, GroupId, PipelineId, Problem,
    Readiness, RepoName, RunId, SandboxProfile, TestCounts, TestSpec, Warm, Warning,
};

/// What is executed: `make`, a git verb, a task that the operator declared, a command of the caller's own, one of the
/// set-up that another run needs, or a step of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    Make,
    Git,
    Task,
    Exec,
    Setup,
    Step,
}

/// How the workspace is brought up to date before the command starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "sync", content = "commit")]
pub enum SyncMode {
    /// Follow the remote unless that would touch somebody's work.
    #[default]
    Auto,
    /// Touch nothing, not even the network.
    None,
    /// As `auto`, but exactly to this commit of the remote branch.
    Commit(CommitId),
    /// To the remote's head, whatever is there; work is saved first.
    Reset,
}

/// What it means when the one who asked goes away and nobody else watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    #[default]
    Cancel,
    Continue,
}

/// Everything that decides what a run does. Checked before it is made; never changed after.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunSpec {
    pub kind: RunKind,
    pub repo: RepoName,
    pub branch: BranchName,
    /// The task's name, of a run that is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The program and its arguments, exactly as they are executed; but for a script of the caller's, whose place is told
    /// by the word `script`.
    pub argv: Vec<String>,
    /// The SHA-256 of that script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_sha256: Option<String>,
    /// What was asked for, where `argv` names a number of jobs that the caller did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_argv: Option<Vec<String>>,
    /// What the caller adds to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(rename = "timeout_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
    /// Whether it goes on beside other runs of its workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// When it is ready to be used, of one in the background; as soon as it runs, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Readiness>,
    /// Of a run that tests: its tests are told when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestSpec>,
    #[serde(flatten)]
    pub sync: SyncMode,
    /// Whether untracked and ignored files go first, for a pristine build.
    #[serde(default)]
    pub clean: bool,
    /// Whether what was built in other workspaces is to have no part in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// Whether it goes without the set-up of its repo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_setup: bool,
    /// Whether to go on with what is there when the remote cannot be asked.
    pub stale: bool,
    /// Whether an earlier run may answer for this one, and this one for a later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reuse: bool,
    pub on_disconnect: OnDisconnect,
    /// Who asked.
    pub principal: String,
    /// Who the commits are by that it makes, if that is not the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// The runs that it was started with, where it was not started alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// Of a step: where it belongs. It runs in a scratch worktree, not in the workspace of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepOf>,
}

/// The place of a step in its pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepOf {
    pub pipeline: PipelineId,
    pub job: String,
    pub attempt: u32,
    /// From 1.
    pub number: usize,
    /// The scratch worktree, as the command sees it.
    pub directory: PathBuf,
}

impl RunSpec {
    /// The command as it was asked for: two runs that were asked for alike are alike, however many share
    /// the cores when each of them starts.
    pub fn asked_argv(&self) -> &[String] {
        self.asked_argv.as_deref().unwrap_or(&self.argv)
    }
}

/// What makes a repeated request the same request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idempotency {
    /// The caller's `Idempotency-Key`.
    pub key: String,
    /// A digest of what was asked for under it.
    pub request: String,
}

/// What a run saw, as digests: another that would see the same need not be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reusable {
    /// Tree, command, environment, sandbox and tools.
    pub inputs: String,
    /// What lay beside the tracked files when it started.
    pub before: String,
    /// What lies there since it succeeded; none before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Reusable {
    /// Whether it can answer where this lies beside the tracked files: what it began with, or what it left.
    pub fn fits(&self, beside: &str) -> bool {
        self.after.is_some() && (self.before == beside || self.after.as_deref() == Some(beside))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndState {
    Succeeded,
    Failed,
    Signalled,
    TimedOut,
    Cancelled,
    #[default]
    Lost,
    Rejected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Preparing,
    Running,
    #[serde(untagged)]
    Ended(EndState),
}

/// A run as everyone sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    pub run_id: RunId,
    #[serde(flatten)]
    pub spec: RunSpec,
    pub state: RunState,
    pub created_at: Timestamp,
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// Since when one in the background can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Timestamp>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    #[serde(default)]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub signal: Option<i32>,
    /// From the request to the end, waiting and preparing included.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Processor time that its command took: known once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// What the run was about: known once the workspace is ready.
    #[serde(default)]
    pub about: Option<About>,
    /// What its workspace was made from, if this run had it made and it was made from a sibling's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// The set-up that was run for it; the last one, where that has several commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<RunId>,
    /// Whether something that was built earlier was there when its command started, so that it may have had less to do
    /// than in a new workspace: known once it runs. Not of git commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<bool>,
    /// Whether the branch was moved while the command ran, as by a commit: the command may have seen either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head_moved: bool,
    /// Files that were changed through the yard while the command ran, which may have seen either content: the first
    /// of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited_meanwhile: Vec<String>,
    /// Of a command of the caller's own: files that were written while it ran, but for those that git ignores: the first of
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_written: Vec<String>,
    /// What its command was kept from: known once it runs. A git command runs outside of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxProfile>,
    /// Why it was refused or failed to start.
    #[serde(default)]
    pub error: Option<Problem>,
    /// Why it ended as it did, in words, where the state does not say all.
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub diagnostics: Option<DiagnosticsSummary>,
    /// How many tests there were, of a run that tests and has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The tree that they were run on, if nothing else was there but build output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_tree: Option<CommitId>,
    /// The names of its artifacts, once it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What the caller should know, though the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The earlier run that answered for this one, whose command was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<RunId>,
    /// When this run may answer for a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub reusable: Option<Reusable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub idempotency: Option<Idempotency>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    pub state: EndState,
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub commit: Option<CommitId>,
    #[serde(default)]
    pub duration_ms: u64,
    /// Whether something that was built earlier was there when its command started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<bool>,
    /// In words, where the state does not say all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Errors and warnings in the output; left out where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<DiagnosticsSummary>,
    /// How many tests there were, of a run that tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
}

impl RunEnd {
    /// That of a run which has ended in this state.
    pub fn of(run: &RunRecord, state: EndState) -> Self {
        Self {
            state,
            exit_code: run.exit_code,
            signal: run.signal,
            commit: run.about.as_ref().map(|about| about.commit.clone()),
            duration_ms: run.duration_ms.unwrap_or(0),
            incremental: run.incremental,
            reason: run.reason.clone(),
            diagnostics: run.diagnostics.clone(),
            tests: run.tests,
        }
    }
}

impl RunState {
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Ended(end) => end.as_str(),
        }
    }
}

impl EndState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Signalled => "signalled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Rejected => "rejected",
        }
    }
}

impl RunKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Git => "git",
            Self::Task => "task",
            Self::Exec => "exec",
            Self::Setup => "setup",
            Self::Step => "step",
        }
    }
}

impl RunRecord {
    pub fn new(run_id: RunId, spec: RunSpec) -> Self {
        Self {
            run_id,
            spec,
            state: RunState::Queued,
            created_at: Timestamp::now(),
            started_at: None,
            ready_at: None,
            ended_at: None,
            exit_code: None,
            signal: None,
            duration_ms: None,
            cpu_ms: None,
            about: None,
            warm: None,
            setup: None,
            incremental: None,
            head_moved: false,
            edited_meanwhile: Vec::new(),
            files_written: Vec::new(),
            sandbox: None,
            error: None,
            reason: None,
            diagnostics: None,
            tests: None,
            tested_tree: None,
            artifacts: Vec::new(),
            warnings: Vec::new(),
            cached: None,
            reusable: None,
            idempotency: None,
        }
    }

    /// The record as others may see it: what a caller put into the environment may be a secret.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.hide_env();
        self.idempotency = None;
        self.reusable = None;
        self
    }

    /// Forgets what the caller put into the environment: only a run that may still start needs it.
    pub fn hide_env(&mut self) {
        for value in self.spec.env.values_mut() {
            "(hidden)".clone_into(value);
        }
    }
}

mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_single_words_on_the_wire() {
        for (state, word) in [
            (RunState::Queued, "\"queued\""),
            (RunState::Ended(EndState::TimedOut), "\"timed_out\""),
        ] {
            let json = serde_json::to_string(&state).expect("serialises");
            assert_eq!(json, word);
            let back: RunState = serde_json::from_str(&json).expect("parses");
            assert_eq!(back, state);
        }
    }
}
