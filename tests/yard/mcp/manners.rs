//! What the protocol asks of a server beside its answers: codes, ids, settings.

use serde_json::{Value, json};

use crate::support::{Agent, Answering, Options, PATIENCE, Raw, Yard};

async fn said(yard: &Yard, body: &str) -> (u16, Value) {
    let request = Raw::json(yard, "POST", "/mcp", body.to_owned())
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2025-11-25");
    let answer = request.send(yard).await;
    let body = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_with_the_code_for_that() {
    let mut yard = Yard::new().await;
    let long = "x".repeat(100_000);
    for (body, code, id) in [
        ("{\"jsonrpc\":".to_owned(), -32700, json!(null)),
        ("[]".to_owned(), -32600, json!(null)),
        (
            format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#),
            -32600,
            json!(null),
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{long}"}}"#),
            -32601,
            json!(7),
        ),
    ] {
        let (status, answer) = said(&yard, &body).await;
        assert_eq!(status, 400, "{answer}");
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id)
        );
        assert!(answer.to_string().len() < 1_000, "it is not repeated whole");
    }
    for agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        for params in [
            json!({}),
            json!({ "name": 7 }),
            json!({ "name": "ls", "arguments": [] }),
        ] {
            let error = agent
                .request("tools/call", params.clone())
                .await
                .unwrap_err();
            assert_eq!(error["code"], -32602, "{params}: {error}");
        }
        let error = agent.request("no/such", json!({})).await.unwrap_err();
        assert_eq!(error["code"], -32601, "{error}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_with_the_same_id_leaves_the_first_its_answer() {
    let mut yard = Yard::new().await;
    let agent = Agent::older(&yard, &[]).await;
    let call = json!({
        "jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": { "name": "make", "arguments": { "repo": "demo", "branch": "main", "args": ["gate"] } },
    });
    let first = {
        let agent = &agent;
        let call = call.clone();
        async move { Answering::new(agent.send(&call).await).end().await.unwrap() }
    };
    let second = async {
        let running = async || {
            let runs = yard.get_json("/api/runs?state=running").await;
            !runs["items"].as_array().unwrap().is_empty()
        };
        while !running().await {
            tokio::task::yield_now().await;
        }
        let answer = agent.send(&call).await;
        assert_eq!(answer.status(), 400);
        let refusal: Value = answer.json().await.unwrap();
        assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
        std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    };
    let (first, ()) = tokio::join!(first, second);
    assert_eq!(first["structuredContent"]["state"], "succeeded", "{first}");
    // It is free again, once the stream has ended after the answer.
    let again = json!({ "jsonrpc": "2.0", "id": "same", "method": "ping" });
    let freed = async {
        while agent.send(&again).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.unwrap();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_chosen_one_by_one_and_in_the_url() {
    let mut yard = Yard::new().await;
    let names = |listed: &Value| -> Vec<String> {
        let tools = listed["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let agent = Agent::with(&yard, &[("branchyard-tools", "ls,git_status")]);
    let listed = agent.request("tools/list", json!({})).await.unwrap();
    assert_eq!(names(&listed), ["ls", "git_status"]);
    let error = agent
        .request("tools/call", json!({ "name": "make" }))
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32602, "{error}");
    let agent = Agent::with(&yard, &[("branchyard-exclude-tools", "make,task")]);
    let listed = names(&agent.request("tools/list", json!({})).await.unwrap());
    assert!(listed.contains(&"ls".to_owned()) && !listed.contains(&"make".to_owned()));

    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
    for (query, expected) in [
        ("tools=grep&repo=demo&branch=main", Some("grep")),
        ("toolsets=nothing", None),
        ("toolset=yard", None),
    ] {
        let request = yard
            .request(reqwest::Method::POST, &format!("/mcp?{query}"))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/list")
            .json(&message);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status() == 400, expected.is_none(), "{query}");
        let body: Value = answer.json().await.unwrap();
        if let Some(tool) = expected {
            let tools = &body["result"]["tools"];
            assert_eq!(
                (tools.as_array().unwrap().len(), &tools[0]["name"]),
                (1, &json!(tool))
            );
            let properties = &tools[0]["inputSchema"]["properties"];
            assert_eq!(properties["branch"]["default"], "main");
        }
    }
    yard.stop().await;
}

/// More than what a daemon says when it starts and ends.
const CALLS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_no_news_to_the_operator() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let agent = Agent::older(&yard, &[]).await;
    for _ in 0..CALLS {
        agent.call("whoami", json!({})).await;
    }
    daemon.stop().await;
    let said = daemon.said();
    assert!(said.len() < CALLS, "{said:#?}");
}
