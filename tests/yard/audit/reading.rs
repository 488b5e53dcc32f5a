//! The audit as it is read: pages, filters, all of it as lines, and by agents.

use serde_json::{Value, json};

use super::{newest, records, since};
use crate::support::{Agent, Yard, problem_of};

#[tokio::test]
async fn pages_filters_and_lines_say_the_same() {
    let mut yard = Yard::new().await;
    for branch in ["a", "b/c"] {
        let path = format!(
            "/api/repos/demo/branches/{}",
            crate::support::encode(branch)
        );
        yard.put(&path, json!({ "from": "main" })).await;
        yard.delete(&path).await;
    }
    let run = yard.make("main", &["who"]).await[0].data["run_id"].clone();
    let run = run.as_str().unwrap();
    yard.delete("/api/repos/nowhere/branches/a").await;
    for _ in 0..3 {
        let url = format!("{}/api/runs", yard.url);
        yard.client.get(url).send().await.unwrap();
    }
    let all = since(&yard, 0).await;
    assert_eq!(all.len(), 9, "{all:#?}");
    let ids: Vec<_> = all
        .iter()
        .map(|record| record["id"].as_i64().unwrap())
        .collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");

    let mut paged = Vec::new();
    let mut next = Value::Null;
    loop {
        let before = next
            .as_i64()
            .map_or(String::new(), |id| format!("&before={id}"));
        let page = yard.get_json(&format!("/api/audit?limit=4{before}")).await;
        paged.extend(page["items"].as_array().unwrap().clone());
        next = page["next"].clone();
        if next.is_null() {
            break;
        }
    }
    paged.reverse();
    assert_eq!(paged, all);
    let export = async |query: &str| {
        let request = yard.request(reqwest::Method::GET, &format!("/api/audit?{query}"));
        let answer = request
            .header("accept", "application/x-ndjson")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
        let text = answer.text().await.unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    assert_eq!(export("").await, all);
    assert_eq!(export(&format!("after={}", ids[6])).await, all[7..]);
    assert_eq!(export("principal=nobody").await, Vec::<Value>::new());

    let third = all[2]["at"].as_str().unwrap();
    let run_filter = format!("run={run}");
    let (since_third, until_third) = (format!("since={third}"), format!("until={third}"));
    for (query, expected) in [
        ("principal=session", 6),
        ("action=branch.remove", 3),
        ("repo=demo", 5),
        ("branch=b%2Fc", 2),
        ("repo=demo&branch=a", 2),
        (run_filter.as_str(), 1),
        ("outcome=refused", 3),
        ("outcome=failed", 1),
        ("since=1h", 9),
        ("until=1h", 0),
        (since_third.as_str(), 7),
        (until_third.as_str(), 2),
        ("outcome=allowed&action=make&since=1h", 1),
    ] {
        let found = records(&yard, query).await;
        assert_eq!(found.len(), expected, "{query}: {found:#?}");
        let mut exported = export(query).await;
        exported.reverse();
        assert_eq!(found, exported, "{query}");
    }
    for (query, field) in [
        ("outcome=good", "outcome"),
        ("since=yesterday", "since"),
        ("until=x", "until"),
        ("limit=0", "limit"),
        ("nonsense=1", "query"),
    ] {
        let (status, problem) = problem_of(yard.get(&format!("/api/audit?{query}")).await).await;
        assert_eq!(
            (status, problem["field"].as_str()),
            (422, Some(field)),
            "{query}"
        );
    }

    let agent = Agent::with(&yard, &[("branchyard-toolsets", "admin")]);
    let told = agent.call("audit", json!({ "action": "make" })).await;
    let [make] = &told["records"].as_array().unwrap()[..] else {
        panic!("{told}");
    };
    assert_eq!(make["run"], run);
    // A page of an agent's is as long as fits, and the rest is found behind it.
    for _ in 0..60 {
        yard.delete("/api/repos/nowhere/branches/a").await;
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let arguments = match cursor.is_null() {
            true => json!({}),
            false => json!({ "cursor": cursor }),
        };
        let page = agent.call("audit", arguments).await;
        seen.extend(page["records"].as_array().unwrap().clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    seen.reverse();
    let mut all = since(&yard, 0).await;
    for record in &mut all {
        // Agents are not told of what there is none of.
        record
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
    }
    assert_eq!(seen, all);
    assert_eq!(newest(&yard).await, 69);
    yard.stop().await;
}
