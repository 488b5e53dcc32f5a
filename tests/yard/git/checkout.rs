//! checkout: files come back, and what they replace is saved first.

use serde_json::json;

use super::local::{at_work, refused};
use crate::support::work::{snapshot, write};
use crate::support::{Agent, Yard, git, try_git};

#[tokio::test]
async fn files_come_back_as_they_were() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let read = |file: &str| std::fs::read_to_string(workspace.join(file)).unwrap();
    std::fs::remove_file(workspace.join("Makefile")).unwrap();
    // What is gone can be had back without a word.
    let done = yard
        .verb("main", "checkout", json!({ "paths": ["Makefile"] }))
        .await;
    assert_eq!(
        (&done["files"], done.get("kept")),
        (&json!(["Makefile"]), None)
    );
    write(&workspace, "name.txt", "staged\n");
    git(&workspace, &["add", "name.txt"]);
    write(&workspace, "name.txt", "mine\n");
    let before = snapshot(&yard, "main");
    for body in [
        json!({ "paths": ["name.txt"] }),
        json!({ "paths": ["."], "from": "HEAD" }),
    ] {
        let (status, code, problem) = refused(&yard, "main", "checkout", body).await;
        assert_eq!((status, code.as_str()), (403, "confirm_needed"));
        assert!(problem["detail"].as_str().unwrap().contains("name.txt"));
    }
    let agent = Agent::of_git(&yard, "main");
    let body = json!({ "paths": ["name.txt"], "confirm": true });
    let done = agent.call("git_checkout", body).await;
    assert_eq!(
        (read("name.txt"), &done["count"]),
        ("staged\n".to_owned(), &json!(1))
    );
    let id = &done["kept"]["salvage_id"];
    yard.restore(&json!({ "id": id }), json!({ "force": true }))
        .await;
    assert_eq!(snapshot(&yard, "main"), before);
    let body = json!({ "paths": ["."], "from": "HEAD", "confirm": true });
    yard.verb("main", "checkout", body).await;
    assert_eq!(
        (
            read("name.txt"),
            git(&workspace, &["status", "--porcelain"])
        ),
        ("main\n".into(), "".into())
    );
    write(&workspace, "name.txt", "staged\n");
    git(&workspace, &["add", "name.txt"]);
    let body = json!({ "paths": ["name.txt"], "staged": true });
    let done = yard.verb("main", "checkout", body).await;
    assert_eq!(
        (read("name.txt"), done.get("kept")),
        ("staged\n".into(), None)
    );
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "M name.txt");
    yard.stop().await;
}

#[tokio::test]
async fn a_checkout_overwrites_no_stray_unasked() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "ignored/x", "committed\n");
    write(&workspace, "place", "a file\n");
    git(&workspace, &["add", "-f", "ignored/x", "place"]);
    git(&workspace, &["commit", "-q", "-m", "more"]);
    let commit = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&workspace, "ignored/x", "mine\n");
    write(&workspace, "place/inside", "mine\n");
    let mut body = json!({ "paths": ["ignored/x", "place"], "from": commit });
    let (status, code, problem) = refused(&yard, "main", "checkout", body.clone()).await;
    assert_eq!((status, code.as_str()), (403, "confirm_needed"));
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("ignored/x") && detail.contains("place"),
        "{detail}"
    );
    body["confirm"] = json!(true);
    let done = yard.verb("main", "checkout", body).await;
    assert_eq!(done["files"], json!(["ignored/x", "place"]));
    assert_eq!(
        std::fs::read_to_string(workspace.join("place")).unwrap(),
        "a file\n"
    );
    let id = done["kept"]["salvage_id"].as_str().unwrap();
    for file in ["ignored/x", "place/inside"] {
        let saved = yard
            .get(&format!("/api/salvage/{id}/file?path={file}"))
            .await;
        assert_eq!(saved.text().await.unwrap(), "mine\n", "{file}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_workspace_stays_on_its_branch() {
    let mut yard = at_work().await;
    let (status, code, problem) =
        refused(&yard, "main", "checkout", json!({ "to_branch": "other" })).await;
    assert_eq!((status, code.as_str()), (409, "stays_on_branch"));
    let help = problem["help"].as_str().unwrap();
    assert!(
        help.contains("branches/other") && help.contains("`workspace`"),
        "{help}"
    );
    for (body, expected) in [
        (json!({}), (422, "unprocessable")),
        (json!({ "paths": ["none"] }), (404, "path_not_found")),
        (
            json!({ "paths": ["name.txt"], "from": "--theirs" }),
            (400, "bad_request"),
        ),
        (
            json!({ "paths": ["name.txt"], "side": "ours" }),
            (409, "no_conflicts"),
        ),
        (
            json!({ "paths": ["name.txt"], "side": "ours", "staged": true }),
            (422, "unprocessable"),
        ),
    ] {
        let (status, code, _) = refused(&yard, "main", "checkout", body.clone()).await;
        assert_eq!((status, code.as_str()), expected, "{body}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn one_side_of_a_conflict_can_be_taken() {
    let mut yard = Yard::new().await;
    yard.origin.branch("clash");
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(
        &workspace,
        &["fetch", "-q", "origin", "clash:refs/remotes/origin/clash"],
    );
    write(&workspace, "name.txt", "mine\n");
    git(&workspace, &["commit", "-q", "-am", "mine"]);
    assert!(
        !try_git(&workspace, &["merge", "-q", "origin/clash"])
            .status
            .success()
    );
    let (_, code, _) = refused(&yard, "main", "checkout", json!({ "paths": ["name.txt"] })).await;
    assert_eq!(code, "unresolved");
    for (side, expected) in [("theirs", "clash\n"), ("ours", "mine\n")] {
        let body = json!({ "paths": ["name.txt"], "side": side, "confirm": true });
        yard.verb("main", "checkout", body).await;
        assert_eq!(
            std::fs::read_to_string(workspace.join("name.txt")).unwrap(),
            expected
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_submodule_is_left_alone() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let module = workspace.join("module");
    std::fs::create_dir(&module).unwrap();
    git(&module, &["init", "-q", "."]);
    write(&workspace, "module/a.txt", "a\n");
    git(&module, &["add", "."]);
    git(&module, &["commit", "-q", "-m", "of the module"]);
    git(&workspace, &["add", "module"]);
    git(&workspace, &["commit", "-q", "-m", "with a module"]);
    write(&workspace, "module/a.txt", "edited\n");
    git(&module, &["commit", "-q", "--allow-empty", "-m", "newer"]);
    for (verb, body) in [
        ("checkout", json!({ "paths": ["."], "confirm": true })),
        (
            "checkout",
            json!({ "paths": ["."], "from": "HEAD", "confirm": true }),
        ),
        ("reset", json!({ "mode": "hard", "confirm": true })),
        ("stash", json!({ "action": "push" })),
    ] {
        write(&workspace, "name.txt", "mine\n");
        yard.verb("main", verb, body.clone()).await;
        let name = std::fs::read_to_string(workspace.join("name.txt")).unwrap();
        let edited = std::fs::read_to_string(module.join("a.txt")).unwrap();
        assert_eq!(
            (name.as_str(), edited.as_str()),
            ("main\n", "edited\n"),
            "{verb} {body}"
        );
        let subject = git(&module, &["log", "-1", "--format=%s"]);
        assert_eq!(subject, "newer", "{verb} {body}");
    }
    yard.stop().await;
}
