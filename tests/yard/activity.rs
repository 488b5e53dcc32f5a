//! Who works on a branch, and what its Makefile offers.

use serde_json::{Value, json};

use crate::support::{Agent, Yard, problem_of};

const MAIN: &str = "/api/repos/demo/branches/main";

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_with_their_programs_and_those_who_wait() {
    let mut yard = Yard::new().await;
    let path = format!("{MAIN}/activity");
    let none = yard.get_json(&path).await;
    assert_eq!(none, json!({ "items": [], "holder": null, "waiting": [] }));
    yard.make("main", &["who"]).await;
    let agent = Agent::with(&yard, &[("branchyard-repo", "demo")]);
    agent
        .call("make", json!({ "branch": "main", "args": ["who"] }))
        .await;
    let mut holding = yard
        .start_run("make", "main", json!({ "args": ["gate"] }))
        .await;
    holding.until_line("waiting").await;
    let mut waiting = yard
        .start_run("make", "main", json!({ "args": ["who"] }))
        .await;
    waiting
        .until(|event| event.data["state"] == "queued" && event.data["holder"].is_object())
        .await;
    let told = yard.get_json(&path).await;
    let workers: Vec<_> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| (worker["client"].clone(), worker["last_call"].clone()))
        .collect();
    // An agent is told by what it calls itself.
    assert!(
        workers.contains(&(json!("tests/1"), json!("make"))),
        "{told}"
    );
    assert_eq!(workers.len(), 2, "{told}");
    assert_eq!(told["holder"]["run_id"], json!(holding.run_id()));
    assert_eq!(told["waiting"][0]["run_id"], json!(waiting.run_id()));
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    holding.end().await;
    waiting.end().await;
    let over = yard.get_json(&path).await;
    assert_eq!(over["waiting"], json!([]));
    // Another branch has none of it.
    let other = yard
        .get_json("/api/repos/demo/branches/other/activity")
        .await;
    assert_eq!(other["items"], json!([]));
    yard.stop().await;
}

#[tokio::test]
async fn targets_are_read_and_make_is_not_run_for_them() {
    let mut yard = Yard::new().await;
    yard.origin.write(
        "Makefile",
        "X := $(shell touch ran)\nall: test\n\ntest lint:\n\t@true\n",
    );
    yard.origin.commit("targets");
    yard.origin.push("main");
    let told = yard.get_json(&format!("{MAIN}/make_targets")).await;
    assert_eq!(told["items"], json!(["all", "test", "lint"]));
    assert_eq!(told["truncated"], false);
    assert!(told["commit"].is_string(), "{told}");
    assert!(!yard.workspace("main").join("ran").exists());
    std::fs::remove_file(yard.workspace("main").join("Makefile")).unwrap();
    let (status, problem) = problem_of(yard.get(&format!("{MAIN}/make_targets")).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (404, &Value::from("no_makefile"))
    );
    yard.stop().await;
}
