//! Rows 18 and 23: what is somebody else's, and more than anybody may have.

use reqwest::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Agent, Following, PATIENCE, Raw, Yard, json_of};

const HELD: usize = 512;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_out_of_bounds_is_no_resource_prompt_or_session_either() {
    let mut yard = Yard::new().await;
    for branch in ["mine-1", "theirs"] {
        yard.origin.branch(branch);
    }
    let events = yard.make("theirs", &["who"]).await;
    let run = events[0].data["run_id"].as_str().unwrap().to_owned();
    let bounded = json!({
        "role": "dev", "repos": ["demo"], "branches": ["mine-*"], "expires": "1h",
    });
    let mine = yard.token(bounded).await;
    let agent = Agent::new(&yard).holding(&mine);
    let older = Agent::older_holding(&yard, &mine).await;
    let log = format!("run://{run}/log");
    let file = "workspace://demo/theirs/name.txt";
    for uri in [&*log, file] {
        // No different from what is not there.
        let elsewhere = |text: &str| {
            text.replace(&run, "0190d5a0-0000-7000-8000-000000000000")
                .replace("theirs", "nobodys")
        };
        for agent in [&agent, &older] {
            let error = agent.read(uri).await.unwrap_err();
            let other = agent.read(&elsewhere(uri)).await.unwrap_err();
            assert_eq!(elsewhere(&error.to_string()), other.to_string());
        }
        // Nor is anybody told when it changes.
        let watched = older.request("resources/subscribe", json!({"uri": uri}));
        watched.await.unwrap_err();
        let wanted = json!({"notifications": {"resourceSubscriptions": [uri]}});
        agent
            .request("subscriptions/listen", wanted)
            .await
            .unwrap_err();
    }
    let repo = yard.client.get(format!("{}/api/repos/demo", yard.url));
    let repo = json_of(repo.bearer_auth(&mine).send().await.unwrap()).await;
    assert_eq!(repo["workspaces"], 0, "{repo}");
    for arguments in [
        json!({"run_id": run}),
        json!({"repo": "demo", "branch": "theirs"}),
    ] {
        let said = match agent.prompt("fix_build", arguments).await {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        assert!(!said.contains("make who"), "{said}");
    }
    // A session is no more another's to listen to, or to end, than to speak in.
    let session = older.session().unwrap();
    for key in [
        yard.key(),
        yard.token(json!({"role": "admin", "expires": "1h"})).await,
    ] {
        for method in [Method::GET, Method::DELETE, Method::POST] {
            let answer = yard
                .client
                .request(method.clone(), format!("{}/mcp", yard.url))
                .bearer_auth(&key)
                .header("accept", "application/json, text/event-stream")
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-11-25")
                .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 404, "{method}");
        }
    }
    older.request("tools/list", json!({})).await.unwrap();
    yard.stop().await;
}

/// A viewer over a connection of its own; the first bytes of the answer have come.
async fn viewer(yard: &Yard, run: &str) -> (TcpStream, String) {
    let address = yard.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let key = yard.key();
    let head = format!(
        "GET /stream/runs/{run} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    let reading = tokio::time::timeout(PATIENCE, stream.read_exact(&mut first));
    reading.await.expect("it is answered").unwrap();
    (stream, String::from_utf8(first.to_vec()).unwrap())
}

/// With the limits as they are where nobody sets any.
#[tokio::test(flavor = "multi_thread")]
async fn one_who_holds_all_streams_and_reads_by_the_byte_leaves_others_theirs() {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let mut yard = Yard::new().await;
    let other = yard.token(json!({"role": "dev", "expires": "1h"})).await;
    let mut gate = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    gate.until_line("waiting").await;
    let run = gate.run_id();
    let mut held = Vec::new();
    // The gate's own is one of them.
    for _ in 1..HELD {
        let (stream, first) = viewer(&yard, &run).await;
        assert_eq!(first, "HTTP/1.1 200");
        held.push(stream);
    }
    let (_refused, first) = viewer(&yard, &run).await;
    assert_eq!(first, "HTTP/1.1 429");
    assert_eq!(yard.get("/mcp").await.status(), 429);

    for reader in &mut held {
        let mut byte = [0; 1];
        reader.read_exact(&mut byte).await.unwrap();
    }
    let repos = Raw::new("GET", "/api/repos").header("Authorization", format!("Bearer {other}"));
    assert_eq!(repos.send(&yard).await.status, 200);
    let watching = yard
        .client
        .get(format!("{}/stream/runs/{run}", yard.url))
        .bearer_auth(&other)
        .header("accept", "application/x-ndjson");
    let mut watching = Following::new(watching.send().await.unwrap());
    watching.until_line("waiting").await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(watching.end().await.data["state"], "succeeded");
    assert_eq!(gate.end().await.data["state"], "succeeded");
    drop(held);
    yard.stop().await;
}
