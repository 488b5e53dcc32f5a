//! What a client is told by what it was given: instructions, defaults, and help in words that it has.

use serde_json::json;

use crate::support::{Agent, Options, Yard};

async fn instructions(agent: &Agent) -> String {
    let hello = agent.request("server/discover", json!({})).await.unwrap();
    hello["instructions"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn instructions_go_with_the_tools() {
    let mut yard = Yard::new().await;
    for (sets, told, untold) in [
        (
            "yard,build,git_read,git_write",
            "`git_clone`",
            "Nothing can be changed",
        ),
        ("yard,build,ops", "`reap`", "`git_clone`"),
    ] {
        let text = instructions(&Agent::with(&yard, &[("branchyard-toolsets", sets)])).await;
        assert!(text.contains("Start with `list`"), "{sets}: {text}");
        assert!(
            text.contains(told) && !text.contains(untold),
            "{sets}: {text}"
        );
    }
    let reader = [
        ("branchyard-toolsets", "yard"),
        ("branchyard-read-only", "true"),
    ];
    let text = instructions(&Agent::with(&yard, &reader)).await;
    assert!(text.contains("Nothing can be changed"), "{text}");
    yard.stop().await;
}

#[tokio::test]
async fn the_operators_own_text_wraps_up() {
    let mut yard = Yard::asleep(Options::default());
    let file = yard.dir.path().join("wrap_up.md");
    std::fs::write(&file, "Ask the release manager before you push.\n").unwrap();
    yard.configure(Options {
        tables: format!("[mcp]\nwrap_up_file = {file:?}\n"),
        ..Options::default()
    });
    yard.start().await;
    let place = json!({ "repo": "demo", "branch": "main" });
    yard.make("main", &["who"]).await;
    let agent = Agent::new(&yard);
    let text = agent.prompt("wrap_up", place).await.unwrap();
    assert!(text.contains("Ask the release manager"), "{text}");
    yard.stop().await;
}

#[tokio::test]
async fn a_task_begins_in_the_repo_that_the_configuration_fixed() {
    let mut yard = Yard::new().await;
    let headers = [("branchyard-role", "dev"), ("branchyard-repo", "demo")];
    let agent = Agent::with(&yard, &headers);
    let begun = agent
        .call("git_clone", json!({ "agent_id": "a", "task_id": "t" }))
        .await;
    assert_eq!(begun["repo"], "demo", "{begun}");
    yard.stop().await;
}

#[tokio::test]
async fn help_speaks_of_tools() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]);
    let run = "01a1df00-f67c-76a0-92bb-10fb55943162";
    for (tool, given) in [
        ("list", json!({ "repo": "none" })),
        ("make", json!({ "repo": "demo", "branch": "none" })),
        ("run_wait", json!({ "run_id": run })),
        ("salvage", json!({ "action": "show", "salvage_id": run })),
        (
            "git_push",
            json!({ "repo": "demo", "branch": "main", "message": "x" }),
        ),
        (
            "read_file",
            json!({ "repo": "demo", "branch": "main", "path": "none" }),
        ),
    ] {
        let said = agent.refusal(tool, given).await;
        let speaks_of_others = ["/api/", "/stream/", "`branchyard "]
            .iter()
            .any(|it| said.contains(it));
        assert!(
            said.contains("help: ") && !speaks_of_others,
            "{tool}: {said}"
        );
    }
    yard.stop().await;
}
