//! What there is.

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard, git};

fn with_a_task() -> Options {
    Options {
        repo: "tasks = { lint = [\"true\"] }".into(),
        ..Options::default()
    }
}

/// All pages of a list, one after another.
async fn all(agent: &Agent, mut arguments: Value, field: &str) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let page = agent.call("list", arguments.clone()).await;
        found.extend(page[field].as_array().unwrap().iter().cloned());
        assert_eq!(page["truncated"], page["next_cursor"].is_string());
        if page["next_cursor"].is_null() {
            return found;
        }
        arguments["cursor"] = page["next_cursor"].clone();
    }
}

#[tokio::test]
async fn repos_workspaces_and_one_of_them_in_both_eras() {
    let mut yard = Yard::with(with_a_task()).await;
    yard.origin.branch("feature/x");
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        agent
            .call("ls", json!({ "repo": "demo", "branch": "main" }))
            .await;
        let yards = agent.call("list", json!({})).await;
        let repo = &yards["repos"][0];
        assert_eq!(repo["name"], "demo");
        assert_eq!(repo["default_branch"], "main");
        assert_eq!(repo["tasks"], json!(["lint"]));
        assert!(yards.get("workspaces").is_none());

        let local = agent.call("list", json!({ "repo": "demo" })).await;
        let names: Vec<_> = local["workspaces"].as_array().unwrap().iter().collect();
        assert_eq!(names.len(), 1, "{local}");
        assert_eq!(names[0]["branch"], "main");
        let every = all(
            &agent,
            json!({ "repo": "demo", "remote": true }),
            "workspaces",
        )
        .await;
        assert_eq!(every.len(), 2);
        assert_eq!(every[0]["branch"], "feature/x");
        assert_eq!(every[0]["remote_only"], true);
        assert_eq!(every[1]["remote_only"], false);
    }
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    let agent = Agent::new(&yard);
    let result = agent.tool("list", json!({ "repo": "demo" })).await;
    let main = &result["structuredContent"]["workspaces"][0];
    assert_eq!(main["dirty"], true);
    assert_eq!(main["commit"], git(&workspace, &["rev-parse", "HEAD"]));
    assert_eq!(main["pins"], json!(["changes to tracked files"]));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("tasks: lint") && text.contains("main") && text.contains("dirty"));

    let one = agent
        .tool("list", json!({ "repo": "demo", "branch": "main" }))
        .await;
    let text = one["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("with changes"), "{text}");
    let one = &one["structuredContent"];
    assert_eq!(one["workspace"]["path"], workspace.to_str().unwrap());
    assert!(one["workspace"]["size"].as_u64().unwrap() > 0, "{one}");
    yard.stop().await;
}

#[tokio::test]
async fn thousands_of_branches_come_in_pages() {
    let mut yard = Yard::new().await;
    let names: Vec<_> = (0..1_200)
        .map(|n| format!("team/{n:04}-a-branch-with-a-rather-long-name-of-its-own"))
        .collect();
    let head = yard.origin.head();
    let packed: String = names
        .iter()
        .map(|name| format!("{head} refs/heads/{name}\n"))
        .collect();
    std::fs::write(yard.origin.bare.join("packed-refs"), packed).unwrap();
    let agent = Agent::new(&yard);
    let found = all(
        &agent,
        json!({ "repo": "demo", "remote": true }),
        "workspaces",
    )
    .await;
    let found: Vec<_> = found
        .iter()
        .map(|workspace| workspace["branch"].as_str().unwrap())
        .collect();
    assert_eq!(found[0], "main");
    assert_eq!(found[1..], names);
    yard.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_words_of_tools() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    for (arguments, words) in [
        (json!({ "branch": "main" }), "field: repo"),
        (json!({ "remote": true }), "field: repo"),
        (json!({ "repo": "other" }), "`list` names the repos"),
        (json!({ "repo": "../demo" }), "field: repo"),
        (
            json!({ "repo": "demo", "branch": "main" }),
            "`workspace` with action prepare",
        ),
        (json!({ "repo": "demo", "branch": "a..b" }), "field: branch"),
        (json!({ "repo": "demo", "cursor": "-" }), "field: cursor"),
        (json!({ "cursor": "x" }), "field: cursor"),
        (json!({ "repos": true }), "field: repos"),
    ] {
        let refusal = agent.refusal("list", arguments.clone()).await;
        assert!(refusal.contains(words), "{arguments}: {refusal}");
        assert!(!refusal.contains("/api"), "{refusal}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_a_client_fixed_is_not_all_that_it_can_list() {
    let mut yard = Yard::new().await;
    let fixed = [("branchyard-repo", "demo"), ("branchyard-branch", "main")];
    let agent = Agent::with(&yard, &fixed);
    let yards = agent.call("list", json!({})).await;
    assert_eq!(yards["repos"][0]["name"], "demo");
    assert!(yards.get("workspace").is_none());
    yard.stop().await;
}

#[tokio::test]
async fn workspaces_that_are_only_being_made_do_not_end_the_list() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let registered = yard.store().join("worktrees");
    let record = std::fs::read_to_string(registered.join("main/branchyard.json")).unwrap();
    for n in 0..70 {
        let dir = registered.join(format!("a{n:02}"));
        std::fs::create_dir(&dir).unwrap();
        let record = record.replace("\"main\"", &format!("\"a{n:02}\""));
        std::fs::write(dir.join("branchyard.json"), record).unwrap();
    }
    let agent = Agent::new(&yard);
    let found = all(&agent, json!({ "repo": "demo" }), "workspaces").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["branch"], "main");
    yard.stop().await;
}
