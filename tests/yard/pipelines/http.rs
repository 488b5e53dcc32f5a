//! The routes: waiting, failing on request, repeating a request, following, listing.

use reqwest::Method;
use serde_json::{Value, json};

use super::{PIPELINES, text};
use crate::support::{Options, Yard, events_of, json_of, problem_of};

const BAD: &str = "  bad: {runs-on: linux, steps: [{run: exit 1}]}\n";
const GOOD: &str = "  good: {runs-on: linux, steps: [{run: echo one; echo two >&2}]}\n";

#[tokio::test]
async fn an_end_is_waited_for_and_a_failure_is_an_error_on_request() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    yard.jobs(&format!(
        "  gate: {{runs-on: linux, steps: [{{run: 'while [ ! -e {dir}/open ]; do sleep 0.01; done; exit 1'}}]}}\n"
    ));
    let id = yard.start_pipeline(json!({})).await;
    let path = format!("/api/pipelines/{id}");
    let early = yard.get_json(&format!("{path}?wait=10ms")).await;
    assert_eq!(early["ended_at"], json!(null));
    let failing = format!("{path}?wait=50s&fail=true");
    let (waited, ()) = tokio::join!(yard.get(&failing), async {
        std::fs::write(yard.mark("open"), "").unwrap();
    });
    assert_eq!(waited.status(), 422);
    let record: Value = waited.json().await.unwrap();
    assert_eq!(record["state"], "failed");
    assert_eq!(yard.get(&format!("{path}?wait=50s")).await.status(), 200);
    assert_eq!(yard.get(&format!("{path}?wait=soon")).await.status(), 422);
    let good = yard.run_jobs(GOOD).await.green();
    let path = format!("/api/pipelines/{}?fail=true", good.id());
    assert_eq!(yard.get(&path).await.status(), 200);
    for id in ["nope", "00000000-0000-7000-8000-000000000000"] {
        let path = format!("/api/pipelines/{id}");
        assert!(yard.get(&path).await.status().is_client_error(), "{id}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_repeated_finds_its_pipeline_again() {
    let mut yard = Yard::asleep(Options::default());
    yard.jobs(GOOD);
    let mut daemon = yard.start_binary(&[]).await;
    let ask = async |key: &str, body: Value| {
        let request = yard.request(Method::POST, PIPELINES).json(&body);
        request.header("idempotency-key", key).send().await.unwrap()
    };
    let (one, other) = tokio::join!(ask("k", json!({})), ask("k", json!({})));
    let (one, other) = (json_of(one).await, json_of(other).await);
    assert_eq!(one["pipeline_id"], other["pipeline_id"]);
    let (status, problem) = problem_of(ask("k", json!({"file": "ci.yml"})).await).await;
    assert!(status == 409 || status == 422, "{problem:#}");
    let different = json_of(ask("l", json!({})).await).await;
    assert_ne!(one["pipeline_id"], different["pipeline_id"]);
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let request = yard.request(Method::POST, PIPELINES).json(&json!({}));
    let again = request.header("idempotency-key", "k").send().await.unwrap();
    assert_eq!(json_of(again).await["pipeline_id"], one["pipeline_id"]);
    let listed = yard.get_json(PIPELINES).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    for item in listed["items"].as_array().unwrap() {
        yard.pipeline_ended(text(&item["pipeline_id"]))
            .await
            .green();
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_pipeline_is_followed_from_any_place_with_and_without_output() {
    let mut yard = Yard::new().await;
    let ended = yard.run_jobs(GOOD).await.green();
    let path = format!("/stream/pipelines/{}", ended.id());
    let events = events_of(yard.get(&path).await).await;
    assert_eq!(
        (events[0].kind.as_str(), text(&events[0].data["state"])),
        ("pipeline", "queued")
    );
    let last = events.last().unwrap();
    assert_eq!(
        (last.kind.as_str(), text(&last.data["state"])),
        ("pipeline", "succeeded")
    );
    let states: Vec<_> = events
        .iter()
        .filter(|event| event.kind == "job")
        .map(|event| text(&event.data["state"]))
        .collect();
    assert_eq!(states.first(), Some(&"queued"), "{states:?}");
    assert_eq!(states.last(), Some(&"succeeded"), "{states:?}");
    // From after any of them, the rest follows.
    for (n, event) in events.iter().enumerate() {
        let request = yard
            .request(Method::GET, &path)
            .header("last-event-id", &event.id);
        let response = request.send().await.unwrap();
        let rest = match response.status().as_u16() {
            204 => Vec::new(),
            _ => events_of(response).await,
        };
        let ids: Vec<_> = rest.iter().map(|event| &event.id).collect();
        let expected: Vec<_> = events[n + 1..].iter().map(|event| &event.id).collect();
        assert_eq!(ids, expected);
    }
    // With output, of one that is live and of one that has ended.
    let live = yard
        .start_pipeline(json!({"event": "workflow_dispatch"}))
        .await;
    for id in [live.as_str(), ended.id()] {
        let path = format!("/stream/pipelines/{id}?output=true");
        let events = events_of(yard.get(&path).await).await;
        let output: Vec<_> = events
            .iter()
            .filter(|event| event.data["line"].is_string())
            .map(|event| {
                (
                    event.kind.as_str(),
                    text(&event.data["line"]),
                    text(&event.data["job"]),
                )
            })
            .collect();
        if id == ended.id() {
            let mut sorted = output;
            sorted.sort_unstable();
            assert_eq!(
                sorted,
                [("stderr", "two", "good"), ("stdout", "one", "good")]
            );
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn pipelines_are_listed_by_what_they_are_of() {
    let mut yard = Yard::new().await;
    let good = yard.run_jobs(GOOD).await.green();
    let bad = yard.run_jobs(BAD).await;
    let ids = async |query: &str| {
        let page = yard.get_json(&format!("{PIPELINES}{query}")).await;
        let items = page["items"].as_array().unwrap().iter();
        let ids: Vec<_> = items
            .map(|item| text(&item["pipeline_id"]).to_owned())
            .collect();
        (ids, page["next"].clone())
    };
    assert_eq!(ids("").await.0, [bad.id(), good.id()]);
    assert_eq!(ids("?state=failed").await.0, [bad.id()]);
    assert_eq!(ids("?file=ci.yml&branch=main").await.0.len(), 2);
    assert_eq!(ids("?branch=other").await.0, [""; 0]);
    let query = format!("?commit={}", text(&good.0["commit"]));
    assert_eq!(ids(&query).await.0, [good.id()]);
    let (first, next) = ids("?limit=1").await;
    assert_eq!((first, text(&next)), (vec![bad.id().to_owned()], bad.id()));
    let (second, next) = ids(&format!("?limit=1&before={}", bad.id())).await;
    assert_eq!((second, next), (vec![good.id().to_owned()], json!(null)));
    yard.stop().await;
}
