//! log.

use serde_json::{Value, json};

use super::each;
use crate::support::{Agent, Yard, git, problem_of};

#[tokio::test]
async fn a_commit_is_told_as_much_as_is_asked_for() {
    let mut yard = Yard::new().await;
    yard.origin.write("name.txt", "one\ntwo\n");
    let id = yard.origin.commit("Change the name\n\nFor a reason.\n");
    yard.origin.push("main");
    yard.verb("main", "log", json!({})).await;
    git(&yard.workspace("main"), &["tag", "-a", "-m", "x", "v1"]);

    let query = json!({ "count": 1, "stat": true, "patch": true, "verbosity": "full" });
    let log = yard.verb("main", "log", query).await;
    let commit = &log["commits"][0];
    assert_eq!(commit["id"], id);
    assert!(id.starts_with(commit["short_id"].as_str().unwrap()));
    assert_eq!(commit["subject"], "Change the name");
    assert_eq!(commit["body"], "For a reason.");
    let person = json!({ "name": "Test", "email": "test@localhost", "date": null });
    for who in ["author", "committer"] {
        let mut told = commit[who].clone();
        let date = told["date"].take();
        let expected = match who {
            "author" => yard.origin.git(&["log", "-1", "--format=%at"]),
            _ => yard.origin.git(&["log", "-1", "--format=%ct"]),
        };
        let date: jiff::Timestamp = date.as_str().unwrap().parse().unwrap();
        assert_eq!(date.as_second().to_string(), expected);
        assert_eq!(told, person);
    }
    let parent = yard.origin.git(&["rev-parse", "HEAD^"]);
    assert_eq!(commit["parents"], json!([parent]));
    assert_eq!(commit["refs"], json!(["main", "origin/main", "tag: v1"]));
    let by_file = json!([{ "path": "name.txt", "additions": 2, "deletions": 1 }]);
    let stat = json!({ "files": 1, "additions": 2, "deletions": 1, "by_file": by_file });
    assert_eq!(commit["stat"], stat);
    let patch = commit["patch"]["text"].as_str().unwrap();
    assert!(
        patch.contains("@@ -1 +1,2 @@\n-main\n+one\n+two\n"),
        "{patch}"
    );
    assert_eq!(log["next"], 1);

    let brief = yard
        .verb("main", "log", json!({ "verbosity": "minimal" }))
        .await;
    for field in ["body", "committer", "parents", "refs", "stat", "patch"] {
        assert_eq!(brief["commits"][0][field], Value::Null, "{field}");
    }
    assert_eq!(brief["next"], Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn agents_get_what_fits_and_go_on_from_there() {
    let mut yard = Yard::new().await;
    for n in 0..60 {
        yard.origin.write("name.txt", format!("{n}\n").repeat(100));
        yard.origin
            .commit(&format!("Change {n}\n\n{}", "words ".repeat(100)));
    }
    yard.origin.push("main");
    let agent = Agent::of_git(&yard, "main");
    let (mut subjects, mut skip) = (Vec::new(), 0);
    let mut pages = 0;
    loop {
        let query = json!({ "count": 1000, "skip": skip, "patch": true });
        let page = agent.call("git_log", query).await;
        let shown = each(&page["commits"], "subject");
        assert!(!shown.is_empty());
        subjects.extend(shown.into_iter().map(str::to_owned));
        pages += 1;
        match page["next"].as_u64() {
            Some(next) => skip = next,
            None => break,
        }
    }
    let mut expected: Vec<_> = (0..60).rev().map(|n| format!("Change {n}")).collect();
    expected.push("first".to_owned());
    assert_eq!(subjects, expected);
    assert!(pages > 3, "{pages}");

    // One commit that fits no answer is begun, and says so.
    yard.origin
        .write("name.txt", "x".repeat(300) + &"\nlong".repeat(50_000));
    yard.origin
        .commit(&format!("Large\n\n{}", "word ".repeat(20_000)));
    yard.origin.push("grown");
    let agent = Agent::of_git(&yard, "grown");
    let query = json!({ "count": 1, "patch": true });
    let page = agent.call("git_log", query.clone()).await;
    let commit = &page["commits"][0];
    assert_eq!(commit["patch"]["truncated"], true);
    for field in ["commits[].body", "commits[].patch.text"] {
        assert!(page["omitted"][field].as_u64().unwrap() > 50_000, "{field}");
    }
    assert_eq!(page["next"], 1);
    // No limit but the patch's own where there is room.
    let whole = yard.verb("grown", "log", query).await;
    let commit = &whole["commits"][0];
    assert_eq!(commit["body"].as_str().unwrap().len(), 20_000 * 5 - 1);
    assert_eq!(whole["omitted"], Value::Null);
    assert_eq!(commit["patch"]["truncated"], true);
    assert!(commit["patch"]["bytes"].as_u64().unwrap() > 200_000);
    yard.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_field() {
    let mut yard = Yard::new().await;
    yard.verb("main", "log", json!({})).await;
    std::os::unix::fs::symlink("/etc", yard.workspace("main").join("out")).unwrap();
    for (query, status, field) in [
        (json!({ "revision": "no-such" }), 404, "revision"),
        (json!({ "revision": "--output=/tmp/x" }), 400, "revision"),
        (json!({ "revision": "-n1" }), 400, "revision"),
        (json!({ "range": "--all..main" }), 400, "range"),
        (json!({ "range": "main" }), 400, "range"),
        (json!({ "range": "main..no-such" }), 404, "range"),
        (
            json!({ "range": "main..", "revision": "main" }),
            422,
            "range",
        ),
        (json!({ "all": true, "revision": "main" }), 422, "all"),
        (json!({ "limit": 0 }), 422, "limit"),
        (json!({ "count": 100_000 }), 422, "limit"),
        (json!({ "skip": -1 }), 422, "skip"),
        (json!({ "since": "some day" }), 422, "since"),
        (json!({ "until": "2026-99-01" }), 422, "until"),
        (json!({ "grep": "(" }), 422, "grep"),
        (json!({ "author": "x{999999999}" }), 422, "author"),
        (json!({ "follow": true }), 422, "follow"),
        (json!({ "path": "../other/x" }), 403, "path"),
        (json!({ "path": "/etc/passwd" }), 400, "path"),
        (json!({ "path": "out/passwd" }), 403, "path"),
        (json!({ "path": ".git/config" }), 403, "path"),
        (json!({ "path": "a\0b" }), 400, "path"),
        (json!({ "path": "../x", "follow": true }), 403, "path"),
        (json!({ "args": ["--all"] }), 422, "args"),
        (json!({ "merges": "no" }), 422, "merges"),
    ] {
        let refused = yard.try_verb("main", "log", query.clone()).await;
        let (told, problem) = problem_of(refused).await;
        let expected = (status, &json!(field));
        assert_eq!((told, &problem["field"]), expected, "{query}: {problem}");
    }
    let agent = Agent::of_git(&yard, "main");
    let refused = agent
        .refusal("git_log", json!({ "revision": "no-such" }))
        .await;
    assert!(refused.starts_with("revision_not_found: "), "{refused}");
    yard.stop().await;
}

/// Names that git would take for an option, a glob or magic are files like any other.
#[tokio::test]
async fn odd_names_are_taken_as_they_are() {
    let mut yard = Yard::new().await;
    for path in ["--all", ":(top)x", "*", "sp ace"] {
        yard.origin.write(path, format!("{path}\n").repeat(9));
        yard.origin.commit(path);
    }
    yard.origin.push("main");
    for path in ["--all", ":(top)x", "*", "sp ace"] {
        for follow in [false, true] {
            let query =
                json!({ "path": path, "follow": follow, "stat": true, "verbosity": "full" });
            let log = yard.verb("main", "log", query).await;
            assert_eq!(each(&log["commits"], "subject"), [path]);
            let by_file = &log["commits"][0]["stat"]["by_file"];
            assert_eq!(each(by_file, "path"), [path]);
        }
        let blame = yard.verb("main", "blame", json!({ "path": path })).await;
        assert_eq!(each(&blame["hunks"], "subject"), [path]);
    }
    yard.stop().await;
}

/// What a build left in git's own files is put back before git is asked, and never started.
#[tokio::test]
async fn planted_programs_are_not_started() {
    let mut yard = Yard::new().await;
    yard.origin
        .write(".gitattributes", "*.txt diff=evil merge=evil filter=evil\n");
    yard.origin.commit("attributes");
    yard.origin.push("main");
    yard.origin.branch("other");
    yard.verb("main", "log", json!({})).await;
    let workspace = yard.workspace("main");
    let mark = yard.dir.path().join("started");
    let program = format!("touch {}; cat", mark.display());
    for key in [
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "filter.evil.clean",
        "core.fsmonitor",
        "core.pager",
    ] {
        git(&workspace, &["config", key, &program]);
    }
    std::fs::write(workspace.join("name.txt"), "changed\n").unwrap();
    let follow = json!({ "path": "name.txt", "follow": true, "patch": true });
    yard.verb("main", "log", follow).await;
    let blame = yard
        .verb("main", "blame", json!({ "path": "name.txt" }))
        .await;
    assert_eq!(blame["hunks"][0]["uncommitted"], true);
    let preview = json!({ "from": "other", "fetch": true });
    yard.verb("main", "merge_preview", preview).await;
    assert!(!mark.exists(), "a planted program was started");
    yard.stop().await;
}
