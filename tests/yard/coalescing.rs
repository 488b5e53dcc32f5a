//! The same request many times, at once and across a `kill -9`: one run.

use std::collections::HashSet;
use std::path::Path;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Options, Yard, events_of, json_of, problem_of, text_of};

const MAKE: &str = "/stream/repos/demo/branches/main/make";

fn makefile(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "\
count:
\t@echo $$BRANCHYARD_RUN_ID >> {dir}/starts; echo one; echo two; \\
\twhile [ ! -e {dir}/open ]; do sleep 0.02; done; echo three
"
    )
}

fn yard() -> Yard {
    let yard = Yard::asleep(Options::default());
    yard.origin.write("Makefile", makefile(yard.dir.path()));
    yard.origin.commit("count");
    yard.origin.push("main");
    yard
}

fn starts(yard: &Yard) -> usize {
    let text = std::fs::read_to_string(yard.dir.path().join("starts")).unwrap_or_default();
    text.lines().count()
}

/// As many requests as `key`s, all on their way at once.
async fn at_once(yard: &Yard, times: usize, key: Option<&str>, body: &Value) -> Vec<Response> {
    let requests: Vec<_> = (0..times)
        .map(|_| {
            let mut request = yard
                .request(Method::POST, MAKE)
                .header("prefer", "respond-async")
                .json(body);
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            tokio::spawn(async { request.send().await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for request in requests {
        answers.push(request.await.unwrap());
    }
    answers
}

async fn runs_of(answers: Vec<Response>) -> HashSet<String> {
    let mut runs = HashSet::new();
    for answer in answers {
        let record = json_of(answer).await;
        runs.insert(record["run_id"].as_str().unwrap().to_owned());
    }
    runs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_who_want_the_same_share_one_make_until_the_last_has_gone() {
    let mut yard = yard();
    yard.start().await;
    let body = json!({"args": ["count"], "coalesce": true});
    let runs = runs_of(at_once(&yard, 100, None, &body).await).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let run = runs.into_iter().next().unwrap();
    yard.follow(&run).await.until_line("two").await;

    let cancel = format!("/api/runs/{run}/cancel");
    for left in (1..100).rev() {
        let answer = yard.post_json(&cancel, json!({})).await;
        assert_eq!(answer["wanted_by"], left);
    }
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["state"], "running", "{record}");
    let answer = yard.post_json(&cancel, json!({})).await;
    assert_eq!(answer["wanted_by"], 0);
    assert_eq!(yard.ended(&run).await["state"], "cancelled");
    assert_eq!(starts(&yard), 1);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_names_one_run_even_across_a_kill() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[]).await;
    let body = json!({"args": ["count"]});
    let key = Some("the-same-request");
    let mut runs = runs_of(at_once(&yard, 50, key, &body).await).await;
    let run = runs.iter().next().unwrap().clone();
    let mut viewer = yard.follow(&run).await;
    viewer.until_line("two").await;
    daemon.kill().await;

    let mut daemon = yard.start_binary(&[]).await;
    runs.extend(runs_of(at_once(&yard, 50, key, &body).await).await);
    assert_eq!(runs.len(), 1, "{runs:?}");

    let other = json!({"args": ["count"], "env": {"OTHER": "1"}});
    let answer = at_once(&yard, 1, key, &other).await.remove(0);
    let (status, problem) = problem_of(answer).await;
    assert_eq!(status, 422);
    assert_eq!(problem["code"], "idempotency_key_reused");

    // The one who asked resumes by asking again.
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let last = &viewer.events.last().unwrap().id;
    let again = |from: String| {
        let request = yard.request(Method::POST, MAKE);
        let request = request.header("idempotency-key", "the-same-request");
        request.header("last-event-id", from).json(&body).send()
    };
    let rest = events_of(again(last.clone()).await.unwrap()).await;
    assert_eq!(
        text_of(&viewer.events) + &text_of(&rest),
        "one\ntwo\nthree\n"
    );
    let end = rest.last().unwrap();
    assert_eq!(end.data["state"], "succeeded", "{end:?}");
    let seen_all = again(end.id.clone()).await.unwrap();
    assert_eq!(seen_all.status(), 204, "there is nothing more to see");

    // Also after its end, and after another kill, it is that run.
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let after = runs_of(at_once(&yard, 3, key, &body).await).await;
    assert_eq!(after, runs);
    assert_eq!(starts(&yard), 1);
    daemon.stop().await;
}
