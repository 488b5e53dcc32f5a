//! reset: what it discards is saved first.

use serde_json::json;

use super::local::{at_work, paths, refused};
use crate::support::work::{commit_in, snapshot, write};
use crate::support::{Agent, git, try_git};

#[tokio::test]
async fn soft_and_mixed_resets_keep_every_file() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let first = git(&workspace, &["rev-parse", "HEAD"]);
    write(&workspace, "name.txt", "mine\n");
    git(&workspace, &["commit", "-q", "-am", "mine"]);
    let second = git(&workspace, &["rev-parse", "HEAD"]);

    let soft = json!({ "mode": "soft", "to": "HEAD~1" });
    let done = yard.verb("main", "reset", soft).await;
    assert_eq!(
        (&done["was_at"], &done["now_at"]),
        (&json!(second), &json!(first))
    );
    assert_eq!((&done["left_behind"], done.get("kept")), (&json!(1), None));
    assert_eq!(paths(&done["staged"]), ["name.txt"]);
    let back = Agent::of_git(&yard, "main");
    let back = back
        .call("git_reset", json!({ "mode": "soft", "to": second }))
        .await;
    assert_eq!(
        (&back["commit"], &back["staged_files"]),
        (&json!(second), &json!(0))
    );
    let mixed = yard.verb("main", "reset", json!({ "to": "HEAD~1" })).await;
    assert_eq!(
        (&mixed["mode"], &mixed["staged_files"]),
        (&json!("mixed"), &json!(0))
    );
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "M name.txt");
    assert!(yard.salvages("main").await.is_empty());
    yard.stop().await;
}

#[tokio::test]
async fn files_are_taken_out_of_the_next_commit() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "new.txt", "staged\n");
    write(&workspace, "name.txt", "staged\n");
    git(&workspace, &["add", "-A"]);
    let done = yard
        .verb("main", "reset", json!({ "paths": ["new.txt"] }))
        .await;
    assert_eq!(
        (paths(&done["staged"]), done.get("kept")),
        (vec!["name.txt"], None)
    );
    write(&workspace, "two.txt", "staged\n");
    git(&workspace, &["add", "two.txt"]);
    let done = yard.verb("main", "reset", json!({ "paths": ["."] })).await;
    assert_eq!(done["staged_files"], 0);
    std::fs::remove_file(workspace.join("two.txt")).unwrap();
    git(&workspace, &["add", "name.txt"]);
    // This version is nowhere but in the index.
    write(&workspace, "name.txt", "worked on\n");
    let done = yard.verb("main", "reset", json!({})).await;
    assert_eq!(done["staged_files"], 0);
    let id = done["kept"]["salvage_id"].as_str().unwrap();
    assert_eq!(
        std::fs::read_to_string(workspace.join("name.txt")).unwrap(),
        "worked on\n"
    );
    git(&workspace, &["checkout", "-q", "name.txt"]);
    std::fs::remove_file(workspace.join("new.txt")).unwrap();
    yard.restore(&json!({ "id": id }), json!({})).await;
    assert_eq!(git(&workspace, &["show", ":name.txt"]), "staged");
    let (status, code, _) = refused(
        &yard,
        "main",
        "reset",
        json!({ "mode": "hard", "paths": ["name.txt"] }),
    )
    .await;
    assert_eq!((status, code.as_str()), (422, "unprocessable"));
    yard.stop().await;
}

