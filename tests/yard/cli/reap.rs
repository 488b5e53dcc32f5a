//! What goes by itself, asked for and kept from the command line.

use super::cli;
use crate::support::{Options, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn what_would_go_is_said_and_what_is_pinned_stays() {
    let mut yard = Yard::with(Options {
        tables: "[reaper]\nmax_size = \"1B\"\nlow_water = \"1B\"\nhigh_water = \"1B\"".into(),
        ..Options::default()
    })
    .await;
    yard.origin.branch("topic");
    for branch in ["main", "topic"] {
        cli(&yard, &["prepare", "demo", branch]).await.ok();
    }
    let pinned = cli(&yard, &["pin", "demo", "main", "--reason", "a demo"]).await;
    assert_eq!(pinned.ok().stderr, "pinned the workspace of main of demo\n");

    let planned = cli(&yard, &["reap", "--dry-run"]).await.ok();
    let rows = planned.cells();
    assert_eq!(rows.len(), 3, "two workspaces and a clone: {planned:?}");
    assert_eq!(rows[0][..3], ["keep", "demo", "main"]);
    assert_eq!(rows[0][5], "pinned by session: a demo");
    assert_eq!(rows[1][..3], ["remove", "demo", "topic"]);
    assert!(rows[1][5].contains("max_size"), "{planned:?}");
    assert!(planned.stderr.starts_with("would free "), "{planned:?}");
    assert!(yard.workspace("topic").exists());

    let json = cli(&yard, &["--json", "reap", "--dry-run", "--repo", "demo"]).await;
    assert_eq!(json.ok().json()["items"][1]["action"], "remove");
    let unknown = cli(&yard, &["reap", "--repo", "none"]).await;
    unknown.refused(125, &["none"]);

    let refused = cli(&yard, &["rm", "demo", "main"]).await;
    refused.refused(125, &["pinned by session: a demo", "unpin"]);
    let done = cli(&yard, &["reap"]).await.ok();
    assert!(done.stderr.starts_with("freed "), "{done:?}");
    assert!(!yard.workspace("topic").exists());
    assert!(yard.workspace("main").exists());

    let let_go = cli(&yard, &["unpin", "demo", "main"]).await.ok();
    assert_eq!(let_go.stderr, "unpinned the workspace of main of demo\n");
    cli(&yard, &["reap", "-q"]).await.ok();
    assert!(!yard.workspace("main").exists());
    cli(&yard, &["pin", "demo", "main"])
        .await
        .refused(125, &["has no workspace"]);
    yard.stop().await;
}
