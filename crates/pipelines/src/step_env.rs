//! The variables by which a step's command knows where it runs and what for.

use std::collections::BTreeMap;
use std::path::Path;

use crate::context::{above, architecture};
use crate::{env_files, event_file};
use branchyard_workflow::{ExprValue, WorkflowPlan};

/// Properties of the context `github`, and the variables that have them too.
const FROM_GITHUB: [(&str, &str); 17] = [
    ("repository", "GITHUB_REPOSITORY"),
    ("repository_owner", "GITHUB_REPOSITORY_OWNER"),
    ("ref", "GITHUB_REF"),
    ("ref_name", "GITHUB_REF_NAME"),
    ("ref_type", "GITHUB_REF_TYPE"),
    ("sha", "GITHUB_SHA"),
    ("event_name", "GITHUB_EVENT_NAME"),
    ("actor", "GITHUB_ACTOR"),
    ("triggering_actor", "GITHUB_TRIGGERING_ACTOR"),
    ("run_id", "GITHUB_RUN_ID"),
    ("run_number", "GITHUB_RUN_NUMBER"),
    ("base_ref", "GITHUB_BASE_REF"),
    ("head_ref", "GITHUB_HEAD_REF"),
    ("workflow", "GITHUB_WORKFLOW"),
    ("workflow_ref", "GITHUB_WORKFLOW_REF"),
    ("ref_protected", "GITHUB_REF_PROTECTED"),
    ("retention_days", "GITHUB_RETENTION_DAYS"),
];

/// The place of a step, for its variables.
pub(crate) struct StepVariables<'a> {
    pub(crate) plan: &'a WorkflowPlan,
    pub(crate) job: &'a str,
    pub(crate) attempt: u32,
    pub(crate) step: usize,
    pub(crate) id: Option<&'a str>,
    /// The directory of the action that it is a part of.
    pub(crate) action_path: Option<&'a Path>,
    /// Where it finds its worktree, its temporary files, and the files for the steps after it.
    pub(crate) directory: &'a Path,
    pub(crate) tmp: &'a Path,
    pub(crate) files: &'a Path,
}

/// What a step is called as an action: its id, or a name that no id is.
pub(crate) fn action_name(id: Option<&str>, number: usize) -> String {
    id.map_or_else(|| format!("__run_{number}"), str::to_owned)
}

impl StepVariables<'_> {
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        let mut env = BTreeMap::new();
        let mut set = |name: &str, value: String| {
            env.insert(name.to_owned(), value);
        };
        if let Some(ExprValue::Object(github)) = self.plan.contexts.get("github") {
            for (property, variable) in FROM_GITHUB {
                match github.get(property) {
                    Some(ExprValue::Text(value)) => set(variable, value.clone()),
                    Some(ExprValue::Bool(value)) => set(variable, value.to_string()),
                    _ => {}
                }
            }
        }
        let path = |path: &Path| path.to_string_lossy().into_owned();
        for variable in env_files::ALL {
            let file = self.files.join(env_files::file_name(variable, self.step));
            set(variable, path(&file));
        }
        if let Some(action) = self.action_path {
            set("GITHUB_ACTION_PATH", path(action));
        }
        set("GITHUB_ACTIONS", "true".to_owned());
        set("GITHUB_ACTION", action_name(self.id, self.step));
        set("GITHUB_EVENT_PATH", path(&event_file::path(self.tmp)));
        set("GITHUB_JOB", self.job.to_owned());
        set("GITHUB_RUN_ATTEMPT", self.attempt.to_string());
        set("GITHUB_WORKSPACE", path(self.directory));
        set("RUNNER_OS", "Linux".to_owned());
        set("RUNNER_ARCH", architecture().to_owned());
        set("RUNNER_NAME", "branchyard".to_owned());
        set("RUNNER_ENVIRONMENT", "self-hosted".to_owned());
        set("RUNNER_WORKSPACE", path(above(self.directory)));
        set("RUNNER_TEMP", path(self.tmp));
        set("RUNNER_TOOL_CACHE", path(self.tmp));
        env
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{JobFacts, of_job};
    use branchyard_workflow::{
        EventKind, PlanFacts, WorkflowEvent, WorkflowOptions, check, render,
    };

    #[test]
    fn what_a_step_knows_is_the_same_in_variables_and_in_contexts() {
        let text = "on: push\njobs: {a: {runs-on: linux, steps: [{id: s, run: x}]}}\n";
        let file = ".branchyard/workflows/ci.yml";
        let workflow = check(file, text, &WorkflowOptions::default(), &BTreeMap::new()).unwrap();
        let facts = PlanFacts {
            repository: "app".to_owned(),
            is_ref_protected: true,
            retention_days: 30,
            ..PlanFacts::default()
        };
        let event = WorkflowEvent::new(EventKind::Push, "refs/heads/main");
        let plan = workflow.plan(&event, &facts).unwrap().unwrap();
        let (directory, tmp) = (Path::new("/yard/app"), Path::new("/tmp"));
        let env = StepVariables {
            plan: &plan,
            job: "a",
            attempt: 1,
            step: 1,
            action_path: None,
            id: Some("s"),
            directory,
            tmp,
            files: Path::new("/files"),
        }
        .all();
        let facts = JobFacts {
            attempt: 1,
            directory,
            tmp,
            needs: ExprValue::Null,
            secrets: &BTreeMap::new(),
        };
        let context = of_job(&plan, &plan.jobs[0], &facts);
        let context = context.in_step(&action_name(Some("s"), 1)).eval();
        for (variable, property, value) in [
            ("GITHUB_ACTION", "github.action", "s"),
            (
                "GITHUB_EVENT_PATH",
                "github.event_path",
                "/tmp/_github_event.json",
            ),
            ("GITHUB_REF_PROTECTED", "github.ref_protected", "true"),
            ("GITHUB_RETENTION_DAYS", "github.retention_days", "30"),
            (
                "GITHUB_WORKFLOW_REF",
                "github.workflow_ref",
                "app/.branchyard/workflows/ci.yml@refs/heads/main",
            ),
            ("RUNNER_ENVIRONMENT", "runner.environment", "self-hosted"),
            ("RUNNER_WORKSPACE", "runner.workspace", "/yard"),
        ] {
            assert_eq!(env[variable], value);
            assert_eq!(
                render(&format!("${{{{ {property} }}}}"), &context).unwrap(),
                value
            );
        }
    }
}
