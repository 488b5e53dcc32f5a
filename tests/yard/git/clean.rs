//! clean: it lists first, and saves what is work.

use serde_json::json;

use super::local::{at_work, paths, refused};
use crate::support::work::{snapshot, write};
use crate::support::{Agent, Yard, git};

async fn cluttered() -> Yard {
    let yard = at_work().await;
    let workspace = yard.workspace("main");
    for file in [
        "notes.txt",
        "dir/a",
        "dir/deep/b",
        "mixed/c",
        "mixed/ignored/y",
        "ignored/settings",
    ] {
        write(&workspace, file, "mine\n");
    }
    write(&workspace, "nested/file", "mine\n");
    git(&workspace.join("nested"), &["init", "-q"]);
    yard
}

#[tokio::test]
async fn a_clean_lists_first() {
    let mut yard = cluttered().await;
    write(&yard.workspace("main"), "kept.o", "object\n");
    let before = snapshot(&yard, "main");
    let agent = Agent::of_git(&yard, "main");
    for (body, expected) in [
        (json!({}), vec!["notes.txt"]),
        (
            json!({ "directories": true }),
            vec!["dir", "mixed/c", "notes.txt"],
        ),
        (json!({ "paths": ["dir/deep"] }), vec!["dir/deep"]),
        (
            json!({ "paths": ["dir", "notes.txt"] }),
            vec!["dir", "notes.txt"],
        ),
        (json!({ "ignored": true }), vec!["kept.o", "notes.txt"]),
        (
            json!({ "ignored": true, "directories": true }),
            vec!["dir", "ignored", "kept.o", "mixed", "notes.txt"],
        ),
        (json!({ "paths": ["nested"] }), vec!["nested"]),
        (json!({ "paths": ["Makefile"] }), vec![]),
    ] {
        let listed = agent.call("git_clean", body.clone()).await;
        assert_eq!(listed["removed"], false);
        assert_eq!(paths(&listed["entries"]), expected, "{body}");
    }
    let listed = yard
        .verb("main", "clean", json!({ "directories": true }))
        .await;
    assert_eq!(listed["repositories_kept"], json!(["nested"]));
    let body = json!({ "dry_run": false });
    let (status, code, problem) = refused(&yard, "main", "clean", body).await;
    assert_eq!((status, code.as_str()), (403, "confirm_needed"));
    assert!(problem["detail"].as_str().unwrap().contains("notes.txt"));
    assert_eq!(snapshot(&yard, "main"), before);
    yard.stop().await;
}

#[tokio::test]
async fn a_clean_saves_what_is_work() {
    let mut yard = cluttered().await;
    let workspace = yard.workspace("main");
    let before = snapshot(&yard, "main");
    let body = json!({ "dry_run": false, "confirm": true, "directories": true, "ignored": true });
    let done = yard.verb("main", "clean", body).await;
    assert_eq!(
        (&done["removed"], &done["count"]),
        (&json!(true), &json!(4))
    );
    assert!(!workspace.join("dir").exists() && workspace.join("nested/file").exists());
    let id = &done["kept"]["salvage_id"];
    yard.restore(&json!({ "id": id }), json!({ "force": true }))
        .await;
    assert_eq!(snapshot(&yard, "main"), before);
    let body = json!({ "dry_run": false, "confirm": true, "paths": ["nested"] });
    let done = yard.verb("main", "clean", body).await;
    assert!(!workspace.join("nested").exists());
    assert!(done["kept"]["salvage_id"].is_string());
    yard.stop().await;
}

#[tokio::test]
async fn build_output_goes_without_a_salvage() {
    let mut yard = at_work().await;
    yard.make("main", &["build"]).await;
    let workspace = yard.workspace("main");
    assert!(workspace.join("ignored/result").exists());
    let body = json!({ "dry_run": false, "confirm": true, "paths": ["ignored", "main.o"], "ignored": true });
    let done = yard.verb("main", "clean", body).await;
    assert_eq!(
        (&done["count"], done.get("kept")),
        (&json!(2), None),
        "{done}"
    );
    assert!(!workspace.join("ignored").exists() && workspace.join("out/result").exists());
    yard.stop().await;
}
