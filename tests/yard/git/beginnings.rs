//! The first calls of agents: at once, at a bad moment, and to remotes that have just begun.

use serde_json::{Value, json};

use crate::support::{Yard, git, json_of};

fn task(repo: &str, task: &str) -> Value {
    json!({ "repo": repo, "agent_id": "a", "task_id": task })
}

async fn begin(yard: &Yard, body: Value) -> Value {
    json_of(yard.post("/api/git/clone", body).await).await
}

#[tokio::test]
async fn a_workspace_is_found_again_while_it_builds() {
    let mut yard = Yard::new().await;
    let begun = begin(&yard, task("demo", "1")).await;
    let mut run = yard
        .start_run("make", "agent-a-1", json!({ "args": ["gate"] }))
        .await;
    run.until_line("waiting").await;
    let again = begin(&yard, task("demo", "1")).await;
    assert_eq!(again["workspace"], begun["workspace"]);
    assert_eq!(again["created"], false);
    std::fs::write(yard.workspace("agent-a-1").join("open"), "").unwrap();
    assert_eq!(run.end().await.data["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_many_times_at_once_is_one() {
    let mut yard = Yard::new().await;
    let copy = yard.dir.path().join("copy.git");
    let (from, to) = (yard.origin.url(), copy.to_str().unwrap());
    git(yard.dir.path(), &["clone", "-q", "--bare", &from, to]);
    let clone = json!({ "url": to, "agent_id": "a", "task_id": "1" });
    let all = at_once(&yard, "/api/git/clone", &clone, 20).await;
    let made = |field: &str| all.iter().filter(|(_, it)| it[field] == true).count();
    assert!(all.iter().all(|(status, _)| *status == 200), "{all:?}");
    assert_eq!((made("created"), made("registered")), (1, 1));

    let all = at_once(&yard, "/api/git/init", &json!({ "repo": "fresh" }), 6).await;
    let count = |wanted: u16| all.iter().filter(|(status, _)| *status == wanted).count();
    assert_eq!((count(200), count(409)), (1, 5), "{all:?}");
    let left = std::fs::read_dir(yard.workspaces.join(".branchyard/staging")).unwrap();
    assert_eq!(left.count(), 0, "what was made in vain is gone");
    yard.stop().await;
}

async fn at_once(yard: &Yard, path: &str, body: &Value, times: usize) -> Vec<(u16, Value)> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..times {
        let request = yard.request(reqwest::Method::POST, path).json(body);
        tasks.spawn(async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json().await.unwrap())
        });
    }
    tasks.join_all().await
}

/// The default branch is what the remote says now, not what it said when it was cloned.
#[tokio::test]
async fn a_default_branch_may_come_later_and_change() {
    let mut yard = Yard::new().await;
    let empty = yard.dir.path().join("empty.git");
    let url = empty.to_str().unwrap();
    let init = ["init", "-q", "--bare", "--initial-branch=trunk", url];
    git(yard.dir.path(), &init);
    let mut first = task("empty", "1");
    first["url"] = url.into();
    let refused = yard.post("/api/git/clone", first.clone()).await;
    assert_eq!(refused.status(), 409);

    yard.origin.git(&["push", "-q", url, "main:trunk"]);
    assert_eq!(begin(&yard, first).await["base"], "trunk");
    git(&empty, &["branch", "-m", "trunk", "stem"]);
    assert_eq!(begin(&yard, task("empty", "2")).await["base"], "stem");
    yard.stop().await;
}
