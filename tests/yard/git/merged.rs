//! Branches of agents that were merged go, if the operator wants that, and none else.

use serde_json::{Value, json};

use crate::support::{Options, Yard, git, json_of, try_git};

async fn yard(merged: &str) -> Yard {
    let tables = format!(
        "[reaper]\nmax_worktrees_per_repo = 10000\nlow_water = \"1B\"\nhigh_water = \"1B\"\n{merged}"
    );
    Yard::with(Options {
        tables,
        ..Options::default()
    })
    .await
}

/// A branch of an agent with one commit of its own on the remote.
async fn pushed(yard: &Yard, agent: &str) -> String {
    let body = json!({ "repo": "demo", "agent_id": agent, "task_id": "t" });
    let begun = json_of(yard.post("/api/git/clone", body).await).await;
    let branch = begun["branch"].as_str().unwrap().to_owned();
    std::fs::write(yard.workspace(&branch).join(agent), "work\n").unwrap();
    let pushed = yard
        .verb(&branch, "push", json!({ "message": "Work" }))
        .await;
    assert_eq!(pushed["state"], "pushed");
    branch
}

fn merge(yard: &Yard, branch: &str) {
    let origin = &yard.origin;
    origin.git(&["fetch", "-q", "origin"]);
    origin.at("origin/main");
    origin.git(&[
        "merge",
        "-q",
        "--no-ff",
        "-m",
        "merged",
        &format!("origin/{branch}"),
    ]);
    origin.push("main");
}

/// As a forge does: all of it as one commit of the default branch.
fn squash(yard: &Yard, branch: &str) {
    let origin = &yard.origin;
    origin.git(&["fetch", "-q", "origin"]);
    origin.at("origin/main");
    origin.git(&["merge", "-q", "--squash", &format!("origin/{branch}")]);
    origin.commit("squashed");
    origin.push("main");
}

async fn reap(yard: &Yard, dry_run: bool) -> Vec<Value> {
    let path = format!("/api/reap?dry_run={dry_run}");
    let reaping = yard.post_json(&path, json!({})).await;
    reaping["branches"].as_array().unwrap().clone()
}

fn is_on_remote(yard: &Yard, branch: &str) -> bool {
    let name = format!("refs/heads/{branch}");
    try_git(&yard.origin.bare, &["rev-parse", "-q", "--verify", &name])
        .status
        .success()
}

