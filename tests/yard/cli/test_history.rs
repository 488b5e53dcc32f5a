//! `test-history`: the tests of a repository over time, as a table and as JSON.

use serde_json::json;

use super::cli;
use crate::support::Yard;

const MAKEFILE: &str = "test:\n\tprintf '<testsuite name=\"s\"><testcase name=\"a\"/><testcase name=\"b\"><failure/></testcase></testsuite>' > junit.xml\n";

#[tokio::test]
async fn tests_over_time_are_a_table_of_pages() {
    let mut yard = Yard::new().await;
    yard.origin.write("Makefile", MAKEFILE);
    let commit = yard.origin.commit("make");
    yard.origin.push("main");
    let events = yard
        .run("make", "main", json!({"args": ["test"], "tests": true}))
        .await;
    let run = events[0].data["run_id"].as_str().unwrap();

    let failed = cli(&yard, &["test-history", "demo", "--failed"]).await.ok();
    let cells = failed.cells();
    let row = cells.last().unwrap();
    assert_eq!(
        row[..8],
        ["failed", "", "b", "s", "main", &commit, "0", "1"]
    );
    assert_eq!(row[10..], ["run", run]);
    let of = ["test-history", "demo", "--branch", "main", "--limit", "1"];
    let first = cli(&yard, &of).await.ok();
    let more = "branchyard test-history demo --branch main --limit 1 --from 1";
    assert!(first.stderr.contains(more), "{first:?}");
    let matching = ["test-history", "demo", "--match", "A", "--json"];
    let listed = cli(&yard, &matching).await.ok().json();
    assert_eq!(listed["items"][0]["name"], "a");
    assert_eq!(listed["items"][0]["last"]["run_id"], run);
    let flaky = cli(&yard, &["test-history", "demo", "--flaky"]).await.ok();
    assert!(flaky.stderr.contains("no tests"), "{flaky:?}");
    cli(&yard, &["test-history", "none"])
        .await
        .refused(125, &["none"]);
    yard.stop().await;
}
