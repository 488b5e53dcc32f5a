//! What the expressions of a job and its steps are evaluated with.

use std::collections::BTreeMap;
use std::path::Path;

use crate::disk::StepProgress;
use crate::event_file;
use branchyard_model::{JobState, StepState};
use branchyard_workflow::{
    ALL_VARIABLES, EvalContext, ExprFault, ExprObject, ExprValue, JobStatus, Planned, PlannedJob,
    WorkflowPlan, render, render_variables,
};

/// How many characters of a name or a reason are shown.
const MAX_SHOWN: usize = 500;

/// Contexts by name, and how the job stands. Unlike what expressions are evaluated with, it can be kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contexts {
    values: BTreeMap<String, ExprValue>,
    status: Option<JobStatus>,
}

impl Contexts {
    pub(crate) fn with(mut self, name: &str, value: ExprValue) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn with_status(mut self, status: JobStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// The same in a composite action, which has inputs of its own and no secrets.
    pub(crate) fn of_action(self, inputs: &BTreeMap<String, String>, path: &Path) -> Self {
        let path = ExprValue::text(path.to_string_lossy());
        let inputs = inputs.iter();
        let inputs = inputs.map(|(name, value)| (name.as_str(), ExprValue::text(value.as_str())));
        self.with_github("action_path", path)
            .with("inputs", ExprValue::object(inputs))
            .with("secrets", ExprValue::object::<String>([]))
    }

    /// The same in one step, which `github.action` names.
    pub(crate) fn in_step(self, action: &str) -> Self {
        self.with_github("action", ExprValue::text(action))
    }

    fn with_github(self, property: &str, value: ExprValue) -> Self {
        let mut github = match self.values.get("github") {
            Some(ExprValue::Object(github)) => ExprObject::clone(github),
            _ => ExprObject::default(),
        };
        github.replace(property, value);
        self.with("github", ExprValue::Object(github.into()))
    }

    pub(crate) fn eval<'a>(&self) -> EvalContext<'a> {
        let values = self.values.iter();
        let context = values.fold(EvalContext::new(), |context, (name, value)| {
            context.with(name, value.clone())
        });
        match self.status {
            Some(status) => context.with_status(status),
            None => context,
        }
    }
}

/// What is known of a job when it runs, beyond its plan.
pub(crate) struct JobFacts<'a> {
    pub(crate) attempt: u32,
    /// Where its steps find the worktree, and their temporary files.
    pub(crate) directory: &'a Path,
    pub(crate) tmp: &'a Path,
    pub(crate) needs: ExprValue,
    pub(crate) secrets: &'a BTreeMap<String, String>,
}

/// What of a job that has ended others see.
#[derive(Debug, Clone)]
pub(crate) struct NeededJob {
    /// As the file calls it: several rows of a matrix have the same.
    pub(crate) key: String,
    pub(crate) state: JobState,
    pub(crate) continue_on_error: bool,
    pub(crate) outputs: BTreeMap<String, String>,
}

/// The contexts that all jobs share.
pub(crate) fn of_plan(plan: &WorkflowPlan) -> Contexts {
    Contexts {
        values: plan.contexts.clone(),
        status: None,
    }
}

/// What `github.event` is, as JSON; none of a bisect, which has no event.
pub(crate) fn event(plan: &WorkflowPlan) -> Result<Option<String>, ExprFault> {
    let has_event = plan.contexts.contains_key("github");
    let event = has_event.then(|| render("${{ toJSON(github.event) }}", &of_plan(plan).eval()));
    event.transpose()
}

/// The context `needs`: rows of one matrix are one job, whose outputs the last of them sets.
pub(crate) fn needs(jobs: &[NeededJob]) -> ExprValue {
    let mut merged: Vec<(&str, &'static str, BTreeMap<&str, &str>)> = Vec::new();
    for job in jobs {
        let found = merged.iter().position(|(key, ..)| *key == job.key);
        let at = found.unwrap_or_else(|| {
            merged.push((&job.key, "success", BTreeMap::new()));
            merged.len() - 1
        });
        let (_, result, outputs) = &mut merged[at];
        *result = worse(result, result_of(job));
        let filled = job.outputs.iter().filter(|(_, value)| !value.is_empty());
        outputs.extend(filled.map(|(name, value)| (name.as_str(), value.as_str())));
        for name in job.outputs.keys() {
            outputs.entry(name).or_default();
        }
    }
    let jobs = merged.into_iter().map(|(key, result, outputs)| {
        let outputs = outputs
            .into_iter()
            .map(|(name, value)| (name, ExprValue::text(value)));
        let job = ExprValue::object([
            ("result", ExprValue::text(result)),
            ("outputs", ExprValue::object(outputs)),
        ]);
        (key.to_owned(), job)
    });
    ExprValue::object(jobs.collect::<Vec<_>>())
}

fn result_of(job: &NeededJob) -> &'static str {
    match job.state {
        state if state.is_success() => "success",
        JobState::Skipped => "skipped",
        JobState::Cancelled => "cancelled",
        _ if job.continue_on_error => "success",
        _ => "failure",
    }
}

