//! The audit of what agents do: every call of a tool that changes the yard, and every refusal.

use std::borrow::Cow;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::call::Call;
use super::panics::caught;
use super::reply::Reply;
use crate::app::audit::{
    Answer, AuditCall, AuditEntry, AuditOutcome, Auditor, Named, Via, of_verb,
};
use crate::app::verbs::verbs;
use branchyard_auth::Principal;
use branchyard_model::{ErrorKind, Problem};
use branchyard_runs::argv::{self, Args};

/// Those tools that change the yard only for some arguments. All others that are not read-only always do,
/// and their names are those that the audit has, but for a dot: `token_create` is `token.create`.
const DEEDS: [(&str, Deed); 11] = [
    ("git", Deed::Git),
    ("execute_code", Deed::As("exec")),
    ("install_dependencies", Deed::As("exec")),
    (
        "workspace",
        Deed::By(&[
            ("prepare", "branch.prepare"),
            ("remove", "branch.remove"),
            ("pin", "branch.pin"),
            ("unpin", "branch.unpin"),
        ]),
    ),
    (
        "salvage",
        Deed::By(&[("restore", "salvage.restore"), ("drop", "salvage.drop")]),
    ),
    (
        "repos",
        Deed::By(&[("register", "repo.register"), ("remove", "repo.remove")]),
    ),
    ("pipeline_run", Deed::As("pipeline.start")),
    (
        "pipeline_control",
        Deed::By(&[("cancel", "pipeline.cancel"), ("retry", "pipeline.retry")]),
    ),
    (
        "deliveries",
        Deed::By(&[("redeliver", "delivery.redeliver")]),
    ),
    ("reap", Deed::If("dry_run", false, "reap")),
    ("findings", Deed::If("mend", true, "findings.mend")),
];

/// Tools whose subject is a token.
const TOKENS: &str = "token_";

/// When a call of a tool is one that is recorded, and as what.
#[derive(Debug, Clone, Copy)]
enum Deed {
    /// Always, by another name than the tool's.
    As(&'static str),
    /// By what `action` says; all others are looks.
    By(&'static [(&'static str, &'static str)]),
    /// Where an argument is given so; else it is a look.
    If(&'static str, bool, &'static str),
    /// Unless the command is one that is answered at once.
    Git,
}

/// What a call does to the yard; `None` for a look.
fn action(tool: &str, read_only: bool, arguments: &JsonObject) -> Option<Cow<'static, str>> {
    if read_only {
        return None;
    }
    if let Some(verb) = verbs().iter().find(|verb| verb.full_name() == tool) {
        return Some(of_verb(verb).into());
    }
    let known = DEEDS.iter().find(|(name, _)| *name == tool);
    let Some((_, deed)) = known else {
        return Some(tool.replacen('_', ".", 1).into());
    };
    match *deed {
        Deed::As(action) => Some(action.into()),
        Deed::By(actions) => {
            let asked = arguments.get("action").and_then(Value::as_str)?;
            let mut actions = actions.iter();
            actions.find_map(|(name, action)| (*name == asked).then_some((*action).into()))
        }
        Deed::If(argument, value, action) => {
            let is_given = arguments.get(argument).and_then(Value::as_bool) == Some(value);
            is_given.then_some(action.into())
        }
        Deed::Git => (!is_quick(arguments)).then_some("git".into()),
    }
}

fn is_quick(arguments: &JsonObject) -> bool {
    let operation = arguments.get("operation").and_then(Value::as_str);
    let args = arguments.get("args").cloned();
    let args = args.map_or(Ok(Args::default()), serde_json::from_value::<Args>);
    let (Some(operation), Ok(args)) = (operation, args) else {
        return false;
    };
    let words = args.into_words();
    words.is_ok_and(|words| argv::git_quick(operation, words).is_ok())
}

/// A call that is being answered.
pub(super) struct Watched {
    auditor: Auditor,
    principal: Principal,
    is_of_tokens: bool,
    recorded: AuditCall,
    /// Where it changes something.
    entry: Option<AuditEntry>,
}

impl Watched {
    /// Notes a call of a tool before it does anything.
    pub(super) async fn begin(
        call: &Call,
        tool: &str,
        read_only: bool,
        arguments: &JsonObject,
    ) -> Result<Self, Problem> {
        let action = action(tool, read_only, arguments);
        let is_deed = action.is_some();
        let action = action.unwrap_or_else(|| format!("mcp {tool}").into());
        let mut recorded = recorded(call, action.into_owned());
        let named = Named::by(|thing| given(tool, arguments, thing));
        let auditor = call.app().auditor();
        auditor.locate(&mut recorded, &named).await;
        let entry = match is_deed {
            true => Some(auditor.begin(recorded.clone()).await?),
            false => None,
        };
        Ok(Self {
            auditor,
            principal: call.app().principal().clone(),
            is_of_tokens: tool.starts_with(TOKENS),
            recorded,
            entry,
        })
    }

