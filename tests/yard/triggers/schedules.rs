//! Schedules of workflow files on the default branch.

use serde_json::json;

use super::{auto, watching};
use crate::support::{Yard, until};

const EVERY_MINUTE: &str = r#"
on: {schedule: [{cron: "* * * * *"}]}
jobs: {night: {runs-on: linux, steps: [{run: "echo $GITHUB_EVENT_NAME"}]}}
"#;

/// Has the yard believe that the schedule was last started at `slot`.
fn last_started(yard: &Yard, slot: &str) {
    let path = yard.workspaces.join(".branchyard/triggers/demo.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut seen: serde_json::Value = serde_json::from_str(&text).unwrap();
    let schedules = seen["schedules"].as_object_mut().unwrap();
    assert_eq!(schedules.len(), 1);
    for (_, done) in schedules {
        *done = json!(slot);
    }
    std::fs::write(&path, seen.to_string()).unwrap();
}

async fn wait_for_schedule(yard: &Yard) {
    let path = yard.workspaces.join(".branchyard/triggers/demo.json");
    until("the schedule is known", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains("* * * * *"))
    })
    .await;
}

#[tokio::test]
async fn a_slot_that_passed_while_no_daemon_ran_is_started_once_and_no_earlier_one() {
    let mut yard = watching(EVERY_MINUTE, "").await;
    wait_for_schedule(&yard).await;
    yard.stop().await;
    last_started(&yard, "2026-01-01T00:00:00Z");
    yard.start().await;
    let started = yard.ended_pipelines(1).await.remove(0);
    assert_eq!(started["event"], "schedule");
    assert_eq!(started["principal"], "schedule");
    assert_eq!(started["branch"], "main");
    assert_eq!(yard.said(&started).await, "schedule\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_clock_that_was_a_day_ahead_starts_nothing_again() {
    let mut yard = watching(EVERY_MINUTE, "poll = \"100ms\"").await;
    wait_for_schedule(&yard).await;
    yard.stop().await;
    let tomorrow = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24);
    last_started(&yard, &tomorrow.to_string());
    yard.configure(auto("poll = \"100ms\""));
    yard.start().await;
    yard.looked().await;
    yard.asked_again().await;
    let page = yard.get_json(super::PIPELINES).await;
    assert_eq!(page["items"], json!([]));
    yard.stop().await;
}
