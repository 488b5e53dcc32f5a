//! A run answers on other branches that have the same tree, to those who could look at it.

use serde_json::json;

use super::{answered, ask, ran, times_ran, yard};
use crate::support::{Agent, Yard, encode};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_tree_on_another_branch_is_answered_to_those_who_see_both() {
    let mut yard = yard();
    for branch in ["second", "third", "fourth", "group/a"] {
        yard.origin.push(branch);
    }
    yard.start().await;
    let check = json!({"args": ["check"]});
    let first = ran(&ask(&yard, "make", "main", check.clone()).await);
    assert_eq!(answered(&ask(&yard, "make", "second", check).await), first);

    // Who sees one branch alone is told nothing of what another's run said.
    let asked = json!({"name": "third", "role": "dev", "repos": ["demo"], "branches": ["third"]});
    let token = yard.token(asked).await;
    let own = make_as(&yard, &token, "third").await;
    assert_eq!(own["cached"], json!(null), "{own}");
    assert_eq!(times_ran(&yard), 2);
    let again = make_as(&yard, &token, "third").await;
    assert_eq!(again["cached"], own["run_id"], "{again}");

    // An agent is told by whom it was answered.
    let agent = Agent::new(&yard);
    let answer = agent
        .call(
            "make",
            json!({"repo": "demo", "branch": "fourth", "args": ["check"], "reuse": true}),
        )
        .await;
    assert_eq!(answer["state"], "succeeded", "{answer}");
    assert!(answer["cached"].is_string(), "{answer}");
    assert!(answer["output"].as_str().unwrap().contains("checked"));

    // And so are the runs of a group.
    let body = json!({"branches": ["group/*", "main"], "args": ["check"], "reuse": true});
    let events = crate::support::events_of(yard.post("/stream/repos/demo/make", body).await).await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );
    assert_eq!(times_ran(&yard), 2);
    yard.stop().await;
}

/// `make check` with `reuse`, by the holder of a token; its last event.
async fn make_as(yard: &Yard, token: &str, branch: &str) -> serde_json::Value {
    let path = format!(
        "{}/stream/repos/demo/branches/{}/make",
        yard.url,
        encode(branch)
    );
    let request = yard.client.post(path).bearer_auth(token);
    let request = request.json(&json!({"args": ["check"], "reuse": true}));
    let events = crate::support::events_of(request.send().await.unwrap()).await;
    let mut last = events.last().unwrap().data.clone();
    last["run_id"] = events[0].data["run_id"].clone();
    last
}
