//! What the daemon says beside its answers.

use serde_json::{Value, json};

use super::stand_in::StandIn;
use super::{Agent, Era};

/// The notifications of the stand-in that came, in order.
async fn told(agent: &mut Agent, count: usize) -> Vec<Value> {
    let mut told = Vec::new();
    while told.len() < count {
        let message = agent.message().await;
        assert_eq!(message["method"], "notifications/told", "{message}");
        told.push(message["params"].clone());
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_before_an_answer_is_passed_on_before_it() {
    let home = tempfile::tempdir().unwrap();
    let daemon = StandIn::start(home.path());
    let mut agent = Agent::start(StandIn::command(home.path()), Era::Newer).await;
    for _ in 0..3 {
        let id = agent.ask("tell", json!({})).await;
        assert_eq!(told(&mut agent, 1).await, std::slice::from_ref(&id));
        assert_eq!(agent.message().await["id"], id);
    }
    agent.leave().await;
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_a_session_goes_on_where_it_broke_off() {
    let home = tempfile::tempdir().unwrap();
    let daemon = StandIn::start(home.path());
    let mut agent = Agent::start(StandIn::command(home.path()), Era::Older).await;
    assert_eq!(told(&mut agent, 2).await, [json!(1), json!(2)]);
    agent.leave().await;
    daemon.kill();
}
