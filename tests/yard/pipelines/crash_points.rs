//! The daemon killed at every named moment of a pipeline's life: what was on disk by then is enough, and nothing is done
//! twice.

use serde_json::{Value, json};

use super::{Ended, PIPELINES};
use crate::support::{Options, Yard, processes_in, until};

/// The moments, whether the pipeline is one by then, and how many daemons in a row are killed there.
const POINTS: [(&str, bool, usize); 11] = [
    ("pipeline-planned", false, 1),
    ("pipeline-recorded", true, 1),
    ("attempt-recorded", true, 2),
    ("scratch-registered", true, 1),
    ("scratch-prepared", true, 1),
    ("step-begins", true, 1),
    ("step-started", true, 2),
    ("step-ended", true, 2),
    ("action-done", true, 1),
    ("job-ended", true, 2),
    ("pipeline-told", true, 1),
];

fn workflow(yard: &Yard) {
    let marks = yard.mark("marks");
    yard.jobs(&format!(
        r#"
  one:
    runs-on: linux
    name: "one at ${{{{ github.ref_name }}}}"
    outputs: {{word: "${{{{ steps.say.outputs.word }}}}"}}
    steps:
      - id: say
        # Once it has run, this does not hold any more.
        if: hashFiles('made') == ''
        run: |
          echo one >> {0}; echo "$GITHUB_RUN_ID" > made; echo said
          echo word=kept >> "$GITHUB_OUTPUT"; echo LEVEL=high >> "$GITHUB_ENV"; echo text >> "$GITHUB_STEP_SUMMARY"
      - run: echo two "$LEVEL" "${{{{ steps.say.outputs.word }}}}" "$(wc -l < made)" >> {0}
      - uses: actions/upload-artifact@v4
        with: {{name: made, path: made}}
  may-fail:
    needs: one
    runs-on: linux
    continue-on-error: ${{{{ needs.one.outputs.word == 'kept' }}}}
    steps: [{{run: "echo fails >> {0}; exit 1"}}]
  last:
    needs: [one, may-fail]
    runs-on: linux
    steps: [{{run: "echo last ${{{{ needs.one.outputs.word }}}} >> {0}"}}]
"#,
        marks.display()
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_moment_starts_no_step_twice_and_loses_nothing() {
    for (point, is_there, kills) in POINTS {
        println!("{point}");
        let mut yard = Yard::asleep(Options::default());
        workflow(&yard);
        let crash = [("BRANCHYARD_CRASH_AT", point)];
        let mut daemon = yard.start_binary(&crash).await;
        let request = yard
            .request(reqwest::Method::POST, PIPELINES)
            .json(&json!({}));
        let _ = request.send().await;
        assert!(!daemon.ended().await.success(), "{point}");
        for _ in 1..kills {
            // It may come to that place before it serves anyone.
            let mut daemon = yard.spawn_binary(&crash);
            assert!(!daemon.ended().await.success(), "{point}");
        }
        let mut daemon = yard.start_binary(&[]).await;
        let listed = yard.get_json(PIPELINES).await;
        let items = listed["items"].as_array().unwrap();
        assert_eq!(items.len(), usize::from(is_there), "{point}");
        if let Some(item) = items.first() {
            let ended = yard.pipeline_ended(super::text(&item["pipeline_id"])).await;
            see_all_of_it(&yard, point, &ended).await;
        }
        let left = std::fs::read_dir(yard.workspaces.join(".branchyard/pipelines"));
        assert_eq!(left.unwrap().count(), items.len(), "{point}");
        daemon.stop().await;
    }
}

async fn see_all_of_it(yard: &Yard, point: &str, ended: &Ended) {
    assert_eq!(ended.state(), "succeeded", "{point}: {:#}", ended.0);
    assert_eq!(
        ended.states(),
        ["one succeeded", "may-fail failed", "last succeeded"],
        "{point}"
    );
    assert_eq!(
        yard.marked("marks"),
        ["one", "two high kept 1", "fails", "last kept"],
        "{point}"
    );
    assert_eq!(ended.job("one")["name"], "one at main", "{point}");
    assert_eq!(ended.job("one")["artifacts"], json!(["made"]), "{point}");
    assert_eq!(yard.step_log(ended, "one", 1).await, "said\n", "{point}");
    let summary = format!("/api/pipelines/{}/jobs/one/summary", ended.id());
    let summary = yard.get(&summary).await.text().await.unwrap();
    assert_eq!(summary, "text\n", "{point}");
    let made = yard.artifact_file(ended.id(), "made", "made").await;
    assert_eq!(made.trim(), ended.id(), "{point}");
    // One end is told, and nothing after it.
    let follow = format!("/stream/pipelines/{}", ended.id());
    let events = crate::support::events_of(yard.get(&follow).await).await;
    let is_end = |data: &Value| data["ended_at"].is_string() && data["jobs"].is_array();
    let ends = events.iter().filter(|event| is_end(&event.data)).count();
    assert_eq!(
        (ends, is_end(&events.last().unwrap().data)),
        (1, true),
        "{point}"
    );
    // Nothing of it is left but what is kept.
    assert_eq!(processes_in(&yard.workspaces), [""; 0], "{point}");
    let tmp = yard.workspaces.join(".branchyard/tmp");
    until("its temporary files are gone", || {
        std::fs::read_dir(&tmp).map_or(true, |mut entries| entries.next().is_none())
    })
    .await;
    let scratch = yard.scratch_worktrees();
    assert!(scratch.len() <= 2, "{point}: {scratch:?}");
}

/// Killed when it has the rows on disk that outputs made, and not yet what becomes of them.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_outputs_made_outlive_a_kill() {
    let mut yard = Yard::asleep(Options::default());
    let marks = yard.mark("marks");
    yard.jobs(&format!(
        r#"
  list:
    runs-on: linux
    outputs: {{rows: "${{{{ steps.rows.outputs.rows }}}}"}}
    steps: [{{id: rows, run: "echo list >> {0}; echo 'rows=[\"x\",\"y\"]' >> $GITHUB_OUTPUT"}}]
  made:
    needs: list
    runs-on: linux
    strategy: {{matrix: {{row: "${{{{ fromJSON(needs.list.outputs.rows) }}}}"}}}}
    steps: [{{run: "echo $ROW >> {0}", env: {{ROW: "${{{{ matrix.row }}}}"}}}}]
"#,
        marks.display()
    ));
    let crash = [("BRANCHYARD_CRASH_AT", "pipeline-replanned")];
    let mut daemon = yard.start_binary(&crash).await;
    let id = yard.start_pipeline(json!({})).await;
    assert!(!daemon.ended().await.success());
    let mut daemon = yard.start_binary(&[]).await;
    let ended = yard.pipeline_ended(&id).await.green();
    let mut names: Vec<_> = ended.jobs().iter().map(|job| &job["name"]).collect();
    names.sort_by_key(|name| name.to_string());
    assert_eq!(names, ["list", "made (x)", "made (y)"]);
    let mut marked = yard.marked("marks");
    marked.sort();
    assert_eq!(marked, ["list", "x", "y"]);
    daemon.stop().await;
}