#[tokio::test]
async fn a_hard_reset_is_confirmed_and_can_be_taken_back() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    commit_in(&workspace, "mine");
    write(&workspace, "name.txt", "staged\n");
    git(&workspace, &["add", "name.txt"]);
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "notes.txt", "mine\n");
    let before = snapshot(&yard, "main");

    let hard = json!({ "mode": "hard", "to": "origin/main" });
    let (status, code, problem) = refused(&yard, "main", "reset", hard.clone()).await;
    assert_eq!(
        (status, code.as_str(), &problem["field"]),
        (403, "confirm_needed", &json!("confirm"))
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("name.txt") && detail.contains("1 commit"),
        "{detail}"
    );
    assert_eq!(snapshot(&yard, "main"), before, "nothing moved");
    let agent = Agent::of_git(&yard, "main");
    let said = agent.refusal("git_reset", hard.clone()).await;
    assert!(said.contains("confirm: true"), "{said}");

    let mut confirmed = hard;
    confirmed["confirm"] = json!(true);
    let done = agent.call("git_reset", confirmed.clone()).await;
    assert_eq!(
        (&done["left_behind"], &done["ahead"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "?? notes.txt");
    let kept = &done["kept"];
    assert!(kept["restore"].as_str().unwrap().contains("salvage"));
    yard.restore(
        &json!({ "id": kept["salvage_id"] }),
        json!({ "force": true }),
    )
    .await;
    assert_eq!(snapshot(&yard, "main"), before, "all of it is back");

    git(&workspace, &["reset", "-q", "--hard", "origin/main"]);
    let again = yard.verb("main", "reset", confirmed).await;
    assert_eq!(again.get("kept"), None, "there was nothing to save");
    yard.stop().await;
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_reset_is_saved() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "ignored/kept", "committed\n");
    git(&workspace, &["add", "-f", "ignored/kept"]);
    git(&workspace, &["commit", "-q", "-m", "with an object"]);
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&workspace, "ignored/kept", "of my own\n");
    let to = json!({ "mode": "hard", "to": "HEAD@{1}", "confirm": true });
    let done = yard.verb("main", "reset", to).await;
    assert_eq!(
        std::fs::read_to_string(workspace.join("ignored/kept")).unwrap(),
        "committed\n"
    );
    let id = done["kept"]["salvage_id"].as_str().unwrap();
    let file = yard
        .get(&format!("/api/salvage/{id}/file?path=ignored/kept"))
        .await;
    assert_eq!(file.text().await.unwrap(), "of my own\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_reset_to_nowhere_is_refused() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let before = snapshot(&yard, "main");
    for (to, expected) in [
        ("nowhere", 404),
        ("--hard", 400),
        ("-q", 400),
        ("HEAD..main", 400),
        ("HEAD:Makefile", 422),
        ("", 400),
    ] {
        let body = json!({ "mode": "hard", "to": to, "confirm": true });
        let (status, _, problem) = refused(&yard, "main", "reset", body).await;
        assert_eq!(
            (status, &problem["field"]),
            (expected, &json!("to")),
            "{to}"
        );
    }
    assert_eq!(snapshot(&yard, "main"), before);
    write(&workspace, "name.txt", "mine\n");
    git(&workspace, &["commit", "-q", "-am", "mine"]);
    yard.origin.branch("clash");
    git(
        &workspace,
        &["fetch", "-q", "origin", "clash:refs/remotes/origin/clash"],
    );
    assert!(
        !try_git(&workspace, &["merge", "-q", "origin/clash"])
            .status
            .success()
    );
    let (_, code, _) = refused(&yard, "main", "reset", json!({})).await;
    assert_eq!(code, "operation_under_way");
    // A merge can be thrown away as a whole.
    let done = yard
        .verb("main", "reset", json!({ "mode": "hard", "confirm": true }))
        .await;
    assert!(
        done["kept"]["work"][1].as_str().unwrap().contains("merge"),
        "{done}"
    );
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    yard.stop().await;
}

#[tokio::test]
async fn an_index_that_only_git_reads_is_told_of() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    git(&workspace, &["update-index", "--split-index"]);
    for (verb, body) in [
        ("status", json!({})),
        ("add", json!({ "all": true })),
        ("reset", json!({ "mode": "hard", "confirm": true })),
    ] {
        let (status, code, problem) = refused(&yard, "main", verb, body).await;
        assert_eq!((status, code.as_str()), (409, "index_format"), "{verb}");
        let help = problem["help"].as_str().unwrap();
        assert!(help.contains("--no-split-index"), "{verb}: {help}");
    }
    git(&workspace, &["update-index", "--no-split-index"]);
    yard.verb("main", "add", json!({ "all": true })).await;
    yard.stop().await;
}
