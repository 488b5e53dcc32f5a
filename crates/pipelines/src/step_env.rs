//! The variables by which a step's command knows where it runs and what for.

use std::collections::BTreeMap;
use std::path::Path;

use crate::context::architecture;
use crate::env_files;
use branchyard_workflow::{ExprValue, WorkflowPlan};

/// Properties of the context `github`, and the variables that have them too.
const FROM_GITHUB: [(&str, &str); 15] = [
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
    ("event_path", "GITHUB_EVENT_PATH"),
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

impl StepVariables<'_> {
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        let mut env = BTreeMap::new();
        let mut set = |name: &str, value: String| {
            env.insert(name.to_owned(), value);
        };
        if let Some(ExprValue::Object(github)) = self.plan.contexts.get("github") {
            for (property, variable) in FROM_GITHUB {
                if let Some(ExprValue::Text(value)) = github.get(property) {
                    set(variable, value.to_string());
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
        let number = self.step;
        let action = self
            .id
            .map_or_else(|| format!("__run_{number}"), str::to_owned);
        set("GITHUB_ACTIONS", "true".to_owned());
        set("GITHUB_ACTION", action);
        set("GITHUB_JOB", self.job.to_owned());
        set("GITHUB_RUN_ATTEMPT", self.attempt.to_string());
        set("GITHUB_WORKSPACE", path(self.directory));
        set("RUNNER_OS", "Linux".to_owned());
        set("RUNNER_ARCH", architecture().to_owned());
        set("RUNNER_NAME", "branchyard".to_owned());
        set("RUNNER_TEMP", path(self.tmp));
        set("RUNNER_TOOL_CACHE", path(self.tmp));
        env
    }
}
