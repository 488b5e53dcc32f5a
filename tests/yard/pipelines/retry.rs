//! Retrying: failed jobs have another attempt, and what succeeded stays.

use serde_json::json;

use super::text;
use crate::support::{Yard, json_of, problem_of};

#[tokio::test]
async fn failed_jobs_and_those_that_need_them_run_again_alone() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    let ended = yard
        .run_jobs(&format!(
            r#"
  good:
    runs-on: linux
    outputs: {{word: "${{{{ steps.say.outputs.word }}}}"}}
    steps: [{{id: say, run: "echo good >> {dir}/ran; echo word=kept >> $GITHUB_OUTPUT"}}]
  bad:
    runs-on: linux
    needs: good
    steps:
      - run: 'echo "bad $W $GITHUB_RUN_ATTEMPT" >> {dir}/ran; test -e {dir}/mended'
        env: {{W: "${{{{ needs.good.outputs.word }}}}"}}
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: log, path: name.txt}}
  after: {{needs: bad, runs-on: linux, steps: [{{run: "echo after >> {dir}/ran"}}]}}
"#
        ))
        .await;
    assert_eq!(
        ended.states(),
        ["good succeeded", "bad failed", "after skipped"]
    );
    let retry = format!("/api/pipelines/{}/retry", ended.id());
    for wrong in [json!({"jobs": ["none"]}), json!({"all": true})] {
        assert!(yard.post(&retry, wrong).await.status().is_client_error());
    }
    let again = json_of(yard.post(&retry, json!({})).await).await;
    assert_eq!(again["attempt"], 2);
    let ended = yard.pipeline_ended(ended.id()).await;
    assert_eq!(
        ended.states(),
        ["good succeeded", "bad failed", "after skipped"]
    );

    std::fs::write(yard.mark("mended"), "").unwrap();
    yard.post_json(&retry, json!({})).await;
    let ended = yard.pipeline_ended(ended.id()).await.green();
    assert_eq!(ended.0["attempt"], 3);
    assert_eq!(
        yard.marked("ran"),
        ["good", "bad kept 1", "bad kept 2", "bad kept 3", "after"]
    );
    assert_eq!(ended.job("bad")["attempt"], 3);
    assert_eq!(ended.job("good")["attempt"], 1);
    assert_eq!(
        yard.artifact_file(ended.id(), "log", "name.txt").await,
        "main\n"
    );

    let (status, problem) = problem_of(yard.post(&retry, json!({})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("nothing_to_retry"))
    );
    // By name, one that succeeded runs again too, and what needs it.
    yard.post_json(&retry, json!({"jobs": ["bad"]})).await;
    let ended = yard.pipeline_ended(ended.id()).await.green();
    assert_eq!(yard.marked("ran").len(), 7);
    // Its stream has one end, the last one.
    let follow = format!("/stream/pipelines/{}", ended.id());
    let events = crate::support::events_of(yard.get(&follow).await).await;
    let last = events.last().unwrap();
    assert_eq!(
        (last.kind.as_str(), text(&last.data["state"])),
        ("pipeline", "succeeded")
    );
    assert_eq!(last.data["attempt"], 4);
    yard.stop().await;
}

/// A job whose supervisor went down is tried again if it says so, and once; another one is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_job_is_tried_again_where_it_says_so() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    let job = |name: &str, retry: &str| {
        format!(
            "  {name}:\n    runs-on: linux\n{retry}    steps:\n      - run: |\n          echo try >> {dir}/{name}\n          \
             if [ \"$(wc -l < {dir}/{name})\" = 1 ]; then for i in $(seq 600); do sleep 0.1; done; fi\n"
        )
    };
    let again = "    retry: {max: 1, on: [lost]}\n";
    yard.jobs(&[job("again", again), job("plain", "")].concat());
    let id = yard.start_pipeline(json!({})).await;
    for job in ["again", "plain"] {
        let mark = yard.mark(job);
        crate::support::until("its command runs", || mark.exists()).await;
        let record = yard.get_json(&format!("/api/pipelines/{id}")).await;
        let jobs = record["jobs"].as_array().unwrap();
        let job = jobs.iter().find(|it| it["job"] == job).unwrap();
        yard.kill_supervisor(text(&job["steps"][0]["run_id"])).await;
    }
    let ended = yard.pipeline_ended(&id).await;
    assert_eq!(ended.states(), ["again succeeded", "plain lost"]);
    let again = ended.job("again");
    assert_eq!(
        (&again["attempt"], &again["retries"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(yard.marked("again"), ["try", "try"]);
    assert_eq!(yard.marked("plain"), ["try"]);
    yard.stop().await;
}
