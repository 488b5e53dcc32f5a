//! The first bad commit between two: what is found, and what becomes of a bisect on the way.

mod beside_git;
mod command;
mod history;
mod refusals;
mod verdicts;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Options, Yard, json_of};
use history::{Commit, made};

const PATH: &str = "/api/repos/demo/bisect";

/// A yard in which callers may run commands of their own without a sandbox.
fn asleep(repo: &str) -> Yard {
    Yard::asleep(Options {
        tables: "[code]\nwithout_sandbox = true\n".to_owned(),
        repo: repo.to_owned(),
        ..Options::default()
    })
}

/// A yard whose demo has this history on `main`; the ids of its commits, the oldest first.
async fn yard_with(commits: &[Commit]) -> (Yard, Vec<String>) {
    let mut yard = asleep("");
    let ids = made(&yard.origin, commits);
    yard.start().await;
    (yard, ids)
}

/// A history without merges, that is bad from one of its commits on.
fn line(commits: usize, first_bad: usize) -> Vec<Commit> {
    let all = (0..commits).map(|nth| Commit {
        parents: nth.checked_sub(1).into_iter().collect(),
        state: match nth < first_bad {
            true => "good".to_owned(),
            false => "bad".to_owned(),
        },
    });
    all.collect()
}

async fn started(yard: &Yard, body: Value) -> String {
    let record = yard.post_json(PATH, body).await;
    text(&record["pipeline_id"]).to_owned()
}

/// The record of a bisect, once it has ended.
async fn ended(yard: &Yard, id: &str) -> Value {
    let record = yard
        .get_json(&format!("/api/pipelines/{id}?wait=50s"))
        .await;
    assert!(!record["ended_at"].is_null(), "{record:#}");
    record
}

async fn bisected(yard: &Yard, body: Value) -> Value {
    let id = started(yard, body).await;
    ended(yard, &id).await
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The id of the commit that it found.
#[track_caller]
fn found(record: &Value) -> &str {
    assert_eq!(record["state"], "succeeded", "{record:#}");
    text(&record["bisect"]["answer"]["first_bad"]["commit"])
}

/// What was said of a commit that was tested.
#[track_caller]
fn verdict<'a>(record: &'a Value, commit: &str) -> &'a Value {
    let mut jobs = record["jobs"].as_array().unwrap().iter();
    let job = jobs.find(|job| job["bisect"]["commit"] == commit);
    &job.unwrap_or_else(|| panic!("{commit} was not tested: {record:#}"))["bisect"]["verdict"]
}

/// The rights of a command's own do not come with those of a build.
#[tokio::test]
async fn a_command_of_ones_own_needs_its_right_and_a_task_does_not() {
    let mut yard = asleep("tasks = { check = [\"grep\", \"-q\"] }");
    let ids = made(&yard.origin, &line(6, 3));
    yard.start().await;
    let made = json!({"name": "ops", "role": "ops"});
    let token = yard.token(made).await;
    let ask = async |body: Value| {
        let url = format!("{}{PATH}", yard.url);
        let request = yard.client.request(Method::POST, url).bearer_auth(&token);
        request.json(&body).send().await.unwrap()
    };
    let argv = json!({"branch": "main", "good": ids[0], "argv": ["true"]});
    let refused = ask(argv).await;
    assert_eq!(refused.status().as_u16(), 403);
    let task =
        json!({"branch": "main", "good": ids[0], "task": "check", "args": ["^good", "state"]});
    let record = json_of(ask(task).await).await;
    let record = ended(&yard, text(&record["pipeline_id"])).await;
    assert_eq!(found(&record), ids[3]);
    assert_eq!(record["bisect"]["task"], "check");
    yard.stop().await;
}

#[tokio::test]
async fn the_same_key_finds_the_same_bisect() {
    let (mut yard, ids) = yard_with(&line(4, 2)).await;
    let ask = async |good: &str| {
        let body = json!({"good": good, "argv": ["grep", "-q", "^good", "state"]});
        let request = yard.request(Method::POST, PATH).json(&body);
        request
            .header("idempotency-key", "one")
            .send()
            .await
            .unwrap()
    };
    let first = json_of(ask(&ids[0]).await).await;
    assert_eq!(first["event"], "bisect");
    let again = json_of(ask(&ids[0]).await).await;
    assert_eq!(first["pipeline_id"], again["pipeline_id"]);
    assert_eq!(ask(&ids[1]).await.status().as_u16(), 422);
    let record = ended(&yard, text(&first["pipeline_id"])).await;
    assert_eq!(found(&record), ids[2]);
    let listed = yard.get_json("/api/repos/demo/pipelines?file=bisect").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    yard.stop().await;
}
