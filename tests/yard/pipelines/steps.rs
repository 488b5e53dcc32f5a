//! What the steps of a job do to each other, and how each of them is run.

use serde_json::json;

use crate::support::Yard;

#[tokio::test]
async fn shells_and_directories_are_those_that_the_file_names() {
    let mut yard = Yard::new().await;
    yard.origin.write("sub/deep/name.txt", "deep\n");
    yard.workflow(
        r#"
on: workflow_dispatch
defaults: {run: {working-directory: sub}}
jobs:
  one:
    runs-on: linux
    defaults: {run: {shell: sh}}
    steps:
      - run: 'basename "$PWD"; echo "${BASH_VERSION:-plain}"'
      - run: cat name.txt
        working-directory: sub/deep
      - run: 'false | true; echo "${BASH_VERSION:+bash}"'
        shell: bash
        continue-on-error: true
      - run: |
          import os
          print(os.path.basename(os.getcwd()))
        shell: python
      - run: one two
        shell: cat {0}
      - run: pwd
        working-directory: "${{ github.workspace }}/sub/deep"
      - run: pwd
        working-directory: ../..
        continue-on-error: true
      - run: pwd
        working-directory: nowhere
        continue-on-error: true
"#,
    );
    let ended = yard.pipeline(json!({})).await;
    let log = async |step| yard.step_log(&ended, "one", step).await;
    assert_eq!(log(1).await, "sub\nplain\n");
    assert_eq!(log(2).await, "deep\n");
    // `shell: bash` has pipefail.
    assert_eq!(log(3).await, "");
    assert_eq!(log(4).await, "sub\n");
    assert_eq!(log(5).await.trim_end(), "one two");
    assert!(log(6).await.ends_with("/sub/deep\n"));
    assert_eq!(
        ended.steps("one"),
        [
            "1 succeeded",
            "2 succeeded",
            "3 failed",
            "4 succeeded",
            "5 succeeded",
            "6 succeeded",
            "7 rejected",
            "8 rejected"
        ]
    );
    assert_eq!(ended.state(), "succeeded", "{:#}", ended.0);
    yard.stop().await;
}

#[tokio::test]
async fn a_failed_step_has_the_others_skipped_that_do_not_say_otherwise() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  one:
    runs-on: linux
    steps:
      - {id: may, run: exit 2, continue-on-error: true}
      - run: 'echo "$O $C"'
        env: {O: "${{ steps.may.outcome }}", C: "${{ steps.may.conclusion }}"}
      - {id: bad, run: "echo word=kept >> $GITHUB_OUTPUT; exit 5"}
      - run: echo skipped
      - {if: failure(), run: 'echo "$W"', env: {W: "${{ steps.bad.outputs.word }} ${{ job.status }}"}}
      - {if: always(), run: echo always}
      - {if: "success() || steps.bad.outcome == 'failure'", run: echo either}
      - {if: cancelled(), run: echo never}
"#,
        )
        .await;
    assert_eq!(ended.state(), "failed");
    assert_eq!(
        ended.steps("one"),
        [
            "1 failed",
            "2 succeeded",
            "3 failed",
            "4 skipped",
            "5 succeeded",
            "6 succeeded",
            "7 succeeded",
            "8 skipped",
        ]
    );
    assert_eq!(yard.step_log(&ended, "one", 2).await, "failure success\n");
    assert_eq!(yard.step_log(&ended, "one", 5).await, "kept failure\n");
    assert_eq!(ended.job("one")["steps"][2]["exit_code"], 5);
    yard.stop().await;
}

#[tokio::test]
async fn steps_in_the_background_are_waited_for_cancelled_and_never_left() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    let ended = yard
        .run_jobs(&format!(
            r#"
  one:
    runs-on: linux
    steps:
      - id: maker
        background: true
        run: |
          while [ ! -e {dir}/go ]; do sleep 0.01; done
          echo word=made >> "$GITHUB_OUTPUT"
      - {{id: server, background: true, run: "touch {dir}/up; sleep 300"}}
      - {{background: true, run: "sleep 300"}}
      - run: "while [ ! -e {dir}/up ]; do sleep 0.01; done; touch {dir}/go"
      - wait: maker
      - run: 'echo "$W"'
        env: {{W: "${{{{ steps.maker.outputs.word }}}}"}}
      - cancel: server
      - run: echo done
"#
        ))
        .await
        .green();
    assert_eq!(yard.step_log(&ended, "one", 6).await, "made\n");
    let steps = ended.steps("one");
    assert!(
        steps.iter().all(|step| step.ends_with("succeeded")),
        "{steps:?}"
    );
    for step in [2, 3] {
        let run = ended.run("one", step);
        assert_eq!(crate::support::processes_of(run), [""; 0]);
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(record["state"], "cancelled", "{record:#}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_step_in_the_background_that_fails_fails_who_waits_for_it() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  waited:
    runs-on: linux
    steps:
      - {id: bad, background: true, run: exit 4}
      - {id: good, background: true, run: "true"}
      - wait-all: true
      - run: echo skipped
  unwaited:
    runs-on: linux
    steps:
      - {id: bad, background: true, run: "echo gone; exit 4"}
      - {id: good, background: true, run: "true"}
      - wait: [good, bad]
        continue-on-error: true
"#,
        )
        .await;
    assert_eq!(
        ended.steps("waited"),
        ["1 failed", "2 succeeded", "3 failed", "4 skipped"]
    );
    assert_eq!(ended.states(), ["waited failed", "unwaited failed"]);
    yard.stop().await;
}

#[tokio::test]
async fn errors_and_warnings_are_diagnostics_of_the_run() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  one:
    runs-on: linux
    steps:
      - run: |
          echo "::error file=src/a.c,line=7,col=3::it is%20%0Abroken"
          echo "::warning file=src/b.c,line=9::careful"
          echo "::group::quiet"
          echo "::endgroup::"
          exit 1
"#,
        )
        .await;
    let run = ended.run("one", 1);
    let found = yard.get_json(&format!("/api/runs/{run}/diagnostics")).await;
    let items = found["items"].as_array().unwrap();
    let seen: Vec<_> = items
        .iter()
        .map(|item| {
            let place = format!("{}:{}", item["file"].as_str().unwrap(), item["line"]);
            (place, item["severity"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [("src/a.c:7", "error"), ("src/b.c:9", "warning")];
    let expected = expected.map(|(place, severity)| (place.to_owned(), severity.to_owned()));
    assert_eq!(seen, expected, "{found:#}");
    yard.stop().await;
}
