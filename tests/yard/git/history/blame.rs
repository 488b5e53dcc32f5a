//! blame.

use serde_json::{Value, json};

use super::each;
use crate::support::{Agent, Yard, git, problem_of};

#[tokio::test]
async fn lines_lead_to_their_commits_and_those_of_nobody_are_told() {
    let mut yard = Yard::new().await;
    yard.origin.write("file", "one\ntwo\nthree\n");
    let first = yard.origin.commit("Write it");
    yard.origin.git(&["mv", "file", "renamed"]);
    yard.origin.write("renamed", "one\n2\nthree\n");
    let second = yard.origin.commit("Say it with digits");
    yard.origin.push("main");
    yard.verb("main", "log", json!({})).await;
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("renamed"), "zero\none\n2\nthree\n").unwrap();

    let blame = yard
        .verb("main", "blame", json!({ "path": "renamed" }))
        .await;
    assert_eq!(blame["total_lines"], 4);
    assert_eq!(blame["at"], Value::Null);
    let hunks = blame["hunks"].as_array().unwrap();
    let ids: Vec<_> = hunks.iter().map(|hunk| hunk["id"].as_str()).collect();
    let (one, two) = (Some(first.as_str()), Some(second.as_str()));
    assert_eq!(ids, [None, one, two, one]);
    assert_eq!(hunks[0]["uncommitted"], true);
    assert_eq!(hunks[0]["author"], Value::Null);
    assert_eq!(hunks[1]["author"]["email"], "test@localhost");
    assert_eq!(hunks[1]["original_path"], "file");
    assert_eq!(hunks[3]["original_line"], 3);
    assert_eq!(hunks[3]["text"], "three\n");
    assert_eq!(hunks[2]["subject"], "Say it with digits");

    let agent = Agent::of_git(&yard, "main");
    let lines = json!({ "path": "renamed", "revision": "HEAD", "start_line": 2, "end_line": 99 });
    let told = agent.call("git_blame", lines).await;
    assert_eq!(told["at"], second);
    assert_eq!(told["total_lines"], 3);
    assert_eq!(each(&told["hunks"], "text"), ["2\n", "three\n"]);

    let brief = json!({ "path": "file", "revision": first, "verbosity": "minimal" });
    let told = yard.verb("main", "blame", brief).await;
    assert_eq!(told["hunks"][0]["end_line"], 3);
    assert_eq!(told["hunks"][0]["text"], Value::Null);
    let full = json!({ "path": "renamed", "start_line": 3, "end_line": 3, "verbosity": "full" });
    let told = yard.verb("main", "blame", full).await;
    assert_eq!(told["hunks"][0]["previous"], first);
    assert_eq!(told["hunks"][0]["committer"]["name"], "Test");

    // A file that is staged and was never committed is nobody's yet; an empty one has no lines.
    std::fs::write(workspace.join("new"), "x\n").unwrap();
    std::fs::write(workspace.join("empty"), "").unwrap();
    git(&workspace, &["add", "new", "empty"]);
    let told = yard.verb("main", "blame", json!({ "path": "new" })).await;
    assert_eq!(told["hunks"][0]["uncommitted"], true);
    let told = yard.verb("main", "blame", json!({ "path": "empty" })).await;
    assert_eq!(
        (&told["hunks"], &told["total_lines"]),
        (&json!([]), &json!(0))
    );
    yard.stop().await;
}

#[tokio::test]
async fn whitespace_can_be_looked_through() {
    let mut yard = Yard::new().await;
    yard.origin.write("file", "one\ntwo\n");
    let first = yard.origin.commit("Write it");
    yard.origin.write("file", "  one\n\ttwo\n");
    let second = yard.origin.commit("Indent it");
    yard.origin.push("main");
    let blame = yard.verb("main", "blame", json!({ "path": "file" })).await;
    assert_eq!(each(&blame["hunks"], "id"), [second]);
    let query = json!({ "path": "file", "ignore_whitespace": true });
    let blame = yard.verb("main", "blame", query).await;
    assert_eq!(each(&blame["hunks"], "id"), [first]);
    yard.stop().await;
}

#[tokio::test]
async fn agents_go_on_with_the_next_line() {
    let mut yard = Yard::new().await;
    let text = |n: usize| format!("line {n} {}\n", "x".repeat(60));
    yard.origin
        .write("long", (1..=2000).map(text).collect::<String>());
    yard.origin.write("wide", "y".repeat(100_000));
    yard.origin.commit("Write a lot");
    yard.origin.push("main");
    let agent = Agent::of_git(&yard, "main");
    let (mut told, mut next) = (String::new(), 1);
    loop {
        let query = json!({ "path": "long", "start_line": next });
        let page = agent.call("git_blame", query).await;
        let hunk = &page["hunks"][0];
        assert_eq!(hunk["start_line"], next);
        let text = hunk["text"].as_str().unwrap();
        told.push_str(text);
        next += text.lines().count() as u64;
        assert_eq!(hunk["end_line"], next - 1);
        if page["next"].is_null() {
            break;
        }
        assert_eq!(page["next"], next);
    }
    assert_eq!(told, (1..=2000).map(text).collect::<String>());
    let wide = agent.call("git_blame", json!({ "path": "wide" })).await;
    let omitted = wide["omitted"]["hunks[].text"].as_u64().unwrap();
    assert!(omitted > 80_000 && wide["truncated"] == true, "{omitted}");
    yard.stop().await;
}

#[tokio::test]
async fn no_file_but_the_workspaces_own_is_read() {
    let mut yard = Yard::new().await;
    yard.origin.write("dir/passwd", "mine\n");
    yard.origin.commit("A file that a link could stand for");
    yard.origin.push("main");
    yard.verb("main", "log", json!({})).await;
    let workspace = yard.workspace("main");
    std::fs::remove_dir_all(workspace.join("dir")).unwrap();
    std::os::unix::fs::symlink("/etc", workspace.join("dir")).unwrap();
    std::fs::remove_file(workspace.join("name.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", workspace.join("name.txt")).unwrap();
    std::fs::write(workspace.join("untracked"), "x\n").unwrap();
    for (query, status, field) in [
        (json!({ "path": "dir/passwd" }), 403, "path"),
        (json!({ "path": "name.txt" }), 400, "path"),
        (json!({ "path": "../x" }), 403, "path"),
        (json!({ "path": "/etc/passwd" }), 400, "path"),
        (json!({ "path": ".git" }), 403, "path"),
        (json!({ "path": "." }), 400, "path"),
        (json!({ "path": "dir", "revision": "HEAD" }), 400, "path"),
        (json!({ "path": "untracked" }), 404, "path"),
        (json!({ "path": "absent" }), 404, "path"),
        (json!({ "path": "absent", "revision": "HEAD" }), 404, "path"),
        (
            json!({ "path": "Makefile", "revision": "--contents=/etc/passwd" }),
            400,
            "revision",
        ),
        (
            json!({ "path": "Makefile", "revision": "nope" }),
            404,
            "revision",
        ),
        (
            json!({ "path": "Makefile", "start_line": 9999 }),
            422,
            "start_line",
        ),
        (
            json!({ "path": "Makefile", "start_line": 3, "end_line": 2 }),
            422,
            "end_line",
        ),
        (json!({ "revision": "HEAD" }), 422, "path"),
    ] {
        let refused = yard.try_verb("main", "blame", query.clone()).await;
        let (told, problem) = problem_of(refused).await;
        let expected = (status, &json!(field));
        assert_eq!((told, &problem["field"]), expected, "{query}: {problem}");
    }
    yard.stop().await;
}
