//! A daemon that is started anew, at another address and with another key: the agent does not notice.

use serde_json::json;

use super::{Agent, Era};
use crate::cli::restart::Restarting;

const MAKEFILE: &str = "all:\n\t@true\n";

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_goes_on_with_a_daemon_that_was_started_anew() {
    let mut yard = Restarting::new(MAKEFILE).await;
    let args = ["mcp", "--repo", "demo", "--branch", "main"];
    let mut agents = Vec::new();
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(yard.command(&args), era).await;
        agent.call("ls", json!({})).await;
        agents.push(agent);
    }
    // There before the agent asks.
    yard.kill().await;
    yard.start_anew().await;
    for agent in &mut agents {
        assert_eq!(agent.call("ls", json!({})).await["branch"], "main");
    }
    // Asked while there is none.
    yard.kill().await;
    let mut asked = Vec::new();
    for agent in &mut agents {
        let id = agent.ask_tool("ls", json!({})).await;
        agent
            .stderr
            .until("waiting up to 30 s for the daemon")
            .await;
        asked.push(id);
    }
    yard.start_anew().await;
    for (agent, id) in agents.iter_mut().zip(asked) {
        let result = agent.result(&id).await;
        assert_eq!(result["structuredContent"]["branch"], "main", "{result}");
        agent.stderr.until("the daemon answers at ").await;
    }
    for agent in agents {
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_lost_is_opened_again() {
    let mut yard = Restarting::new(MAKEFILE).await;
    let args = ["mcp", "--repo", "demo", "--branch", "main"];
    let mut agent = Agent::start(yard.command(&args), Era::Older).await;
    agent.call("ls", json!({})).await;
    yard.kill().await;
    let sessions = yard.yard.workspaces.join(".branchyard/mcp-sessions");
    std::fs::remove_dir_all(&sessions).unwrap();
    yard.start_anew().await;
    // Side by side: one new session is enough.
    let mut asked = Vec::new();
    for _ in 0..8 {
        asked.push(agent.ask_tool("ls", json!({})).await);
    }
    for id in asked {
        agent.result(&id).await;
    }
    assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), 1);
    agent.leave().await;
    assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), 0);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: make soak"]
async fn soak_an_agent_is_told_that_no_daemon_comes_back() {
    let mut yard = Restarting::new(MAKEFILE).await;
    for era in [Era::Older, Era::Newer] {
        let args = ["mcp", "--repo", "demo", "--branch", "main"];
        let mut agent = Agent::start(yard.command(&args), era).await;
        agent.call("ls", json!({})).await;
        yard.kill().await;
        let waiting = [
            agent.ask_tool("ls", json!({})).await,
            agent.ask("tools/list", json!({})).await,
        ];
        for id in &waiting {
            let (code, why) = agent.error(id).await;
            assert_eq!(code, -32000, "{why}");
            assert!(why.contains("start one with `branchyard serve`"), "{why}");
        }
        // Nobody is waited for twice.
        let late = agent.ask("tools/list", json!({})).await;
        agent.error(&late).await;
        yard.start_anew().await;
        assert_eq!(agent.call("ls", json!({})).await["branch"], "main");
        let said = agent.leave().await;
        assert_eq!(said.matches("waiting up to").count(), 1, "{said}");
    }
    yard.stop().await;
}
