//! Every change in the yard as a stream: what is told, to whom, and that nothing is missed by who comes back.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Event, Following, Options, Yard, json_of, problem_of, read_events};

const BRANCHES: &str = "/api/repos/demo/branches";

async fn ask(yard: &Yard, token: &str, from: Option<&str>) -> Response {
    let url = format!("{}/stream/events", yard.url);
    let mut request = yard.client.request(Method::GET, url).bearer_auth(token);
    if let Some(from) = from {
        request = request.header("last-event-id", from);
    }
    request
        .header("accept", "application/x-ndjson")
        .send()
        .await
        .unwrap()
}

async fn watch(yard: &Yard) -> Following {
    let mut watching = Following::new(ask(yard, &yard.key(), None).await);
    watching.until(|event| event.kind == "queue").await;
    watching
}

fn says(kind: &'static str, change: &'static str) -> impl Fn(&Event) -> bool {
    move |event| event.kind == kind && event.data["change"] == change
}

#[tokio::test]
async fn a_build_is_told_from_its_request_to_its_end() {
    let mut yard = Yard::new().await;
    let mut watching = watch(&yard).await;
    assert_eq!(watching.events[0].kind, "hello");
    assert!(watching.events[0].data["version"].is_string());
    let run = yard.make("main", &["who"]).await;
    let run = run[0].data["run_id"].clone();
    let ended = watching.until(says("run", "ended")).await;
    assert_eq!(ended.data["run"]["run_id"], run);
    assert_eq!(ended.data["run"]["state"], "succeeded");
    let start = watching.events[0].id.clone();
    let is_idle = |queue: &Value| queue["running"] == 0 && queue["waiting"] == 0;
    watching
        .until(|event| event.kind == "queue" && event.id != start && is_idle(&event.data))
        .await;
    watching.until(says("workspace", "unlocked")).await;
    let told = |event: &Event| match event.kind.as_str() {
        "queue" | "hello" => None,
        kind => Some(format!("{kind} {}", event.data["change"].as_str()?)),
    };
    let told: Vec<_> = watching.events.iter().filter_map(told).collect();
    for expected in [
        "repo cloned",
        "workspace created",
        "workspace locked",
        "workspace updated",
        "workspace unlocked",
    ] {
        assert!(
            told.iter().any(|told| told == expected),
            "{expected}: {told:?}"
        );
    }
    let runs = told.iter().filter(|told| told.starts_with("run "));
    let order = ["run queued", "run preparing", "run running", "run ended"];
    assert!(runs.eq(order), "{told:?}");
    yard.stop().await;
}

#[tokio::test]
async fn maintenance_is_told_to_operators() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let mut watching = watch(&yard).await;
    let token = json!({ "name": "reader", "scopes": ["repo:read"] });
    let token = yard.post_json("/api/tokens", token).await;
    let token = token["token"].as_str().unwrap();
    let mut reading = Following::new(ask(&yard, token, None).await);
    reading.until(|event| event.kind == "queue").await;
    let done = yard.post_json("/api/repos/demo/maintain", json!({})).await;
    let told = watching.until(|event| event.kind == "maintenance").await;
    assert_eq!(told.data["repo"], "demo");
    assert_eq!(told.data["packs_before"], done["before"]["packs"]);
    assert_eq!(told.data["packs"], done["after"]["packs"]);
    // The next event that all are told is the first for those who may not operate the yard.
    yard.put(&format!("{BRANCHES}/main/pin"), json!({})).await;
    let next = reading.until(|event| event.kind != "queue" && event.kind != "hello");
    assert_eq!(next.await.kind, "workspace");
    yard.stop().await;
}

#[tokio::test]
async fn a_clone_that_several_wait_for_is_told_once() {
    let mut yard = Yard::new().await;
    let mut watching = watch(&yard).await;
    let main = format!("{BRANCHES}/main");
    let ready = || async { json_of(yard.put(&main, json!({})).await).await };
    tokio::join!(ready(), ready(), ready(), ready());
    json_of(yard.put(&format!("{main}/pin"), json!({})).await).await;
    watching.until(says("workspace", "pinned")).await;
    let is_cloned = says("repo", "cloned");
    let told = watching.events.iter().filter(|event| is_cloned(event));
    assert_eq!(told.count(), 1);
    yard.stop().await;
}

