//! Git verbs: one address for each, under the branch that it is about.

use axum::Json;
use axum::extract::State;
use axum::routing::post;
use serde_json::{Map, Value};

use super::extract::{Asker, Body, BranchAt};
use super::gate::Access::Needs;
use super::problem::ProblemResponse;
use super::routes::Route;
use crate::app::App;
use crate::app::verbs::{At, Verb, verbs};

pub(super) fn routes() -> impl Iterator<Item = Route> {
    verbs().iter().map(|verb| Route {
        path: format!(
            "/api/repos/{{repo}}/branches/{{branch}}/git/{}",
            verb.entry.name
        )
        .into(),
        access: Needs(verb.right()),
        handler: post(
            move |State(app): State<App>,
                  Asker(principal): Asker,
                  BranchAt(repo, branch): BranchAt,
                  Body(given): Body<Map<String, Value>>| {
                let at = At {
                    repo,
                    branch,
                    principal,
                };
                call(app, verb, at, given)
            },
        ),
    })
}

async fn call(
    app: App,
    verb: &'static Verb,
    at: At,
    given: Map<String, Value>,
) -> Result<Json<Value>, ProblemResponse> {
    let said = verb.call(&app, at, Value::Object(given)).await?;
    Ok(Json(said.json()?))
}
