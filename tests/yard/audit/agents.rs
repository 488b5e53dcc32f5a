//! What is done by MCP.

use serde_json::{Value, json};

use super::{PLACE, at, fields, newest, since, the_one_since};
use crate::support::{Agent, Options, Yard};

#[tokio::test]
async fn what_agents_do_is_recorded_by_the_same_names() {
    let mut yard = Yard::with(Options {
        tables: "[reaper]\nmax_size = \"1B\"\nlow_water = \"1B\"\nhigh_water = \"1B\"".into(),
        ..Options::default()
    })
    .await;
    let headers = [("branchyard-toolsets", "all"), ("branchyard-repo", "demo")];
    let agent = Agent::with(&yard, &headers);
    let mut id = newest(&yard).await;
    let built = agent
        .call("make", json!({ "branch": "main", "args": ["who"] }))
        .await;
    let record = the_one_since(&yard, id, "make").await;
    assert_eq!(
        fields(&record, PLACE),
        at("mcp", "make", Some("main"), "allowed").each_ref()
    );
    assert_eq!(record["run"], built["run_id"]);
    assert_eq!(record["peer"], "loopback");

    id = newest(&yard).await;
    agent
        .call(
            "workspace",
            json!({ "action": "prepare", "branch": "work", "from": "main" }),
        )
        .await;
    std::fs::write(yard.workspace("work").join("name.txt"), "mine\n").unwrap();
    let commit = json!({ "branch": "work", "operation": "commit", "args": ["-am", "a word"] });
    let committed = agent.call("git", commit).await;
    agent.call("git_push", json!({ "branch": "work" })).await;
    let refused = agent
        .refusal("workspace", json!({ "action": "remove", "branch": "none" }))
        .await;
    assert!(!refused.is_empty());
    let all = since(&yard, id).await;
    let told: Vec<_> = all
        .iter()
        .map(|record| fields(record, ["action", "branch", "outcome"]))
        .collect();
    assert_eq!(
        told,
        [
            [&json!("branch.prepare"), &json!("work"), &json!("allowed")],
            [&json!("git"), &json!("work"), &json!("allowed")],
            [&json!("git.push"), &json!("work"), &json!("allowed")],
            [&json!("branch.remove"), &json!("none"), &json!("failed")],
        ]
    );
    assert_eq!(all[1]["run"], committed["run_id"]);

    id = newest(&yard).await;
    agent.call("list", json!({})).await;
    agent
        .call(
            "workspace",
            json!({ "action": "describe", "branch": "work" }),
        )
        .await;
    agent
        .call("git", json!({ "branch": "work", "operation": "status" }))
        .await;
    agent.call("salvage", json!({ "action": "list" })).await;
    agent.call("reap", json!({})).await;
    agent.call("findings", json!({})).await;
    agent
        .refusal("read_file", json!({ "branch": "work", "path": "none" }))
        .await;
    let looks = since(&yard, id).await;
    assert!(looks.is_empty(), "{looks:#?}");

    // What the daemon does by its own rules is recorded beside what it was asked for.
    agent.call("reap", json!({ "dry_run": false })).await;
    let reaped = since(&yard, id).await;
    let told: Vec<_> = reaped
        .iter()
        .map(|record| fields(record, ["via", "action", "principal", "branch"]))
        .collect();
    let [rest @ .., asked] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        asked,
        &[
            &json!("mcp"),
            &json!("reap"),
            &json!("session"),
            &Value::Null
        ]
    );
    let removed = [
        &json!("daemon"),
        &json!("reap.workspace"),
        &Value::Null,
        &json!("main"),
    ];
    assert!(rest.contains(&removed), "{told:?}");
    yard.stop().await;
}
