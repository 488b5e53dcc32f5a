//! Whatever is not committed survives, or is saved first, or the integration does not begin.

use serde_json::{Value, json};

use super::{clash, fork, read, refused, snapshot, write};
use crate::support::{Yard, git};

/// A fork whose sides both have a commit; theirs adds `precious.o`, which is ignored, and changes `f`.
async fn adding(yard: &Yard) -> (String, String) {
    fork(
        yard,
        "add",
        |at| write(at, "f", "1\n"),
        |at| write(at, "ours", "1\n"),
        |at| {
            write(at, "precious.o", "theirs\n");
            git(at, &["add", "-f", "precious.o"]);
            write(at, "new", "theirs\n");
            write(at, "f", "2\n");
        },
    )
    .await
}

fn each(theirs: &str) -> [(&'static str, Value); 3] {
    [
        ("merge", json!({ "from": theirs })),
        ("rebase", json!({ "onto": theirs })),
        ("cherry_pick", json!({ "commits": [theirs] })),
    ]
}

#[tokio::test]
async fn files_that_are_not_tracked_are_never_overwritten_ignored_or_not() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = adding(&yard).await;
    let workspace = yard.workspace(&ours);
    for path in ["precious.o", "new", "new/within.o"] {
        if path.contains('/') {
            std::fs::remove_file(workspace.join("new")).unwrap();
        }
        write(&workspace, path, "mine\n");
        let before = snapshot(&workspace);
        for (verb, body) in each(&theirs) {
            let (status, code, problem) = refused(&yard, &ours, verb, body).await;
            assert_eq!((status, &*code), (409, "in_the_way"), "{verb} {path}");
            assert!(
                problem["detail"].as_str().unwrap().contains(path),
                "{problem}"
            );
            assert_eq!(snapshot(&workspace), before, "{verb} {path}");
        }
        if path == "precious.o" {
            std::fs::remove_file(workspace.join(path)).unwrap();
        }
    }
    std::fs::remove_dir_all(workspace.join("new")).unwrap();
    // What is in nobody's way stays, and hinders nothing.
    write(&workspace, "other.o", "mine\n");
    let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(merged["state"], "done");
    assert_eq!(read(&yard, &ours, "other.o"), "mine\n");
    // To undo the addition is to remove, and to undo that is to write again.
    yard.verb(
        &ours,
        "revert",
        json!({ "commits": ["HEAD"], "mainline": 1 }),
    )
    .await;
    write(&workspace, "precious.o", "mine\n");
    let (_, code, _) = refused(&yard, &ours, "revert", json!({ "commits": ["HEAD"] })).await;
    assert_eq!(code, "in_the_way");
    assert_eq!(read(&yard, &ours, "precious.o"), "mine\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_file_that_would_follow_a_renamed_directory_is_in_the_way_too() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "moved",
        |at| {
            for name in ["a", "b", "c"] {
                write(at, &format!("old/{name}"), &format!("{name}\n").repeat(9));
            }
        },
        |at| {
            write(at, "old/added.o", "ours\n");
            git(at, &["add", "-f", "old/added.o"]);
        },
        |at| std::fs::rename(at.join("old"), at.join("new")).unwrap(),
    )
    .await;
    let workspace = yard.workspace(&ours);
    write(&workspace, "new/added.o", "mine\n");
    for (verb, body) in each(&theirs) {
        let (_, code, problem) = refused(&yard, &ours, verb, body).await;
        assert_eq!(code, "in_the_way", "{verb}: {problem}");
        assert_eq!(read(&yard, &ours, "new/added.o"), "mine\n", "{verb}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn changes_that_are_in_the_way_are_named_and_others_stay() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = adding(&yard).await;
    let workspace = yard.workspace(&ours);
    write(&workspace, "f", "mine\n");
    for (verb, body) in each(&theirs) {
        let (status, code, problem) = refused(&yard, &ours, verb, body).await;
        assert_eq!((status, &*code), (409, "local_changes"), "{verb}");
        assert!(
            problem["detail"].as_str().unwrap().ends_with(": f"),
            "{verb}: {problem}"
        );
        assert_eq!(read(&yard, &ours, "f"), "mine\n", "{verb}");
    }
    git(&workspace, &["checkout", "-q", "f"]);
    write(&workspace, "name.txt", "mine\n");
    // A rebase moves everything, a merge only what it touches; and neither takes what is staged.
    let (verb, body) = &each(&theirs)[1];
    assert_eq!(
        refused(&yard, &ours, verb, body.clone()).await.1,
        "local_changes"
    );
    git(&workspace, &["add", "name.txt"]);
    let (verb, body) = &each(&theirs)[0];
    assert_eq!(
        refused(&yard, &ours, verb, body.clone()).await.1,
        "local_changes"
    );
    git(&workspace, &["reset", "-q"]);
    let merged = yard.verb(&ours, verb, body.clone()).await;
    assert_eq!(
        (&merged["state"], &merged["dirty"]),
        (&json!("done"), &json!(true))
    );
    assert_eq!(read(&yard, &ours, "name.txt"), "mine\n");

    // One that git was told to overlook is somebody's all the same.
    git(&workspace, &["checkout", "-q", "name.txt"]);
    git(
        &workspace,
        &["update-index", "--assume-unchanged", "name.txt"],
    );
    write(&workspace, "name.txt", "hidden\n");
    let onto = json!({ "onto": theirs, "upstream": "HEAD~1" });
    assert_eq!(
        refused(&yard, &ours, "rebase", onto).await.1,
        "local_changes"
    );
    assert_eq!(read(&yard, &ours, "name.txt"), "hidden\n");
    yard.stop().await;
}

#[tokio::test]
async fn half_resolved_work_is_saved_before_an_abort_and_comes_back() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    let before = snapshot(&workspace);
    for (verb, body) in each(&theirs) {
        yard.verb(&ours, verb, body).await;
        write(&workspace, "f", "an hour of work\n");
        let during = snapshot(&workspace);
        let aborted = yard.verb(&ours, verb, json!({ "action": "abort" })).await;
        assert_eq!(aborted["warnings"][0]["code"], "salvaged", "{verb}");
        assert_eq!(snapshot(&workspace), before, "{verb}");
        let salvage = &yard.salvages(&ours).await[0];
        assert_eq!(salvage["reason"], "abort", "{verb}");
        yard.restore(salvage, json!({ "force": true })).await;
        assert_eq!(snapshot(&workspace), during, "{verb}");
        yard.verb(&ours, verb, json!({ "action": "abort" })).await;
        assert_eq!(snapshot(&workspace), before, "{verb}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_file_that_was_made_meanwhile_keeps_an_abort_from_overwriting_it() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "gone",
        |at| {
            write(at, "f", "1\n");
            write(at, "gone.o", "base\n");
            git(at, &["add", "-f", "gone.o"]);
        },
        |at| write(at, "f", "2\n"),
        |at| {
            write(at, "f", "3\n");
            std::fs::remove_file(at.join("gone.o")).unwrap();
        },
    )
    .await;
    let workspace = yard.workspace(&ours);
    yard.verb(&ours, "rebase", json!({ "onto": theirs })).await;
    write(&workspace, "gone.o", "mine\n");
    let (_, code, problem) = refused(&yard, &ours, "rebase", json!({ "action": "abort" })).await;
    assert_eq!(code, "in_the_way", "{problem}");
    assert_eq!(read(&yard, &ours, "gone.o"), "mine\n");
    std::fs::remove_file(workspace.join("gone.o")).unwrap();
    yard.verb(&ours, "rebase", json!({ "action": "abort" }))
        .await;
    assert_eq!(read(&yard, &ours, "gone.o"), "base\n");
    yard.stop().await;
}
