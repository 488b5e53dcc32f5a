//! Sessions of the older protocol.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Agent, Yard};

#[tokio::test]
async fn a_session_goes_on_after_a_restart() {
    let mut yard = Yard::new().await;
    let mut agent = Agent::older(&yard, &[]).await;
    yard.stop().await;
    yard.start().await;
    agent.move_to(&yard);
    let tools = agent.request("tools/list", json!({})).await.unwrap();
    assert!(
        tools["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_found() {
    let mut yard = Yard::new().await;
    let agent = Agent::older(&yard, &[]).await;
    let session = agent.session().unwrap().to_owned();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (id, status) in [
        (&*session, 200),
        ("1e7a4a0e-0000-4000-8000-000000000000", 404),
        ("../../../etc/passwd", 404),
        ("", 404),
    ] {
        let answer = yard
            .request(reqwest::Method::POST, "/mcp")
            .header("mcp-session-id", id)
            .header("accept", "application/json, text/event-stream")
            .json(&ping)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), status, "{id:?}");
    }
    let over = yard
        .request(reqwest::Method::DELETE, "/mcp")
        .header("mcp-session-id", &session)
        .send()
        .await
        .unwrap();
    assert!(over.status().is_success());
    assert_eq!(agent.send(&ping).await.status(), 404);
    yard.stop().await;
}

fn kept(yard: &Yard) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(yard.workspaces.join(".branchyard/mcp-sessions")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn what_is_kept_of_a_session_is_the_daemons_alone() {
    let mut yard = Yard::new().await;
    let _agent = Agent::older(&yard, &[]).await;
    let files = kept(&yard);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&files[0]), 0o600);
    assert_eq!(mode(files[0].parent().unwrap()), 0o700);
    yard.stop().await;
}

#[tokio::test]
async fn a_session_has_one_name() {
    let mut yard = Yard::new().await;
    let agent = Agent::older(&yard, &[]).await;
    let id = agent.session().unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for other in [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}")] {
        let answer = yard
            .request(reqwest::Method::POST, "/mcp")
            .header("mcp-session-id", &other)
            .header("accept", "application/json, text/event-stream")
            .json(&ping)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 404, "{other}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_session_is_restored_once_however_many_ask_at_a_time() {
    let mut yard = Yard::new().await;
    let mut agent = Agent::older(&yard, &[]).await;
    yard.stop().await;
    yard.start().await;
    agent.move_to(&yard);
    let list = || agent.request("tools/list", json!({}));
    let (a, b, c, d, e, f, g, h) = tokio::join!(
        list(),
        list(),
        list(),
        list(),
        list(),
        list(),
        list(),
        list()
    );
    for answer in [a, b, c, d, e, f, g, h] {
        answer.unwrap();
    }
    yard.stop().await;
}

#[tokio::test]
async fn sessions_that_nobody_ends_are_bounded_on_disk() {
    let mut yard = Yard::new().await;
    let dir = yard.workspaces.join(".branchyard/mcp-sessions");
    let mut agent = Agent::older(&yard, &[]).await;
    let text = std::fs::read(&kept(&yard)[0]).unwrap();
    yard.stop().await;
    let earlier = SystemTime::now() - Duration::from_secs(60 * 60);
    for n in 0..4_094 {
        let path = dir.join(format!("1e7a4a0e-0000-4000-8000-{n:012}"));
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(&text).unwrap();
        file.set_modified(earlier).unwrap();
    }
    yard.start().await;
    for _ in 0..4 {
        Agent::older(&yard, &[]).await;
    }
    assert!(kept(&yard).len() < 4_096);
    agent.move_to(&yard);
    agent.request("tools/list", json!({})).await.unwrap();
    yard.stop().await;
}

#[tokio::test]
async fn sessions_that_nobody_ends_are_bounded_in_memory() {
    let mut yard = Yard::new().await;
    let first = Agent::older(&yard, &[]).await;
    let mut stream = first.notifications().await;
    for _ in 0..512 {
        Agent::older(&yard, &[]).await;
    }
    // It left memory, and its stream with it; what it said is still known.
    while stream.next().await.is_some() {}
    first.request("tools/list", json!({})).await.unwrap();
    yard.stop().await;
}

#[tokio::test]
async fn nobody_loses_a_session_to_what_another_opens() {
    let mut yard = Yard::new().await;
    let greedy = yard.token(json!({ "role": "ui" })).await;
    let dir = yard.workspaces.join(".branchyard/mcp-sessions");
    Agent::older_holding(&yard, &greedy).await;
    let text = std::fs::read(&kept(&yard)[0]).unwrap();
    for n in 0..3_700 {
        let path = dir.join(format!("1e7a4a0e-0000-4000-8000-{n:012}"));
        std::fs::write(path, &text).unwrap();
    }
    yard.stop().await;
    yard.start().await;
    let modest = Agent::older(&yard, &[]).await;
    let file = dir.join(modest.session().unwrap());
    let earlier = SystemTime::now() - Duration::from_secs(60 * 60);
    let touched = std::fs::File::open(&file).unwrap();
    touched.set_modified(earlier).unwrap();
    let mut stream = modest.notifications().await;
    for _ in 0..513 {
        Agent::older_holding(&yard, &greedy).await;
    }
    assert!(kept(&yard).len() < 4_096, "some had to go");
    assert!(file.exists());
    let silent = tokio::time::timeout(Duration::from_millis(200), stream.next()).await;
    assert!(silent.is_err(), "it is still open");
    yard.stop().await;
}
