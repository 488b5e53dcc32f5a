//! What one principal and one address may have, and that others are served meanwhile.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{eventually, metric};
use crate::support::{Following, Options, Yard, problem_of};

const MAKE: &str = "/stream/repos/demo/branches/main/make";

/// The problem that a limit makes, which says when to come back and which limit it is.
async fn limited(answer: Response, code: &str, key: &str) -> u64 {
    let retry_after: u64 = answer.headers()["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let (status, problem) = problem_of(answer).await;
    assert_eq!((status, &problem["code"]), (429, &json!(code)), "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains(key),
        "{problem}"
    );
    assert_eq!(problem["retry_after"], retry_after);
    assert!(retry_after > 0);
    retry_after
}

async fn follow(yard: &Yard, run: &str) -> Response {
    let path = format!("/stream/runs/{run}");
    let request = yard.request(Method::GET, &path);
    request
        .header("accept", "application/x-ndjson")
        .send()
        .await
        .unwrap()
}

async fn runs(yard: &Yard) -> usize {
    let page = yard.get_json("/api/runs").await;
    page["items"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn those_whom_one_made_tokens_for_share_the_limits_of_that_one() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_streams_per_principal = 2\nmax_queued_runs_per_principal = 1\n"
            .to_owned(),
        ..Options::default()
    })
    .await;
    let mut gate = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    gate.until_line("waiting").await;
    let path = format!("/stream/runs/{}", gate.run_id());
    let ask = |method: Method, path: &str, token: &str| {
        let request = yard.client.request(method, format!("{}{path}", yard.url));
        request.bearer_auth(token)
    };
    let watch = async |token: &str| ask(Method::GET, &path, token).send().await.unwrap();
    let made_with = async |token: &str, asked: Value| {
        let made = ask(Method::POST, "/api/tokens", token).json(&asked).send();
        let made: Value = made.await.unwrap().json().await.unwrap();
        made["token"].as_str().unwrap().to_owned()
    };
    let dev = yard.token(json!({ "role": "dev", "expires": "1h" })).await;
    let child = made_with(&dev, json!({ "role": "dev", "expires": "30m" })).await;
    let grandchild = made_with(&child, json!({ "role": "dev", "expires": "10m" })).await;
    let other = yard.token(json!({ "role": "dev", "expires": "1h" })).await;

    let mut open = vec![watch(&dev).await, watch(&child).await];
    let key = "limits.max_streams_per_principal";
    for token in [&dev, &child, &grandchild] {
        limited(watch(token).await, "too_many_streams", key).await;
    }
    open.push(watch(&other).await);
    assert!(open.iter().all(|stream| stream.status() == 200));

    let wait = async |token: &str| {
        let request = ask(Method::POST, MAKE, token).header("prefer", "respond-async");
        let request = request.json(&json!({"args": ["who"], "detach": true}));
        request.send().await.unwrap()
    };
    let queued: Value = wait(&grandchild).await.json().await.unwrap();
    let key = "limits.max_queued_runs_per_principal";
    limited(wait(&dev).await, "too_many_queued_runs", key).await;
    let others: Value = wait(&other).await.json().await.unwrap();
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    for run in [queued, others] {
        let run = run["run_id"].as_str().unwrap();
        assert_eq!(yard.ended(run).await["state"], "succeeded");
    }
    gate.end().await;
    drop(open);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_principal_has_under_way_is_bounded() {
    let mut yard = Yard::with(Options {
        tables:
            "[limits]\nmax_streams_per_principal = 3\nmax_concurrent_requests_per_principal = 2\n\
                 max_queued_runs_per_principal = 2\n"
                .to_owned(),
        ..Options::default()
    })
    .await;
    let mut gate = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    gate.until_line("waiting").await;
    let run = gate.run_id();
    let mut streams: Vec<_> = vec![follow(&yard, &run).await, follow(&yard, &run).await];
    assert!(streams.iter().all(|stream| stream.status() == 200));

    // Refused before anything is done, in every way to open one.
    let known = runs(&yard).await;
    for answer in [
        follow(&yard, &run).await,
        yard.post(MAKE, json!({"args": ["who"]})).await,
        yard.post("/stream/repos/demo/make", json!({"branches": ["main"]}))
            .await,
        yard.get(&format!("/api/runs/{run}/log")).await,
        yard.get("/mcp").await,
    ] {
        limited(
            answer,
            "too_many_streams",
            "limits.max_streams_per_principal",
        )
        .await;
    }
    assert_eq!(runs(&yard).await, known);
    assert_eq!(metric(&yard, "branchyard_streams ").await, 3.0);
    assert!(
        metric(
            &yard,
            "branchyard_refused_by_limit_total{code=\"too_many_streams\"}"
        )
        .await
            >= 5.0
    );

    // What is no stream is answered as ever; runs that wait have a bound of their own.
    let waiting = yard.start_detached("main", json!({"args": ["who"]})).await;
    yard.start_detached("main", json!({"args": ["who"]})).await;
    let detached = || {
        let request = yard
            .request(Method::POST, MAKE)
            .header("prefer", "respond-async");
        request.json(&json!({"args": ["who"]})).send()
    };
    let key = "limits.max_queued_runs_per_principal";
    limited(detached().await.unwrap(), "too_many_queued_runs", key).await;
    yard.post_json(&format!("/api/runs/{waiting}/cancel"), json!({}))
        .await;
    yard.ended(&waiting).await;
    assert_eq!(detached().await.unwrap().status(), 202);
    let group = yard.request(Method::POST, "/stream/repos/demo/make");
    let group = group
        .header("prefer", "respond-async")
        .json(&json!({"branches": ["main"]}));
    limited(group.send().await.unwrap(), "too_many_queued_runs", key).await;

    // Two who wait for an answer are enough; a stream is not among them.
    let path = format!("/api/runs/{run}?wait=50s");
    let wait = || yard.get(&path);
    let patient = || eventually("it may wait", wait, |answer| answer.status() == 200);
    let waiting = async { tokio::join!(patient(), patient()) };
    let meanwhile = async {
        let busy = eventually(
            "both wait",
            || yard.get("/api/repos"),
            |answer| answer.status() == 429,
        )
        .await;
        limited(
            busy,
            "too_many_requests",
            "limits.max_concurrent_requests_per_principal",
        )
        .await;
        streams.pop();
        let again = eventually(
            "a place is given back",
            || follow(&yard, &run),
            |answer| answer.status() == 200,
        )
        .await;
        std::fs::write(yard.workspace("main").join("open"), "").unwrap();
        Following::new(again).end().await
    };
    let (_, end) = tokio::join!(waiting, meanwhile);
    assert_eq!(end.data["state"], "succeeded");
    drop((gate, streams));
    eventually(
        "all places are given back",
        || yard.get("/api/repos"),
        |answer| answer.status() == 200,
    )
    .await;
    while metric(&yard, "branchyard_streams ").await > 0.0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pace_of_requests_and_failures_is_bounded() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_requests_per_second = 1\nmax_request_burst = 20\n\
                 max_failures_per_minute = 5\n"
            .to_owned(),
        ..Options::default()
    })
    .await;
    let mut refused = None;
    for _ in 0..30 {
        let answer = yard.get("/api/repos").await;
        if answer.status() == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("thirty at once are too many");
    let wait = limited(refused, "rate_limited", "limits.max_requests_per_second").await;
    // What needs no credential is nobody's.
    assert_eq!(yard.get("/healthz").await.status(), 200);
    tokio::time::sleep(Duration::from_secs(wait)).await;
    yard.get_json("/api/repos").await;

    let wrong = || async {
        let request = yard.client.get(format!("{}/api/repos", yard.url));
        request
            .bearer_auth("a-key-that-is-wrong")
            .send()
            .await
            .unwrap()
    };
    for _ in 0..5 {
        assert_eq!(wrong().await.status(), 401);
    }
    limited(
        wrong().await,
        "too_many_failures",
        "limits.max_failures_per_minute",
    )
    .await;
    // Who knows the key is heard, whatever others do at the same address.
    eventually(
        "the key is good",
        || yard.get("/api/repos"),
        |answer| answer.status() == 200,
    )
    .await;

    let health: Value = yard.get("/healthz").await.json().await.unwrap();
    assert_eq!(health["status"], "ok");
    yard.stop().await;
}
