//! Siblings that are not as they should be are left alone, and what they have with them.

use std::fs::{self, File, FileTimes};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::project::{assert_clean, build, made, push, warm, yard};
use crate::support::{Yard, git, until};

/// Makes a new workspace, and says whose it was made from.
async fn source(yard: &Yard, branch: &str) -> Value {
    // A file of its own, so that main is nearer than any other.
    push(yard, branch, &[(&format!("{branch}.txt"), "own\n")]);
    let events = yard.make(branch, &["who"]).await;
    assert_clean(&yard.workspace(branch));
    warm(&events)["branch"].clone()
}

fn set_modified(path: &std::path::Path, at: SystemTime) {
    let times = FileTimes::new().set_modified(at);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_times(times)
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sibling_that_is_not_at_its_commit_is_not_used() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    let main = yard.workspace("main");
    assert_eq!(source(&yard, "first").await, "main");
    yard.delete("/api/repos/demo/branches/first?force=true")
        .await;

    // An edit that leaves size and time as they were.
    let edited = main.join("src/a.c");
    let (before, meta) = (fs::read(&edited).unwrap(), fs::metadata(&edited).unwrap());
    fs::write(
        &edited,
        String::from_utf8(before.clone())
            .unwrap()
            .replace("A;", "B;"),
    )
    .unwrap();
    set_modified(&edited, meta.modified().unwrap());
    assert_eq!(source(&yard, "edited").await, Value::Null);
    let path = yard.workspace("edited").join("src/a.c");
    assert_eq!(fs::read(path).unwrap(), before);
    fs::write(&edited, &before).unwrap();
    // From here on the one that was checked out instead could serve; main is to have been built, so it comes
    // first whenever it can be used.
    let is_not_main = async |branch: &str| {
        let from = source(&yard, branch).await;
        assert_ne!(from, "main", "{branch}");
        assert!(!yard.workspace(branch).join("src/a.o").exists(), "{branch}");
    };

    let object = main.join("src/a.o");
    let built = fs::metadata(&object).unwrap().modified().unwrap();
    set_modified(&object, SystemTime::now() + Duration::from_secs(3600));
    is_not_main("future-object").await;
    set_modified(&object, built);

    set_modified(&edited, SystemTime::now() + Duration::from_secs(3600));
    is_not_main("future-source").await;
    fs::write(&edited, &before).unwrap();

    fs::write(main.join("notes.txt"), "mine\n").unwrap();
    is_not_main("untracked").await;
    git(&main, &["add", "notes.txt"]);
    is_not_main("staged").await;
    git(&main, &["rm", "-q", "-f", "notes.txt"]);

    git(&main, &["update-index", "--assume-unchanged", "src/a.c"]);
    is_not_main("flagged").await;
    git(&main, &["update-index", "--no-assume-unchanged", "src/a.c"]);

    git(&main, &["checkout", "-q", "--detach"]);
    is_not_main("drifted").await;
    git(&main, &["checkout", "-q", "main"]);
    assert_eq!(source(&yard, "at-last").await, "main");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sibling_where_something_is_under_way_is_not_used() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    let main = yard.workspace("main");
    let body = json!({"args": ["wait"]});
    let mut run = yard.start_run("make", "main", body).await;
    until("it waits", || main.join("waiting").exists()).await;
    assert_eq!(source(&yard, "meanwhile").await, Value::Null);
    fs::write(main.join("go"), "").unwrap();
    assert_eq!(run.end().await.data["state"], "succeeded");

    // Somebody is there by hand.
    let mut by_hand = std::process::Command::new("sleep")
        .arg("60")
        .current_dir(&main)
        .spawn()
        .unwrap();
    let from = source(&yard, "by-hand").await;
    by_hand.kill().unwrap();
    by_hand.wait().unwrap();
    assert_ne!(from, "main");
    assert_eq!(source(&yard, "after").await, "main");

    // A protected branch takes nothing from one that is not.
    push(
        &yard,
        "release/1",
        &[("src/b.c", "int b(void) { return 3; }\n")],
    );
    let gone = yard
        .delete("/api/repos/demo/branches/main?force=true")
        .await;
    assert!(gone.status().is_success(), "{}", gone.text().await.unwrap());
    build(&yard, "after").await;
    let events = build(&yard, "release/1").await;
    assert_eq!(warm(&events), Value::Null);
    assert!(made(&events).contains(&"src/main.c".to_owned()));
    yard.stop().await;
}
