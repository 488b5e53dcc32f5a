//! What forges say of our commit statuses: each request is what the description of their API has. GitHub publishes its own
//! (`@octokit/openapi`). Gitea's and GitLab's come with their servers, so what these say of this one request stands here.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::forge_hooks::until;
use crate::installed::at;
use crate::support::{self, Options, Received, Receiver, Yard, yard_of_forge};

const GITHUB: &str = "files/api.github.com.json";
const PIPELINES: &str = "/api/repos/demo/pipelines";
const OPTIONS: &str =
    "[repos.demo.pipelines]\nauto = true\npoll = \"100ms\"\nstatuses = \"jobs\"\n";

/// Between them they come to every end that there is.
const WORKFLOWS: [(&str, &str); 3] = [
    (
        "ci.yml",
        "on: push\njobs:\n  \
         good: {runs-on: linux, steps: [{run: \"true\"}]}\n  \
         bad: {runs-on: linux, steps: [{run: exit 3}]}\n  \
         after: {needs: bad, runs-on: linux, steps: [{run: \"true\"}]}\n",
    ),
    (
        "slow.yaml",
        "on: push\njobs: {wait: {runs-on: linux, steps: [{run: sleep 1000}]}}\n",
    ),
    (
        "wrong.yml",
        "on: push\njobs: {a: {runs-on: linux, stepz: []}}\n",
    ),
];

#[tokio::test]
async fn github_takes_every_status_by_its_own_description() {
    let file = at(GITHUB);
    let text = std::fs::read(&file).unwrap_or_else(|error| {
        panic!("{}: {error}: run `make setup` first", file.display());
    });
    let description: Value = serde_json::from_slice(&text).unwrap();
    let states = ["error", "failure", "pending", "success"];
    all_are_described("github", &description, &states).await;
}

/// As `repoCreateStatus` and `CreateStatusOption` of `templates/swagger/v1_json.tmpl` have it.
#[tokio::test]
async fn gitea_and_forgejo_take_every_status() {
    let schema = json!({
        "type": "object",
        "properties": {
            "context": { "type": "string" },
            "description": { "type": "string" },
            "state": { "enum": ["pending", "success", "error", "failure", "warning"] },
            "target_url": { "type": "string" },
        },
    });
    let description = description("/repos/{owner}/{repo}/statuses/{sha}", schema);
    let states = ["error", "failure", "pending", "success"];
    for kind in ["gitea", "forgejo"] {
        all_are_described(kind, &description, &states).await;
    }
}

/// As "Set commit pipeline status" of its documentation of the commits API has it.
#[tokio::test]
async fn gitlab_takes_every_status() {
    let schema = json!({
        "type": "object",
        "required": ["state"],
        "properties": {
            "state": {
                "enum": ["pending", "running", "success", "failed", "canceled", "skipped"],
            },
            "name": { "type": "string", "maxLength": 255 },
            "context": { "type": "string", "maxLength": 255 },
            "description": { "type": "string", "maxLength": 255 },
            "target_url": { "type": "string", "maxLength": 255 },
            "ref": { "type": "string" },
            "pipeline_id": { "type": "integer" },
            "coverage": { "type": "number" },
        },
    });
    let description = description("/projects/{id}/statuses/{sha}", schema);
    let states = ["canceled", "failed", "running", "success"];
    all_are_described("gitlab", &description, &states).await;
}

/// An API that has this request alone.
fn description(path: &str, schema: Value) -> Value {
    let json = |schema| json!({ "content": { "application/json": { "schema": schema } } });
    json!({
        "paths": { path: { "post": {
            "requestBody": json(schema),
            "responses": { "201": json(json!({})) },
        } } },
    })
}

/// Has pipelines come to every end, and holds what a forge of the `kind` is told against the description of its API.
/// All of these `states` are told.
async fn all_are_described(kind: &str, description: &Value, states: &[&str]) {
    let forge = Receiver::start().await;
    let options = Options {
        repo: OPTIONS.to_owned(),
        ..Options::default()
    };
    let (mut yard, _remote) = yard_of_forge(kind, &forge, options).await;
    yard.start().await;
    until(&yard, "/api/repos/demo", |repo| {
        repo["watch"]["looked_at"].is_string()
    })
    .await;
    for (name, text) in WORKFLOWS {
        yard.origin
            .write(&format!(".branchyard/workflows/{name}"), text);
    }
    yard.origin.commit("workflows");
    yard.origin.push("main");
    cancel_when_it_runs(&yard, &forge).await;
    until(&yard, PIPELINES, |page| {
        let items = page["items"].as_array().unwrap();
        items.len() == WORKFLOWS.len() && items.iter().all(|it| it["ended_at"].is_string())
    })
    .await;
    until(&yard, "/api/repos/demo/deliveries", |page| {
        let mut items = page["items"].as_array().unwrap().iter();
        items.all(|item| item["state"] == "delivered")
    })
    .await;
    let received = forge.received();
    for sent in &received {
        check(description, sent);
    }
    let told: BTreeSet<_> = received
        .iter()
        .map(|sent| sent.json()["state"].as_str().unwrap().to_owned())
        .collect();
    for state in states {
        assert!(told.contains(*state), "{kind}: {state} of {told:?}");
    }
    yard.stop().await;
}

/// Cancels the slow pipeline when the forge knows that it runs.
async fn cancel_when_it_runs(yard: &Yard, forge: &Receiver) {
    let runs = |sent: &Received| {
        let status = sent.json();
        let context = status.get("context").or(status.get("name")).unwrap();
        context == "branchyard/slow.yaml" && status["description"] == "running"
    };
    support::until("the forge is told of what runs", || {
        forge.received().iter().any(runs)
    })
    .await;
    let page = yard.get_json(PIPELINES).await;
    let mut items = page["items"].as_array().unwrap().iter();
    let slow = items.find(|it| it["file"].as_str().unwrap().ends_with("/slow.yaml"));
    let id = slow.unwrap()["pipeline_id"].as_str().unwrap();
    yard.post_json(&format!("/api/pipelines/{id}/cancel"), json!({}))
        .await;
}

/// Whether the request is one that the API has, with what that takes.
fn check(description: &Value, sent: &Received) {
    let method = sent.method.as_str().to_lowercase();
    let paths = description["paths"].as_object().unwrap().iter();
    let meant: Vec<_> = paths
        .filter(|(template, of)| of.get(&method).is_some() && fits(template, &sent.path))
        .collect();
    let [(_, of)] = meant[..] else {
        panic!("{method} {}: {} requests", sent.path, meant.len());
    };
    let operation = &of[&method];
    let media = sent.header("content-type");
    let mut schema = operation["requestBody"]["content"][media]["schema"].clone();
    assert!(schema.is_object(), "{media} in {operation:#}");
    // What it does not know would be left out in silence.
    schema["additionalProperties"] = json!(false);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let body = sent.json();
    let wrong: Vec<_> = validator
        .iter_errors(&body)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?} in {body:#}");
    let answer = &operation["responses"]["201"]["content"];
    assert!(answer[sent.header("accept")].is_object(), "{operation:#}");
    // GitHub refuses requests without it.
    assert!(sent.header("user-agent").starts_with("branchyard/"));
}

/// Whether a path is one that the template stands for, each parameter one segment.
fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template.iter().zip(path).all(|(wanted, given)| {
            *wanted == given || (wanted.starts_with('{') && !given.is_empty())
        })
}