#[tokio::test]
async fn what_becomes_of_workspaces_repos_and_saved_work_is_told() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let mut watching = watch(&yard).await;
    let main = format!("{BRANCHES}/main");
    json_of(
        yard.put(&format!("{main}/pin"), json!({ "reason": "demo" }))
            .await,
    )
    .await;
    watching.until(says("workspace", "pinned")).await;
    yard.delete(&format!("{main}/pin")).await;
    watching.until(says("workspace", "unpinned")).await;
    std::fs::write(yard.workspace("main").join("mine.txt"), "work").unwrap();
    let gone = json_of(yard.delete(&format!("{main}?force=true")).await).await;
    let saved = watching.until(says("salvage", "saved")).await;
    assert_eq!(saved.data["salvage"], gone["salvage"]["id"]);
    watching.until(says("workspace", "removed")).await;
    yard.restore(&gone["salvage"], json!({})).await;
    watching.until(says("salvage", "restored")).await;
    let id = gone["salvage"]["id"].as_str().unwrap();
    yard.delete(&format!("/api/salvage/{id}")).await;
    watching.until(says("salvage", "dropped")).await;
    let other = json!({ "name": "other", "url": yard.origin.url() });
    yard.post_json("/api/repos", other).await;
    watching.until(says("repo", "added")).await;
    yard.delete("/api/repos/other").await;
    let removed = watching.until(says("repo", "removed")).await;
    assert_eq!(removed.data["repo"], "other");
    yard.stop().await;
}

#[tokio::test]
async fn who_comes_back_hears_exactly_what_they_missed() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let mut whole = watch(&yard).await;
    let mut first = watch(&yard).await;
    let main = format!("{BRANCHES}/main/pin");
    yard.put(&main, json!({})).await;
    let last = first.until(says("workspace", "pinned")).await.id;
    drop(first);
    yard.delete(&main).await;
    let end = whole.until(says("workspace", "unpinned")).await;
    let mut again = Following::new(ask(&yard, &yard.key(), Some(&last)).await);
    again.until(|event| event.id == end.id).await;
    let changes = |events: &[Event]| -> Vec<(String, Value)> {
        let changes = events.iter().filter(|event| event.kind == "workspace");
        changes
            .map(|event| (event.id.clone(), event.data.clone()))
            .collect()
    };
    let missed: Vec<_> = changes(&whole.events)
        .into_iter()
        .skip_while(|(id, _)| *id != last)
        .skip(1)
        .collect();
    assert!(!missed.is_empty());
    assert_eq!(changes(&again.events), missed);
    yard.stop().await;
}

#[tokio::test]
async fn after_another_daemon_everything_is_to_be_looked_at_again() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let mut watching = watch(&yard).await;
    yard.put(&format!("{BRANCHES}/main/pin"), json!({})).await;
    let last = watching.until(says("workspace", "pinned")).await.id;
    yard.stop().await;
    watching.until_cut().await;
    yard.start().await;
    let mut again = Following::new(ask(&yard, &yard.key(), Some(&last)).await);
    let reset = again.until(|event| event.kind == "reset").await;
    yard.delete(&format!("{BRANCHES}/main/pin")).await;
    let next = again.until(says("workspace", "unpinned")).await;
    assert_ne!(next.id, reset.id);
    for wrong in ["x", "1", "-1"] {
        let (status, problem) = problem_of(ask(&yard, &yard.key(), Some(wrong)).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (400, &json!("Last-Event-ID")),
            "{wrong}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn nobody_is_told_of_what_is_not_for_them() {
    let mut yard = Yard::with(Options::default()).await;
    yard.origin.branch("agent/one");
    yard.make("main", &["who"]).await;
    let narrow = yard
        .token(json!({ "scopes": ["repo:read"], "branches": ["agent/**"] }))
        .await;
    let mut watching = Following::new(ask(&yard, &narrow, None).await);
    watching.until(|event| event.kind == "queue").await;
    std::fs::write(yard.workspace("main").join("mine.txt"), "work").unwrap();
    yard.delete(&format!("{BRANCHES}/main?force=true")).await;
    yard.make("agent/one", &["who"]).await;
    watching.until(says("run", "ended")).await;
    for event in &watching.events {
        let branch = match event.kind.as_str() {
            "run" => &event.data["run"]["branch"],
            "workspace" => &event.data["branch"],
            "hello" | "queue" | "repo" => continue,
            other => panic!("told of a {other}: {}", event.data),
        };
        assert_eq!(branch, "agent/one", "{}", event.data);
    }
    yard.stop().await;
}

#[tokio::test]
async fn browsers_get_the_same_as_server_sent_events() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let start = watch(&yard).await.events[0].id.clone();
    yard.put(&format!("{BRANCHES}/main/pin"), json!({})).await;
    let mut answer = yard.get(&format!("/stream/events?from={start}")).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while !text.contains("\"pinned\"") {
        let piece = answer.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let events = read_events("text/event-stream", &text);
    let pinned = events
        .iter()
        .find(|event| says("workspace", "pinned")(event));
    assert_eq!(pinned.unwrap().data["branch"], "main");
    drop(answer);
    yard.stop().await;
}
