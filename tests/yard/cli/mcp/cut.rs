//! Answers that do not come: cut off, cancelled, refused.

use serde_json::json;

use super::stand_in::StandIn;
use super::{Agent, Era};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_cut_off_is_not_made_twice() {
    for era in [Era::Older, Era::Newer] {
        let home = tempfile::tempdir().unwrap();
        let first = StandIn::start(home.path());
        let mut agent = Agent::start(StandIn::command(home.path()), era).await;
        let call = agent.ask_tool("make", json!({})).await;
        let listing = agent.ask("hang", json!({})).await;
        first.heard.until_heard("tools/call").await;
        first.heard.until_heard("hang").await;
        first.kill();
        let (code, why) = agent.error(&call).await;
        assert_eq!(code, -32000, "{why}");
        for word in [
            "broke while the answer was awaited",
            "goes on",
            "`runs`",
            "`run_wait`",
        ] {
            assert!(why.contains(word), "no {word:?} in {why}");
        }
        let second = StandIn::start(home.path());
        // What started nothing is asked for again.
        let again = second.heard.until_heard("hang").await;
        assert_eq!(again["id"], listing);
        agent.request("ping", json!({})).await;
        assert_eq!(second.heard.count("tools/call"), 0);
        agent.leave().await;
        second.heard.until_dropped(&listing).await;
        second.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_gets_to_the_daemon() {
    for era in [Era::Older, Era::Newer] {
        let home = tempfile::tempdir().unwrap();
        let daemon = StandIn::start(home.path());
        let mut agent = Agent::start(StandIn::command(home.path()), era).await;
        let call = agent.ask_tool("make", json!({})).await;
        let other = agent.ask_tool("make", json!({})).await;
        if era == Era::Newer {
            daemon.heard.until_heard("tools/call").await;
        }
        let cancel = json!({ "requestId": call, "reason": "enough" });
        agent
            .notify("notifications/cancelled", cancel.clone())
            .await;
        daemon.heard.until_dropped(&call).await;
        if era == Era::Older {
            let heard = daemon.heard.until_heard("notifications/cancelled").await;
            assert_eq!(heard["params"], cancel);
        } else {
            assert_eq!(daemon.heard.count("notifications/cancelled"), 0);
        }
        assert!(!daemon.heard.was_dropped(&other));
        // Nobody answers what was cancelled.
        agent.request("ping", json!({})).await;
        assert!(agent.answers.is_empty(), "{:?}", agent.answers);
        agent.leave().await;
        daemon.heard.until_dropped(&other).await;
        daemon.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_daemon_is_an_error_in_its_own_words() {
    let home = tempfile::tempdir().unwrap();
    let daemon = StandIn::start(home.path());
    let mut agent = Agent::start(StandIn::command(home.path()), Era::Older).await;
    let id = agent.ask("refused", json!({})).await;
    let (_, why) = agent.error(&id).await;
    assert_eq!(why, "not for you; ask somebody else");
    agent.notify("refused", json!({})).await;
    agent.stderr.until("not for you").await;
    let same = agent.ask("hang", json!({})).await;
    daemon.heard.until_heard("hang").await;
    agent.next_id -= 1;
    assert_eq!(agent.ask("ping", json!({})).await, same);
    assert!(agent.error(&same).await.1.contains("this id is under way"));
    agent.leave().await;
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_at_the_same_address_is_found() {
    for era in [Era::Older, Era::Newer] {
        let home = tempfile::tempdir().unwrap();
        let daemon = StandIn::start(home.path());
        let mut agent = Agent::start(StandIn::command(home.path()), era).await;
        agent.request("ping", json!({})).await;
        daemon.take_key("second");
        let id = agent.ask("ping", json!({})).await;
        assert_eq!(agent.error(&id).await.1, "the key is another");
        daemon.leave_key("second");
        // Side by side: each of them finds it.
        let mut asked = Vec::new();
        for _ in 0..8 {
            asked.push(agent.ask("ping", json!({})).await);
        }
        for id in asked {
            agent.result(&id).await;
        }
        agent.leave().await;
        daemon.kill();
    }
}
