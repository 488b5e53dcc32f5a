//! What an earlier run does not answer for: whatever could make a difference.

use std::os::unix::fs::PermissionsExt;

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{answered, ask, make, options, ran, times_ran, yard};
use crate::support::{Yard, problem_of, warnings_of};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_again_is_answered_and_says_so() {
    let mut yard = yard();
    yard.start().await;
    let first = ran(&make(&yard, "check").await);
    let body = json!({"args": ["check"], "reuse": true});
    let events = yard.run("make", "main", body.clone()).await;
    assert_eq!(times_ran(&yard), 1);
    let run = events[0].data["run_id"].as_str().unwrap().to_owned();
    assert_ne!(run, first);
    let told = events.iter().find(|event| event.data["state"] == "cached");
    let told = &told.expect("a status").data;
    assert_eq!(
        (&told["type"], &told["cached"]),
        (&json!("status"), &json!(first))
    );
    let end = &events.last().unwrap().data;
    assert_eq!(
        (&end["type"], &end["exit_code"]),
        (&json!("complete"), &json!(0))
    );
    assert_eq!(
        (&end["cached"], &end["state"]),
        (&json!(first), &json!("succeeded"))
    );
    assert_eq!(yard.log(&run).await, yard.log(&first).await);
    let records = (yard.ended(&run).await, yard.ended(&first).await);
    for same in ["argv", "diagnostics", "exit_code", "branch"] {
        assert_eq!(records.0[same], records.1[same], "{same}");
    }
    assert_eq!(records.0["diagnostics"]["warnings"], 1);
    assert_eq!(records.0.get("reusable"), None, "nobody's to see");
    assert_eq!(records.1.get("reusable"), None, "nobody's to see");

    // One that was answered does not answer; nor does it have to be asked for with `reuse` to be run.
    assert_eq!(answered(&make(&yard, "check").await), first);
    yard.make("main", &["check"]).await;
    assert_eq!(times_ran(&yard), 2);

    // The message of a commit is nothing that a build sees.
    yard.origin
        .git(&["commit", "-q", "--amend", "-m", "other words"]);
    yard.origin.push("main");
    let amended = make(&yard, "check").await;
    assert_eq!(answered(&amended), first);
    assert_eq!(amended["about"]["commit"], yard.origin.head());

    // What it made itself is no difference, and what another run makes of that is one.
    let built = ran(&make(&yard, "build").await);
    assert_eq!(answered(&make(&yard, "build").await), built);
    yard.make("main", &["build"]).await;
    let again = ran(&make(&yard, "build").await);
    assert_eq!(answered(&make(&yard, "build").await), again);
    let clean = ask(
        &yard,
        "make",
        "main",
        json!({"args": ["build"], "clean": true}),
    )
    .await;
    assert_eq!(
        answered(&clean),
        built,
        "it began with nothing, as this one"
    );

    let refused = yard.post(
        "/stream/repos/demo/branches/main/git",
        json!({"operation": "status", "reuse": true}),
    );
    let (status, problem) = problem_of(refused.await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("reuse")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_differs_is_run() {
    let mut yard = yard();
    yard.start().await;
    let first = ran(&make(&yard, "check").await);
    misses(
        "arguments",
        &yard,
        "make",
        json!({"args": ["check", "V=1"]}),
    )
    .await;
    misses("options", &yard, "make", json!({"args": ["-k", "check"]})).await;
    misses(
        "a variable",
        &yard,
        "make",
        json!({"args": ["check"], "env": {"A": "1"}}),
    )
    .await;
    misses(
        "its value",
        &yard,
        "make",
        json!({"args": ["check"], "env": {"A": "2"}}),
    )
    .await;
    misses("a task", &yard, "task", json!({"task": "one"})).await;
    misses("another task", &yard, "task", json!({"task": "two"})).await;
    for _ in 0..2 {
        misses("a failure", &yard, "make", json!({"args": ["fail"]})).await;
        misses(
            "a changed file",
            &yard,
            "make",
            json!({"args": ["touchy"], "sync": "reset"}),
        )
        .await;
    }
    let check = json!({"args": ["check"]});
    let before = times_ran(&yard);
    let body = json!({"args": ["check"], "reuse": true});
    let events = yard.run("make", "main", body).await;
    assert_eq!(times_ran(&yard), before + 1, "tracked files were changed");
    assert!(warnings_of(&events).contains(&"not_reusable"), "{events:?}");
    crate::support::git(&yard.workspace("main"), &["checkout", "-q", "name.txt"]);
    assert_eq!(answered(&make(&yard, "check").await), first);

    let note = yard.workspace("main").join("note.txt");
    std::fs::write(&note, "mine").unwrap();
    misses("an untracked file", &yard, "make", check.clone()).await;
    answered(&make(&yard, "check").await);
    std::fs::write(&note, "less").unwrap();
    misses("its content", &yard, "make", check.clone()).await;
    std::fs::rename(&note, yard.workspace("main").join("note.o")).unwrap();
    misses("an ignored file", &yard, "make", check.clone()).await;
    std::fs::remove_file(yard.workspace("main").join("note.o")).unwrap();
    assert_eq!(answered(&make(&yard, "check").await), first);

    let version = yard.dir.path().join("version");
    std::fs::write(&version, "2").unwrap();
    misses("a tool", &yard, "make", check.clone()).await;
    std::fs::remove_file(&version).unwrap();
    for _ in 0..2 {
        misses("a tool that fails", &yard, "make", check.clone()).await;
    }
    std::fs::write(&version, "1").unwrap();
    assert_eq!(answered(&make(&yard, "check").await), first);

    let cancelled = yard
        .start_detached("main", json!({"args": ["gate"], "reuse": true}))
        .await;
    yard.follow(&cancelled).await.until_line("waiting").await;
    yard.post_json(&format!("/api/runs/{cancelled}/cancel"), json!({}))
        .await;
    assert_eq!(yard.ended(&cancelled).await["state"], "cancelled");
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let gate = misses("a cancelled run", &yard, "make", json!({"args": ["gate"]})).await;
    assert_eq!(answered(&make(&yard, "gate").await), gate);

    // Without its journal it has nothing to say.
    for name in ["journal", "journal.zst"] {
        drop(std::fs::remove_file(yard.run_dir(&gate).join(name)));
    }
    misses("a lost journal", &yard, "make", json!({"args": ["gate"]})).await;

    yard.origin.write("name.txt", "other");
    yard.origin.commit("content");
    yard.origin.push("main");
    misses("content", &yard, "make", check).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_and_secrets_count_and_a_restart_does_not() {
    let mut yard = yard();
    let secret = yard.dir.path().join("secret");
    std::fs::write(&secret, "first-S3cret").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let with = |yard: &Yard, repo: &str, tables: &str| {
        let mut options = options(yard, &format!("secrets.make.TOKEN = \"token\"\n{repo}"));
        let file = yard.dir.path().join("secret");
        options.tables.push_str(&format!(
            "[secrets.token]\nfile = {file:?}\nbranches = [\"**\"]\n{tables}"
        ));
        options
    };
    yard.configure(with(&yard, "env.A = \"1\"\n", ""));
    yard.start().await;
    let first = ran(&make(&yard, "check").await);
    assert_eq!(answered(&make(&yard, "check").await), first);
    std::fs::write(&secret, "other-S3cret").unwrap();
    ran(&make(&yard, "check").await);
    std::fs::write(&secret, "first-S3cret").unwrap();
    let record = yard.run_dir(&first).join("run.json");
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let inputs = record["reusable"]["inputs"].as_str().unwrap();
    assert_eq!(inputs.len(), 64, "{record}");
    yard.stop().await;

    // The index is made anew from the records.
    for name in ["yard.db", "yard.db-wal", "yard.db-shm"] {
        drop(std::fs::remove_file(
            yard.workspaces.join(".branchyard").join(name),
        ));
    }
    yard.start().await;
    assert_eq!(answered(&make(&yard, "check").await), first);
    yard.stop().await;

    for (what, repo) in [
        ("the repo's environment", "env.A = \"2\"\n"),
        (
            "a sandbox",
            "env.A = \"1\"\nsandbox.profile = \"standard\"\n",
        ),
    ] {
        yard.configure(with(&yard, repo, ""));
        yard.start().await;
        let record = make(&yard, "check").await;
        assert_eq!(record.get("cached"), None, "{what}: {record}");
        yard.stop().await;
    }

    // Without the key of the digests nobody can tell what was the same.
    std::fs::remove_file(yard.workspaces.join(".branchyard/reuse.key")).unwrap();
    yard.configure(with(&yard, "env.A = \"1\"\n", ""));
    yard.start().await;
    ran(&make(&yard, "check").await);
    let page = yard.get("/api/runs?limit=1").await;
    assert_eq!(page.status(), StatusCode::OK);
    yard.stop().await;
}

/// Asks for a run that must be run; its id.
async fn misses(what: &str, yard: &Yard, kind: &str, body: Value) -> String {
    let before = times_ran(yard);
    let record = ask(yard, kind, "main", body).await;
    assert_eq!(times_ran(yard), before + 1, "{what}: {record}");
    ran(&record)
}
