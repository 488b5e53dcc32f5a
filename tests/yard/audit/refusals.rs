//! Who is refused is recorded, whoever it was and whatever they wanted; and nobody fills the disk by it.

use serde_json::{Value, json};

use super::{fields, newest, records, since, the_one_since};
use crate::support::{Agent, Options, Raw, Yard};

const WHO: [&str; 6] = ["principal", "peer", "action", "outcome", "status", "code"];

fn stranger(action: &str, status: u16, code: &str) -> [Value; 6] {
    let peer = json!("loopback");
    [
        Value::Null,
        peer,
        json!(action),
        json!("refused"),
        json!(status),
        json!(code),
    ]
}

#[tokio::test]
async fn strangers_are_recorded_with_their_address_and_counted_where_they_are_many() {
    let mut yard = Yard::new().await;
    for (path, method, key, action) in [
        ("/api/repos", "GET", None, "GET /api/repos"),
        (
            "/api/runs/x",
            "GET",
            Some("not the key"),
            "GET /api/runs/{run}",
        ),
        (
            "/stream/repos/demo/branches/main/make",
            "POST",
            None,
            "make",
        ),
        ("/mcp", "POST", None, "POST /mcp"),
        ("/api/audit", "GET", None, "GET /api/audit"),
    ] {
        let id = newest(&yard).await;
        let url = format!("{}{path}", yard.url);
        let mut request = yard.client.request(method.parse().unwrap(), url);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        assert_eq!(request.send().await.unwrap().status(), 401, "{path}");
        let record = the_one_since(&yard, id, path).await;
        assert_eq!(
            fields(&record, WHO),
            stranger(action, 401, "unauthorized").each_ref()
        );
    }
    let place = records(&yard, "action=make").await;
    assert_eq!(
        fields(&place[0], ["repo", "branch"]),
        [&json!("demo"), &json!("main")]
    );

    let id = newest(&yard).await;
    for (name, value, code) in [
        ("Host", "evil.example", "foreign_host"),
        ("Origin", "http://evil.example", "foreign_origin"),
    ] {
        let answer = Raw::json(&yard, "POST", "/api/repos", "{}").header(name, value);
        assert_eq!(answer.send(&yard).await.status, 403);
        let record = since(&yard, id).await.pop().unwrap();
        assert_eq!(
            fields(&record, WHO),
            stranger("POST /api/repos", 403, code).each_ref()
        );
    }
    assert_eq!(since(&yard, id).await.len(), 2);

    // What is nowhere, or wrong, is no refusal.
    let id = newest(&yard).await;
    for path in ["/nowhere", "/api/repos/nowhere", "/api/runs/x"] {
        assert!(!yard.get(path).await.status().is_success());
    }
    let wrong = since(&yard, id).await;
    assert!(wrong.is_empty(), "{wrong:#?}");

    // A minute may end in between, and then some more are recorded singly.
    let flood = 300;
    for _ in 0..flood {
        let url = format!("{}/api/repos", yard.url);
        assert!(
            !yard
                .client
                .get(url)
                .send()
                .await
                .unwrap()
                .status()
                .is_success()
        );
    }
    let singly = since(&yard, id).await.len();
    assert!((1..=41).contains(&singly), "{singly}");
    let metrics = yard.get("/metrics").await.text().await.unwrap();
    assert!(
        metrics.contains("branchyard_refusals_total{kind=\"unauthorized\"}"),
        "{metrics}"
    );
    // What was only counted is told when the daemon ends, at the latest.
    yard.stop().await;
    yard.start().await;
    let all = since(&yard, id).await;
    let count: u64 = all
        .iter()
        .map(|record| record["count"].as_u64().unwrap())
        .sum();
    assert_eq!(count, flood, "{all:#?}");
    let last = all.last().unwrap();
    assert!(
        last["count"].as_u64().unwrap() > 200 && last["peer"] == "loopback",
        "{last}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn those_who_are_known_are_recorded_by_name() {
    let mut yard = Yard::with(Options {
        tables: "[auth]\nnone = \"ui\"\n[sandbox]\nprofile = \"strict\"\n".to_owned(),
        ..Options::default()
    })
    .await;
    let anybody = |method: &str, path: &str| {
        let url = format!("{}{path}", yard.url);
        yard.client
            .request(method.parse().unwrap(), url)
            .json(&json!({}))
    };
    let id = newest(&yard).await;
    assert_eq!(
        anybody("GET", "/api/repos").send().await.unwrap().status(),
        200
    );
    for (method, path, action) in [
        ("POST", "/stream/repos/demo/branches/main/make", "make"),
        ("GET", "/metrics", "GET /metrics"),
        ("GET", "/api/audit", "GET /api/audit"),
        ("DELETE", "/api/repos/demo/branches/main", "branch.remove"),
    ] {
        assert_eq!(
            anybody(method, path).send().await.unwrap().status(),
            403,
            "{path}"
        );
        let record = since(&yard, id).await.pop().unwrap();
        let expected = ["anonymous", action, "refused", "missing_right"].map(Value::from);
        let names = ["principal", "action", "outcome", "code"];
        assert_eq!(fields(&record, names), expected.each_ref());
    }
    assert_eq!(since(&yard, id).await.len(), 4);

    // A tool that a client is not offered is refused to it, by whatever words.
    let id = newest(&yard).await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "yard")]);
    let call = json!({ "name": "make", "arguments": { "repo": "demo", "branch": "main" } });
    agent.request("tools/call", call).await.unwrap_err();
    let record = the_one_since(&yard, id, "a tool that is not offered").await;
    let names = ["principal", "via", "action", "outcome", "code"];
    let expected = ["session", "mcp", "mcp make", "refused", "tool_not_offered"].map(Value::from);
    assert_eq!(fields(&record, names), expected.each_ref());

    // To listen is to look, in either protocol.
    let token = yard
        .token(json!({ "name": "deaf", "scopes": ["ops"] }))
        .await;
    let agent = Agent::new(&yard).holding(&token);
    let id = newest(&yard).await;
    let listen = json!({ "notifications": { "resourceSubscriptions": ["yard://repos"] } });
    agent
        .request("subscriptions/listen", listen)
        .await
        .unwrap_err();
    let record = the_one_since(&yard, id, "a resource that is not shown").await;
    let action = "mcp subscriptions/listen";
    let expected = ["token:deaf", "mcp", action, "refused", "missing_right"].map(Value::from);
    assert_eq!(fields(&record, names), expected.each_ref());
    yard.stop().await;
}
