//! Objects and files as they were.

use std::fs;

use serde_json::{Value, json};

use crate::git::random::Scribe;
use crate::support::{Agent, Yard, git, git_as};

#[tokio::test]
async fn a_commit_is_told_with_its_people_and_changes() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let first = git(&workspace, &["rev-parse", "HEAD"]);
    fs::write(workspace.join("name.txt"), "mine\n").unwrap();
    git(&workspace, &["add", "-A"]);
    let message = "Say whose it is\nin two lines\n\nThe body\n\nof it\n";
    let args = ["commit", "-q", "-m", message];
    git_as(
        &workspace,
        "Ädä",
        "ada@example.org",
        "1700000000 +0530",
        &args,
    );

    let told = yard.verb("main", "show", json!({})).await;
    assert_eq!(
        (&told["object"], &told["id"]),
        (&json!("commit"), &told["commit"])
    );
    let details = &told["details"];
    assert_eq!(details["subject"], "Say whose it is in two lines");
    assert_eq!(details["body"], "The body\n\nof it");
    let who =
        json!({ "name": "Ädä", "email": "ada@example.org", "date": "2023-11-15T03:43:20+05:30" });
    assert_eq!((&details["author"], &details["committer"]), (&who, &who));
    assert_eq!(details["parents"], json!([first]));
    let patch = details["files"][0]["patch"].as_str().unwrap();
    assert!(patch.ends_with("-main\n+mine\n"), "{patch}");

    let agent = Agent::of_git(&yard, "main");
    let asked = json!({ "revision": first, "patch": false });
    let root = agent.call("git_show", asked).await;
    assert_eq!(root["details"]["parents"], json!([]));
    assert_eq!(root["details"]["totals"]["files"], 3);
    assert_eq!(root["details"]["files"][2]["patch"], Value::Null);
    let bare = json!({ "patch": false, "stat": false, "verbosity": "minimal" });
    let bare = yard.verb("main", "show", bare).await;
    assert_eq!(
        (&bare["details"]["files"], &bare["details"]["body"]),
        (&Value::Null, &Value::Null)
    );
    yard.stop().await;
}

#[tokio::test]
async fn every_commit_changes_what_git_says_it_changes() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    Scribe::new(&workspace, 7).history(25);
    for commit in git(&workspace, &["rev-list", "HEAD"]).lines() {
        let asked = json!({ "revision": commit, "patch": false });
        let told = yard.verb("main", "show", asked).await;
        let files = told["details"]["files"].as_array().unwrap().iter();
        let counted: std::collections::BTreeMap<_, _> =
            files.map(super::porcelain::counts).collect();
        let args = [&format!("{commit}^1"), commit];
        let is_root = told["details"]["parents"] == json!([]);
        if !is_root {
            assert_eq!(
                counted,
                super::porcelain::numstat(&workspace, &args),
                "{commit}"
            );
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_tag_is_told_with_what_it_stands_for() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["tag", "-a", "v1", "-m", "The first\n\none"]);
    git(&workspace, &["tag", "plain"]);
    let told = yard.verb("main", "show", json!({ "revision": "v1" })).await;
    assert_eq!(told["object"], "tag");
    assert_eq!(
        (&told["tag"]["name"], &told["tag"]["target"]),
        (&json!("v1"), &told["commit"])
    );
    assert_eq!(told["tag"]["message"], "The first\n\none\n");
    assert_eq!(told["details"]["subject"], "first");
    let plain = yard
        .verb("main", "show", json!({ "revision": "plain" }))
        .await;
    assert_eq!(
        (&plain["object"], &plain["tag"]),
        (&json!("commit"), &Value::Null)
    );
    yard.stop().await;
}

#[tokio::test]
async fn files_and_directories_are_shown_as_they_were() {
    let mut yard = Yard::new().await;
    yard.origin.write("src/lib.rs", "one\ntwo\nthree");
    yard.origin.write("src/data.bin", b"\0\x01");
    yard.origin
        .write("long.txt", "a line of some words\n".repeat(5_000));
    yard.origin.write("one-line.txt", "\u{1}".repeat(40_000));
    yard.origin.commit("files");
    yard.origin.push("main");
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    fs::remove_dir_all(workspace.join("src")).unwrap();

    let show = async |asked: Value| yard.verb("main", "show", asked).await;
    let src = show(json!({ "path": "src", "verbosity": "full" })).await;
    assert_eq!(src["object"], "directory");
    let entry = &src["directory"]["entries"][1];
    assert_eq!(
        (&entry["name"], &entry["kind"]),
        (&json!("lib.rs"), &json!("file"))
    );
    assert_eq!(
        (&entry["size"], &entry["mode"]),
        (&json!(13), &json!("100644"))
    );
    let lib = show(json!({ "path": "src/lib.rs", "skip": 1, "limit": 1 })).await;
    assert_eq!(
        (&lib["file"]["content"], &lib["file"]["lines"]),
        (&json!("two\n"), &json!(3))
    );
    assert_eq!(
        (&lib["file"]["next"], &lib["file"]["truncated"]),
        (&json!(2), &json!(true))
    );
    let by_name = show(json!({ "revision": "main:src/lib.rs" })).await;
    assert_eq!(by_name["file"]["content"], "one\ntwo\nthree");
    assert_eq!(by_name["id"], lib["id"]);
    let data = show(json!({ "path": "src/data.bin" })).await;
    assert_eq!(
        (&data["file"]["binary"], &data["file"]["size"]),
        (&json!(true), &json!(2))
    );
    let root = show(json!({ "path": ".", "limit": 2 })).await;
    assert_eq!(
        (&root["directory"]["total"], &root["directory"]["next"]),
        (&json!(6), &json!(2))
    );

    // An agent gets as much as fits, and is told where to go on.
    let agent = Agent::of_git(&yard, "main");
    let mut lines = 0;
    for _ in 0..3 {
        let asked = json!({ "path": "long.txt", "skip": lines, "limit": 10_000 });
        let told = agent.call("git_show", asked).await;
        let shown = told["file"]["content"].as_str().unwrap().lines().count();
        assert!(shown > 100, "{shown}");
        lines += shown;
        assert_eq!(told["file"]["next"], lines);
    }
    let told = agent
        .call("git_show", json!({ "path": "one-line.txt" }))
        .await;
    assert_eq!(told["file"]["truncated"], true);
    assert_ne!(told["file"]["content"], "");
    yard.stop().await;
}