#[tokio::test]
async fn merged_branches_go_here_and_there() {
    let mut yard = yard("merged_agent_branches = \"remote\"").await;
    let merged = pushed(&yard, "merged").await;
    let open = pushed(&yard, "open").await;
    let dirty = pushed(&yard, "dirty").await;
    let ahead = pushed(&yard, "ahead").await;
    json_of(
        yard.post(
            "/api/git/clone",
            json!({ "repo": "demo", "agent_id": "new", "task_id": "t" }),
        )
        .await,
    )
    .await;
    yard.make("main", &[]).await;
    for branch in [&merged, &dirty, &ahead] {
        merge(&yard, branch);
    }
    std::fs::write(yard.workspace(&dirty).join("more"), "not committed\n").unwrap();
    git(
        &yard.workspace(&ahead),
        &["commit", "-q", "--allow-empty", "-m", "more"],
    );

    let plan = reap(&yard, true).await;
    let names: Vec<_> = plan
        .iter()
        .map(|found| found["branch"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{plan:?}");
    assert!(names.contains(&&*merged) && names.contains(&&*dirty));
    assert!(yard.workspace(&merged).exists());

    for found in reap(&yard, false).await {
        let goes = found["branch"] == *merged;
        let result = if goes { "done" } else { "kept" };
        assert_eq!(found["outcome"]["result"], result, "{found}");
    }
    assert!(!yard.workspace(&merged).exists() && !is_on_remote(&yard, &merged));
    assert!(
        try_git(
            &yard.store(),
            &[
                "rev-parse",
                "-q",
                "--verify",
                &format!("refs/heads/{merged}")
            ]
        )
        .stdout
        .is_empty()
    );
    for branch in [&open, &dirty, &ahead, "agent-new-t"] {
        assert!(yard.workspace(branch).exists(), "{branch}");
    }
    assert!(is_on_remote(&yard, &open) && is_on_remote(&yard, &dirty));

    // What is asked for again begins anew.
    let body = json!({ "repo": "demo", "agent_id": "merged", "task_id": "t" });
    let begun = json_of(yard.post("/api/git/clone", body).await).await;
    assert_eq!(begun["created"], true);
    yard.stop().await;
}

/// While one branch goes, somebody pushes to another one that was found merged, and the store learns of it.
#[tokio::test]
async fn what_is_pushed_after_the_look_does_not_go() {
    let mut yard = yard("merged_agent_branches = \"remote\"").await;
    for agent in ["a", "b"] {
        let branch = pushed(&yard, agent).await;
        merge(&yard, &branch);
    }
    let more = "git commit-tree -p $other -m more $other^{tree}";
    let script = format!(
        "#!/bin/sh\n[ -e {marker} ] && exit 0; touch {marker}\n\
         unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n\
         export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@x GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@x\n\
         read old new ref\n\
         other=refs/heads/agent-a-t; [ $ref = $other ] && other=refs/heads/agent-b-t\n\
         git update-ref $other $({more})\n\
         unset GIT_DIR\n\
         git -C {store} fetch -q {origin} $other:refs/remotes/origin/${{other#refs/heads/}}\n",
        marker = yard.dir.path().join("moved").display(),
        store = yard.store().display(),
        origin = yard.origin.url(),
    );
    let hook = yard.origin.bare.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();

    let reaped = reap(&yard, false).await;
    let mut results: Vec<_> = reaped.iter().map(|it| &it["outcome"]["result"]).collect();
    results.sort_by_key(ToString::to_string);
    assert_eq!(results, ["done", "kept"], "{reaped:?}");
    let left = git(
        &yard.origin.bare,
        &["log", "-1", "--format=%s", "--branches=agent-*"],
    );
    assert_eq!(left, "more");
    yard.stop().await;
}

#[tokio::test]
async fn the_operator_says_how_far() {
    for (setting, local, remote) in [
        ("", true, true),
        ("merged_agent_branches = \"local\"", false, true),
    ] {
        let mut yard = yard(setting).await;
        let branch = pushed(&yard, "a").await;
        merge(&yard, &branch);
        reap(&yard, false).await;
        assert_eq!(yard.workspace(&branch).exists(), local, "{setting}");
        assert_eq!(is_on_remote(&yard, &branch), remote, "{setting}");
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_squashed_branch_goes_and_one_that_changed_more_stays() {
    let mut yard = yard("merged_agent_branches = \"remote\"").await;
    let squashed = pushed(&yard, "squashed").await;
    let more = pushed(&yard, "more").await;
    let same = pushed(&yard, "same").await;
    for branch in [&squashed, &more] {
        squash(&yard, branch);
    }
    // The default branch has another content there, under the same name.
    yard.origin.write("same", "work of others\n");
    yard.origin.commit("same");
    yard.origin.push("main");
    std::fs::write(
        yard.workspace(&more).join("else"),
        "after it was squashed\n",
    )
    .unwrap();
    yard.verb(&more, "push", json!({ "message": "More" })).await;
    let reaped = reap(&yard, false).await;
    assert_eq!(reaped.len(), 1, "{reaped:?}");
    assert_eq!(reaped[0]["branch"], json!(squashed));
    assert_eq!(reaped[0]["why"], "main has all its changes");
    assert_eq!(reaped[0]["outcome"]["result"], "done", "{reaped:?}");
    assert!(!is_on_remote(&yard, &squashed) && !yard.workspace(&squashed).exists());
    assert!(is_on_remote(&yard, &more) && is_on_remote(&yard, &same));
    yard.stop().await;
}
