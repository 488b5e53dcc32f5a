//! What starts by itself is in the audit, as is what callers start.

use serde_json::{Value, json};

use super::{ON_PUSH, watching};
use crate::support::Yard;

/// What the daemon recorded of what it started, the oldest first.
async fn recorded(yard: &Yard) -> Vec<Value> {
    let page = yard.get_json("/api/audit?repo=demo&limit=500").await;
    let mut items = page["items"].as_array().unwrap().clone();
    items.retain(|record| record["via"] == "daemon");
    items.reverse();
    items
}

#[tokio::test]
async fn what_a_push_starts_is_recorded_once_with_its_id() {
    let rules = "poll = \"100ms\"\n[repos.demo.pipelines.on_push.make]\nargs = [\"who\"]\n";
    let mut yard = watching(ON_PUSH, rules).await;
    assert_eq!(recorded(&yard).await, [Value::Null; 0]);
    yard.origin.branch("feature/x");
    let pipeline = yard.ended_pipelines(1).await.remove(0);
    let runs = yard
        .until_json("/api/runs?kind=make", |page| {
            page["items"][0]["ended_at"].is_string()
        })
        .await;
    yard.asked_again().await;
    let all = recorded(&yard).await;
    assert_eq!(all.len(), 2, "{all:#?}");
    for (action, principal, id) in [
        ("make", "push", &runs["items"][0]["run_id"]),
        ("pipeline.start", "poll", &pipeline["pipeline_id"]),
    ] {
        let record = all.iter().find(|record| record["action"] == action);
        let record = record.unwrap_or_else(|| panic!("no {action}: {all:#?}"));
        for (field, value) in [
            ("principal", &json!(principal)),
            ("branch", &json!("feature/x")),
            ("run", id),
            ("outcome", &json!("allowed")),
        ] {
            assert_eq!(&record[field], value, "{field}: {record:#}");
        }
    }
    let wrong = "on: push\njobs: {a: {runs-on: linux, stepz: []}}\n";
    yard.origin.workflow("bad.yml", wrong);
    let ended = yard.ended_pipelines(3).await;
    let rejected = ended.iter().find(|it| it["state"] == "rejected").unwrap();
    let all = recorded(&yard).await;
    let record = all
        .iter()
        .find(|record| record["run"] == rejected["pipeline_id"])
        .unwrap();
    assert_eq!(record["outcome"], "failed", "{record:#}");
    assert_eq!(record["code"], rejected["error"]["code"], "{record:#}");
    yard.stop().await;
}
