//! Merges: forward, with a commit, squashed; and what they refuse.

use serde_json::json;

use super::{clash, commit, fork, read, refused, told, write};
use crate::support::{Agent, Yard, git};

#[tokio::test]
async fn a_merge_moves_forward_commits_or_squashes_as_asked() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "m",
        |_| {},
        |_| {},
        |at| write(at, "new", "theirs\n"),
    )
    .await;
    let workspace = yard.workspace(&ours);
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    let back = || git(&workspace, &["reset", "-q", "--hard", &tip]);

    // Both have a commit of their own, though ours changes nothing.
    let only = json!({ "from": theirs, "ff": "only" });
    let (status, code, problem) = refused(&yard, &ours, "merge", only.clone()).await;
    assert_eq!((status, &*code), (409, "not_fast_forward"), "{problem}");

    let merged = yard
        .verb(
            &ours,
            "merge",
            json!({ "from": theirs, "verbosity": "full" }),
        )
        .await;
    assert_eq!(
        (&merged["state"], &merged["brought"]),
        (&json!("done"), &json!(1))
    );
    assert_eq!(merged["commits_total"], 1);
    let subject = format!("Merge branch '{theirs}' into {ours}");
    assert_eq!(merged["commits"][0]["subject"], subject);
    assert_eq!(
        merged["changed"],
        json!({ "files": 1, "insertions": 1, "deletions": 0 })
    );
    assert_eq!(merged["commit"], merged["commits"][0]["id"]);
    let again = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(again["state"], "up_to_date");
    back();

    let squash = json!({ "from": theirs, "squash": true });
    let squashed = yard.verb(&ours, "merge", squash).await;
    assert_eq!(squashed["state"], "staged");
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "A  new");
    back();
    let squash = json!({ "from": theirs, "squash": true, "message": "# 7: one\n\nand all" });
    let squashed = yard.verb(&ours, "merge", squash).await;
    assert_eq!(squashed["state"], "done");
    assert_eq!(
        git(&workspace, &["log", "-1", "--format=%B"]),
        "# 7: one\n\nand all"
    );
    assert_eq!(git(&workspace, &["rev-parse", "HEAD^"]), tip);

    git(
        &workspace,
        &["reset", "-q", "--hard", &format!("{theirs}~1")],
    );
    let moved = yard.verb(&ours, "merge", only).await;
    assert_eq!(
        (&moved["state"], &moved["commits_total"]),
        (&json!("done"), &json!(0))
    );
    git(
        &workspace,
        &["reset", "-q", "--hard", &format!("{theirs}~1")],
    );
    let agent = Agent::of_git(&yard, &ours);
    let never = json!({ "from": theirs, "ff": "never", "message": "A merge\n\n# kept" });
    let merged = agent.call("git_merge", never).await;
    assert_eq!(merged["commits"][0]["subject"], "A merge");
    assert_eq!(
        git(&workspace, &["log", "-1", "--format=%B"]),
        "A merge\n\n# kept"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_conflict_is_an_answer_with_hunks_and_sides_and_waits_over_a_restart() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let agent = Agent::of_git(&yard, &ours);
    let start = json!({ "from": theirs, "message": "Both\n\n# of them" });
    let merged = agent.call("git_merge", start.clone()).await;
    assert_eq!(merged["state"], "conflicts");
    let conflict = &merged["conflicts"][0];
    let hunk = json!({
        "start_line": 2, "end_line": 8, "ours": "ours\n", "base": "2\n", "theirs": "theirs\n",
    });
    assert_eq!(conflict["hunks"], json!([hunk]));
    let stages = conflict["stages"].as_array().unwrap();
    let stages: Vec<_> = stages.iter().map(|stage| &stage["stage"]).collect();
    assert_eq!(stages, ["base", "ours", "theirs"]);
    let operation = &merged["operation"];
    assert_eq!(operation["kind"], "merge");
    assert_eq!(operation["ours_is"]["subject"], ours.as_str());
    assert_eq!(operation["theirs_is"]["subject"], theirs.as_str());
    assert!(merged["next"].as_str().unwrap().contains("git_resolve"));

    let (status, code, problem) = refused(&yard, &ours, "merge", start).await;
    assert_eq!((status, &*code), (409, "operation_under_way"));
    assert!(problem["help"].as_str().unwrap().contains("git_merge"));
    let other = json!({ "onto": theirs });
    assert_eq!(
        refused(&yard, &ours, "rebase", other).await.1,
        "operation_under_way"
    );
    let go_on = json!({ "action": "continue" });
    let (status, code, problem) = refused(&yard, &ours, "merge", go_on.clone()).await;
    assert_eq!((status, &*code), (409, "unresolved"));
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains(": f; it was begun by session "),
        "{problem}"
    );

    yard.stop().await;
    yard.start().await;
    let listed = yard.verb(&ours, "resolve", json!({})).await;
    assert_eq!(told(&listed), [("f", "both_modified", "text")]);
    let content = json!({ "paths": ["f"], "content": "1\nboth\n3\n" });
    yard.verb(&ours, "resolve", content).await;
    let done = yard.verb(&ours, "merge", go_on.clone()).await;
    assert_eq!(
        (&done["state"], &done["dirty"]),
        (&json!("done"), &json!(false))
    );
    let message = git(&yard.workspace(&ours), &["log", "-1", "--format=%B"]);
    assert_eq!(message, "Both\n\n# of them");
    assert_eq!(read(&yard, &ours, "f"), "1\nboth\n3\n");
    for action in ["continue", "abort"] {
        let (status, code, _) = refused(&yard, &ours, "merge", json!({ "action": action })).await;
        assert_eq!((status, &*code), (409, "nothing_under_way"), "{action}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_squash_with_conflicts_can_be_put_back_or_committed() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let before = super::snapshot(&yard.workspace(&ours));
    let squash = json!({ "from": theirs, "squash": true });
    let squashed = yard.verb(&ours, "merge", squash.clone()).await;
    assert_eq!(squashed["state"], "conflicts");
    assert_eq!(squashed["operation"]["kind"], "apply");
    assert_eq!(
        squashed["operation"]["theirs_is"]["subject"],
        theirs.as_str()
    );
    yard.verb(&ours, "merge", json!({ "action": "abort" }))
        .await;
    assert_eq!(super::snapshot(&yard.workspace(&ours)), before);

    yard.verb(&ours, "merge", squash).await;
    let resolved = yard
        .verb(&ours, "resolve", json!({ "all": "theirs" }))
        .await;
    assert!(resolved["next"].as_str().unwrap().contains("git_commit"));
    assert_eq!(
        git(&yard.workspace(&ours), &["status", "--porcelain"]),
        "M  f"
    );
    yard.stop().await;
}

#[tokio::test]
async fn strategies_come_from_a_list_and_work() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let tip = git(&yard.workspace(&ours), &["rev-parse", "HEAD"]);
    for (wish, middle) in [
        (json!({ "strategy_options": ["ours"] }), "ours"),
        (
            json!({ "strategy_options": ["theirs", "patience"] }),
            "theirs",
        ),
        (json!({ "strategy": "ours" }), "ours"),
        (
            json!({ "strategy": "ort", "strategy_options": ["theirs"] }),
            "theirs",
        ),
    ] {
        let mut body = wish.clone();
        body["from"] = json!(theirs);
        let merged = yard.verb(&ours, "merge", body).await;
        assert_eq!(merged["state"], "done", "{wish}");
        assert_eq!(
            read(&yard, &ours, "f"),
            format!("1\n{middle}\n3\n"),
            "{wish}"
        );
        git(&yard.workspace(&ours), &["reset", "-q", "--hard", &tip]);
    }
    // The older strategy leaves no record of what it wrote, and conflicts all the same.
    let merged = yard
        .verb(
            &ours,
            "merge",
            json!({ "from": theirs, "strategy": "resolve" }),
        )
        .await;
    assert_eq!(told(&merged), [("f", "both_modified", "text")]);
    yard.verb(&ours, "merge", json!({ "action": "abort" }))
        .await;

    for (body, field) in [
        (json!({ "from": [theirs, "main"] }), "from"),
        (json!({ "from": theirs, "strategy": "octopus" }), "strategy"),
        (
            json!({ "from": theirs, "squash": true, "ff": "never" }),
            "ff",
        ),
        (json!({ "action": "continue", "from": theirs }), "from"),
        (json!({}), "from"),
    ] {
        let (status, _, problem) = refused(&yard, &ours, "merge", body.clone()).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!(field)),
            "{body}: {problem}"
        );
    }
    let (_, _, octopus) = refused(&yard, &ours, "merge", json!({ "from": ["a", "b"] })).await;
    assert!(
        octopus["detail"]
            .as_str()
            .unwrap()
            .contains("one after the other"),
        "{octopus}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn an_unrelated_history_is_merged_only_if_that_is_meant() {
    let mut yard = Yard::new().await;
    let (ours, _) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    let tree = git(&workspace, &["rev-parse", "HEAD^{tree}"]);
    let root = git(&workspace, &["commit-tree", "-m", "root", &tree]);
    let (status, code, _) = refused(&yard, &ours, "merge", json!({ "from": root })).await;
    assert_eq!((status, &*code), (409, "unrelated_histories"));
    let merged = json!({ "from": root, "allow_unrelated": true });
    let merged = yard.verb(&ours, "merge", merged).await;
    assert_eq!(merged["state"], "done");
    let subject = format!("Merge commit '{root}' into {ours}");
    assert_eq!(merged["commits"][0]["subject"], subject);
    let (status, code, _) = refused(&yard, &ours, "merge", json!({ "from": "no-such" })).await;
    assert_eq!((status, &*code), (404, "revision_not_found"));
    commit(&yard, &ours, "x", "y", "more");
    yard.stop().await;
}
