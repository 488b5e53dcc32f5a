//! Picks and reverts: one commit, several, ranges, merges; and steps that bring nothing.

use serde_json::json;

use super::{clash, commit, fork, read, refused, snapshot, told, write};
use crate::support::{Agent, Yard, git, try_git};

#[tokio::test]
async fn commits_and_ranges_are_picked_and_their_origin_recorded() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(&yard, "p", |_| {}, |_| {}, |at| write(at, "a", "1\n")).await;
    let workspace = yard.workspace(&ours);
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    let first = commit(&yard, &theirs, "b", "2\n", "second");
    let last = commit(&yard, &theirs, "c", "3\n", "third");
    let range = json!({ "range": format!("{theirs}~3..{theirs}"), "record_origin": true });
    let picked = yard.verb(&ours, "cherry_pick", range).await;
    assert_eq!(
        (&picked["state"], &picked["commits_total"]),
        (&json!("done"), &json!(3))
    );
    assert_eq!(picked["dropped"], 0);
    let message = git(&workspace, &["log", "-1", "--format=%B"]);
    assert_eq!(
        message,
        format!("third\n\n(cherry picked from commit {last})")
    );

    // Of what is there already no commit is made.
    let again = json!({ "commits": [first.as_str(), last.as_str()] });
    let nothing = yard.verb(&ours, "cherry_pick", again).await;
    assert_eq!(
        (&nothing["state"], &nothing["commits_total"]),
        (&json!("nothing"), &json!(0))
    );
    git(&workspace, &["reset", "-q", "--hard", &tip]);
    let agent = Agent::of_git(&yard, &ours);
    let staged = json!({ "commits": [last.as_str()], "no_commit": true });
    let staged = agent.call("git_cherry_pick", staged).await;
    assert_eq!(staged["state"], "staged");
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "A  c");

    for (body, status, field) in [
        (
            json!({ "commits": [first.as_str()], "range": "a..b" }),
            422,
            "range",
        ),
        (json!({ "range": "a...b" }), 422, "range"),
        (
            json!({ "commits": [first.as_str(), "x"], "no_commit": true }),
            422,
            "no_commit",
        ),
        (json!({}), 422, "commits"),
        (
            json!({ "commits": [first.as_str()], "mainline": 2 }),
            422,
            "mainline",
        ),
        (
            json!({ "action": "skip", "commits": ["x"] }),
            422,
            "commits",
        ),
        (json!({ "commits": ["no-such"] }), 404, "commits"),
    ] {
        let refusal = refused(&yard, &ours, "cherry_pick", body.clone()).await;
        assert_eq!(
            (refusal.0, &refusal.2["field"]),
            (status, &json!(field)),
            "{body}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_sequence_stops_goes_on_skips_and_is_put_back() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    let clean = commit(&yard, &theirs, "new", "1\n", "clean");
    let clashing = commit(
        &yard,
        &theirs,
        "f",
        "1\nagain\n3\n",
        "clash again\n\n# kept",
    );
    let before = snapshot(&workspace);
    let all = json!({ "range": format!("{theirs}~3..{theirs}") });

    let stopped = yard.verb(&ours, "cherry_pick", all.clone()).await;
    assert_eq!(told(&stopped), [("f", "both_modified", "text")]);
    let operation = &stopped["operation"];
    assert_eq!(
        (&operation["step"], &operation["total"]),
        (&json!(1), &json!(3))
    );
    yard.verb(&ours, "resolve", json!({ "all": "theirs" }))
        .await;
    // The second is clean; the third fits the first now.
    let done = yard
        .verb(&ours, "cherry_pick", json!({ "action": "continue" }))
        .await;
    assert_eq!(
        (&done["state"], &done["commits_total"]),
        (&json!("done"), &json!(3)),
        "{done}"
    );
    assert_eq!(
        git(&workspace, &["log", "-1", "--format=%B"]),
        "clash again\n\n# kept"
    );
    git(&workspace, &["reset", "-q", "--hard", &format!("{ours}~3")]);
    assert_eq!(snapshot(&workspace), before);

    yard.verb(&ours, "cherry_pick", all.clone()).await;
    let stopped = yard
        .verb(&ours, "cherry_pick", json!({ "action": "skip" }))
        .await;
    let operation = &stopped["operation"];
    assert_eq!(operation["applying"]["id"], clashing.as_str());
    assert_eq!(
        (&operation["step"], &operation["total"]),
        (&json!(2), &json!(2))
    );
    // Whoever commits by hand in between goes on just the same.
    yard.verb(&ours, "resolve", json!({ "all": "theirs" }))
        .await;
    let aborted = yard
        .verb(&ours, "cherry_pick", json!({ "action": "abort" }))
        .await;
    assert_eq!(aborted["state"], "aborted");
    assert_eq!(snapshot(&workspace), before);
    assert_eq!(yard.salvages(&ours).await.len(), 1, "it had been resolved");

    yard.verb(
        &ours,
        "cherry_pick",
        json!({ "commits": [clashing.as_str(), clean.as_str()] }),
    )
    .await;
    yard.verb(&ours, "resolve", json!({ "all": "theirs" }))
        .await;
    // Whoever commits by hand in between goes on just the same.
    git(&workspace, &["commit", "-q", "--no-edit"]);
    let (_, code, problem) = refused(&yard, &ours, "merge", json!({ "from": theirs })).await;
    assert_eq!(code, "operation_under_way", "{problem}");
    let done = yard
        .verb(&ours, "cherry_pick", json!({ "action": "continue" }))
        .await;
    assert_eq!(
        (&done["state"], &done["commits_total"]),
        (&json!("done"), &json!(2)),
        "{done}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_pick_that_is_resolved_to_nothing_is_no_commit() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let pick = json!({ "commits": [theirs] });
    yard.verb(&ours, "cherry_pick", pick.clone()).await;
    yard.verb(&ours, "resolve", json!({ "all": "ours" })).await;
    let nothing = yard
        .verb(&ours, "cherry_pick", json!({ "action": "continue" }))
        .await;
    assert_eq!(
        (&nothing["state"], &nothing["dirty"]),
        (&json!("nothing"), &json!(false))
    );

    // Without a commit there is nothing but the conflict, which can be put back too.
    let before = snapshot(&yard.workspace(&ours));
    let pick = json!({ "commits": [theirs], "no_commit": true });
    let stopped = yard.verb(&ours, "cherry_pick", pick).await;
    assert_eq!(stopped["operation"]["kind"], "apply");
    yard.verb(&ours, "cherry_pick", json!({ "action": "abort" }))
        .await;
    assert_eq!(snapshot(&yard.workspace(&ours)), before);
    yard.stop().await;
}

#[tokio::test]
async fn commits_and_merges_are_reverted() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "rv",
        |at| write(at, "f", "1\n"),
        |at| write(at, "ours", "1\n"),
        |at| write(at, "f", "2\n"),
    )
    .await;
    yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    let revert = json!({ "commits": ["HEAD"] });
    let (status, _, problem) = refused(&yard, &ours, "revert", revert).await;
    assert_eq!((status, &problem["field"]), (422, &json!("mainline")));
    let revert = json!({ "commits": ["HEAD"], "mainline": 1 });
    let reverted = yard.verb(&ours, "revert", revert).await;
    assert_eq!(reverted["state"], "done");
    assert_eq!(read(&yard, &ours, "f"), "1\n");
    let subject = reverted["commits"][0]["subject"].as_str().unwrap();
    assert!(subject.starts_with("Revert \"Merge branch"), "{subject}");

    let later = commit(&yard, &ours, "f", "3\n", "three");
    commit(&yard, &ours, "f", "4\n", "four");
    let agent = Agent::of_git(&yard, &ours);
    let stopped = agent
        .call("git_revert", json!({ "commits": [later.as_str()] }))
        .await;
    assert_eq!(stopped["state"], "conflicts");
    let operation = &stopped["operation"];
    assert_eq!(
        (&operation["kind"], &operation["applying"]["subject"]),
        (&json!("revert"), &json!("three"))
    );
    // Their side is what was there before it.
    assert_eq!(operation["theirs_is"]["subject"], subject);
    agent
        .call("git_resolve", json!({ "paths": ["f"], "take": "theirs" }))
        .await;
    let done = agent
        .call("git_revert", json!({ "action": "continue" }))
        .await;
    assert_eq!(done["commits"][0]["subject"], "Revert \"three\"");
    assert_eq!(read(&yard, &ours, "f"), "1\n");
    let text = agent
        .refusal("git_revert", json!({ "action": "skip" }))
        .await;
    assert!(text.starts_with("nothing_under_way"), "{text}");
    yard.stop().await;
}

