//! What is missing in a workspace is not passed over in silence: its runs say so.

use serde_json::json;

use crate::support::{Agent, Event, Yard, warnings_of};

fn message<'a>(events: &'a [Event], code: &str) -> &'a str {
    let warning = events
        .iter()
        .find(|event| event.kind == "warning" && event.data["code"] == code);
    warning.unwrap().data["message"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_submodules_are_named_each_time() {
    let mut yard = Yard::new().await;
    let plain = yard.make("main", &["who"]).await;
    assert_eq!(warnings_of(&plain), [] as [&str; 0]);
    yard.origin.at("main");
    let id = "1".repeat(40);
    let module = format!("160000,{id},vendor/lib");
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &module]);
    // As it is staged: there is no directory to look at.
    yard.origin.git(&["commit", "-q", "-m", "a submodule"]);
    yard.origin.push("odd");
    let events = yard.make("odd", &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    assert!(message(&events, "submodules_empty").contains("vendor/lib"));
    // The second time, and with the result, as well.
    let agent = Agent::new(&yard);
    let result = agent
        .tool(
            "make",
            json!({ "repo": "demo", "branch": "odd", "args": ["who"] }),
        )
        .await;
    let made = &result["structuredContent"];
    let codes: Vec<_> = made["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| &n["code"])
        .collect();
    assert_eq!(codes, ["submodules_empty"]);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("vendor/lib"), "{text}");
    let run = made["run_id"].as_str().unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["warnings"], made["notices"]);
    yard.stop().await;
}
