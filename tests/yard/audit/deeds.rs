//! What is done by HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use super::{PLACE, at, fields, newest, since, the_one_since};
use crate::support::Yard;

#[tokio::test]
async fn what_is_done_is_recorded_once_with_what_it_made() {
    let mut yard = Yard::new().await;
    let base = "/api/repos/demo/branches/work";
    let mut id = newest(&yard).await;
    assert_eq!(id, 0, "nobody did anything yet");

    let request = yard
        .request(Method::PUT, base)
        .json(&json!({ "from": "main" }));
    let made = request
        .header("x-request-id", "trace-1")
        .send()
        .await
        .unwrap();
    assert_eq!(made.status(), 200);
    let record = the_one_since(&yard, id, "prepare").await;
    assert_eq!(
        fields(&record, PLACE),
        at("http", "branch.prepare", Some("work"), "allowed").each_ref()
    );
    assert_eq!(record["request"], "trace-1");
    assert_eq!(record["peer"], "loopback");
    assert_eq!(
        fields(&record, ["status", "count", "code", "detail"]),
        [&json!(200), &json!(1), &Value::Null, &Value::Null]
    );

    id = newest(&yard).await;
    let events = yard.make("work", &["who"]).await;
    let run = events[0].data["run_id"].clone();
    let record = the_one_since(&yard, id, "make").await;
    assert_eq!(
        fields(&record, PLACE),
        at("http", "make", Some("work"), "allowed").each_ref()
    );
    assert_eq!(record["run"], run);

    // A failed build was allowed; how it ended is in its own record.
    id = newest(&yard).await;
    let again = yard
        .post(
            &format!("/stream/runs/{}/rerun", run.as_str().unwrap()),
            json!({}),
        )
        .await;
    let location = again.headers()["location"].to_str().unwrap().to_owned();
    again.text().await.unwrap();
    let record = the_one_since(&yard, id, "rerun").await;
    assert_eq!(
        fields(&record, PLACE),
        at("http", "run.rerun", Some("work"), "allowed").each_ref()
    );
    assert_eq!(
        format!("/api/runs/{}", record["run"].as_str().unwrap()),
        location
    );

    id = newest(&yard).await;
    let cancel = format!("/api/runs/{}/cancel", run.as_str().unwrap());
    assert_eq!(yard.post(&cancel, json!({})).await.status(), 202);
    let record = the_one_since(&yard, id, "cancel").await;
    assert_eq!(
        fields(&record, PLACE),
        at("http", "run.cancel", Some("work"), "allowed").each_ref()
    );
    assert_eq!(record["run"], run);

    id = newest(&yard).await;
    let group = json!({ "branches": ["main", "work"], "args": ["who"] });
    let started = yard.post("/stream/repos/demo/make", group).await;
    let location = started.headers()["location"].to_str().unwrap().to_owned();
    started.text().await.unwrap();
    let record = the_one_since(&yard, id, "group").await;
    assert_eq!(
        fields(&record, PLACE),
        at("http", "group.start", None, "allowed").each_ref()
    );
    assert_eq!(
        format!("/api/groups/{}", record["run"].as_str().unwrap()),
        location
    );

    std::fs::write(yard.workspace("work").join("name.txt"), "mine\n").unwrap();
    id = newest(&yard).await;
    yard.verb(
        "work",
        "commit",
        json!({ "message": "a word", "all": true }),
    )
    .await;
    let refused = yard
        .try_verb(
            "work",
            "commit",
            json!({ "message": "nothing", "all": true }),
        )
        .await;
    assert!(!refused.status().is_success());
    let both = since(&yard, id).await;
    assert_eq!(both.len(), 2, "{both:#?}");
    assert_eq!(
        fields(&both[0], PLACE),
        at("http", "git.commit", Some("work"), "allowed").each_ref()
    );
    assert_eq!(
        fields(&both[1], PLACE),
        at("http", "git.commit", Some("work"), "failed").each_ref()
    );
    assert!(both[1]["code"].is_string(), "{both:#?}");

    // What a call makes and touches is found by its id.
    id = newest(&yard).await;
    let removed = yard.delete(&format!("{base}?force=true")).await;
    let salvage = removed.json::<Value>().await.unwrap()["salvage"].clone();
    yard.restore(&salvage, json!({})).await;
    let dropped = yard
        .delete(&format!("/api/salvage/{}", salvage["id"].as_str().unwrap()))
        .await;
    assert_eq!(dropped.status(), 204);
    let all = since(&yard, id).await;
    let actions: Vec<_> = all
        .iter()
        .map(|record| record["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        ["branch.remove", "salvage.restore", "salvage.drop"]
    );
    for record in &all {
        assert_eq!(
            fields(record, ["run", "repo", "branch"]),
            [&salvage["id"], &json!("demo"), &json!("work")]
        );
    }

    // Of what stands in the body, too, it is known where it was.
    id = newest(&yard).await;
    let task = json!({ "repo": "demo", "agent_id": "7", "task_id": "x" });
    yard.post_json("/api/git/clone", task).await;
    let url = yard.origin.url();
    yard.post_json("/api/repos", json!({ "name": "more", "url": url }))
        .await;
    assert_eq!(yard.delete("/api/repos/more").await.status(), 204);
    let all = since(&yard, id).await;
    let places: Vec<_> = all
        .iter()
        .map(|record| fields(record, ["action", "repo", "branch"]))
        .collect();
    assert_eq!(
        places,
        [
            [&json!("git.clone"), &json!("demo"), &json!("agent-7-x")],
            [&json!("repo.register"), &json!("more"), &Value::Null],
            [&json!("repo.remove"), &json!("more"), &Value::Null],
        ]
    );

    id = newest(&yard).await;
    for look in [
        "/api/repos",
        "/api/runs",
        "/api/audit",
        base,
        "/metrics",
        "/api/runs/none",
    ] {
        yard.get(look).await;
    }
    yard.verb("main", "status", json!({})).await;
    yard.post(&format!("{base}/ls"), json!({})).await;
    yard.post_json("/api/reap?dry_run=true", json!({})).await;
    let looks = since(&yard, id).await;
    assert!(looks.is_empty(), "{looks:#?}");
    yard.post_json("/api/reap", json!({})).await;
    assert_eq!(the_one_since(&yard, id, "reap").await["action"], "reap");
    yard.stop().await;
}
