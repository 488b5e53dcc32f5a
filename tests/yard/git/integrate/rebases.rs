//! Rebases: many commits, several stops, and messages that stay as they are.

use serde_json::json;

use super::{clash, commit, fork, read, refused, snapshot, told, write};
use crate::support::{Agent, Yard, git};

/// Five commits on our side, of which the second and the fourth clash with theirs.
async fn five(yard: &Yard) -> (String, String) {
    let (ours, theirs) = fork(
        yard,
        "five",
        |at| {
            write(at, "a", "a\n");
            write(at, "b", "b\n");
        },
        |at| write(at, "one", "1\n"),
        |at| {
            write(at, "a", "their a\n");
            write(at, "b", "their b\n");
        },
    )
    .await;
    commit(yard, &ours, "a", "our a\n", "two\n\n# a heading\nthe body");
    commit(yard, &ours, "three", "3\n", "three");
    commit(yard, &ours, "b", "our b\n", "four");
    commit(yard, &ours, "five", "5\n", "five");
    (ours, theirs)
}

#[tokio::test]
async fn five_commits_with_two_conflicts_are_rebased_over_a_restart() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = five(&yard).await;
    let workspace = yard.workspace(&ours);
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    let agent = Agent::of_git(&yard, &ours);
    let stopped = agent.call("git_rebase", json!({ "onto": theirs })).await;
    assert_eq!(stopped["state"], "conflicts");
    let operation = &stopped["operation"];
    assert_eq!(
        (&operation["step"], &operation["total"]),
        (&json!(2), &json!(5))
    );
    assert_eq!(operation["applying"]["subject"], "two");
    // The side that is called ours is not this branch.
    assert_eq!(operation["theirs_is"]["subject"], "two");
    assert_eq!(operation["ours_is"]["subject"], "five-ours");
    let hunk = &stopped["conflicts"][0]["hunks"][0];
    assert_eq!(
        (&hunk["ours"], &hunk["theirs"]),
        (&json!("their a\n"), &json!("our a\n"))
    );
    assert_eq!(stopped["commits_total"], 1);

    agent
        .call("git_resolve", json!({ "paths": ["a"], "take": "theirs" }))
        .await;
    yard.stop().await;
    yard.start().await;
    let stopped = yard
        .verb(&ours, "rebase", json!({ "action": "continue" }))
        .await;
    assert_eq!(told(&stopped), [("b", "both_modified", "text")]);
    assert_eq!(stopped["operation"]["step"], 4);
    assert_eq!(stopped["head_before"], tip.as_str());
    let content = json!({ "paths": ["b"], "content": "both b\n" });
    let resolved = yard.verb(&ours, "resolve", content).await;
    assert!(
        resolved["next"].as_str().unwrap().contains("git_rebase"),
        "{resolved}"
    );
    let done = yard
        .verb(&ours, "rebase", json!({ "action": "continue" }))
        .await;
    assert_eq!(
        (&done["state"], &done["commits_total"]),
        (&json!("done"), &json!(5))
    );
    assert_eq!(
        (&done["brought"], &done["dirty"]),
        (&json!(1), &json!(false))
    );
    // The remote has the first of the five, and none as it is now.
    assert_eq!((&done["ahead"], &done["behind"]), (&json!(6), &json!(1)));
    let subjects = git(&workspace, &["log", "-6", "--format=%s"]);
    assert_eq!(
        subjects,
        format!("five\nfour\nthree\ntwo\nfive-ours\n{theirs}")
    );
    let message = git(&workspace, &["log", "-1", "--skip=3", "--format=%B"]);
    assert_eq!(message, "two\n\n# a heading\nthe body");
    assert_eq!(
        (read(&yard, &ours, "a"), read(&yard, &ours, "b")),
        ("our a\n".into(), "both b\n".into())
    );
    let branch = git(&workspace, &["rev-parse", "--abbrev-ref", "HEAD"]);
    assert_eq!(branch, ours);
    let old = git(&workspace, &["rev-parse", &format!("{ours}@{{1}}")]);
    assert_eq!(old, tip, "the old tip is in the log of the branch");
    let again = yard.verb(&ours, "rebase", json!({ "onto": theirs })).await;
    assert_eq!(again["state"], "up_to_date");
    yard.stop().await;
}

