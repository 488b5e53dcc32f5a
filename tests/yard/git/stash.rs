//! stash: of this branch only, and never lost.

use serde_json::{Value, json};

use super::local::{at_work, paths, refused};
use crate::support::work::write;
use crate::support::{Agent, Yard, git, try_git};

async fn two_branches() -> Yard {
    let yard = Yard::new().await;
    yard.origin.branch("other");
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
    }
    yard
}

async fn push(yard: &Yard, branch: &str, content: &str, more: Value) -> Value {
    write(&yard.workspace(branch), "name.txt", content);
    let mut body = json!({ "action": "push" });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    yard.verb(branch, "stash", body).await["stash"].clone()
}

fn name_of(yard: &Yard, branch: &str) -> String {
    std::fs::read_to_string(yard.workspace(branch).join("name.txt")).unwrap()
}

#[tokio::test]
async fn a_branch_sees_and_takes_only_its_own() {
    let mut yard = two_branches().await;
    let first = push(
        &yard,
        "main",
        "first\n",
        json!({ "message": "for later: $(id)" }),
    )
    .await;
    let others = push(&yard, "other", "others\n", json!({})).await;
    let second = push(&yard, "main", "second\n", json!({})).await;
    assert_eq!(first["message"], "for later: $(id)");
    assert_eq!(name_of(&yard, "main"), "main\n");

    let agent = Agent::of_git(&yard, "main");
    let listed = agent.call("git_stash", json!({ "action": "list" })).await;
    let ids: Vec<_> = listed["stashes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stash| &stash["id"])
        .collect();
    assert_eq!(ids, [&second["id"], &first["id"]]);
    for action in ["show", "apply", "pop", "drop"] {
        let body = json!({ "action": action, "stash": others["id"] });
        let (status, code, _) = refused(&yard, "main", "stash", body).await;
        assert_eq!(
            (status, code.as_str()),
            (404, "stash_not_found"),
            "{action}"
        );
    }
    // The newest of all is another branch's by now; the one that is meant is found all the same.
    push(&yard, "other", "more\n", json!({})).await;
    let shown = json!({ "action": "show", "stash": first["id"], "verbosity": "full" });
    let shown = yard.verb("main", "stash", shown).await;
    assert_eq!(paths(&shown["files"]), ["name.txt"]);
    assert!(shown["patch"].as_str().unwrap().contains("+first\n"));
    let popped = agent
        .call(
            "git_stash",
            json!({ "action": "pop", "stash": first["id"] }),
        )
        .await;
    assert_eq!(
        (&popped["conflicts"], &popped["still_listed"]),
        (&json!([]), &json!(false))
    );
    assert_eq!(name_of(&yard, "main"), "first\n");
    let left = git(&yard.workspace("main"), &["stash", "list", "--format=%H"]);
    assert_eq!(left.lines().count(), 3);
    assert!(!left.contains(first["id"].as_str().unwrap()));
    assert_eq!(name_of(&yard, "other"), "other\n");
    yard.stop().await;
}

#[tokio::test]
async fn conflicts_are_told_and_the_stash_is_kept() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let stash = push(&yard, "main", "put aside\n", json!({})).await;
    write(&workspace, "name.txt", "committed\n");
    git(&workspace, &["commit", "-q", "-am", "mine"]);
    let popped = yard.verb("main", "stash", json!({ "action": "pop" })).await;
    assert_eq!(popped["conflicts"], json!(["name.txt"]));
    assert_eq!(
        (&popped["still_listed"], &popped["stash"]["id"]),
        (&json!(true), &stash["id"])
    );
    let (_, code, _) = refused(&yard, "main", "stash", json!({ "action": "pop" })).await;
    assert_eq!(code, "unresolved");
    let (_, code, _) = refused(&yard, "main", "stash", json!({ "action": "push" })).await;
    assert_eq!(code, "unresolved");
    yard.verb("main", "reset", json!({ "mode": "hard", "confirm": true }))
        .await;

    // Changes that would be overwritten stop it before anything happens.
    write(&workspace, "name.txt", "mine\n");
    let (status, code, _) = refused(&yard, "main", "stash", json!({ "action": "apply" })).await;
    assert_eq!((status, code.as_str()), (409, "local_changes"));
    assert_eq!(name_of(&yard, "main"), "mine\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_dropped_stash_can_be_had_back() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let stash = push(&yard, "main", "put aside\n", json!({ "message": "aside" })).await;
    let (status, _, problem) = refused(&yard, "main", "stash", json!({ "action": "drop" })).await;
    assert_eq!((status, &problem["field"]), (422, &json!("stash")));
    let agent = Agent::of_git(&yard, "main");
    let dropped = agent
        .call(
            "git_stash",
            json!({ "action": "drop", "stash": stash["id"] }),
        )
        .await;
    assert_eq!(git(&workspace, &["stash", "list"]), "");
    assert_eq!(dropped["still_listed"], false);
    let applied = json!({ "action": "apply", "stash": stash["id"] });
    yard.verb("main", "stash", applied).await;
    assert_eq!(name_of(&yard, "main"), "put aside\n");
    git(&workspace, &["checkout", "-q", "name.txt"]);
    let id = &dropped["kept"]["salvage_id"];
    yard.restore(&json!({ "id": id }), json!({})).await;
    let listed = git(&workspace, &["stash", "list", "--format=%H %gs"]);
    assert_eq!(
        listed,
        format!("{} On main: aside", stash["id"].as_str().unwrap())
    );
    // A commit that is no stash of this branch is none, however it is named.
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    for wanted in [head.as_str(), "stash@{0}", "--index", "HEAD"] {
        let body = json!({ "action": "apply", "stash": wanted });
        let (status, _, problem) = refused(&yard, "main", "stash", body).await;
        assert!([400, 404].contains(&status), "{wanted}");
        assert_eq!(problem["field"], "stash", "{wanted}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn new_files_are_put_aside_only_when_asked() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "new.txt", "mine\n");
    let (status, code, _) = refused(&yard, "main", "stash", json!({ "action": "push" })).await;
    assert_eq!((status, code.as_str()), (409, "nothing_to_stash"));
    let all = json!({ "include_untracked": true });
    let stash = push(&yard, "main", "aside\n", all.clone()).await;
    assert!(!workspace.join("new.txt").exists());
    // Something stands where one of them was.
    write(&workspace, "new.txt", "newer\n");
    let pop = json!({ "action": "pop", "stash": stash["id"] });
    let (status, code, problem) = refused(&yard, "main", "stash", pop.clone()).await;
    assert_eq!((status, code.as_str()), (409, "in_the_way"));
    assert!(problem["detail"].as_str().unwrap().contains("new.txt"));
    assert_eq!(
        name_of(&yard, "main"),
        "main\n",
        "nothing was brought back by halves"
    );
    std::fs::remove_file(workspace.join("new.txt")).unwrap();
    let popped = yard.verb("main", "stash", pop).await;
    assert_eq!(paths(&popped["files"]), ["name.txt", "new.txt"]);
    assert_eq!(
        std::fs::read_to_string(workspace.join("new.txt")).unwrap(),
        "mine\n"
    );
    // By path.
    let body = json!({ "action": "push", "paths": ["new.txt"], "include_untracked": true });
    yard.verb("main", "stash", body).await;
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "M name.txt");
    let body = json!({ "action": "push", "paths": ["."], "message": "-x" });
    yard.verb("main", "stash", body).await;
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    yard.stop().await;
}

#[tokio::test]
async fn what_git_would_lose_is_not_stashed() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    // A directory in the place of a tracked file: git's stash would delete what is in it.
    std::fs::remove_file(workspace.join("name.txt")).unwrap();
    write(&workspace, "name.txt/inside", "mine\n");
    let (status, code, problem) =
        refused(&yard, "main", "stash", json!({ "action": "push" })).await;
    assert_eq!((status, code.as_str()), (409, "in_the_way"), "{problem}");
    assert!(workspace.join("name.txt/inside").exists());
    std::fs::remove_dir_all(workspace.join("name.txt")).unwrap();
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "nested/file", "mine\n");
    git(&workspace.join("nested"), &["init", "-q"]);
    let body = json!({ "action": "push", "include_untracked": true });
    let (_, code, _) = refused(&yard, "main", "stash", body).await;
    assert_eq!(code, "embedded_repository");
    let body = json!({ "action": "push", "paths": ["none"] });
    let (_, code, _) = refused(&yard, "main", "stash", body).await;
    assert_eq!(code, "path_not_found");
    for (body, field) in [
        (json!({ "action": "push", "message": "a\nb" }), "message"),
        (json!({ "action": "pop", "paths": ["x"] }), "paths"),
        (json!({ "action": "list", "stash": "x" }), "stash"),
        (json!({ "action": "push", "index": true }), "index"),
        (json!({ "action": "clear" }), "action"),
    ] {
        let (status, _, problem) = refused(&yard, "main", "stash", body.clone()).await;
        assert!([400, 422].contains(&status), "{body}");
        assert_eq!(problem["field"], field, "{body}");
    }
    assert!(
        !try_git(&workspace, &["rev-parse", "-q", "--verify", "refs/stash"])
            .status
            .success()
    );
    yard.stop().await;
}