fn worse(one: &'static str, other: &'static str) -> &'static str {
    let order = ["failure", "cancelled", "skipped", "success"];
    let mut worst = order.into_iter();
    worst
        .find(|result| *result == one || *result == other)
        .unwrap_or("success")
}

/// How the jobs that another one needs have ended, all together: for `success()` and its kin.
pub(crate) fn status_of(jobs: &[NeededJob]) -> JobStatus {
    let has = |result: &str| jobs.iter().any(|job| result_of(job) == result);
    if has("failure") {
        JobStatus::Failure
    } else if has("cancelled") {
        JobStatus::Cancelled
    } else if has("skipped") {
        JobStatus::Skipped
    } else {
        JobStatus::Success
    }
}

/// The contexts of a job while it runs, but for `env`, `steps` and `job`.
pub(crate) fn of_job(plan: &WorkflowPlan, job: &PlannedJob, facts: &JobFacts<'_>) -> Contexts {
    let shared = of_plan(plan);
    let mut github = match plan.contexts.get("github") {
        Some(ExprValue::Object(github)) => ExprObject::clone(github),
        _ => ExprObject::default(),
    };
    let directory = facts.directory.to_string_lossy();
    github.replace("job", ExprValue::text(job.job.as_str()));
    github.replace("workspace", ExprValue::text(&*directory));
    let event = event_file::path(facts.tmp);
    github.replace("event_path", ExprValue::text(event.to_string_lossy()));
    github.replace("run_attempt", ExprValue::text(facts.attempt.to_string()));
    let secrets = facts.secrets.iter();
    let secrets = secrets.map(|(name, value)| (name.as_str(), ExprValue::text(value.as_str())));
    let tmp = ExprValue::text(&*facts.tmp.to_string_lossy());
    let above = above(facts.directory).to_string_lossy();
    shared
        .with("github", ExprValue::Object(github.into()))
        .with("needs", facts.needs.clone())
        .with("strategy", job.strategy.context())
        .with("matrix", job.strategy.matrix.clone())
        .with("secrets", ExprValue::object(secrets))
        .with(
            "runner",
            ExprValue::object([
                ("os", ExprValue::text("Linux")),
                ("arch", ExprValue::text(architecture())),
                ("name", ExprValue::text("branchyard")),
                ("environment", ExprValue::text("self-hosted")),
                ("workspace", ExprValue::text(&*above)),
                ("temp", tmp.clone()),
                ("tool_cache", tmp),
                ("debug", ExprValue::text("")),
            ]),
        )
}

/// The directory that the worktree is in, which is called its workspace.
pub(crate) fn above(worktree: &Path) -> &Path {
    worktree.parent().unwrap_or(worktree)
}

/// As GitHub calls it.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "X64",
        "aarch64" => "ARM64",
        "x86" => "X86",
        _ => "ARM",
    }
}

/// The same for a step, with the ids and results of those beside it.
pub(crate) fn of_step<'s>(
    job: &Contexts,
    env: &BTreeMap<String, String>,
    steps: impl Iterator<Item = (Option<&'s str>, &'s StepProgress)>,
    status: JobStatus,
) -> Contexts {
    let texts = env
        .iter()
        .map(|(name, value)| (name.as_str(), ExprValue::text(value.as_str())));
    let ended = steps.filter_map(|(id, step)| {
        let outcome = outcome(step.record.state)?;
        let conclusion = match step.record.continue_on_error {
            true if outcome == "failure" => "success",
            _ => outcome,
        };
        let outputs = step.outputs.iter();
        let outputs = outputs.map(|(name, value)| (name.as_str(), ExprValue::text(value.as_str())));
        let step = ExprValue::object([
            ("outputs", ExprValue::object(outputs)),
            ("outcome", ExprValue::text(outcome)),
            ("conclusion", ExprValue::text(conclusion)),
        ]);
        Some((id?, step))
    });
    let word = match status {
        JobStatus::Success | JobStatus::Skipped => "success",
        JobStatus::Failure => "failure",
        JobStatus::Cancelled => "cancelled",
    };
    job.clone()
        .with("env", ExprValue::object(texts))
        .with("steps", ExprValue::object(ended.collect::<Vec<_>>()))
        .with(
            "job",
            ExprValue::object([("status", ExprValue::text(word))]),
        )
        .with_status(status)
}

/// As `steps.<id>.outcome` says it; none of a step that has not ended.
fn outcome(state: StepState) -> Option<&'static str> {
    match state {
        StepState::Pending | StepState::Running => None,
        StepState::Succeeded => Some("success"),
        StepState::Skipped => Some("skipped"),
        StepState::Cancelled => Some("cancelled"),
        StepState::Failed | StepState::TimedOut | StepState::Lost | StepState::Rejected => {
            Some("failure")
        }
    }
}

