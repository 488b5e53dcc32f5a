//! A daemon that dies in the middle of an answer leaves the rest of it to the next.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;

use super::{answered, make, ran, times_ran, yard};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_cut_off_is_given_to_its_end() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[]).await;
    let first = ran(&make(&yard, "check").await);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());

    let mut daemon = yard
        .start_binary(&[("BRANCHYARD_CRASH_AT", "answering")])
        .await;
    let path = "/stream/repos/demo/branches/main/make";
    let body = json!({"args": ["check"], "reuse": true});
    // The connection may be cut before there is an answer.
    drop(yard.request(Method::POST, path).json(&body).send().await);
    assert!(!daemon.ended().await.success());

    let mut daemon = yard.start_binary(&[]).await;
    let newest = yard.get_json("/api/runs?limit=1").await["items"][0].clone();
    let record = yard.ended(newest["run_id"].as_str().unwrap()).await;
    assert_eq!(answered(&record), first);
    assert_eq!(times_ran(&yard), 1);
    let run = record["run_id"].as_str().unwrap();
    assert_eq!(yard.log(run).await, yard.log(&first).await);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}