#[tokio::test]
async fn messages_stay_as_they_are_through_conflicts() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = clash(&yard).await;
    let workspace = yard.workspace(&ours);
    let message = "#7 subject\n\n# a heading\nand the body";
    let picked = commit(&yard, &theirs, "f", "1\nagain\n3\n", message);
    yard.verb(&ours, "cherry_pick", json!({ "commits": [picked] }))
        .await;
    yard.verb(&ours, "resolve", json!({ "all": "theirs" }))
        .await;
    yard.verb(&ours, "cherry_pick", json!({ "action": "continue" }))
        .await;
    let about = git(&workspace, &["log", "-1", "--format=%an%n%B"]);
    assert_eq!(about, format!("Test\n{message}"));

    // One that somebody else's git prepared loses git's own notes, and nothing of theirs.
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    let stopped = try_git(&workspace, &["merge", "-q", "-m", "By hand", &theirs]);
    assert!(!stopped.status.success());
    yard.verb(&ours, "resolve", json!({ "all": "ours" })).await;
    let done = yard
        .verb(&ours, "merge", json!({ "action": "continue" }))
        .await;
    assert_eq!(done["state"], "done");
    assert_eq!(git(&workspace, &["log", "-1", "--format=%B"]), "By hand");
    yard.stop().await;
}
