//! Statuses of commits at their forges.

use serde_json::{Value, json};

use super::{DELIVERIES, told};
use crate::support::{Receiver, json_of};

/// The last status that came, where there were any.
fn last(forge: &Receiver) -> Value {
    forge.received().last().unwrap().json()
}

#[tokio::test]
async fn each_kind_of_forge_is_told_in_its_own_way() {
    for (kind, place, header, token, done) in [
        (
            "github",
            "/repos/team/origin/statuses/",
            "authorization",
            "Bearer a-token-of-the-forge",
            "success",
        ),
        (
            "gitea",
            "/repos/team/origin/statuses/",
            "authorization",
            "token a-token-of-the-forge",
            "success",
        ),
        (
            "forgejo",
            "/repos/team/origin/statuses/",
            "authorization",
            "token a-token-of-the-forge",
            "success",
        ),
        (
            "gitlab",
            "/projects/team%2Forigin/statuses/",
            "private-token",
            "a-token-of-the-forge",
            "success",
        ),
    ] {
        let forge = Receiver::start().await;
        let (mut yard, _remote) = told(kind, &forge).await;
        let ended = yard.pushed().await;
        assert_eq!(ended["state"], "succeeded", "{ended:#}");
        yard.all_delivered().await;
        let all = forge.received();
        let commit = ended["commit"].as_str().unwrap();
        for sent in &all {
            assert_eq!(sent.path, format!("{place}{commit}"), "{kind}");
            assert_eq!(sent.header(header), token, "{kind}");
        }
        let status = last(&forge);
        assert_eq!(status["state"], done, "{kind}: {status:#}");
        let name = match kind {
            "gitlab" => &status["name"],
            _ => &status["context"],
        };
        assert_eq!(name, "branchyard/ci", "{kind}");
        assert_eq!(status["description"], "1 job");
        let id = ended["pipeline_id"].as_str().unwrap();
        assert_eq!(
            status["target_url"],
            format!("https://yard.example.org/#/pipeline/{id}")
        );
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_forge_that_is_down_gets_the_latest_when_it_is_back() {
    let forge = Receiver::start().await;
    forge.answer(503);
    let (mut yard, _remote) = told("github", &forge).await;
    yard.pushed().await;
    let page = yard
        .until_json(DELIVERIES, |page| {
            page["items"][0]["failures"] == 1 && page["items"][0]["says"] == "1 job"
        })
        .await;
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "older ones are not told any more: {page:#}");
    assert_eq!(items[0]["state"], "waiting");
    assert_eq!(items[0]["problem"], "HTTP 503: so it is");
    // Another daemon goes on with it.
    yard.stop().await;
    forge.answer(201);
    yard.start().await;
    let delivery = items[0]["delivery_id"].as_str().unwrap();
    let again = format!("{DELIVERIES}/{delivery}/redeliver");
    yard.post_json(&again, json!({})).await;
    let all = yard.all_delivered().await;
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["delivery_id"], items[0]["delivery_id"]);
    assert_eq!(last(&forge)["state"], "success");
    let nowhere = format!("{DELIVERIES}/0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b/redeliver");
    assert_eq!(yard.post(&nowhere, json!({})).await.status(), 404);
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_that_is_killed_before_the_end_is_told_tells_the_forge_all_the_same() {
    for point in [
        "outbox-written",
        "pipeline-noted",
        "pipeline-told",
        "outbox-sent",
    ] {
        let forge = Receiver::start().await;
        let (mut yard, _remote) = told("gitea", &forge).await;
        yard.stop().await;
        let mut killed = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
        // Its answer may never come.
        let asked = yard
            .request(reqwest::Method::POST, "/api/repos/demo/pipelines")
            .header("idempotency-key", "one")
            .json(&json!({ "event": "push" }));
        let _ = asked.try_clone().unwrap().send().await;
        assert!(!killed.ended().await.success(), "{point}");
        yard.start().await;
        let asked = yard
            .request(reqwest::Method::POST, "/api/repos/demo/pipelines")
            .header("idempotency-key", "one")
            .json(&json!({ "event": "push" }));
        let record = json_of(asked.send().await.unwrap()).await;
        let id = record["pipeline_id"].as_str().unwrap();
        let ended = yard
            .get_json(&format!("/api/pipelines/{id}?wait=100s"))
            .await;
        assert_eq!(ended["state"], "succeeded", "{point}");
        yard.all_delivered().await;
        assert_eq!(last(&forge)["state"], "success", "{point}");
        assert_eq!(last(&forge)["description"], "1 job", "{point}");
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_status_that_was_sent_as_the_daemon_died_is_sent_again_as_it_was() {
    let forge = Receiver::start().await;
    forge.answer(503);
    let (mut yard, _remote) = told("github", &forge).await;
    yard.pushed().await;
    let page = yard
        .until_json(DELIVERIES, |page| {
            page["items"][0]["failures"] == 1 && page["items"][0]["says"] == "1 job"
        })
        .await;
    let delivery = page["items"][0]["delivery_id"].as_str().unwrap();
    yard.stop().await;
    forge.answer(201);
    let before = forge.received().len();
    let crash = [("BRANCHYARD_CRASH_AT", "outbox-sent")];
    let mut killed = yard.start_binary(&crash).await;
    let again = format!("{DELIVERIES}/{delivery}/redeliver");
    // It may have been due, and the daemon gone, by now.
    let asked = yard.request(reqwest::Method::POST, &again).json(&json!({}));
    let _ = asked.send().await;
    assert!(!killed.ended().await.success());
    assert_eq!(forge.received().len(), before + 1);
    yard.start().await;
    let all = yard.all_delivered().await;
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["delivery_id"], delivery);
    let received = forge.received();
    let [first, second] = &received[before..] else {
        panic!("{received:#?}");
    };
    assert_eq!(first.json()["state"], "success");
    for header in ["authorization", "content-type", "accept"] {
        assert_eq!(first.header(header), second.header(header), "{header}");
    }
    assert_eq!(
        (&first.method, &first.path, &first.body),
        (&second.method, &second.path, &second.body)
    );
    yard.stop().await;
}
