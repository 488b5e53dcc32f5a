//! What a new workspace has from its sibling.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use serde_json::json;

use super::project::{assert_clean, build, made, push, warm, yard};
use crate::support::{git, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_branch_builds_only_what_differs() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    let main = yard.workspace("main");
    fs::write(main.join(".env"), "SECRET=1\n").unwrap();
    fs::create_dir(main.join("out/.venv")).unwrap();
    fs::write(main.join("out/.venv/python"), "x").unwrap();

    push(
        &yard,
        "topic",
        &[
            ("src/b.c", "int b(void) { return 7; }\n"),
            ("new.txt", "new\n"),
        ],
    );
    let events = build(&yard, "topic").await;
    assert_eq!(made(&events), ["src/b.c", "LD", "abs/abs.c"]);
    let told = warm(&events);
    assert_eq!(told["branch"], "main");
    assert_eq!(told["commit"], git(&main, &["rev-parse", "HEAD"]).as_str());
    assert_eq!(told["differing"], 2);
    let run = events[0].data["run_id"].as_str().unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["warm"], told);
    let topic = yard.workspace("topic");
    assert_clean(&topic);
    let ran = Command::new(topic.join("out/wrapper")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1 7\n");

    // Times, modes and links as they were; nothing that names the sibling, and nothing of anybody's.
    push(&yard, "other", &[("other.txt", "other\n")]);
    json_of(yard.put("/api/repos/demo/branches/other", json!({})).await).await;
    let other = yard.workspace("other");
    assert_clean(&other);
    for name in [
        "src/a.c", "src/a.o", "src/a.d", "prog", "out/tool", "out/hard", "out/deep",
    ] {
        let meta = |dir: &std::path::Path| fs::metadata(dir.join(name)).unwrap();
        let (was, is) = (meta(&main), meta(&other));
        assert_eq!(was.modified().unwrap(), is.modified().unwrap(), "{name}");
        assert_eq!(was.permissions().mode(), is.permissions().mode(), "{name}");
        assert!(
            is.ino() != was.ino() && (is.is_dir() || is.nlink() == 1),
            "{name}"
        );
    }
    let link = fs::read_link(other.join("out/link")).unwrap();
    assert_eq!(link.to_str(), Some("../prog"));
    for name in [
        "out/away",
        "out/wrapper",
        "abs.o",
        "abs.d",
        ".env",
        "out/.venv",
    ] {
        assert!(other.join(name).symlink_metadata().is_err(), "{name}");
    }
    // What was copied is nobody's work here either.
    let described = yard.get_json("/api/repos/demo/branches/other").await;
    assert_eq!(
        (&described["pins"], &described["dirty"]),
        (&json!([]), &json!(false))
    );
    let gone = yard.delete("/api/repos/demo/branches/other").await;
    assert!(gone.status().is_success(), "{}", gone.text().await.unwrap());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_came_back_went_away_or_moved_are_built_as_they_are() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    // There and back again: the object of the first is older than the source that is the same again.
    let first = "#include \"a.h\"\nint a(void) { return A; }\n";
    push(&yard, "back", &[("src/a.c", "int a(void) { return 5; }\n")]);
    build(&yard, "back").await;
    push(&yard, "back", &[("src/a.c", first)]);
    let events = build(&yard, "back").await;
    assert_eq!(made(&events), ["src/a.c", "LD"], "in the sibling itself");
    push(
        &yard,
        "again",
        &[
            ("src/a.c", "int a(void) { return 6; }\n"),
            ("src/b.c", ""),
            (
                "src/moved.c",
                "#include \"b.h\"\nint b(void) { return B; }\n",
            ),
        ],
    );
    let events = build(&yard, "again").await;
    assert!(warm(&events).is_object());
    assert_eq!(made(&events)[..3], ["src/a.c", "src/moved.c", "LD"]);
    assert!(!yard.workspace("again").join("src/b.c").exists());
    // A header that is gone, and one in the place of what was built.
    push(
        &yard,
        "headers",
        &[
            ("include/b.h", ""),
            ("src/b.c", "int b(void) { return 9; }\n"),
            ("out/deep/file/x.txt", "a directory where a file was\n"),
            ("src/a.d", "a tracked file where output was\n"),
        ],
    );
    yard.origin.git(&["add", "-f", "src/a.d", "out"]);
    yard.origin.commit("headers");
    yard.origin.push("headers");
    yard.put("/api/repos/demo/branches/headers", json!({}))
        .await;
    let headers = yard.workspace("headers");
    assert_clean(&headers);
    let text = fs::read_to_string(headers.join("src/a.d")).unwrap();
    assert_eq!(text, "a tracked file where output was\n");
    assert!(headers.join("src/main.o").exists() && headers.join("out/deep/file/x.txt").exists());

    // A branch that was here before is where it was, whatever the remote has.
    let back = yard.workspace("back");
    fs::write(back.join("mine.txt"), "mine\n").unwrap();
    git(&back, &["add", "mine.txt"]);
    git(&back, &["commit", "-q", "-m", "mine"]);
    fs::remove_dir_all(&back).unwrap();
    assert!(warm(&yard.make("back", &["who"]).await).is_object());
    assert_clean(&back);
    assert_eq!(git(&back, &["log", "-1", "--format=%s"]), "mine");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_build_takes_nothing_over() {
    let mut yard = yard().await;
    let all = made(&build(&yard, "main").await);
    push(&yard, "topic", &[("new.txt", "new\n")]);
    let events = yard
        .run("make", "topic", json!({"args": [], "clean": true}))
        .await;
    assert_eq!(made(&events), all);
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    assert!(yard.salvages("topic").await.is_empty(), "no output is work");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_branches_start_from_one_sibling_at_once_and_a_crash_on_the_way_is_made_good() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    let names: Vec<_> = (0..6).map(|n| format!("topic-{n}")).collect();
    for name in &names {
        push(&yard, name, &[("new.txt", name)]);
    }
    let mut runs = Vec::new();
    for name in &names {
        runs.push(yard.start_detached(name, json!({"args": []})).await);
    }
    for run in runs {
        let record = yard.ended(&run).await;
        assert_eq!(record["state"], "succeeded", "{record}");
        assert!(record["warm"].is_object(), "{record}");
        assert_eq!(yard.log(&run).await, "CC abs/abs.c\n");
    }
    yard.stop().await;

    push(&yard, "cut", &[("src/a.c", "int a(void) { return 2; }\n")]);
    let mut doomed = yard
        .start_binary(&[("BRANCHYARD_CRASH_AT", "create-copied")])
        .await;
    let path = "/api/repos/demo/branches/cut";
    let request = yard.request(reqwest::Method::PUT, path).json(&json!({}));
    let _cut_off = request.send().await;
    assert!(!doomed.ended().await.success(), "the copy was passed");
    let cut = yard.workspace("cut");
    assert!(cut.join("prog").exists(), "it was copied");
    yard.start().await;
    let events = build(&yard, "cut").await;
    assert!(warm(&events).is_object());
    assert_eq!(made(&events), ["src/a.c", "LD", "abs/abs.c"]);
    assert_clean(&cut);
    yard.stop().await;
}
