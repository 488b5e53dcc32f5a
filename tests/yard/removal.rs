//! Workspaces prepared and removed, and branches that start in the yard. What somebody could miss
//! is never removed.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::work::{WORK, snapshot, upstream};
use crate::support::{Yard, encode, git, problem_of, text_of, warnings_of};

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

fn has_ref(yard: &Yard, name: &str) -> bool {
    let refs = git(&yard.store(), &["for-each-ref", "--format=%(refname)"]);
    refs.lines().any(|line| line == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_workspace_goes_without_a_trace_and_comes_back_whole() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for branch in ["plain", "topic/one"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
        let workspace = yard.workspace(branch);
        let dir = workspace.file_name().unwrap().to_str().unwrap().to_owned();
        let admin = yard.store().join("worktrees").join(&dir);
        // Build output does not keep it.
        std::fs::write(workspace.join("main.o"), "").unwrap();
        assert!(admin.is_dir(), "{branch}");
        assert!(has_ref(&yard, &format!("refs/heads/{branch}")), "{branch}");

        let answer = yard.delete(&address(branch)).await;
        let status = answer.status();
        let body = answer.text().await.unwrap();
        let expected = (StatusCode::NO_CONTENT, "");
        assert_eq!((status, body.as_str()), expected, "{branch}");
        assert!(!workspace.exists(), "{branch}");
        assert!(!admin.exists(), "{branch}");
        let registered = git(&yard.store(), &["worktree", "list", "--porcelain"]);
        assert!(!registered.contains(&dir), "{branch}: {registered}");
        assert!(!has_ref(&yard, &format!("refs/heads/{branch}")), "{branch}");
        let seen = format!("refs/branchyard/seen/{dir}");
        assert!(!has_ref(&yard, &seen), "{branch}");
        let (status, problem) = problem_of(yard.get(&address(branch)).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("no_workspace")),
            "{branch}"
        );
        let (status, problem) = problem_of(yard.delete(&address(branch)).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("no_workspace")),
            "{branch}"
        );

        let events = yard.make(branch, &["who"]).await;
        assert_eq!(text_of(&events), format!("{branch}\n"));
        assert_eq!(warnings_of(&events), Vec::<&str>::new(), "{branch}");
        assert!(
            !workspace.join("main.o").exists(),
            "{branch}: it is a new one"
        );
    }
    let described = yard.get_json(&address("main")).await;
    assert_eq!(
        described["pins"],
        json!([]),
        "its neighbours are as they were"
    );
    yard.stop().await;
    let trash = yard.workspaces.join(".branchyard/trash");
    assert_eq!(
        std::fs::read_dir(trash).unwrap().count(),
        0,
        "the trash is empty"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_with_work_stays() {
    let mut yard = Yard::new().await;
    let branches: Vec<String> = (0..WORK.len()).map(|n| format!("work-{n}")).collect();
    upstream(&yard, &branches);
    for ((what, work, said), branch) in WORK.iter().zip(&branches) {
        yard.make(branch, &["who"]).await;
        yard.make("other", &["who"]).await;
        work(&yard, &yard.workspace(branch), branch);
        let before = snapshot(&yard, branch);

        let described = yard.get_json(&address(branch)).await;
        let pins = described["pins"].to_string();
        assert!(pins.contains(said), "{what}: pinned by {pins}");
        let (status, problem) = problem_of(yard.delete(&address(branch)).await).await;
        let got = (status, &problem["code"], &problem["field"]);
        let expected = (409, &json!("workspace_has_work"), &json!("branch"));
        assert_eq!(got, expected, "{what}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{what}: {detail}");
        assert_eq!(
            snapshot(&yard, branch),
            before,
            "{what}: nothing was touched"
        );

        // It is this branch's work and nobody else's.
        let described = yard.get_json(&address("other")).await;
        assert_eq!(described["pins"], json!([]), "{what}");
        let other = yard.delete(&address("other")).await;
        assert_eq!(other.status(), StatusCode::NO_CONTENT, "{what}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_in_a_workspace_does_not_keep_it_from_going() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let admin = yard.store().join("worktrees/main");
    std::fs::write(admin.join("index"), "broken").unwrap();
    let gone = yard.delete(&address("main")).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert!(!yard.workspace("main").exists());
    yard.stop().await;
}
