//! The audit: who did what, where, and what came of it; and whom the daemon refused.

mod agents;
mod deeds;
mod forgotten;
mod kept;
mod reading;
mod refusals;

use serde_json::{Value, json};

use crate::support::Yard;

/// The records that `query` asks for, the newest first.
async fn records(yard: &Yard, query: &str) -> Vec<Value> {
    let page = yard.get_json(&format!("/api/audit?{query}")).await;
    page["items"].as_array().unwrap().clone()
}

/// The id of the newest record; 0 where there is none.
async fn newest(yard: &Yard) -> i64 {
    let records = records(yard, "limit=1").await;
    records
        .first()
        .map_or(0, |record| record["id"].as_i64().unwrap())
}

/// What was recorded after that one, the oldest first.
async fn since(yard: &Yard, id: i64) -> Vec<Value> {
    let mut records = records(yard, &format!("after={id}&limit=500")).await;
    records.reverse();
    records
}

/// The one record since then.
async fn the_one_since(yard: &Yard, id: i64, what: &str) -> Value {
    let records = since(yard, id).await;
    assert_eq!(records.len(), 1, "{what}: {records:#?}");
    records[0].clone()
}

/// These fields of a record.
fn fields<'a, const N: usize>(record: &'a Value, names: [&str; N]) -> [&'a Value; N] {
    names.map(|name| &record[name])
}

/// Who, how, what, where and with which outcome.
const PLACE: [&str; 6] = ["principal", "via", "action", "repo", "branch", "outcome"];

fn at(via: &str, action: &str, branch: Option<&str>, outcome: &str) -> [Value; 6] {
    let repo = json!("demo");
    [
        json!("session"),
        json!(via),
        json!(action),
        repo,
        json!(branch),
        json!(outcome),
    ]
}
