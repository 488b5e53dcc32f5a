//! pull and fetch: what the remote has, here.

use serde_json::{Value, json};

use crate::support::{Agent, Yard, git, problem_of};

async fn with_topic() -> Yard {
    let yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    yard
}

fn commit_here(yard: &Yard, name: &str, content: &str) -> String {
    let workspace = yard.workspace("topic");
    std::fs::write(workspace.join(name), content).unwrap();
    git(&workspace, &["add", name]);
    git(
        &workspace,
        &["commit", "-q", "-m", &format!("{name} from here")],
    );
    git(&workspace, &["rev-parse", "HEAD"])
}

fn commit_there(yard: &Yard, branch: &str, name: &str, content: &str) -> String {
    yard.origin.git(&["fetch", "-q", "origin"]);
    yard.origin.at(&format!("origin/{branch}"));
    yard.origin.write(name, content);
    let commit = yard.origin.commit(&format!("{name} from there"));
    yard.origin.push(branch);
    commit
}

#[tokio::test]
async fn commits_go_on_top_of_what_comes() {
    let mut yard = with_topic().await;
    let agent = Agent::of_git(&yard, "topic");
    let same = agent.call("git_pull", json!({})).await;
    assert_eq!(same["state"], "up_to_date");

    let there = commit_there(&yard, "topic", "a", "1\n");
    let pulled = yard.verb("topic", "pull", json!({})).await;
    assert_eq!(
        (&pulled["state"], &pulled["commit"]),
        (&json!("fast_forward"), &json!(there))
    );

    commit_here(&yard, "b", "1\n");
    let there = commit_there(&yard, "topic", "c", "1\n");
    let refused = yard
        .try_verb("topic", "pull", json!({ "how": "ff_only" }))
        .await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("not_fast_forward"))
    );
    let pulled = yard.verb("topic", "pull", json!({})).await;
    assert_eq!(pulled["state"], "rebased");
    let workspace = yard.workspace("topic");
    assert_eq!(git(&workspace, &["rev-parse", "HEAD~1"]), there);
    assert_eq!(
        (&pulled["ahead"], &pulled["behind"]),
        (&json!(1), &json!(0))
    );

    commit_there(&yard, "main", "base", "1\n");
    let pulled = yard
        .verb("topic", "pull", json!({ "from": "main", "how": "merge" }))
        .await;
    assert_eq!(pulled["state"], "merged");
    assert!(workspace.join("base").exists());
    yard.stop().await;
}

#[tokio::test]
async fn conflicts_are_told_and_left_or_undone() {
    let mut yard = with_topic().await;
    let ours = commit_here(&yard, "name.txt", "ours\n");
    commit_there(&yard, "topic", "name.txt", "theirs\n");
    let body = json!({ "abort_on_conflict": true });
    let pulled = yard.verb("topic", "pull", body).await;
    assert_eq!(pulled["state"], "aborted");
    assert_eq!(pulled["conflicts"][0]["path"], "name.txt");
    let workspace = yard.workspace("topic");
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), ours);
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");

    let pulled = yard.verb("topic", "pull", json!({})).await;
    assert_eq!(pulled["state"], "conflicts");
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "UU name.txt");
    git(&workspace, &["rebase", "--abort"]);
    yard.stop().await;
}

#[tokio::test]
async fn a_branch_that_the_remote_lacks_is_told() {
    let mut yard = with_topic().await;
    let refused = yard
        .try_verb("topic", "pull", json!({ "from": "none" }))
        .await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!(
        (status, &problem["code"]),
        (404, &json!("branch_not_found"))
    );
    assert_eq!(problem["field"], "from");
    let agent = Agent::of_git(&yard, "topic");
    let refusal = agent
        .refusal("git_pull", json!({ "from": "--upload-pack=x" }))
        .await;
    assert!(refusal.contains("branch name"), "{refusal}");
    yard.stop().await;
}

#[tokio::test]
async fn a_fetch_says_what_changed_and_moves_nothing() {
    let mut yard = with_topic().await;
    let here = git(&yard.workspace("topic"), &["rev-parse", "HEAD"]);
    let there = commit_there(&yard, "topic", "a", "1\n");
    let fetched = yard.verb("topic", "fetch", json!({})).await;
    let expected = json!([{ "name": "origin/topic", "old": here, "new": there }]);
    assert_eq!(fetched["updated"], expected);
    assert_eq!(
        (&fetched["commit"], &fetched["behind"]),
        (&json!(here), &json!(1))
    );

    yard.origin.branch("another");
    let body = json!({ "branches": ["another", "none"] });
    let agent = Agent::of_git(&yard, "topic");
    let fetched = agent.call("git_fetch", body).await;
    assert_eq!(fetched["updated"][0]["name"], "origin/another");
    assert_eq!(fetched["updated"][0]["old"], Value::Null);
    assert_eq!(fetched["missing"], json!(["none"]));

    yard.origin.delete("another");
    yard.origin.branch("another/one");
    let fetched = yard.verb("topic", "fetch", json!({ "all": true })).await;
    let names: Vec<_> = fetched["updated"]
        .as_array()
        .unwrap()
        .iter()
        .map(|u| &u["name"])
        .collect();
    assert_eq!(names, ["origin/another", "origin/another/one"]);
    assert_eq!(fetched["updated"][0]["new"], Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn the_remote_is_shown_and_asked() {
    let mut yard = with_topic().await;
    let shown = yard.verb("topic", "remote", json!({})).await;
    assert_eq!(shown["url"], yard.origin.url());
    assert_eq!(shown["default_branch"], "main");
    let agent = Agent::of_git(&yard, "topic");
    let asked = agent.call("git_remote", json!({ "ask": true })).await;
    let names: Vec<_> = asked["heads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| &h["name"])
        .collect();
    assert_eq!(names, ["main", "topic"]);
    yard.stop().await;
}
