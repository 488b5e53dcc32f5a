//! Messages to forges, and repositories that cannot be asked what is new.

use super::cli;
use crate::support::remotes::Fault;
use crate::support::{Options, Receiver, yard_of_forge};

const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"true\"}]}}\n";

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_listed_and_sent_once_more() {
    let forge = Receiver::start().await;
    forge.answer(410);
    let (mut yard, _remote) = yard_of_forge("github", &forge, Options::default()).await;
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    let none = cli(&yard, &["deliveries", "demo"]).await.ok();
    assert_eq!((none.text(), none.stderr.as_str()), ("", "no deliveries\n"));
    let deliveries = "/api/repos/demo/deliveries";
    // Each has at least its end told.
    for _ in 0..2 {
        yard.pushed().await;
        yard.until_json(deliveries, |page| {
            let mut items = page["items"].as_array().unwrap().iter();
            items.all(|item| item["state"] == "failed")
        })
        .await;
    }
    let listed = ["deliveries", "demo", "--state", "failed", "--limit", "1"];
    let listed = cli(&yard, &listed).await.ok();
    let rows = listed.cells();
    let row = &rows[0];
    assert_eq!((row[1], row[2], row[4]), ("failed", "status", "1 job"));
    assert!(row[3].starts_with("branchyard/ci at "), "{row:?}");
    assert_eq!((row[5], row[7]), ("1", "HTTP 410: so it is"));
    let more = format!(
        "branchyard deliveries demo --limit 1 --state failed --before {}",
        row[0]
    );
    assert!(listed.stderr.contains(&more), "{listed:?}");
    forge.answer(201);
    let again = cli(&yard, &["redeliver", "demo", row[0]]).await.ok();
    assert_eq!(again.stderr, format!("sending {} once more\n", row[0]));
    yard.until_json(deliveries, |page| page["items"][0]["state"] == "delivered")
        .await;
    let delivered = ["deliveries", "demo", "--state", "delivered", "--json"];
    let delivered = cli(&yard, &delivered).await.ok().json();
    assert_eq!(delivered["items"][0]["delivery_id"], row[0]);
    let unknown = ["redeliver", "demo", "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"];
    cli(&yard, &unknown)
        .await
        .refused(125, &["branchyard deliveries"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repos_warn_of_a_remote_that_cannot_be_asked() {
    let forge = Receiver::start().await;
    let auto = "[repos.demo.pipelines]\nauto = true\npoll = \"100ms\"\n";
    let options = Options {
        repo: auto.to_owned(),
        ..Options::default()
    };
    let (mut yard, remote) = yard_of_forge("github", &forge, options).await;
    yard.start().await;
    yard.until_json("/api/repos/demo", |repo| {
        repo["watch"]["looked_at"].is_string()
    })
    .await;
    assert_eq!(cli(&yard, &["repos"]).await.ok().stderr, "");
    remote.fail(Fault::Status(503));
    yard.until_json("/api/repos/demo", |repo| {
        repo["watch"]["problem"].is_string()
    })
    .await;
    let warned = cli(&yard, &["repos"]).await.ok();
    assert_eq!(warned.cells()[0][0], "demo");
    let words = "warning: demo starts nothing by itself yet: ";
    assert!(warned.stderr.starts_with(words), "{warned:?}");
    yard.stop().await;
}
