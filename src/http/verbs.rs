//! Verbs: one address for each, under the branch that it is about.

use axum::Json;
use axum::response::IntoResponse;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::extract::{At, Body, BranchAt};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{JSON, Route, Schemas, does, of, reads, whole};
use crate::app::AuthorizedApp;
use crate::app::audit::of_verb;
use crate::app::verbs::{At as Place, Common, Verb, verbs};

pub(super) fn routes() -> Vec<Route> {
    verbs().iter().map(route).collect()
}

fn route(verb: &'static Verb) -> Route {
    let entry = verb.entry();
    let id = verb.full_name();
    let operation = match entry.effect.writes {
        true => does(of_verb(verb), id, entry.title),
        false => reads(id, entry.title),
    };
    let takes = move |schemas: &mut Schemas| {
        let takes = whole(SchemaSettings::draft2020_12(), verb.takes());
        schemas.named(&format!("{}Request", type_name(verb)), takes)
    };
    let gives = move |schemas: &mut Schemas| {
        let common = schemas.given(of::<Common>());
        let gives = whole(SchemaSettings::draft2020_12().for_serialize(), verb.gives());
        let gives = json!({ "allOf": [common, gives] });
        schemas.named(&format!("{}Answer", type_name(verb)), gives)
    };
    let path = format!("/api/repos/{{repo}}/branches/{{branch}}/{}", verb.address());
    operation
        .says(entry.description)
        .takes_content(Box::new(takes))
        .answers(200, "What came of it.", vec![(JSON, Box::new(gives))])
        .post(path, Needs(verb.least_right()), move |app, place, body| {
            call(app, verb, place, body)
        })
}

/// `git_cherry_pick` is `GitCherryPick`.
fn type_name(verb: &Verb) -> String {
    let mut name = String::new();
    for word in verb.full_name().split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

async fn call(
    app: AuthorizedApp,
    verb: &'static Verb,
    At((repo, branch)): BranchAt,
    Body(given): Body<Map<String, Value>>,
) -> HttpResult {
    let at = Place { repo, branch };
    let said = verb.call(&app, at, Value::Object(given)).await?;
    Ok(Json(said.json()?).into_response())
}
