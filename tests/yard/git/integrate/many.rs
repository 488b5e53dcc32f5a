//! Many conflicts at once: everything over HTTP, and over MCP as much as fits, and how much that is.

use serde_json::json;

use super::{fork, write};
use crate::support::{Agent, Yard};

fn files(content: &str) -> impl Fn(&std::path::Path) {
    move |at| {
        for n in 0..300 {
            let path = format!("a/directory/with/a/long/name/file-{n:03}.txt");
            write(at, &path, &format!("1\n{content} {n}\n3\n"));
        }
    }
}

#[tokio::test]
async fn three_hundred_conflicts_are_counted_where_they_cannot_all_be_told() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "many",
        |at| files("base")(at),
        |at| files("ours")(at),
        |at| files("theirs")(at),
    )
    .await;
    let agent = Agent::of_git(&yard, &ours);
    // The agent itself holds every answer to 20,000 bytes.
    let merged = agent.call("git_merge", json!({ "from": theirs })).await;
    let told = merged["conflicts"].as_array().unwrap().len();
    assert!(told > 10 && told < 300, "{told}");
    assert_eq!(merged["conflicts_total"], 300);
    assert_eq!(merged["truncated"], true);
    assert!(merged["next"].as_str().unwrap().contains("git_resolve"));

    let all = yard.verb(&ours, "resolve", json!({})).await;
    let conflicts = all["conflicts"].as_array().unwrap();
    assert_eq!(conflicts.len(), 300);
    assert_eq!(conflicts[299]["hunks"][0]["theirs"], "theirs 299\n");
    assert!(all["truncated"].is_null());
    let refusal = agent
        .refusal("git_merge", json!({ "action": "continue" }))
        .await;
    assert!(refusal.contains("and 280 more"), "{refusal}");

    let resolved = agent.call("git_resolve", json!({ "all": "theirs" })).await;
    assert_eq!(resolved["resolved_total"], 300);
    assert_eq!(resolved["conflicts_total"], 0);
    let done = agent
        .call("git_merge", json!({ "action": "continue" }))
        .await;
    assert_eq!(done["state"], "done");
    yard.stop().await;
}
