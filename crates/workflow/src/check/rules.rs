//! Which contexts and functions may be used where, as GitHub has it.

/// What an expression at one kind of place may use.
#[derive(Debug)]
pub(crate) struct TextRule {
    pub contexts: &'static [&'static str],
    pub has_status: bool,
    pub has_files: bool,
}

const fn rule(contexts: &'static [&'static str]) -> TextRule {
    TextRule {
        contexts,
        has_status: false,
        has_files: false,
    }
}

/// `run-name` and `concurrency` of a file.
pub(super) const FILE: TextRule = rule(&["github", "inputs", "vars"]);
pub(super) const FILE_ENV: TextRule = rule(&["github", "inputs", "vars", "secrets"]);
pub(super) const STRATEGY: TextRule = rule(&["github", "inputs", "vars", "needs"]);
pub(super) const JOB: TextRule = rule(&["github", "inputs", "vars", "needs", "strategy", "matrix"]);
pub(super) const JOB_ENV: TextRule = rule(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets",
]);
pub(super) const DEFAULTS: TextRule = rule(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "env",
]);
pub(super) const JOB_IF: TextRule = TextRule {
    contexts: &["github", "inputs", "vars", "needs"],
    has_status: true,
    has_files: false,
};
pub(super) const OUTPUTS: TextRule = rule(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets", "steps", "job", "runner",
    "env",
]);
pub(super) const STEP_IF: TextRule = TextRule {
    contexts: &[
        "github", "inputs", "vars", "needs", "strategy", "matrix", "steps", "job", "runner", "env",
    ],
    has_status: true,
    has_files: true,
};
pub(super) const STEP: TextRule = TextRule {
    contexts: &[
        "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets", "steps", "job",
        "runner", "env",
    ],
    has_status: false,
    has_files: true,
};

/// What the steps of an action name, which has neither secrets nor what the jobs before made.
pub(super) const ACTION_STEP: TextRule = TextRule {
    contexts: &[
        "github", "inputs", "strategy", "matrix", "steps", "job", "runner", "env",
    ],
    has_status: false,
    has_files: true,
};
pub(super) const ACTION_IF: TextRule = TextRule {
    has_status: true,
    ..ACTION_STEP
};
pub(super) const ACTION_OUTPUT: TextRule = rule(ACTION_STEP.contexts);
/// The defaults of its inputs.
pub(super) const ACTION_DEFAULT: TextRule = TextRule {
    contexts: &["github", "strategy", "matrix", "job", "runner"],
    has_status: false,
    has_files: true,
};

/// Every context that there is.
pub(super) const CONTEXTS: &[&str] = STEP.contexts;

/// What `github` has in an action alone.
pub(super) const ACTION_PATH: &str = "action_path";
/// What `github` has.
pub(super) const GITHUB: &[&str] = &[
    "action",
    "actor",
    "base_ref",
    "event",
    "event_name",
    "event_path",
    "head_ref",
    "job",
    "ref",
    "ref_name",
    "ref_protected",
    "ref_type",
    "repository",
    "repository_owner",
    "retention_days",
    "run_attempt",
    "run_id",
    "run_number",
    "sha",
    "token",
    "triggering_actor",
    "workflow",
    "workflow_ref",
    "workspace",
];
pub(super) const JOB_CONTEXT: &[&str] = &["status"];
pub(super) const RUNNER: &[&str] = &[
    "arch",
    "debug",
    "environment",
    "name",
    "os",
    "temp",
    "tool_cache",
    "workspace",
];
pub(super) const STRATEGY_CONTEXT: &[&str] =
    &["fail-fast", "job-index", "job-total", "max-parallel"];
pub(super) const STEP_RESULT: &[&str] = &["conclusion", "outcome", "outputs"];
pub(super) const NEED_RESULT: &[&str] = &["outputs", "result"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_context_and_property() {
        let page = include_str!("../../../../docs/PIPELINES.md");
        for name in CONTEXTS.iter().chain(GITHUB).chain([&ACTION_PATH]) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
