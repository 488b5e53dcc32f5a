//! A protected branch takes build output only from workspaces at commits that the remote has on that very branch,
//! and only if nothing else went into it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::project::{asleep, assert_clean, build, made, push, warm};
use crate::support::{Options, Yard, encode, git, json_of};

const HOSTILE: &str = "int a(void) { return 666; }\n";

async fn start() -> Yard {
    let mut yard = asleep();
    yard.configure(Options {
        repo: "warm = \"nearest\"\nallow_env = [\"CFLAGS\"]\ntasks = { all = [\"make\"] }".into(),
        ..Options::default()
    });
    // A branch with other sources, which is never built by itself.
    push(&yard, "hostile", &[("src/a.c", HOSTILE)]);
    yard.start().await;
    yard
}

/// Runs something in a workspace, which has to succeed.
async fn run(yard: &Yard, kind: &str, branch: &str, body: Value) {
    let events = yard.run(kind, branch, body).await;
    let last = &events.last().unwrap().data;
    assert_eq!(last["state"], "succeeded", "{branch}: {last}");
}

async fn make(yard: &Yard, branch: &str) {
    run(yard, "make", branch, json!({"args": []})).await;
}

async fn verb(yard: &Yard, branch: &str, verb: &str, body: Value) {
    yard.verb(branch, verb, body).await;
}

/// A workspace of a protected branch at the commit of main, which is then gone again: whom it was made from.
async fn source(yard: &Yard, branch: &str) -> Value {
    yard.origin.at("main");
    yard.origin.push(branch);
    taken(yard, branch).await
}

async fn taken(yard: &Yard, branch: &str) -> Value {
    let events = yard.make(branch, &["who"]).await;
    let workspace = yard.workspace(branch);
    assert_clean(&workspace);
    let told = warm(&events)["branch"].clone();
    assert_eq!(
        told.is_string(),
        workspace.join("src/a.o").exists(),
        "{branch}"
    );
    remove(yard, branch).await;
    told
}

async fn remove(yard: &Yard, branch: &str) {
    let path = format!("/api/repos/demo/branches/{}?force=true", encode(branch));
    let gone = yard.delete(&path).await;
    assert!(gone.status().is_success(), "{}", gone.text().await.unwrap());
}

/// A workspace at the commit of main.
async fn sibling(yard: &Yard, branch: &str) {
    yard.origin.at("main");
    yard.origin.push(branch);
    let path = format!("/api/repos/demo/branches/{branch}");
    json_of(yard.put(&path, json!({})).await).await;
}