    pub(super) async fn end(mut self, answer: &Result<Reply, Problem>) {
        if let Ok(reply) = answer {
            let made = Named::by(|thing| match thing {
                // What else is in there may be the secret itself.
                "token" => self
                    .is_of_tokens
                    .then(|| reply.field("id")?.as_str())
                    .flatten(),
                thing => named(|field| reply.field(field), thing),
            });
            self.auditor.locate(&mut self.recorded, &made).await;
        }
        let end = Answer::of(answer).end(Some(&self.principal), &self.recorded);
        match self.entry {
            Some(mut entry) => {
                entry.tell(|begun| *begun = self.recorded);
                entry.end(end);
            }
            None if end.outcome == AuditOutcome::Refused => {
                self.auditor.refused(self.recorded, end);
            }
            None => {}
        }
    }
}

/// What a look answers; records that it was refused. What else agents can ask for changes nothing.
pub(super) async fn looked<T>(
    call: &Call,
    what: &str,
    look: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let answer = caught(look).await;
    if answer.is_err() {
        let recorded = recorded(call, format!("mcp {what}"));
        let end = Answer::of(&answer).end(Some(call.app().principal()), &recorded);
        if end.outcome == AuditOutcome::Refused {
            call.app().auditor().refused(recorded, end);
        }
    }
    answer
}

fn recorded(call: &Call, action: String) -> AuditCall {
    let mut recorded = AuditCall::new(Via::Mcp, action);
    recorded.principal = Some(call.app().principal().name().to_owned());
    recorded.sent_by(call.sender());
    recorded
}

/// What the arguments of a call say of a thing.
fn given<'a>(tool: &str, arguments: &'a JsonObject, thing: &str) -> Option<&'a str> {
    let is_called_name = match thing {
        "repo" => tool == "repos",
        "token" => tool.starts_with(TOKENS),
        _ => false,
    };
    named(|field| arguments.get(field), thing).or_else(|| {
        let name = arguments.get("name").filter(|_| is_called_name);
        name.and_then(Value::as_str)
    })
}

/// What arguments or an answer say of a thing: `repo` of a repo, `run_id` of a run, or the `id` within.
fn named<'a>(get: impl Fn(&str) -> Option<&'a Value>, thing: &str) -> Option<&'a str> {
    let found = get(thing).or_else(|| get(&format!("{thing}_id")))?;
    found.get("id").unwrap_or(found).as_str()
}

/// Records that a tool was called which is not offered to this client.
pub(super) async fn hidden(call: &Call, tool: &str) {
    let detail = "this client is not offered the tool";
    let refused = Problem::new(ErrorKind::Forbidden, "tool_not_offered", detail);
    let _ = looked::<()>(call, tool, async { Err(refused) }).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::audit::ACTIONS;
    use crate::mcp::tools;

    fn action_of(tool: &str, arguments: &Value) -> Option<String> {
        let arguments = arguments.as_object().unwrap();
        action(tool, false, arguments).map(Cow::into_owned)
    }

    #[test]
    fn every_tool_that_writes_has_names_that_the_audit_knows() {
        for tool in tools::all().iter().filter(|tool| !tool.is_read_only()) {
            let deed = DEEDS.iter().find(|(name, _)| *name == tool.name());
            let names = match deed.map(|(_, deed)| *deed) {
                Some(Deed::If(_, _, action) | Deed::As(action)) => vec![action.to_owned()],
                Some(Deed::By(actions)) => actions.iter().map(|(_, a)| (*a).to_owned()).collect(),
                Some(Deed::Git) => vec!["git".to_owned()],
                None => Vec::from_iter(action_of(tool.name(), &json!({}))),
            };
            for name in names {
                let is_verb = verbs().iter().any(|verb| of_verb(verb) == name);
                assert!(
                    is_verb || ACTIONS.contains(&name.as_str()),
                    "{}: {name}",
                    tool.name()
                );
            }
        }
        for (name, _) in DEEDS {
            assert!(
                tools::all().iter().any(|tool| tool.name() == name),
                "{name}"
            );
        }
    }

    #[test]
    fn looks_are_told_from_deeds_by_their_arguments() {
        for (tool, arguments, expected) in [
            ("make", json!({}), Some("make")),
            ("git_push", json!({}), Some("git.push")),
            (
                "workspace",
                json!({ "action": "remove" }),
                Some("branch.remove"),
            ),
            ("workspace", json!({ "action": "describe" }), None),
            ("salvage", json!({ "action": "list" }), None),
            ("salvage", json!({}), None),
            ("reap", json!({}), None),
            ("reap", json!({ "dry_run": false }), Some("reap")),
            ("findings", json!({}), None),
            ("findings", json!({ "mend": true }), Some("findings.mend")),
            ("git", json!({ "operation": "status" }), None),
            ("git", json!({ "operation": "log", "args": "-n1" }), None),
            (
                "git",
                json!({ "operation": "commit", "args": ["-m", "x"] }),
                Some("git"),
            ),
            ("git", json!({ "operation": 7 }), Some("git")),
        ] {
            let action = action_of(tool, &arguments);
            assert_eq!(action.as_deref(), expected, "{tool} {arguments}");
        }
    }
}
