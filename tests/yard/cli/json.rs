//! `--json`: whatever the command, its stdout is JSON and nothing else.

use serde_json::{Value, json};

use super::cli;
use crate::support::{Options, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_json_when_asked_for() {
    let mut yard = Yard::with(Options {
        repo: "[repos.demo.tasks]\nsay = [\"echo\", \"hi\"]".into(),
        ..Options::default()
    })
    .await;
    let url = yard.origin.url();
    let config = yard.dir.path().join("yard.toml");
    let config = config.to_str().unwrap();
    let ask = async |args: &[&str]| -> Value {
        let said = cli(&yard, &[&["--json"], args].concat()).await.ok();
        assert_eq!(said.stderr, "", "{args:?}");
        said.json()
    };
    assert_eq!(ask(&["repos", "add", "more", &url]).await["name"], "more");
    assert_eq!(ask(&["repos"]).await["items"][1]["name"], "more");
    assert_eq!(
        ask(&["repos", "rm", "more"]).await,
        json!({"name": "more", "removed": true})
    );
    assert_eq!(
        ask(&["prepare", "demo", "main"]).await["warnings"],
        json!([])
    );
    assert_eq!(
        ask(&["branches", "demo", "--remote"]).await["items"][0]["branch"],
        "main"
    );
    assert_eq!(
        ask(&["ls", "demo", "main"]).await["entries"][0]["path"],
        "Makefile"
    );
    assert_eq!(
        ask(&["cat", "demo", "main", "name.txt"]).await["text"],
        "main\n"
    );
    assert_eq!(
        ask(&["env", "demo", "main"]).await["environment"]["CI"],
        "true"
    );
    let run = ask(&["make", "demo", "main", "--detach", "--", "who"]).await;
    let id = run["run_id"].as_str().unwrap().to_owned();
    for args in [
        &["make", "demo", "main", "--", "who"][..],
        &["task", "demo", "main", "say"],
        &["follow", &id],
    ] {
        let said = cli(&yard, &[&["--json"], args].concat()).await.ok();
        let lines = said.text().lines().map(serde_json::from_str::<Value>);
        let events: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
        assert_eq!(events.first().unwrap()["type"], "status", "{args:?}");
        assert_eq!(events.last().unwrap()["state"], "succeeded", "{args:?}");
    }
    let git = cli(&yard, &["--json", "git", "demo", "main", "log"])
        .await
        .ok();
    for line in git.text().lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert!(ask(&["runs"]).await["items"].as_array().unwrap().len() >= 4);
    assert_eq!(ask(&["cancel", &id]).await["run_id"], id.as_str());
    assert_eq!(
        ask(&["rm", "demo", "main"]).await,
        json!({"repo": "demo", "branch": "main", "removed": true, "salvage": null})
    );
    assert_eq!(
        ask(&["check-config", "--config", config]).await["valid"],
        true
    );
    assert_eq!(ask(&["doctor"]).await["ok"], true);
    yard.stop().await;
}
