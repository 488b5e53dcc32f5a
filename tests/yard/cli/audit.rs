//! `audit`: who did what.

use serde_json::Value;

use super::cli;
use crate::support::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_is_listed_paged_and_exported() {
    let mut yard = Yard::new().await;
    let none = cli(&yard, &["audit"]).await.ok();
    assert_eq!((none.text(), none.stderr.as_str()), ("", "no records\n"));
    cli(&yard, &["prepare", "demo", "work", "--from", "main"])
        .await
        .ok();
    cli(&yard, &["rm", "demo", "work"]).await.ok();
    let listed = cli(&yard, &["audit", "--repo", "demo", "--since", "1h"])
        .await
        .ok();
    let rows = listed.cells();
    let actions: Vec<_> = rows
        .iter()
        .map(|row| (row[2], row[5], row[7], row[8]))
        .collect();
    assert_eq!(
        actions,
        [
            ("session", "branch.remove", "work", "allowed"),
            ("session", "branch.prepare", "work", "allowed"),
        ]
    );
    let first = cli(&yard, &["audit", "--limit", "1"]).await.ok();
    assert_eq!(first.cells(), [rows[0].clone()]);
    assert!(
        first
            .stderr
            .contains("branchyard audit --limit 1 --before 2"),
        "{first:?}"
    );
    let exported = cli(&yard, &["audit", "--export", "ndjson"]).await.ok();
    let lines: Vec<Value> = exported
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let page = cli(&yard, &["audit", "--json"]).await.ok().json();
    let mut items = page["items"].as_array().unwrap().clone();
    items.reverse();
    assert_eq!(lines, items);
    let wrong = cli(&yard, &["audit", "--outcome", "good"]).await;
    wrong.refused(2, &["allowed"]);
    yard.stop().await;
}
