//! Who gets as far as a tool: the same gate as before every other address.

use serde_json::{Value, json};

use crate::support::{Agent, Answering, Options, Raw, Yard};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn raw<'a>(yard: &Yard, body: impl Into<Vec<u8>>) -> Raw<'a> {
    Raw::json(yard, "POST", "/mcp", body).header("Accept", "application/json, text/event-stream")
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let mut yard = Yard::new().await;
    for (name, value, status) in [
        ("Host", "evil.example", 403),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
    ] {
        let answer = raw(&yard, LIST).header(name, value).send(&yard).await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
    let form = yard
        .request(reqwest::Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "text/plain")
        .body(LIST);
    assert_eq!(form.send().await.unwrap().status(), 415);
    // Only where OAuth is on is there anything to discover.
    let metadata = yard.get("/.well-known/oauth-protected-resource").await;
    assert_eq!(metadata.status(), 404);
    let put = yard.put("/mcp", json!({})).await;
    assert_eq!(put.status(), 405);
    yard.stop().await;
}

#[tokio::test]
async fn bodies_that_are_too_much_are_refused() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_body = \"64KiB\"\n".to_owned(),
        ..Options::default()
    })
    .await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}{}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"x":"{}"}}}}"#,
        "x".repeat(100_000)
    );
    for (body, expected) in [
        (deep, 400),
        (large, 413),
        ("{".to_owned(), 400),
        ("[1]".to_owned(), 400),
        (r#"{"jsonrpc":"2.0","id":{},"method":7}"#.to_owned(), 400),
        (String::new(), 400),
    ] {
        let start: String = body.chars().take(80).collect();
        let answer = raw(&yard, body).send(&yard).await;
        assert_eq!(answer.status, expected, "{start}: {answer:?}");
    }
    assert!(
        Agent::new(&yard)
            .request("tools/list", json!({}))
            .await
            .is_ok()
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_header_that_makes_no_sense_is_refused_by_name() {
    let mut yard = Yard::new().await;
    for (name, value) in [
        ("branchyard-toolsets", "yard,everything"),
        ("branchyard-role", "king"),
        ("branchyard-read-only", "perhaps"),
        ("branchyard-repo", "../x"),
        ("branchyard-branch", "a..b"),
    ] {
        let agent = Agent::with(&yard, &[(name, value)]);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let answer = agent.send(&message).await;
        assert_eq!(answer.status(), 400, "{name}");
        let said: Value = answer.json().await.unwrap();
        let text = said["error"]["message"].as_str().unwrap();
        assert!(text.contains(&format!("field: {name}")), "{text}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_that_stops_lets_go_of_every_stream() {
    let mut yard = Yard::new().await;
    let agent = Agent::older(&yard, &[]).await;
    let stream = yard
        .request(reqwest::Method::GET, "/mcp")
        .header("mcp-session-id", agent.session().unwrap())
        .header("accept", "text/event-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    yard.stop().await;
    let mut answering = Answering::new(stream);
    while answering.next().await.is_some() {}
}
