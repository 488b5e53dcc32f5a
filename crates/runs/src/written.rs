//! A request as it is kept beside its run.

use serde::{Deserialize, Serialize};

use super::request::{RunBody, RunRequest};
use branchyard_model::{Problem, RunKind};

/// The body that asks for it, and of which kind it is. An idempotency key is compared by it too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) action: RequestKind,
    pub(super) request: RunBody,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RequestKind {
    Make,
    Git {
        operation: String,
    },
    Task {
        task: String,
    },
    Exec,
    /// Neither was asked for by a caller.
    Setup,
    Step,
}

impl From<RunRequest> for Written {
    fn from(request: RunRequest) -> Self {
        let (kind, body) = (request.kind(), request.into_body());
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        Self {
            action: match kind {
                RunKind::Make => RequestKind::Make,
                RunKind::Git => RequestKind::Git {
                    operation: name(&body.operation),
                },
                RunKind::Task => RequestKind::Task {
                    task: name(&body.task),
                },
                RunKind::Exec => RequestKind::Exec,
                RunKind::Setup => RequestKind::Setup,
                RunKind::Step => RequestKind::Step,
            },
            request: body,
        }
    }
}

/// No caller asks for a set-up or a step.
pub(super) fn not_by_itself(kind: RunKind) -> Problem {
    match kind {
        RunKind::Step => {
            let detail = "a step is run for its pipeline, and not by itself";
            Problem::unprocessable("run", detail).help("retry the pipeline that `step` names")
        }
        _ => {
            let detail = "a set-up is run for the run that needs it, and not by itself";
            Problem::unprocessable("run", detail).help("run that one again")
        }
    }
}

impl TryFrom<Written> for RunRequest {
    type Error = Problem;
    fn try_from(written: Written) -> Result<Self, Problem> {
        match written.action {
            RequestKind::Make => written.request.make(),
            RequestKind::Git { .. } => written.request.git(),
            RequestKind::Task { .. } => written.request.task(),
            RequestKind::Exec => written.request.exec(),
            RequestKind::Setup => Err(not_by_itself(RunKind::Setup)),
            RequestKind::Step => Err(not_by_itself(RunKind::Step)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What was written before a request was told apart by kind is read, and written as it was.
    #[test]
    fn a_request_is_written_as_it_was_read() {
        let body = |with: Value| {
            let mut body = json!({
                "repo": null, "branch": null, "operation": null, "task": null, "branches": [], "output": false,
                "args": [], "env": {}, "timeout": null, "sync": "auto", "commit": null, "clean": false,
                "stale": false, "coalesce": false, "supersede": false, "on_disconnect": null, "detach": false,
            });
            for (name, value) in with.as_object().unwrap() {
                body[name] = value.clone();
            }
            body
        };
        let commit = "0123456789012345678901234567890123456789";
        let all = [
            json!({"action": "make", "request": body(json!({
                "args": ["all"], "env": {"A": "1"}, "timeout": "10m", "sync": "commit", "commit": commit,
                "clean": true, "stale": true, "supersede": true, "reuse": true, "on_disconnect": "continue",
                "detach": true,
            }))}),
            json!({"action": {"git": {"operation": "log"}}, "request": body(json!({
                "operation": "log", "args": "-1 HEAD", "sync": "none",
            }))}),
            json!({"action": {"task": {"task": "lint"}}, "request": body(json!({
                "task": "lint", "env": {"B": "2"}, "sync": "reset", "coalesce": true,
            }))}),
            json!({"action": "exec", "request": body(json!({
                "script": "print(1)", "interpreter": "python", "args": ["-v"], "stdin": "x",
            }))}),
        ];
        for written in all {
            let read: Written = serde_json::from_value(written.clone()).unwrap();
            let again = Written::from(RunRequest::try_from(read).unwrap());
            assert_eq!(serde_json::to_value(again).unwrap(), written);
        }
    }

    #[test]
    fn what_has_no_meaning_for_a_kind_is_refused() {
        let git = json!({"action": {"git": {"operation": "log"}}, "request": {"operation": "log", "env": {"A": "1"}}});
        let written: Written = serde_json::from_value(git).unwrap();
        let refused = RunRequest::try_from(written).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("env"));
    }
}
