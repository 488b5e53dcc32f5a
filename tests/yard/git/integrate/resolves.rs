//! Resolving one conflict in every way.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{clash, fork, read, refused, told, write};
use crate::support::{Yard, git};

#[tokio::test]
async fn a_file_is_taken_given_deleted_or_left_as_it_is() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    for (choice, content) in [
        (json!({ "take": "ours" }), Some("1\nours\n3\n")),
        (json!({ "take": "theirs" }), Some("1\ntheirs\n3\n")),
        (json!({ "take": "base" }), Some("1\n2\n3\n")),
        (json!({ "take": "delete" }), None),
        (json!({ "content": "given" }), Some("given")),
        (
            json!({ "content": "<<<<<<< x\n", "allow_markers": true }),
            Some("<<<<<<< x\n"),
        ),
    ] {
        yard.verb(&ours, "merge", json!({ "from": theirs })).await;
        let mut body = choice.clone();
        body["paths"] = json!(["f"]);
        let resolved = yard.verb(&ours, "resolve", body).await;
        assert_eq!(resolved["resolved"], json!(["f"]), "{choice}");
        assert!(resolved["warnings"].is_null(), "{choice}: {resolved}");
        yard.verb(&ours, "merge", json!({ "action": "continue" }))
            .await;
        let now = std::fs::read_to_string(workspace.join("f")).ok();
        assert_eq!(now.as_deref(), content, "{choice}");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{choice}");
        git(&workspace, &["reset", "-q", "--hard", &tip]);
    }
    yard.stop().await;
}

#[tokio::test]
async fn an_edited_file_is_taken_without_markers_and_saved_before_it_is_overwritten() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    let as_it_is = json!({ "paths": ["f"], "take": "file" });
    let (status, code, problem) = refused(&yard, &ours, "resolve", as_it_is.clone()).await;
    assert_eq!((status, &*code), (422, "conflict_markers"), "{problem}");
    let given = json!({ "paths": ["f"], "content": "a\n>>>>>>> theirs\n" });
    let (_, code, problem) = refused(&yard, &ours, "resolve", given).await;
    assert_eq!(
        (&*code, &problem["field"]),
        ("conflict_markers", &json!("content"))
    );

    // Whoever stages them by other means is warned when it goes on.
    git(&workspace, &["add", "f"]);
    let done = yard
        .verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    assert_eq!(done["warnings"][0]["code"], "conflict_markers", "{done}");
    git(&workspace, &["reset", "-q", "--hard", "HEAD^"]);
    yard.verb(&ours, "merge", json!({ "from": theirs })).await;

    write(&workspace, "f", "edited by hand\n");
    let taken = json!({ "paths": ["f"], "take": "ours" });
    let resolved = yard.verb(&ours, "resolve", taken).await;
    assert_eq!(resolved["warnings"][0]["code"], "salvaged", "{resolved}");
    assert_eq!(read(&yard, &ours, "f"), "1\nours\n3\n");
    let salvages = yard.salvages(&ours).await;
    assert_eq!(salvages[0]["reason"], "resolve");
    yard.restore(&salvages[0], json!({ "force": true })).await;
    assert_eq!(read(&yard, &ours, "f"), "edited by hand\n");
    // And the merge is under way again, with the conflict in it.
    let resolved = yard.verb(&ours, "resolve", as_it_is).await;
    assert_eq!(resolved["conflicts_total"], 0);
    let done = yard
        .verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    assert_eq!(done["state"], "done");
    assert_eq!(git(&workspace, &["show", "HEAD:f"]), "edited by hand");
    yard.stop().await;
}

#[tokio::test]
async fn given_content_keeps_the_mode_and_replaces_a_link() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "mode",
        |at| {
            write(at, "run", "1\n");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(at.join("run"), executable).unwrap();
            std::os::unix::fs::symlink("base", at.join("link")).unwrap();
        },
        |at| {
            write(at, "run", "ours\n");
            std::fs::remove_file(at.join("link")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", at.join("link")).unwrap();
        },
        |at| {
            write(at, "run", "theirs\n");
            std::fs::remove_file(at.join("link")).unwrap();
            std::os::unix::fs::symlink("theirs", at.join("link")).unwrap();
        },
    )
    .await;
    let workspace = yard.workspace(&ours);
    let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(
        told(&merged),
        [
            ("link", "both_modified", "symlink"),
            ("run", "both_modified", "text")
        ]
    );
    let minimal = yard
        .verb(&ours, "resolve", json!({ "verbosity": "minimal" }))
        .await;
    let names = json!({ "path": "run", "kind": "both_modified", "form": "text" });
    assert_eq!(minimal["conflicts"][1], names);
    for path in ["run", "link"] {
        let given = json!({ "paths": [path], "content": "given\n" });
        yard.verb(&ours, "resolve", given).await;
    }
    yard.verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    let listed = git(
        &workspace,
        &[
            "ls-tree",
            "--format=%(objectmode) %(path)",
            "HEAD",
            "run",
            "link",
        ],
    );
    assert_eq!(listed, "100644 link\n100755 run");
    assert!(
        !std::fs::read_to_string("/etc/passwd")
            .unwrap()
            .contains("given")
    );
    yard.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let (status, code, _) = refused(&yard, &ours, "resolve", json!({ "all": "ours" })).await;
    assert_eq!((status, &*code), (409, "no_conflicts"));
    yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    for (body, status, field) in [
        (json!({ "paths": ["f"] }), 422, "take"),
        (json!({ "take": "ours" }), 422, "paths"),
        (
            json!({ "paths": ["f"], "take": "ours", "content": "x" }),
            422,
            "content",
        ),
        (
            json!({ "paths": ["f", "g"], "content": "x" }),
            422,
            "content",
        ),
        (json!({ "paths": ["f"], "all": "ours" }), 422, "paths"),
        (json!({ "all": "ours", "take": "ours" }), 422, "all"),
        (json!({ "all": "base" }), 422, "all"),
        (
            json!({ "paths": ["name.txt"], "take": "ours" }),
            409,
            "paths",
        ),
    ] {
        let refusal = refused(&yard, &ours, "resolve", body.clone()).await;
        assert_eq!(
            (refusal.0, &refusal.2["field"]),
            (status, &json!(field)),
            "{body}"
        );
    }
    yard.stop().await;
}
