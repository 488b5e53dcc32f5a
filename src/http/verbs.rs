//! Git verbs: one address for each, under the branch that it is about.

use axum::Json;
use serde_json::{Map, Value};

use super::audit::Effect;
use super::extract::{Body, BranchAt};
use super::gate::Access::Needs;
use super::problem::ProblemResponse;
use super::route::{Route, post};
use crate::app::AuthorizedApp;
use crate::app::audit::of_verb;
use crate::app::verbs::{At, Verb, verbs};

pub(super) fn routes() -> impl Iterator<Item = Route> {
    verbs().iter().map(|verb| Route {
        path: format!(
            "/api/repos/{{repo}}/branches/{{branch}}/git/{}",
            verb.entry().name
        )
        .into(),
        access: Needs(verb.least_right()),
        effect: match verb.entry().effect.writes {
            true => Effect::Does(of_verb(verb.entry().name).into()),
            false => Effect::Reads,
        },
        handled: post(
            move |app: AuthorizedApp,
                  BranchAt(repo, branch): BranchAt,
                  Body(given): Body<Map<String, Value>>| {
                let at = At { repo, branch };
                call(app, verb, at, given)
            },
        ),
    })
}

async fn call(
    app: AuthorizedApp,
    verb: &'static Verb,
    at: At,
    given: Map<String, Value>,
) -> Result<Json<Value>, ProblemResponse> {
    let said = verb.call(&app, at, Value::Object(given)).await?;
    Ok(Json(said.json()?))
}
