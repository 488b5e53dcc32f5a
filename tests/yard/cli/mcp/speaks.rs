//! What an agent says gets to the daemon, and what the daemon says gets to the agent.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{Agent, Era, bare, command, said};
use crate::support::{Yard, until};

/// The sessions that the daemon keeps.
fn sessions(yard: &Yard) -> Vec<PathBuf> {
    let dir = yard.workspaces.join(".branchyard/mcp-sessions");
    let entries = std::fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_and_called_in_both_eras() {
    let mut yard = Yard::new().await;
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(command(&yard, &["mcp"]), era).await;
        assert!(agent.tool_names().await.contains(&"ls".to_owned()));
        let listed = agent
            .call("ls", json!({ "repo": "demo", "branch": "main" }))
            .await;
        assert_eq!(listed["branch"], "main");
        let unknown = agent.ask("no/such", json!({})).await;
        assert_eq!(agent.error(&unknown).await.0, -32601, "{era:?}");
        let missing = agent.ask_tool("no_such", json!({})).await;
        assert!(agent.error(&missing).await.1.contains("no_such"));
        assert_eq!(agent.leave().await, "");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_flags_fix_may_be_left_out() {
    let mut yard = Yard::new().await;
    yard.origin.branch("wip/50%-fé");
    for era in [Era::Older, Era::Newer] {
        let args = ["mcp", "--repo", "demo", "--branch", "wip/50%-fé"];
        let mut agent = Agent::start(command(&yard, &args), era).await;
        let listed = agent.call("ls", json!({})).await;
        assert_eq!(listed["branch"], "wip/50%-fé");
        agent.leave().await;
        let args = ["mcp", "--toolsets", "git_write", "--read-only"];
        let mut agent = Agent::start(command(&yard, &args), era).await;
        assert_eq!(agent.tool_names().await, Vec::<String>::new());
        agent.leave().await;
    }
    let king = said(command(&yard, &["mcp", "--role", "king"])).await;
    king.refused(2, &["there is no role \"king\"", "dev"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_side_by_side_and_each_gets_its_own_answer() {
    let mut yard = Yard::new().await;
    let names: Vec<_> = (0..20).map(|n| format!("dir-{n}")).collect();
    for name in &names {
        yard.origin.write(&format!("{name}/of-{name}"), "x");
    }
    yard.origin.commit("directories");
    yard.origin.push("main");
    for era in [Era::Older, Era::Newer] {
        let args = ["mcp", "--repo", "demo", "--branch", "main"];
        let mut agent = Agent::start(command(&yard, &args), era).await;
        let mut asked = Vec::new();
        for name in &names {
            asked.push((name, agent.ask_tool("ls", json!({ "path": name })).await));
        }
        for (name, id) in asked.iter().rev() {
            let result = agent.result(id).await;
            let path = &result["structuredContent"]["entries"][0]["path"];
            assert_eq!(path, &format!("{name}/of-{name}"));
        }
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_goes_takes_its_session_along() {
    let mut yard = Yard::new().await;
    let mut agent = Agent::start(command(&yard, &["mcp"]), Era::Older).await;
    agent.request("ping", json!({})).await;
    assert_eq!(sessions(&yard).len(), 1);
    agent.leave().await;
    assert_eq!(sessions(&yard), Vec::<PathBuf>::new());

    for signal in [Signal::TERM, Signal::INT] {
        let mut agent = Agent::start(command(&yard, &["mcp"]), Era::Older).await;
        agent.request("ping", json!({})).await;
        assert_eq!(sessions(&yard).len(), 1);
        agent.underway.signal(signal);
        // Its stdin stays open.
        let ended = agent.underway.end().await;
        assert_eq!(ended.code, 0, "{}", agent.stderr.rest().await);
        assert_eq!(sessions(&yard), Vec::<PathBuf>::new());
    }

    // An agent that reads no more is gone as well.
    let agent = Agent::start(command(&yard, &["mcp"]), Era::Older).await;
    let (mut child, mut stdin) = (agent.underway.child, agent.stdin.unwrap());
    drop(agent.underway.stdout);
    stdin.write_all(b"no JSON\n").await.unwrap();
    until("it ends", || child.try_wait().unwrap().is_some()).await;
    assert_eq!(sessions(&yard), Vec::<PathBuf>::new());
    yard.stop().await;
}

#[tokio::test]
async fn without_a_daemon_the_way_to_start_one_is_named() {
    let home = tempfile::tempdir().unwrap();
    let none = said(bare(home.path(), &["mcp"])).await;
    assert_eq!(none.text(), "");
    none.refused(125, &["no daemon found", "branchyard serve"]);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let dead = said(bare(home.path(), &["mcp", "--url", &url])).await;
    dead.refused(125, &["no daemon answers at", "branchyard serve"]);
}

#[tokio::test]
#[ignore = "takes ten seconds: make soak"]
async fn soak_a_daemon_that_does_not_answer_is_named() {
    let home = tempfile::tempdir().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let said = said(bare(home.path(), &["mcp", "--url", &url])).await;
    said.refused(125, &[&url, "does not answer", "branchyard doctor"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_before_stdin_was_closed_is_answered() {
    let mut yard = Yard::new().await;
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(command(&yard, &["mcp"]), era).await;
        let asked = [
            agent.ask("tools/list", json!({})).await,
            agent.ask("prompts/list", json!({})).await,
        ];
        agent.stdin = None;
        for id in &asked {
            agent.result(id).await;
        }
        agent.leave().await;
    }
    yard.stop().await;
}
