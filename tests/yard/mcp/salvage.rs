//! Saved work.

use serde_json::{Value, json};

use crate::support::{Agent, Yard};

/// Edits main's workspace and has it removed by force; the salvage's id.
async fn saved(yard: &Yard, agent: &Agent, text: &str) -> String {
    let act = |action: &str| json!({ "repo": "demo", "branch": "main", "action": action });
    agent.call("workspace", act("prepare")).await;
    std::fs::write(yard.workspace("main").join("name.txt"), text).unwrap();
    std::fs::write(yard.workspace("main").join("new.txt"), "new\n").unwrap();
    let mut by_force = act("remove");
    by_force["force"] = true.into();
    let gone = agent.call("workspace", by_force).await;
    gone["salvage"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn it_is_found_looked_at_and_brought_back() {
    let mut yard = Yard::new().await;
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        let text: String = (0..3_000).map(|n| format!("mine {n}\n")).collect();
        let id = saved(&yard, &agent, &text).await;
        let listed = agent
            .tool(
                "salvage",
                json!({ "action": "list", "repo": "demo", "branch": "main" }),
            )
            .await;
        assert_eq!(listed["structuredContent"]["salvages"][0]["id"], *id);
        assert!(listed["content"][0]["text"].as_str().unwrap().contains(&id));
        let other = json!({ "action": "list", "repo": "demo", "branch": "other" });
        assert_eq!(agent.call("salvage", other).await["salvages"], json!([]));

        let shown = agent
            .call("salvage", json!({ "action": "show", "salvage_id": id }))
            .await;
        let files: Vec<_> = shown["files"].as_array().unwrap().iter().collect();
        let names: Vec<_> = files
            .iter()
            .map(|file| (&file["path"], &file["change"]))
            .collect();
        assert_eq!(
            names,
            [
                (&json!("name.txt"), &json!("changed")),
                (&json!("new.txt"), &json!("added"))
            ]
        );
        let (mut read, mut cursor) = (String::new(), Value::Null);
        loop {
            let asked =
                json!({ "action": "read", "salvage_id": id, "path": "name.txt", "cursor": cursor });
            let page = agent.call("salvage", asked).await;
            read.push_str(page["file"]["text"].as_str().unwrap());
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert!(read == text, "all of it, once");

        let restored = agent
            .call("salvage", json!({ "action": "restore", "salvage_id": id }))
            .await;
        assert_eq!(restored["workspace"]["dirty"], true);
        let back = std::fs::read_to_string(yard.workspace("main").join("name.txt")).unwrap();
        assert!(back == text);
        agent
            .call("salvage", json!({ "action": "drop", "salvage_id": id }))
            .await;
        let gone = agent
            .refusal("salvage", json!({ "action": "show", "salvage_id": id }))
            .await;
        assert!(
            gone.starts_with("salvage_not_found") && gone.contains("action list"),
            "{gone}"
        );
        assert!(!gone.contains("/api"), "{gone}");
        let by_force =
            json!({ "repo": "demo", "branch": "main", "action": "remove", "force": true });
        agent.call("workspace", by_force).await;
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_named() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let id = saved(&yard, &agent, "mine\n").await;
    for (arguments, field) in [
        (json!({}), "action"),
        (json!({ "action": "show" }), "salvage_id"),
        (json!({ "action": "show", "salvage_id": "1" }), "salvage_id"),
        (json!({ "action": "list", "salvage_id": id }), "salvage_id"),
        (json!({ "action": "read", "salvage_id": id }), "path"),
        (
            json!({ "action": "show", "salvage_id": id, "path": "x" }),
            "path",
        ),
        (
            json!({ "action": "read", "salvage_id": id, "path": "../../etc/passwd" }),
            "path",
        ),
        (
            json!({ "action": "read", "salvage_id": id, "path": "/etc/passwd" }),
            "path",
        ),
        (
            json!({ "action": "drop", "salvage_id": id, "force": true }),
            "force",
        ),
        (
            json!({ "action": "drop", "salvage_id": id, "branch": "main" }),
            "branch",
        ),
        (
            json!({ "action": "restore", "salvage_id": id, "cursor": "1" }),
            "cursor",
        ),
    ] {
        let refusal = agent.refusal("salvage", arguments.clone()).await;
        assert!(
            refusal.contains(&format!("field: {field}")),
            "{arguments}: {refusal}"
        );
    }
    yard.stop().await;
}