#[tokio::test]
async fn many_at_once_never_take_each_others() {
    let mut yard = two_branches().await;
    let rounds = async |branch: &'static str| {
        for round in 0..6 {
            let mine = format!("{branch} {round}\n");
            let stash = push(&yard, branch, &mine, json!({})).await;
            let pop = json!({ "action": "pop", "stash": stash["id"] });
            yard.verb(branch, "stash", pop).await;
            assert_eq!(name_of(&yard, branch), mine);
        }
    };
    tokio::join!(rounds("main"), rounds("other"));
    assert_eq!(git(&yard.workspace("main"), &["stash", "list"]), "");
    yard.stop().await;
}

#[tokio::test]
async fn a_file_that_git_takes_for_unchanged_is_not_put_back_over_its_changes() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    git(
        &workspace,
        &["update-index", "--assume-unchanged", "Makefile"],
    );
    write(&workspace, "Makefile", "all: # mine\n");
    write(&workspace, "name.txt", "mine\n");
    let (status, code, problem) =
        refused(&yard, "main", "stash", json!({ "action": "push" })).await;
    assert_eq!((status, code.as_str()), (409, "overlooked_changes"));
    assert!(problem["detail"].as_str().unwrap().contains("Makefile"));
    // It is in nobody's way where it is not meant.
    let body = json!({ "action": "push", "paths": ["name.txt"] });
    let pushed = yard.verb("main", "stash", body).await;
    assert_eq!(paths(&pushed["files"]), ["name.txt"]);
    let kept = std::fs::read_to_string(workspace.join("Makefile")).unwrap();
    assert_eq!(kept, "all: # mine\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_stash_that_does_not_fit_leaves_none_of_its_files_behind() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "dir/new.txt", "new\n");
    push(
        &yard,
        "main",
        "first\n",
        json!({ "include_untracked": true }),
    )
    .await;
    write(&workspace, "name.txt", "second\n");
    let (status, code, _) = refused(&yard, "main", "stash", json!({ "action": "pop" })).await;
    assert_eq!((status, code.as_str()), (409, "local_changes"));
    assert!(!workspace.join("dir").exists());
    git(&workspace, &["checkout", "-q", "name.txt"]);
    write(&workspace, "dir", "a file where the directory was\n");
    let (status, code, _) = refused(&yard, "main", "stash", json!({ "action": "pop" })).await;
    assert_eq!((status, code.as_str()), (409, "in_the_way"));
    assert_eq!(name_of(&yard, "main"), "main\n");
    std::fs::remove_file(workspace.join("dir")).unwrap();
    yard.verb("main", "stash", json!({ "action": "pop" })).await;
    assert!(workspace.join("dir/new.txt").exists());
    yard.stop().await;
}
