//! One workspace and its life.

use serde_json::json;

use crate::support::{Agent, Yard, git};

#[tokio::test]
async fn a_branch_is_made_pinned_let_go_and_removed() {
    let mut yard = Yard::new().await;
    for (agent, branch) in [
        (Agent::new(&yard), "new/one"),
        (Agent::older(&yard, &[]).await, "new/two"),
    ] {
        let act = |action: &str| json!({ "repo": "demo", "branch": branch, "action": action });
        let unknown = agent.refusal("workspace", act("prepare")).await;
        assert!(unknown.starts_with("branch_not_found"), "{unknown}");
        assert!(unknown.contains("prepare and from") && !unknown.contains("PUT"));
        let missing = agent.refusal("workspace", act("describe")).await;
        assert!(
            missing.contains("`workspace` with action prepare"),
            "{missing}"
        );

        let mut create = act("prepare");
        create["from"] = "main".into();
        let made = agent.call("workspace", create).await;
        assert_eq!(made["workspace"]["branch"], branch);
        assert!(yard.workspace(branch).join("Makefile").exists());
        let mut pin = act("pin");
        pin["reason"] = "under review".into();
        let pinned = agent.call("workspace", pin).await;
        assert_eq!(pinned["workspace"]["pinned"]["reason"], "under review");
        let kept = agent.refusal("workspace", act("remove")).await;
        assert!(
            kept.starts_with("workspace_pinned") && kept.contains("action unpin"),
            "{kept}"
        );
        let free = agent.call("workspace", act("unpin")).await;
        assert!(free["workspace"]["pinned"].is_null());

        let described = agent.tool("workspace", act("describe")).await;
        let text = described["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("without changes"), "{text}");
        git(&yard.workspace(branch), &["push", "-q", "origin", "HEAD"]);
        agent.call("workspace", act("prepare")).await;
        let gone = agent.call("workspace", act("remove")).await;
        assert!(
            gone.get("workspace").is_none() && gone.get("salvage").is_none(),
            "{gone}"
        );
        assert!(!yard.workspace(branch).exists());
    }
    yard.stop().await;
}

#[tokio::test]
async fn work_is_kept_or_saved() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let act = |action: &str| json!({ "repo": "demo", "branch": "main", "action": action });
    agent.call("workspace", act("prepare")).await;
    std::fs::write(yard.workspace("main").join("name.txt"), "mine\n").unwrap();
    let kept = agent.refusal("workspace", act("remove")).await;
    assert!(kept.contains("changes to tracked files"), "{kept}");
    assert!(yard.workspace("main").exists());
    let mut by_force = act("remove");
    by_force["force"] = true.into();
    let result = agent.tool("workspace", by_force).await;
    let id = result["structuredContent"]["salvage"]["id"]
        .as_str()
        .unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains(id));
    assert!(!yard.workspace("main").exists());
    yard.stop().await;
}

#[tokio::test]
async fn a_field_that_is_for_something_else_is_refused() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    for (arguments, field) in [
        (json!({ "action": "remove", "from": "main" }), "from"),
        (json!({ "action": "prepare", "force": true }), "force"),
        (json!({ "action": "unpin", "reason": "x" }), "reason"),
        (json!({ "action": "destroy" }), "action"),
        (json!({}), "action"),
        (
            json!({ "action": "pin", "reason": "x".repeat(50_000) }),
            "reason",
        ),
        (
            json!({ "action": "prepare", "from": "--upload-pack=x" }),
            "from",
        ),
    ] {
        let mut arguments = arguments;
        arguments["repo"] = "demo".into();
        arguments["branch"] = "main".into();
        let refusal = agent.refusal("workspace", arguments).await;
        assert!(refusal.contains(&format!("field: {field}")), "{refusal}");
    }
    yard.stop().await;
}
