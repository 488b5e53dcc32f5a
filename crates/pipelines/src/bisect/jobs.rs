//! The job that tests a commit: the command of the bisect, in a scratch worktree at that commit.

use std::collections::BTreeMap;

use branchyard_model::CommitId;
use branchyard_workflow::{
    ExprValue, JobExtras, Planned, PlannedJob, PlannedStep, PlannedStrategy, StepAction,
};

use super::{BisectPlan, NAME};

/// What is shown of a command as the name of its step.
const MAX_NAME: usize = 80;

/// The id of the job of a commit.
pub(super) fn job_id(commit: &CommitId) -> String {
    commit.to_string()
}

/// The job of a commit with this subject.
pub(super) fn job(plan: &BisectPlan, commit: &CommitId, subject: &str) -> PlannedJob {
    let short: String = commit.as_str().chars().take(10).collect();
    let minutes = plan.timeout.as_secs_f64() / 60.0;
    let name: String = plan.argv.join(" ").chars().take(MAX_NAME).collect();
    PlannedJob {
        id: job_id(commit),
        job: NAME.to_owned(),
        name: Planned::Value(format!("{short} {subject}")),
        needs: Vec::new(),
        condition: None,
        skipped: None,
        is_deferred: false,
        runs_on: Planned::Value(Vec::new()),
        strategy: PlannedStrategy {
            fail_fast: false,
            max_parallel: None,
            index: 0,
            total: 1,
            matrix: ExprValue::Null,
        },
        env: BTreeMap::new(),
        // The command is ended before: a large checkout counts here too.
        timeout_minutes: Planned::Value(minutes + 60.0),
        continue_on_error: Planned::Value(true),
        outputs: BTreeMap::new(),
        concurrency: None,
        steps: vec![PlannedStep {
            number: 1,
            id: None,
            name: Planned::Value(name),
            within: None,
            line: 0,
            condition: None,
            action: StepAction::Run {
                // What is executed is `argv` of the bisect.
                script: Planned::Value(String::new()),
                shell: Vec::new(),
                background: false,
            },
            with: BTreeMap::new(),
            env: BTreeMap::new(),
            working_directory: None,
            timeout_minutes: Some(Planned::Value(minutes)),
            continue_on_error: Planned::Value(false),
            outside: Vec::new(),
        }],
        secrets: Vec::new(),
        mentions_commit: true,
        extras: JobExtras {
            // A command that is asked for is run: an answer would hide a test that is not stable.
            reuse: Some("off".to_owned()),
            ..JobExtras::default()
        },
    }
}
