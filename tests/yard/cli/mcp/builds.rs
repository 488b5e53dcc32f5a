//! Builds that an agent on stdio started: taken back, cut off, watched.

use serde_json::{Value, json};

use super::{Agent, Era};
use crate::cli::restart::Restarting;
use crate::support::until;

/// Says that it began, and ends when it is let.
const GATED: &str = "\
gate:
\t@touch began; for i in `seq 3000`; do [ -e open ] && break; sleep 0.02; done; rm -f open; echo through
";
const ON_MAIN: [&str; 5] = ["mcp", "--repo", "demo", "--branch", "main"];

/// Asks for a build that waits at its gate, and waits until it is there; the id of the request.
async fn started(yard: &Restarting, agent: &mut Agent, on_cancel: &str) -> Value {
    let began = yard.yard.workspace("main").join("began");
    let asked = json!({ "args": ["gate"], "on_cancel": on_cancel });
    let call = agent.ask_tool("make", asked).await;
    until("the build began", || began.exists()).await;
    std::fs::remove_file(began).unwrap();
    call
}

/// The latest run, whoever is asked for it.
async fn latest(agent: &mut Agent) -> Value {
    let runs = agent.call("runs", json!({})).await;
    runs["runs"][0].clone()
}

/// How the latest run ended.
async fn end_of(agent: &mut Agent) -> Value {
    let run = latest(agent).await;
    let ended = agent.call("run_wait", json!({ "run_id": run["run_id"] }));
    ended.await["state"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_taken_back_ends_its_build_only_where_that_was_asked_for() {
    let yard = Restarting::new(GATED).await;
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(yard.command(&ON_MAIN), era).await;
        for (on_cancel, state) in [("cancel", "cancelled"), ("detach", "succeeded")] {
            let call = started(&yard, &mut agent, on_cancel).await;
            let cancel = json!({ "requestId": call, "reason": "enough" });
            agent.notify("notifications/cancelled", cancel).await;
            if on_cancel == "detach" {
                assert_eq!(latest(&mut agent).await["state"], "running");
                yard.open_gate("main");
            }
            assert_eq!(end_of(&mut agent).await, state, "{era:?}");
            assert!(agent.answers.is_empty(), "{:?}", agent.answers);
        }
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_goes_leaves_its_builds_unless_they_were_to_end_with_their_call() {
    let yard = Restarting::new(GATED).await;
    let mut other = Agent::start(yard.command(&ON_MAIN), Era::Newer).await;
    for era in [Era::Older, Era::Newer] {
        for (on_cancel, state) in [("cancel", "cancelled"), ("detach", "succeeded")] {
            let mut agent = Agent::start(yard.command(&ON_MAIN), era).await;
            started(&yard, &mut agent, on_cancel).await;
            agent.leave().await;
            if on_cancel == "detach" {
                assert_eq!(latest(&mut other).await["state"], "running");
                yard.open_gate("main");
            }
            assert_eq!(end_of(&mut other).await, state, "{era:?}");
        }
    }
    other.leave().await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_whose_daemon_went_is_found_again() {
    let mut yard = Restarting::new(GATED).await;
    for (era, kills) in [
        (Era::Older, true),
        (Era::Newer, true),
        (Era::Older, false),
        (Era::Newer, false),
    ] {
        let mut agent = Agent::start(yard.command(&ON_MAIN), era).await;
        // It was the daemon that went, not the client that took the call back.
        let call = started(&yard, &mut agent, "cancel").await;
        if kills {
            yard.kill().await;
            let (code, why) = agent.error(&call).await;
            assert_eq!(code, -32000, "{why}");
            assert!(why.contains("`run_wait`"), "{why}");
        } else {
            yard.hurry().await;
            // It may say how far things are before it goes; either way the agent hears how to go on.
            let said = agent.answer(&call).await.to_string();
            assert!(said.contains("run_wait"), "{said}");
        }
        yard.start_anew().await;
        assert_eq!(latest(&mut agent).await["state"], "running", "{era:?}");
        yard.open_gate("main");
        assert_eq!(end_of(&mut agent).await, "succeeded");
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_watched_stays_watched_when_the_daemon_is_started_anew() {
    let mut yard = Restarting::new(GATED).await;
    let file = "workspace://demo/main/name.txt";
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(yard.command(&ON_MAIN), era).await;
        agent
            .call("workspace", json!({ "action": "prepare" }))
            .await;
        agent.watch(&[file, "yard://repos"]).await;
        if era == Era::Older {
            let unwatched = json!({ "uri": "yard://repos" });
            agent.request("resources/unsubscribe", unwatched).await;
        }
        for (text, restarts) in [("first\n", false), ("second\n", true), ("third\n", true)] {
            if restarts {
                yard.kill().await;
            }
            // Also what changes while nobody looks is told of.
            std::fs::write(yard.yard.workspace("main").join("name.txt"), text).unwrap();
            if restarts {
                yard.start_anew().await;
            }
            let told = agent.until_updated(file, text).await;
            if restarts && era == Era::Older {
                assert!(told.iter().all(|uri| uri == file), "{told:?}");
            }
        }
        agent.leave().await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_at_once_are_answered() {
    let yard = Restarting::new(GATED).await;
    for era in [Era::Older, Era::Newer] {
        let mut agent = Agent::start(yard.command(&ON_MAIN), era).await;
        agent.call("ls", json!({})).await;
        let mut asked = Vec::new();
        for _ in 0..200 {
            asked.push(agent.ask_tool("ls", json!({})).await);
        }
        for id in asked {
            let result = agent.result(&id).await;
            assert_eq!(result["structuredContent"]["branch"], "main", "{result}");
        }
        agent.leave().await;
    }
    yard.stop().await;
}