#[tokio::test]
async fn a_step_is_skipped_and_a_rebase_put_back() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = five(&yard).await;
    let before = snapshot(&yard.workspace(&ours));
    yard.verb(&ours, "rebase", json!({ "onto": theirs })).await;
    let skipped = yard
        .verb(&ours, "rebase", json!({ "action": "skip" }))
        .await;
    assert_eq!(skipped["operation"]["applying"]["subject"], "four");
    let aborted = yard
        .verb(&ours, "rebase", json!({ "action": "abort" }))
        .await;
    assert_eq!(aborted["state"], "aborted");
    assert_eq!(snapshot(&yard.workspace(&ours)), before);

    yard.verb(&ours, "rebase", json!({ "onto": theirs })).await;
    yard.verb(&ours, "rebase", json!({ "action": "skip" }))
        .await;
    let done = yard
        .verb(&ours, "rebase", json!({ "action": "skip" }))
        .await;
    assert_eq!(
        (&done["state"], &done["commits_total"]),
        (&json!("done"), &json!(3))
    );
    assert_eq!(read(&yard, &ours, "a"), "their a\n");
    // Nobody had worked on what was left out, so there was nothing to save.
    assert_eq!(yard.salvages(&ours).await.len(), 0);
    yard.stop().await;
}

#[tokio::test]
async fn a_step_that_is_resolved_to_nothing_is_dropped() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    yard.verb(&ours, "rebase", json!({ "onto": theirs })).await;
    yard.verb(&ours, "resolve", json!({ "all": "ours" })).await;
    let done = yard
        .verb(&ours, "rebase", json!({ "action": "continue" }))
        .await;
    assert_eq!(
        (&done["state"], &done["commits_total"]),
        (&json!("done"), &json!(0))
    );
    assert_eq!(read(&yard, &ours, "f"), "1\ntheirs\n3\n");
    yard.stop().await;
}

#[tokio::test]
async fn fixups_are_joined_where_the_branch_stands() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = five(&yard).await;
    let workspace = yard.workspace(&ours);
    commit(&yard, &ours, "three", "3 and more\n", "fixup! three");
    let tidy = json!({ "upstream": theirs, "keep_base": true, "autosquash": true });
    let done = yard.verb(&ours, "rebase", tidy).await;
    assert_eq!(done["state"], "done", "{done}");
    // What comes before the one that was mended stays as it is.
    assert_eq!(
        (&done["commits_total"], &done["brought"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(git(&workspace, &["show", "HEAD~2:three"]), "3 and more");

    // Messages are joined, without git's notes in between.
    commit(
        &yard,
        &ours,
        "five",
        "5 and more\n",
        "squash! five\n\nand more",
    );
    let tidy = json!({ "upstream": theirs, "keep_base": true, "autosquash": true });
    yard.verb(&ours, "rebase", tidy).await;
    let message = git(&workspace, &["log", "-1", "--format=%B"]);
    assert_eq!(message, "five\n\nand more");

    // Only what `upstream` lacks is replayed.
    let partly = json!({ "onto": theirs, "upstream": "HEAD~1" });
    let done = yard.verb(&ours, "rebase", partly).await;
    assert_eq!(done["commits_total"], 1);
    assert_eq!(
        git(&workspace, &["log", "-2", "--format=%s"]),
        format!("five\n{theirs}")
    );

    let (status, _, problem) = refused(
        &yard,
        &ours,
        "rebase",
        json!({ "onto": "x", "keep_base": true }),
    )
    .await;
    assert_eq!((status, &problem["field"]), (422, &json!("onto")));
    yard.stop().await;
}

#[tokio::test]
async fn merges_are_made_again_only_if_asked() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "rm",
        |_| {},
        |at| write(at, "ours", "1"),
        |at| write(at, "theirs", "1"),
    )
    .await;
    let workspace = yard.workspace(&ours);
    let tree = git(&workspace, &["rev-parse", "HEAD^{tree}"]);
    let side = git(
        &workspace,
        &["commit-tree", "-m", "side", "-p", "HEAD~1", &tree],
    );
    yard.verb(&ours, "merge", json!({ "from": side, "message": "joined" }))
        .await;
    let kept = json!({ "onto": theirs, "rebase_merges": true });
    let done = yard.verb(&ours, "rebase", kept).await;
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(
        git(&workspace, &["log", "-1", "--merges", "--format=%s"]),
        "joined"
    );
    // Where nothing is named, it goes onto what the remote has of the branch itself.
    let done = yard.verb(&ours, "rebase", json!({})).await;
    assert_eq!(done["state"], "done");
    assert_eq!(
        git(&workspace, &["log", "-1", "--merges", "--format=%s"]),
        ""
    );
    yard.stop().await;
}
