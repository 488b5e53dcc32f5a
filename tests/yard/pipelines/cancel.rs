//! Cancelling a pipeline: what runs is told to stop, what was to come does not, and what is to be done even then is.

use reqwest::Method;
use serde_json::json;

use super::{cancel, text};
use crate::support::{Options, Yard, processes_of};

const WORKFLOW: &str = r#"
  one:
    runs-on: linux
    steps:
      - {background: true, run: echo up; sleep 300}
      - run: trap 'echo stopped; exit 9' TERM; echo up; sleep 300 & wait
      - run: echo skipped
      - {if: failure(), run: echo skipped}
      - {if: cancelled(), run: echo tidy}
      - {if: always(), run: echo always}
  two: {needs: one, runs-on: linux, steps: [{run: echo}]}
  three: {needs: one, if: always(), runs-on: linux, steps: [{run: echo}]}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_stops_and_what_tidies_up_is_run() {
    let mut yard = Yard::asleep(Options::default());
    yard.jobs(WORKFLOW);
    // The second time, the daemon is killed right after it was told.
    for is_killed in [false, true] {
        let mut daemon = yard.start_binary(&[]).await;
        let id = yard.start_pipeline(json!({})).await;
        let job = yard.until_step(&id, 1, "running").await;
        for step in [0, 1] {
            let run = text(&job["steps"][step]["run_id"]);
            yard.follow(run).await.until_line("up").await;
        }
        let answer = cancel(&yard, &id).await;
        assert_eq!(answer["pipeline_id"], id.as_str());
        if is_killed {
            daemon.kill().await;
            daemon = yard.start_binary(&[]).await;
        }
        let ended = yard.pipeline_ended(&id).await;
        assert_eq!(ended.state(), "cancelled", "{:#}", ended.0);
        assert_eq!(ended.0["reason"], "cancelled by session");
        assert_eq!(
            ended.states(),
            ["one cancelled", "two cancelled", "three cancelled"]
        );
        let steps = ended.steps("one");
        assert_eq!(
            steps[2..],
            ["3 skipped", "4 skipped", "5 succeeded", "6 succeeded"]
        );
        for step in [1, 2] {
            assert_eq!(processes_of(ended.run("one", step)), [""; 0]);
        }
        // Again, of one that has ended, changes nothing.
        assert_eq!(cancel(&yard, &id).await, ended.0);
        daemon.stop().await;
    }
}

#[tokio::test]
async fn a_pipeline_that_waits_for_a_slot_can_be_cancelled() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_concurrent_runs = 1".to_owned(),
        ..Options::default()
    })
    .await;
    yard.jobs("  one: {runs-on: linux, steps: [{run: sleep 300}]}\n");
    let first = yard.start_pipeline(json!({})).await;
    yard.until_job(&first, "one", "running").await;
    let second = yard.start_pipeline(json!({})).await;
    yard.until_job(&second, "one", "queued").await;
    cancel(&yard, &second).await;
    let ended = yard.pipeline_ended(&second).await;
    assert_eq!(ended.states(), ["one cancelled"]);
    assert_eq!(ended.job("one")["steps"][0]["run_id"], json!(null));
    let id = "00000000-0000-0000-0000-000000000000";
    let path = format!("/api/pipelines/{id}/cancel");
    let unknown = yard.request(Method::POST, &path).send().await.unwrap();
    assert!(unknown.status().is_client_error());
    cancel(&yard, &first).await;
    assert_eq!(yard.pipeline_ended(&first).await.state(), "cancelled");
    yard.stop().await;
}

impl Yard {
    /// Waits until a step of the first job is in this state; the job.
    async fn until_step(&self, pipeline: &str, at: usize, state: &str) -> serde_json::Value {
        let path = format!("/stream/pipelines/{pipeline}");
        let request = self
            .request(Method::GET, &path)
            .header("accept", "application/x-ndjson");
        let mut stream = crate::support::Following::new(request.send().await.unwrap());
        let is_it = |job: &serde_json::Value| {
            let step = &job["steps"][at];
            step["state"] == state && step["run_id"].is_string()
        };
        stream
            .until(|event| event.kind == "job" && is_it(&event.data))
            .await
            .data
    }
}