pub(crate) fn text(
    planned: &Planned<String>,
    context: &EvalContext<'_>,
) -> Result<String, ExprFault> {
    match planned {
        Planned::Value(value) => Ok(value.clone()),
        Planned::Template(text) => render(text, context),
    }
}

/// Adds variables to `env`, each of which sees those before it alone.
pub(crate) fn extend_env(
    env: &mut BTreeMap<String, String>,
    planned: &BTreeMap<String, Planned<String>>,
    context: &EvalContext<'_>,
) -> Result<(), ExprFault> {
    let mut added = Vec::new();
    for (name, value) in planned {
        match (name.as_str(), value) {
            (ALL_VARIABLES, Planned::Template(text)) => {
                added.extend(render_variables(text, context)?);
            }
            _ => added.push((name.clone(), text(value, context)?)),
        }
    }
    env.extend(added);
    Ok(())
}

/// A text of a workflow as it is shown, to terminals too. Each change of a job tells it again.
pub(crate) fn shown(text: &str) -> String {
    let mut text = text.replace(char::is_control, " ");
    if let Some((at, _)) = text.char_indices().nth(MAX_SHOWN) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// The name of a step as it is shown, after that of the step whose action it is a part of.
pub(crate) fn shown_within(around: Option<&str>, name: &str) -> String {
    match around {
        Some(around) => shown(&format!("{around}: {name}")),
        None => shown(name),
    }
}

pub(crate) fn flag(planned: &Planned<bool>, context: &EvalContext<'_>) -> Result<bool, ExprFault> {
    match planned {
        Planned::Value(value) => Ok(*value),
        Planned::Template(text) => Ok(render(text, context)? == "true"),
    }
}

/// A number of minutes, in seconds.
pub(crate) fn seconds(planned: &Planned<f64>, context: &EvalContext<'_>) -> Result<f64, ExprFault> {
    let minutes = match planned {
        Planned::Value(minutes) => *minutes,
        Planned::Template(text) => {
            let written = render(text, context)?;
            let number = written.trim().parse::<f64>().ok();
            let number = number.filter(|minutes| minutes.is_finite() && *minutes > 0.0);
            number.ok_or_else(|| ExprFault {
                span: 0..text.len(),
                message: format!("timeout-minutes is `{written}`, which is no number above zero"),
            })?
        }
    };
    Ok(minutes * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(key: &str, state: JobState, output: &str) -> NeededJob {
        NeededJob {
            key: key.to_owned(),
            state,
            continue_on_error: false,
            outputs: BTreeMap::from([("o".to_owned(), output.to_owned())]),
        }
    }

    #[test]
    fn rows_of_a_matrix_are_one_job() {
        let jobs = [
            job("a", JobState::Succeeded, "1"),
            job("a", JobState::Reused, ""),
            job("b", JobState::Skipped, ""),
            job("b", JobState::TimedOut, "x"),
        ];
        let found = serde_json::to_string(&needs(&jobs)).unwrap();
        assert_eq!(
            found,
            r#"{"a":{"result":"success","outputs":{"o":"1"}},"b":{"result":"failure","outputs":{"o":"x"}}}"#
        );
    }

    #[test]
    fn one_expression_makes_variables_of_a_step() {
        let context =
            EvalContext::new().with("env", ExprValue::object([("A", ExprValue::text("1"))]));
        let made = |template: &str| {
            let template = Planned::Template(template.to_owned());
            let mut env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
            extend_env(
                &mut env,
                &BTreeMap::from([(ALL_VARIABLES.to_owned(), template)]),
                &context,
            )
            .map(|()| env)
        };
        let env = made(r#"${{ fromJSON(format('{{"B":"{0}2"}}', env.A)) }}"#).unwrap();
        let expected =
            [("A", "1"), ("B", "12")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(env, BTreeMap::from(expected));
        assert!(
            made("${{ env.A }}")
                .unwrap_err()
                .message
                .contains("makes a text")
        );
    }

    #[test]
    fn the_worst_end_decides() {
        let of = |states: &[JobState]| {
            let jobs: Vec<_> = states.iter().map(|state| job("a", *state, "")).collect();
            status_of(&jobs)
        };
        use JobState::{Cancelled, Failed, Lost, Reused, Skipped, Succeeded};
        assert_eq!(of(&[]), JobStatus::Success);
        assert_eq!(of(&[Succeeded, Reused]), JobStatus::Success);
        assert_eq!(of(&[Succeeded, Skipped]), JobStatus::Skipped);
        assert_eq!(of(&[Skipped, Cancelled]), JobStatus::Cancelled);
        assert_eq!(of(&[Cancelled, Failed]), JobStatus::Failure);
        assert_eq!(of(&[Lost]), JobStatus::Failure);
        let mut tolerated = job("a", Failed, "");
        tolerated.continue_on_error = true;
        assert_eq!(status_of(&[tolerated]), JobStatus::Success);
    }
}
