//! Which jobs run, in which order, and what they tell each other.

use serde_json::json;

use super::{Ended, text};
use crate::support::Yard;

#[tokio::test]
async fn jobs_run_after_those_that_they_need_and_take_their_outputs() {
    let mut yard = Yard::new().await;
    let order = yard.mark("order");
    let order = order.display();
    let ended = yard
        .run_jobs(&format!(
            r#"
  last:
    needs: [left, right]
    runs-on: linux
    steps:
      - run: echo last "$L" "$R" >> {order}
        env: {{L: "${{{{ needs.left.outputs.word }}}}", R: "${{{{ needs.right.outputs.word }}}}"}}
  left:
    needs: first
    runs-on: linux
    outputs: {{word: "${{{{ steps.say.outputs.word }}}}-${{{{ needs.first.result }}}}"}}
    steps:
      - id: say
        run: |
          echo left >> {order}
          printf 'word<<END\none\ntwo\nEND\n' >> "$GITHUB_OUTPUT"
  right:
    needs: first
    runs-on: linux
    outputs: {{word: "${{{{ steps.say.outputs.word || 'none' }}}}"}}
    steps: [{{id: say, run: "echo right >> {order}; echo word= >> $GITHUB_OUTPUT"}}]
  first:
    runs-on: linux
    steps: [{{run: "echo first >> {order}"}}]
"#
        ))
        .await
        .green();
    let mut ran = yard.marked("order");
    assert_eq!(ran.remove(0), "first");
    ran[..2].sort();
    // The output of `left` has two lines.
    assert_eq!(ran, ["left", "right", "last one", "two-success none"]);
    let first = text(&ended.job("first")["ended_at"]);
    let last = text(&ended.job("last")["started_at"]);
    assert!(first < last, "{first} {last}");
    yard.stop().await;
}

#[tokio::test]
async fn a_failed_job_has_those_skipped_that_need_it_and_do_not_say_otherwise() {
    let mut yard = Yard::new().await;
    let jobs = |name: &str, rest: &str| {
        format!("  {name}: {{runs-on: linux, {rest}steps: [{{run: \"true\"}}]}}\n")
    };
    let workflow = [
        "  bad: {runs-on: linux, steps: [{run: exit 3}]}\n".to_owned(),
        jobs("after", "needs: bad, "),
        jobs("later", "needs: after, "),
        jobs("always", "needs: bad, if: always(), "),
        jobs("failure", "needs: bad, if: failure(), "),
        // Through `after`, which was skipped.
        jobs("far", "needs: after, if: failure(), "),
        jobs("success", "needs: bad, if: success(), "),
        jobs("never", "if: \"github.ref == 'refs/heads/other'\", "),
        jobs("ready", "if: \"github.ref_name == 'main'\", "),
        jobs(
            "asks",
            "needs: bad, if: \"always() && needs.bad.result == 'failure'\", ",
        ),
        jobs("elsewhere", "").replace("linux", "windows-latest"),
    ];
    let ended = yard.run_jobs(&workflow.concat()).await;
    assert_eq!(ended.state(), "failed");
    assert_eq!(ended.0["reason"], "failed: bad");
    assert_eq!(
        ended.states(),
        [
            "bad failed",
            "after skipped",
            "later skipped",
            "always succeeded",
            "failure succeeded",
            "far succeeded",
            "success skipped",
            "never skipped",
            "ready succeeded",
            "asks succeeded",
            "elsewhere skipped",
        ]
    );
    let reasons = |job: &str| text(&ended.job(job)["reason"]).to_owned();
    assert_eq!(reasons("bad"), "step 1 (Run exit 3): exited with 3");
    assert_eq!(reasons("after"), "needs");
    assert_eq!(reasons("never"), "when");
    assert_eq!(reasons("elsewhere"), "runs_on");
    yard.stop().await;
}

#[tokio::test]
async fn a_job_that_may_fail_stops_nothing() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  may-fail:
    runs-on: linux
    continue-on-error: true
    steps: [{run: exit 1}]
  after:
    needs: may-fail
    runs-on: linux
    steps: [{run: 'echo "result $R"', env: {R: "${{ needs.may-fail.result }}"}}]
"#,
        )
        .await
        .green();
    assert_eq!(ended.states(), ["may-fail failed", "after succeeded"]);
    assert_eq!(yard.step_log(&ended, "after", 1).await, "result success\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_job_that_takes_too_long_is_stopped_with_all_that_it_started() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  slow:
    runs-on: linux
    timeout-minutes: 0.02
    steps:
      - run: sleep 300 & sleep 300
      - run: echo skipped
      - run: echo tidy
        if: always()
  step:
    runs-on: linux
    steps:
      - run: sleep 300
        timeout-minutes: 0.01
      - run: echo after
        if: failure()
"#,
        )
        .await;
    assert_eq!(ended.states(), ["slow timed_out", "step failed"]);
    let slow = ended.steps("slow");
    assert_eq!(slow, ["1 timed_out", "2 skipped", "3 succeeded"]);
    assert_eq!(ended.steps("step"), ["1 timed_out", "2 succeeded"]);
    assert!(text(&ended.job("slow")["reason"]).contains("timeout-minutes"));
    yard.stop().await;
}

#[tokio::test]
async fn inputs_and_events_choose_what_is_planned() {
    let mut yard = Yard::new().await;
    yard.workflow(
        r#"
name: Both
run-name: "level ${{ inputs.level }}"
on:
  push: {branches: [main]}
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [quick, full], default: quick}
      count: {type: number, default: 2}
      deep: {type: boolean}
jobs:
  one:
    runs-on: linux
    steps:
      - run: echo "$EVENT $LEVEL $COUNT $DEEP"
        env:
          EVENT: ${{ github.event_name }}
          LEVEL: ${{ inputs.level }}
          COUNT: ${{ inputs.count }}
          DEEP: ${{ inputs.deep }}
"#,
    );
    let printed = async |ended: &Ended| yard.step_log(ended, "one", 1).await;
    let plain = yard.pipeline(json!({})).await.green();
    assert_eq!(plain.0["run_name"], "level quick");
    assert_eq!(printed(&plain).await, "workflow_dispatch quick 2 false\n");
    let inputs = json!({"inputs": {"level": "full", "count": 7, "deep": true}});
    let full = yard.pipeline(inputs).await.green();
    assert_eq!(full.0["run_name"], "level full");
    assert_eq!(printed(&full).await, "workflow_dispatch full 7 true\n");
    let push = yard.pipeline(json!({"event": "push"})).await.green();
    assert_eq!(
        (&push.0["event"], &push.0["name"]),
        (&json!("push"), &json!("Both"))
    );
    for wrong in [
        json!({"inputs": {"level": "slow"}}),
        json!({"inputs": {"levle": "full"}}),
        json!({"event": "push", "inputs": {"level": "full"}}),
        json!({"event": "pull_request"}),
        json!({"event": "pushed"}),
    ] {
        let answer = yard.post(super::PIPELINES, wrong.clone()).await;
        assert_eq!(answer.status(), 422, "{wrong}");
    }
    yard.stop().await;
}
