//! Real remotes on loopback: what opens them, what goes wrong with them, and what nobody gets to see.

mod faults;
mod hidden;
mod http;
mod names;
mod push;
mod ssh;
mod ways;

use serde_json::{Value, json};

use crate::support::{Event, Yard, git, json_of, problem_of};

/// A yard whose configuration is not known before its remote is.
fn asleep() -> Yard {
    Yard::asleep(crate::support::Options::default())
}

/// What a request that needs the remote is refused with.
async fn refusal(yard: &Yard) -> (u16, Value) {
    let list = yard.get("/api/repos/demo/branches?remote=true").await;
    problem_of(list).await
}

/// Builds `main`, moves it at the origin, builds it again, has git itself fetch and push, and then the
/// verbs: everything that talks to a remote.
async fn work_with(yard: &Yard) {
    assert_built(&yard.make("main", &["who"]).await, "main\n");
    yard.origin.write("name.txt", "moved\n");
    yard.origin.commit("moved");
    yard.origin.push("main");
    assert_built(&yard.make("main", &["who"]).await, "moved\n");

    yard.origin.branch("feature");
    assert_built(&yard.make("feature", &["who"]).await, "feature\n");
    let fetched = git_run(yard, "feature", "fetch").await;
    assert_eq!(fetched.data["state"], "succeeded", "{fetched:?}");
    let workspace = yard.workspace("feature");
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "ours"]);
    let pushed = git_run(yard, "feature", "push").await;
    assert_eq!(pushed.data["state"], "succeeded", "{pushed:?}");
    let arrived = git(&yard.origin.bare, &["log", "-1", "--format=%s", "feature"]);
    assert_eq!(arrived, "ours");

    let task = json!({ "repo": "demo", "agent_id": "a", "task_id": "1" });
    let begun = json_of(yard.post("/api/git/clone", task).await).await;
    let branch = begun["branch"].as_str().unwrap();
    std::fs::write(yard.workspace(branch).join("new"), "1\n").unwrap();
    let pushed = yard.verb(branch, "push", json!({ "message": "New" })).await;
    let there = git(&yard.origin.bare, &["rev-parse", branch]);
    assert_eq!(
        (&pushed["state"], &pushed["remote_commit"]),
        (&json!("pushed"), &json!(there))
    );
    let pulled = yard
        .verb(branch, "pull", json!({ "from": "feature" }))
        .await;
    assert_eq!(pulled["state"], "rebased");
    let pushed = yard.verb(branch, "push", json!({})).await;
    assert_eq!(pushed["replaced"], there);
    let asked = yard.verb(branch, "remote", json!({ "ask": true })).await;
    assert_eq!(asked["branches"], 3);
}

async fn git_run(yard: &Yard, branch: &str, operation: &str) -> Event {
    let body = serde_json::json!({ "operation": operation, "sync": "none" });
    let events = yard.run("git", branch, body).await;
    let said = crate::support::text_of(&events);
    let mut end = events.last().unwrap().clone();
    end.data["said"] = said.into();
    end
}

fn assert_built(events: &[Event], said: &str) {
    let end = events.last().unwrap();
    assert_eq!(end.data["state"], "succeeded", "{events:#?}");
    assert_eq!(crate::support::text_of(events), said);
}

/// How often the daemon counted this; the labels as they are rendered.
async fn counted(yard: &Yard, name: &str, labels: &str) -> u64 {
    let metrics = yard.get("/metrics").await.text().await.unwrap();
    let start = format!("{name}{{{labels}}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |count| count.parse().unwrap())
}
