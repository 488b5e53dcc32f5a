//! The words of the yard, as types that cannot be wrong: names parsed once at the edge, runs and
//! their events, and the problems that a caller can be told about. No I/O happens here.

mod about;
mod agent;
mod arguments;
mod author;
mod bisect;
mod diagnostic;
mod digest;
mod event;
mod forge;
mod group;
mod id;
mod moment;
mod named_ref;
mod names;
mod pattern;
mod pipeline;
mod pipeline_check;
mod problem;
mod readiness;
mod run;
mod salvage;
mod sandbox;
mod schema;
mod scope;
mod slug;
mod test;
mod test_history;
mod warning;

pub use about::{About, Warm};
pub use agent::{AgentTask, is_agent_branch};
pub use arguments::arguments;
pub use author::Author;
pub use bisect::{BisectAnswer, BisectCommit, BisectRecord, BisectTest, BisectVerdict, GoodParent};
pub use diagnostic::{Diagnostic, DiagnosticsSummary, Severity};
pub use digest::{sha256, sha256_of};
pub use event::{Complete, Event, Gap, Holder, Phase, Status};
pub use forge::ForgeKind;
pub use group::{GroupRecord, GroupState, Member, MemberEnded, MemberStarted, Summary};
pub use id::{CommitId, DeliveryId, GroupId, PipelineId, RunId, SalvageId};
pub use moment::moment;
pub use named_ref::NamedRef;
pub use names::{BranchName, DirName, RepoName, TagName};
pub use pattern::{Globs, Stars, check_bounds as check_glob, regex};
pub use pipeline::{
    AnsweredBy, JobRecord, JobState, PipelineRecord, PipelineSource, PipelineState, ReusableJob,
    StepRecord, StepState,
};
pub use pipeline_check::{CheckedJob, JobForecast, PipelineCheck, WorkflowProblem};
pub use problem::{ErrorKind, Problem};
pub use readiness::Readiness;
pub use run::{
    EndState, Idempotency, OnDisconnect, Reusable, RunEnd, RunKind, RunRecord, RunSpec, RunState,
    StepOf, SyncMode,
};
pub use salvage::{FileChange, Salvage, SalvageReason, SalvagedFile};
pub use sandbox::SandboxProfile;
pub use scope::{Scope, Scopes};
pub use slug::slug;
pub use test::{TestCase, TestCounts, TestReport, TestSpec, TestState, TestVerdict};
pub use test_history::{TestHistory, TestedAt, TestedBy};
pub use warning::Warning;