/// Has a run build sources that were changed by hand, and puts them back.
async fn meddle(yard: &Yard, branch: &str, workspace: &Path) {
    let source = workspace.join("src/a.c");
    let before = fs::read(&source).unwrap();
    fs::write(&source, HOSTILE).unwrap();
    make(yard, branch).await;
    fs::write(&source, before).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_its_own_commits_is_taken_over() {
    let mut yard = start().await;
    sibling(&yard, "topic").await;
    for (n, (kind, body)) in [
        ("make", json!({"args": []})),
        ("make", json!({"args": ["-j2", "-k", "-s", "all"]})),
        ("task", json!({"task": "all"})),
        ("git", json!({"operation": "log", "args": ["-1"]})),
    ]
    .into_iter()
    .enumerate()
    {
        run(&yard, kind, "topic", body).await;
        let branch = format!("release/{n}");
        assert_eq!(source(&yard, &branch).await, "topic", "{kind}");
    }
    // At an earlier commit of the branch too, and then only the difference is built.
    push(
        &yard,
        "release/more",
        &[("src/b.c", "int b(void) { return 3; }\n")],
    );
    let events = build(&yard, "release/more").await;
    assert_eq!(warm(&events)["branch"], "topic");
    assert_eq!(made(&events), ["src/b.c", "LD", "abs/abs.c"]);
    // But not from a commit that the branch does not have: not even from another protected branch.
    remove(&yard, "topic").await;
    assert_eq!(source(&yard, "release/less").await, Value::Null);
    // Others take it from there.
    push(&yard, "other", &[("other.txt", "x\n")]);
    assert_eq!(warm(&build(&yard, "other").await)["branch"], "release/more");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_something_else_went_into_is_not() {
    let mut yard = start().await;
    let hostile = yard.origin.git(&["rev-parse", "origin/hostile"]);
    let main = yard.origin.git(&["rev-parse", "main"]);
    let cases = [
        "a variable",
        "an environment",
        "another makefile",
        "a task with an argument",
        "a commit of its own, gone by a verb",
        "a commit of its own, gone by hand",
        "files that a verb brought",
        "a file that a verb left beside the tracked ones",
        "files that a git command brought",
        "files that were changed by hand",
        "an object by hand",
        "an object by hand before the build",
        "a sibling of its own kind",
        "a salvage",
    ];
    for (n, case) in cases.into_iter().enumerate() {
        let (branch, protected) = (format!("topic-{n}"), format!("release/{n}"));
        sibling(&yard, &branch).await;
        let workspace = yard.workspace(&branch);
        let reset = json!({"mode": "hard", "to": main, "confirm": true});
        let object = workspace.join("src/a.o");
        match case {
            "a variable" => {
                let body = json!({"args": ["CC=cc"]});
                run(&yard, "make", &branch, body).await;
            }
            "an environment" => {
                let body = json!({"args": [], "env": {"CFLAGS": "-O1"}});
                run(&yard, "make", &branch, body).await;
            }
            "another makefile" => {
                run(&yard, "make", &branch, json!({"args": ["-f", "Makefile"]})).await;
            }
            "a task with an argument" => {
                run(
                    &yard,
                    "task",
                    &branch,
                    json!({"task": "all", "args": ["all"]}),
                )
                .await;
            }
            "a commit of its own, gone by a verb" => {
                let body = json!({"mode": "hard", "to": hostile, "confirm": true});
                verb(&yard, &branch, "reset", body).await;
                run(&yard, "make", &branch, json!({"args": [], "sync": "none"})).await;
                verb(&yard, &branch, "reset", reset).await;
            }
            "a commit of its own, gone by hand" => {
                git(&workspace, &["reset", "-q", "--hard", &hostile]);
                run(&yard, "make", &branch, json!({"args": [], "sync": "none"})).await;
                git(&workspace, &["reset", "-q", "--hard", &main]);
            }
            "files that a verb brought" => {
                let body = json!({"paths": ["src/a.c"], "from": hostile});
                verb(&yard, &branch, "checkout", body).await;
                make(&yard, &branch).await;
                verb(&yard, &branch, "reset", reset).await;
            }
            "a file that a verb left beside the tracked ones" => {
                let body = json!({"paths": ["src/a.c"], "from": hostile});
                verb(&yard, &branch, "checkout", body).await;
                verb(&yard, &branch, "reset", reset).await;
                make(&yard, &branch).await;
            }
            "files that a git command brought" => {
                for from in [&hostile, &main] {
                    let args = json!([from, "--", "src/a.c"]);
                    let body = json!({"operation": "checkout", "args": args});
                    run(&yard, "git", &branch, body).await;
                }
                make(&yard, &branch).await;
            }
            "files that were changed by hand" => meddle(&yard, &branch, &workspace).await,
            "an object by hand" => {
                make(&yard, &branch).await;
                fs::write(&object, "mine").unwrap();
            }
            "an object by hand before the build" => {
                fs::write(workspace.join("other.o"), "mine").unwrap();
                make(&yard, &branch).await;
            }
            "a sibling of its own kind" => {
                run(&yard, "make", &branch, json!({"args": ["CC=cc"]})).await;
                let other = format!("{branch}-copy");
                sibling(&yard, &other).await;
                assert!(yard.workspace(&other).join("src/a.o").exists());
                remove(&yard, &branch).await;
                make(&yard, &other).await;
                assert_eq!(source(&yard, &protected).await, Value::Null, "{case}");
                remove(&yard, &other).await;
                continue;
            }
            _ => {
                fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
                remove(&yard, &branch).await;
                let saved = &yard.salvages(&branch).await[0];
                yard.restore(saved, json!({})).await;
                fs::remove_file(workspace.join("mine.txt")).unwrap();
                make(&yard, &branch).await;
            }
        }
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{case}");
        assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), main, "{case}");
        assert_eq!(source(&yard, &protected).await, Value::Null, "{case}");
        // It serves others, and serves this one when it was cleaned and built from its commit alone.
        if n % 4 == 0 {
            let other = format!("other-{n}");
            assert_eq!(source(&yard, &other).await, branch.as_str(), "{case}");
            let body = json!({"args": [], "clean": true});
            run(&yard, "make", &branch, body).await;
            let protected = format!("{protected}-again");
            assert_eq!(source(&yard, &protected).await, branch.as_str(), "{case}");
        }
        remove(&yard, &branch).await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_the_remote_does_not_have_takes_nothing() {
    let mut yard = start().await;
    sibling(&yard, "topic").await;
    make(&yard, "topic").await;
    let path = format!("/api/repos/demo/branches/{}", encode("release/new"));
    json_of(yard.put(&path, json!({"from": "main"})).await).await;
    assert!(!yard.workspace("release/new").join("src/a.o").exists());
    assert_eq!(source(&yard, "release/on-remote").await, "topic");
    yard.stop().await;
}
