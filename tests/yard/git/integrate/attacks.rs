//! Hostile input: options in place of revisions, strategies that are programs, paths that lead out.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{clash, fork, refused, snapshot, told, write};
use crate::support::{Agent, Yard, git};

#[tokio::test]
async fn options_and_programs_are_no_revisions_and_no_strategies() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let witness = yard.dir.path().join("witness");
    let exec = format!("--exec=touch {}", witness.display());
    let before = snapshot(&yard.workspace(&ours));
    for (verb, body, status) in [
        ("merge", json!({ "from": exec }), 400),
        ("merge", json!({ "from": "-s" }), 400),
        (
            "merge",
            json!({ "from": theirs, "strategy": "x/../y" }),
            422,
        ),
        (
            "merge",
            json!({ "from": theirs, "strategy_options": ["--exec=x"] }),
            422,
        ),
        ("merge", json!({ "from": theirs, "exec": "touch x" }), 422),
        ("merge", json!({ "from": "a\nb" }), 400),
        ("rebase", json!({ "onto": exec }), 400),
        ("rebase", json!({ "upstream": exec }), 400),
        ("rebase", json!({ "onto": theirs, "exec": "touch x" }), 422),
        (
            "rebase",
            json!({ "onto": theirs, "interactive": true }),
            422,
        ),
        ("cherry_pick", json!({ "commits": [exec] }), 400),
        (
            "cherry_pick",
            json!({ "range": format!("{exec}..{theirs}") }),
            400,
        ),
        ("cherry_pick", json!({ "commits": ["--abort"] }), 400),
        ("revert", json!({ "commits": ["--no-edit", exec] }), 400),
        (
            "revert",
            json!({ "commits": ["HEAD"], "mainline": -1 }),
            422,
        ),
    ] {
        let (got, _, problem) = refused(&yard, &ours, verb, body.clone()).await;
        assert_eq!(got, status, "{verb} {body}: {problem}");
        assert!(problem["field"].is_string(), "{verb} {body}: {problem}");
    }
    let agent = Agent::of_git(&yard, &ours);
    let refusal = agent.refusal("git_rebase", json!({ "onto": exec })).await;
    assert!(refusal.contains("field: onto"), "{refusal}");
    assert!(!witness.exists());
    assert_eq!(snapshot(&yard.workspace(&ours)), before);

    // A message is a message, whatever it begins with.
    let message = json!({ "from": theirs, "strategy": "ours", "message": exec });
    let merged = yard.verb(&ours, "merge", message).await;
    assert_eq!(merged["commits"][0]["subject"], exec.as_str());
    assert!(!witness.exists());
    yard.stop().await;
}

#[tokio::test]
async fn no_resolution_leads_out_of_the_workspace() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "out",
        |_| {},
        |at| write(at, "dir/f", "ours\n"),
        |at| write(at, "dir/f", "theirs\n"),
    )
    .await;
    let workspace = yard.workspace(&ours);
    let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(told(&merged), [("dir/f", "both_added", "text")]);
    let elsewhere = yard.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("f"), "secret\n").unwrap();
    symlink(&elsewhere, workspace.join("out")).unwrap();
    let sibling = format!("../{theirs}/dir/f");
    for (path, status) in [
        (sibling.as_str(), 403),
        ("../../x", 403),
        ("/etc/passwd", 400),
        (".git", 403),
        (".git/config", 403),
        ("dir/../.git/config", 403),
        ("out/f", 403),
        ("a\0b", 400),
        ("--force", 409),
        (":(top)dir/f", 409),
        ("dir/*", 409),
        ("dir", 409),
    ] {
        for choice in [json!({ "content": "x" }), json!({ "take": "delete" })] {
            let mut body = choice;
            body["paths"] = json!([path]);
            let (got, _, problem) = refused(&yard, &ours, "resolve", body).await;
            assert_eq!(
                (got, &problem["field"]),
                (status, &json!("paths")),
                "{path}: {problem}"
            );
        }
    }

    // The directory of the very conflict, swapped for a link: neither read nor written through.
    std::fs::remove_dir_all(workspace.join("dir")).unwrap();
    for target in [elsewhere.as_path(), &workspace.join("ignored")] {
        std::fs::create_dir_all(workspace.join("ignored")).unwrap();
        std::fs::write(
            workspace.join("ignored/f"),
            "<<<<<<< a\nsecret\n=======\n>>>>>>> b\n",
        )
        .unwrap();
        symlink(target, workspace.join("dir")).unwrap();
        let listed = yard.verb(&ours, "resolve", json!({})).await;
        assert!(!listed.to_string().contains("secret"), "{listed}");
        for choice in [
            json!({ "content": "x" }),
            json!({ "take": "ours" }),
            json!({ "take": "file" }),
        ] {
            let mut body = choice.clone();
            body["paths"] = json!(["dir/f"]);
            let (got, ..) = refused(&yard, &ours, "resolve", body).await;
            assert!([403, 409].contains(&got), "{choice}: {got}");
        }
        assert_eq!(
            refused(&yard, &ours, "resolve", json!({ "all": "ours" }))
                .await
                .1,
            "in_the_way"
        );
        std::fs::remove_file(workspace.join("dir")).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(elsewhere.join("f")).unwrap(),
        "secret\n"
    );
    let kept = std::fs::read_to_string(workspace.join("ignored/f")).unwrap();
    assert!(kept.contains("secret"));

    // A directory in place of the file is somebody's.
    std::fs::create_dir_all(workspace.join("dir/f")).unwrap();
    std::fs::write(workspace.join("dir/f/precious"), "x").unwrap();
    let taken = json!({ "paths": ["dir/f"], "take": "theirs" });
    assert_eq!(
        refused(&yard, &ours, "resolve", taken.clone()).await.1,
        "in_the_way"
    );
    assert!(workspace.join("dir/f/precious").exists());
    std::fs::remove_dir_all(workspace.join("dir")).unwrap();
    yard.verb(&ours, "resolve", taken).await;
    yard.verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    assert_eq!(git(&workspace, &["show", "HEAD:dir/f"]), "theirs");
    yard.stop().await;
}

#[tokio::test]
async fn planted_hooks_and_settings_run_nothing() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let witness = yard.dir.path().join("witness");
    let script = format!("#!/bin/sh\ntouch {}\n", witness.display());
    let hooks = yard.store().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-merge-commit",
        "post-merge",
        "pre-rebase",
        "post-rewrite",
        "commit-msg",
    ] {
        std::fs::write(hooks.join(hook), &script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), executable).unwrap();
    }
    let driver = format!("touch {} && exit 1", witness.display());
    git(&yard.store(), &["config", "merge.evil.driver", &driver]);
    git(&yard.store(), &["config", "sequence.editor", &driver]);
    write(&yard.workspace(&ours), ".gitattributes", "* merge=evil\n");
    git(&yard.workspace(&ours), &["add", ".gitattributes"]);
    git(
        &yard.workspace(&ours),
        &["commit", "-q", "--no-verify", "-m", "evil"],
    );
    let _ = std::fs::remove_file(&witness);

    let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(merged["state"], "conflicts");
    yard.verb(&ours, "resolve", json!({ "all": "ours" })).await;
    yard.verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    let onto = json!({ "onto": theirs, "autosquash": true });
    yard.verb(&ours, "rebase", onto).await;
    yard.verb(&ours, "rebase", json!({ "action": "abort" }))
        .await;
    assert!(!witness.exists());
    yard.stop().await;
}
