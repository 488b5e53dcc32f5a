//! Keeping the yard in order, and which repositories there are.

use serde_json::json;

use crate::support::{Agent, Options, Receiver, Yard, yard_of_forge};

const ALL: [(&str, &str); 1] = [("branchyard-toolsets", "all")];

#[tokio::test]
async fn a_plan_changes_nothing_and_what_is_reaped_is_told() {
    let mut yard = Yard::with(Options {
        tables: "[reaper]\ninterval = \"1h\"\nworktree_ttl = \"1d\"\nlow_water = \"1B\"\nhigh_water = \"1B\"".into(),
        ..Options::default()
    })
    .await;
    for branch in ["idle", "edited"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
    }
    std::fs::write(yard.workspace("edited").join("name.txt"), "mine\n").unwrap();
    yard.stop().await;
    let ticks = json!({ "version": 1, "ticks": 2 * 24 * 60 * 60 }).to_string();
    std::fs::write(yard.workspaces.join(".branchyard/ticks.json"), ticks).unwrap();
    yard.start().await;

    let agent = Agent::with(&yard, &ALL);
    let plan = agent.call("reap", json!({})).await;
    assert_eq!(
        (&plan["dry_run"], &plan["totals"]["remove"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        plan["items"][0]["branch"], "idle",
        "what goes comes first: {plan}"
    );
    assert_eq!(
        plan["items"][1]["pins"],
        json!(["changes to tracked files"])
    );
    assert!(yard.workspace("idle").exists());
    let other = agent.refusal("reap", json!({ "repo": "other" })).await;
    assert!(other.contains("field: repo"), "{other}");
    let twice = agent
        .refusal("reap", json!({ "dry_run": false, "cursor": "1" }))
        .await;
    assert!(twice.contains("field: cursor"), "{twice}");

    let done = agent
        .tool("reap", json!({ "dry_run": false, "repo": "demo" }))
        .await;
    assert_eq!(
        done["structuredContent"]["items"][0]["outcome"]["result"],
        "done"
    );
    let text = done["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("remove demo idle: ") && text.contains("keep demo edited: "),
        "{text}"
    );
    assert!(!yard.workspace("idle").exists() && yard.workspace("edited").exists());
    yard.stop().await;
}

#[tokio::test]
async fn damage_is_found_and_mended() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    let whole = agent.tool("findings", json!({})).await;
    assert_eq!(whole["content"][0]["text"], "all is as it should be");
    yard.make("main", &["who"]).await;
    std::fs::remove_dir_all(yard.workspace("main")).unwrap();
    let found = agent.tool("findings", json!({})).await;
    assert_eq!(
        found["structuredContent"]["items"][0]["code"],
        "directory_gone"
    );
    assert!(
        found["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("mend: ")
    );
    let mended = agent.call("findings", json!({ "mend": true })).await;
    assert!(mended["items"][0]["done"].is_string(), "{mended}");
    let after = agent.call("findings", json!({})).await;
    assert_eq!(after["items"], json!([]));
    yard.stop().await;
}

#[tokio::test]
async fn repositories_come_and_go() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    let register = json!({ "action": "register", "name": "second", "url": yard.origin.url() });
    let made = agent.call("repos", register.clone()).await;
    assert_eq!(made["repo"]["cloned"], false);
    let second = json!({ "repo": "second", "branch": "main" });
    agent.call("ls", second).await;
    let in_use = agent
        .refusal("repos", json!({ "action": "remove", "name": "second" }))
        .await;
    assert!(
        in_use.starts_with("repo_in_use") && in_use.contains("`workspace`"),
        "{in_use}"
    );
    let away = json!({ "action": "remove", "repo": "second", "branch": "main" });
    agent.call("workspace", away).await;
    agent
        .call("repos", json!({ "action": "remove", "name": "second" }))
        .await;
    let listed = agent.call("list", json!({})).await;
    assert_eq!(listed["repos"].as_array().unwrap().len(), 1);

    for (arguments, words) in [
        (json!({ "action": "register", "name": "x" }), "field: url"),
        (
            json!({ "action": "register", "name": "../x", "url": "https://x/y" }),
            "field: name",
        ),
        (
            json!({ "action": "register", "name": "x", "url": "ext::sh -c id" }),
            "field: url",
        ),
        (
            json!({ "action": "register", "name": "demo", "url": yard.origin.url() }),
            "repo_exists",
        ),
        (
            json!({ "action": "remove", "name": "demo" }),
            "repo_configured",
        ),
        (
            json!({ "action": "remove", "name": "demo", "url": "x" }),
            "field: url",
        ),
    ] {
        let refusal = agent.refusal("repos", arguments.clone()).await;
        assert!(refusal.contains(words), "{arguments}: {refusal}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn an_agent_learns_how_busy_the_machine_is() {
    let mut yard = Yard::new().await;
    let agent = Agent::with(&yard, &ALL);
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;
    let told = agent.tool("machine", json!({})).await;
    let now = &told["structuredContent"];
    assert_eq!(now["runs"]["running"], 1, "{now}");
    assert!(now["disk"]["free"].as_u64().unwrap() > 0, "{now}");
    let text = told["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1 running, 0 waiting"), "{text}");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    yard.stop().await;
}

#[tokio::test]
async fn messages_to_a_forge_are_listed_and_sent_once_more() {
    let forge = Receiver::start().await;
    forge.answer(410);
    let (mut yard, _remote) = yard_of_forge("gitea", &forge, Options::default()).await;
    let workflow = "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"true\"}]}}\n";
    yard.origin.workflow("ci.yml", workflow);
    yard.start().await;
    yard.pushed().await;
    let failed = "/api/repos/demo/deliveries?state=failed";
    yard.until_json(failed, |page| page["items"][0]["says"] == "1 job")
        .await;
    let agent = Agent::with(&yard, &ALL);
    let list = json!({ "action": "list", "repo": "demo", "state": "failed" });
    let listed = agent.tool("deliveries", list).await;
    let latest = &listed["structuredContent"]["deliveries"][0];
    assert_eq!(latest["says"], "1 job", "{listed}");
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("HTTP 410: so it is"), "{text}");
    forge.answer(201);
    let id = &latest["delivery_id"];
    let again = json!({ "action": "redeliver", "repo": "demo", "delivery_id": id });
    let again = agent.call("deliveries", again).await;
    assert_eq!(&again["deliveries"][0]["delivery_id"], id, "{again}");
    yard.until_json("/api/repos/demo/deliveries", |page| {
        page["items"][0]["state"] == "delivered"
    })
    .await;
    let neither = json!({ "action": "list", "repo": "demo", "delivery_id": id });
    let refused = agent.refusal("deliveries", neither).await;
    assert!(refused.contains("field: delivery_id"), "{refused}");
    yard.stop().await;
}
