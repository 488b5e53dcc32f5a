//! Lines that hold no message: each is refused, and the next one is heard.

use serde_json::{Value, json};

use super::{Agent, Era, command};
use crate::support::{Options, Yard, kib};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_refused_and_the_next_one_is_heard() {
    let mut yard = Yard::new().await;
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(command(&yard, &["mcp"]), era).await;
        for (line, id, code) in [
            ("no JSON", json!(null), -32700),
            ("{\"jsonrpc\":", json!(null), -32700),
            (
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
                json!(null),
                -32600,
            ),
            ("[]", json!(null), -32600),
            ("7", json!(null), -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":\"x\"}", json!("x"), -32600),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
                json!(null),
                -32600,
            ),
        ] {
            agent.write(line).await;
            let refusal = agent.message().await;
            assert_eq!(
                (&refusal["id"], &refusal["error"]["code"]),
                (&id, &json!(code)),
                "{line}"
            );
        }
        agent.write("").await;
        agent.write(" \r").await;
        assert!(agent.tool_names().await.contains(&"ls".to_owned()));
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_end_is_refused_by_its_id_and_not_kept() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_body = \"300KiB\"\n".to_owned(),
        ..Options::default()
    })
    .await;
    let mut agent = Agent::start(command(&yard, &["mcp"]), Era::Newer).await;
    let pid = agent.underway.child.id().unwrap();
    agent.tool_names().await;
    let before = kib(pid, "status", "VmHWM:");
    for size in [310 << 10, 24 << 20] {
        let long = "x".repeat(size);
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":\"{long}\",\"id\":\"last\"}}"
        );
        agent.write(&line).await;
        let (code, why) = agent.error(&json!("last")).await;
        assert_eq!(code, -32600);
        assert!(why.contains("307200 bytes"), "{why}");
    }
    let held = kib(pid, "status", "VmHWM:") - before;
    assert!(held < 8 << 10, "{held} KiB were held");
    // What the daemon takes is passed on.
    let id = agent
        .ask("ping", json!({ "x": "x".repeat(290 << 10) }))
        .await;
    let answer: Value = agent.answer(&id).await;
    assert_eq!(answer["id"], id);
    assert!(agent.tool_names().await.contains(&"ls".to_owned()));
    agent.leave().await;
    yard.stop().await;
}
