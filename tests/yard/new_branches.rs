//! Workspaces that are prepared by PUT, and branches that start in the yard.

use serde_json::json;

use crate::support::{Yard, encode, git, json_of, problem_of, text_of, warnings_of};

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_workspace_is_described_and_brought_up_to_date() {
    let mut yard = Yard::new().await;
    let commit = yard.origin.branch("topic/one");
    let prepared = json_of(yard.put(&address("topic/one"), json!({})).await).await;
    let got = (
        &prepared["branch"],
        &prepared["commit"],
        &prepared["warnings"],
    );
    assert_eq!(got, (&json!("topic/one"), &json!(commit), &json!([])));
    assert_eq!(
        prepared["path"],
        yard.workspace("topic/one").to_str().unwrap()
    );
    assert!(yard.workspace("topic/one").join("name.txt").is_file());
    assert_eq!(
        yard.get_json("/api/runs").await["items"],
        json!([]),
        "preparing is no run"
    );

    yard.origin.at("origin/topic/one");
    let next = yard.origin.commit("next");
    yard.origin.push("topic/one");
    // No body at all is as good as an empty one.
    let answer = yard.request(reqwest::Method::PUT, &address("topic/one"));
    let prepared = json_of(answer.send().await.unwrap()).await;
    assert_eq!(prepared["commit"], next.as_str());
    assert_eq!(prepared["behind"], 0);

    let (status, problem) = problem_of(yard.put(&address("nowhere"), json!({})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (404, &json!("branch_not_found"))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_created_from_a_branch_or_a_commit() {
    let mut yard = Yard::new().await;
    let first = yard.origin.head();
    yard.origin.write("name.txt", "second\n");
    let second = yard.origin.commit("second");
    yard.origin.push("main");
    let topic = yard.origin.branch("topic/one");
    for (branch, from, commit, shown) in [
        ("from-branch", "main", &second, "second\n"),
        ("from/slash", "topic/one", &topic, "topic/one\n"),
        ("from-commit", first.as_str(), &first, "main\n"),
        ("from-created", "from-commit", &first, "main\n"),
    ] {
        let made = yard.put(&address(branch), json!({"from": from})).await;
        let made = json_of(made).await;
        assert_eq!(made["commit"], commit.as_str(), "{branch}");
        assert_eq!(made["path"], yard.workspace(branch).to_str().unwrap());
        let events = yard.make(branch, &["who"]).await;
        assert_eq!(text_of(&events), shown, "{branch}");
        assert_eq!(warnings_of(&events), ["not_on_remote"], "{branch}");
        assert_eq!(
            events.last().unwrap().data["state"],
            "succeeded",
            "{branch}"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_not_created_twice_nor_from_nothing() {
    let mut yard = Yard::new().await;
    yard.origin.branch("taken");
    json_of(yard.put(&address("mine"), json!({"from": "main"})).await).await;
    let unknown = "0123456789012345678901234567890123456789";
    for (branch, from, statuses, field) in [
        ("taken", "main", &[409][..], "from"),
        ("main", "taken", &[409], "from"),
        ("mine", "main", &[409], "from"),
        ("mine/below", "main", &[409], "branch"),
        ("new", "nowhere", &[404], "from"),
        ("new", unknown, &[404, 409], "from"),
        ("new", "main~0", &[400], "from"),
        ("new", "HEAD", &[400], "from"),
        ("new", "--help", &[400], "from"),
        ("new", "refs/heads/main", &[400], "from"),
        ("new", "origin/main", &[404], "from"),
        ("new", "", &[400], "from"),
        ("new", &unknown[..12], &[404], "from"),
    ] {
        let input = format!("{branch} from {from:?}");
        let answer = yard.put(&address(branch), json!({"from": from})).await;
        let (status, problem) = problem_of(answer).await;
        assert!(statuses.contains(&status), "{input}: {problem}");
        assert_eq!(problem["field"], field, "{input}: {problem}");
        assert!(!yard.workspace("new").exists(), "{input}");
    }
    let refs = git(
        &yard.store(),
        &["for-each-ref", "--format=%(refname)", "refs/heads"],
    );
    assert_eq!(refs, "refs/heads/mine", "nothing half-made is left");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_branch_is_committed_to_pushed_and_then_removed() {
    let mut yard = Yard::new().await;
    json_of(
        yard.put(&address("topic/mine"), json!({"from": "main"}))
            .await,
    )
    .await;
    let described = yard.get_json(&address("topic/mine")).await;
    assert_eq!(
        described["ahead"], 0,
        "it has nothing yet that the remote has not"
    );
    assert_eq!(described["pins"], json!([]));

    let workspace = yard.workspace("topic/mine");
    std::fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    let commit = json!({"operation": "commit", "args": ["-a", "-m", "mine"]});
    let events = yard.run("git", "topic/mine", commit).await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );
    let described = yard.get_json(&address("topic/mine")).await;
    assert_eq!(described["ahead"], 1);
    let (status, problem) = problem_of(yard.delete(&address("topic/mine")).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("workspace_has_work"))
    );

    let events = yard
        .run("git", "topic/mine", json!({"operation": "push"}))
        .await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );
    let mine = git(&workspace, &["rev-parse", "HEAD"]);
    let pushed = git(&yard.origin.bare, &["rev-parse", "refs/heads/topic/mine"]);
    assert_eq!(pushed, mine);
    let events = yard.make("topic/mine", &["who"]).await;
    assert_eq!(text_of(&events), "mine\n");
    assert_eq!(
        warnings_of(&events),
        Vec::<&str>::new(),
        "it is on the remote now"
    );
    let removed = yard.delete(&address("topic/mine")).await;
    assert_eq!(removed.status().as_u16(), 204);
    assert_eq!(text_of(&yard.make("topic/mine", &["who"]).await), "mine\n");
    yard.stop().await;
}

/// Made and never used: there is nothing in it to miss.
#[tokio::test(flavor = "multi_thread")]
async fn a_created_branch_without_commits_of_its_own_can_be_removed() {
    let mut yard = Yard::new().await;
    json_of(yard.put(&address("mine"), json!({"from": "main"})).await).await;
    let removed = yard.delete(&address("mine")).await;
    assert_eq!(removed.status().as_u16(), 204);
    assert!(!yard.workspace("mine").exists());
    let refs = git(&yard.store(), &["for-each-ref", "refs/heads"]);
    assert_eq!(refs, "");
    yard.stop().await;
}
