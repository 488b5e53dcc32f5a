//! Rows of a matrix: which there are, how many at once, and what becomes of the others when one fails.

use serde_json::json;

use crate::support::{Yard, problem_of};

#[tokio::test]
async fn rows_are_those_of_the_file_and_of_outputs() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r#"
  fixed:
    runs-on: linux
    name: "fixed ${{ matrix.os }}-${{ matrix.level }}"
    strategy:
      matrix:
        os: [a, b]
        level: [1, 2]
        exclude: [{os: a, level: 2}]
        include: [{os: b, extra: more}, {os: c, level: 9}]
    steps: [{run: "echo ${{ matrix.os }} ${{ matrix.level }} ${{ matrix.extra }}"}]
  list:
    runs-on: linux
    outputs: {rows: "${{ steps.rows.outputs.rows }}", none: "[]"}
    steps: [{id: rows, run: "echo 'rows=[\"x\",\"y\"]' >> $GITHUB_OUTPUT"}]
  made:
    needs: list
    runs-on: linux
    strategy: {matrix: {row: "${{ fromJSON(needs.list.outputs.rows) }}"}}
    outputs: {"last": "${{ matrix.row }}"}
    steps: [{run: "echo row $ROW", env: {ROW: "${{ matrix.row }}"}}]
  after:
    needs: made
    runs-on: linux
    steps: [{run: "echo $R", env: {R: "${{ needs.made.result }}"}}]
"#,
        )
        .await
        .green();
    let mut names: Vec<_> = ended
        .jobs()
        .iter()
        .map(|job| job["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "after",
            "fixed a-1",
            "fixed b-1",
            "fixed b-2",
            "fixed c-9",
            "list",
            "made (x)",
            "made (y)"
        ]
    );
    let mut rows = Vec::new();
    for job in ended.jobs() {
        let name = job["name"].as_str().unwrap();
        if name.starts_with("made") || name.starts_with("fixed b-2") {
            let run = job["steps"][0]["run_id"].as_str().unwrap();
            rows.push(yard.log(run).await);
        }
    }
    rows.sort();
    assert_eq!(rows, ["b 2 more\n", "row x\n", "row y\n"]);
    yard.stop().await;
}

#[tokio::test]
async fn a_failed_row_stops_the_others_unless_the_file_says_otherwise() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    let ended = yard
        .run_jobs(&format!(
            r#"
  fast:
    runs-on: linux
    strategy: {{matrix: {{n: [1, 2]}}}}
    steps:
      - run: |
          if [ ${{{{ matrix.n }}}} = 1 ]; then
            while [ ! -e {dir}/up ]; do sleep 0.01; done; exit 1
          fi
          touch {dir}/up; sleep 300
  slow:
    runs-on: linux
    strategy: {{fail-fast: false, matrix: {{n: [1, 2]}}}}
    steps: [{{run: "exit $((${{{{ matrix.n }}}} - 1))"}}]
"#
        ))
        .await;
    let states: Vec<_> = ended
        .jobs()
        .iter()
        .map(|job| {
            format!(
                "{} {}",
                job["name"].as_str().unwrap(),
                job["state"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            "fast (1) failed",
            "fast (2) cancelled",
            "slow (1) succeeded",
            "slow (2) failed"
        ]
    );
    let reason = ended.jobs()[1]["reason"].as_str().unwrap();
    assert!(reason.contains("fast (1)"), "{reason}");
    yard.stop().await;
}

#[tokio::test]
async fn no_more_rows_run_at_once_than_the_file_says() {
    let mut yard = Yard::new().await;
    let busy = yard.mark("busy");
    yard.run_jobs(&format!(
        r#"
  one:
    runs-on: linux
    strategy: {{max-parallel: 1, matrix: {{n: [1, 2, 3]}}}}
    steps: [{{run: "mkdir {0} && sleep 0.1 && rmdir {0}"}}]
"#,
        busy.display()
    ))
    .await
    .green();
    yard.stop().await;
}

#[tokio::test]
async fn a_matrix_that_is_too_large_is_refused_before_anything_runs() {
    let mut yard = Yard::new().await;
    let hundred: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let hundred = hundred.join(", ");
    yard.jobs(&format!(
        "  one:\n    runs-on: linux\n    strategy: {{matrix: {{a: [{hundred}], b: [{hundred}]}}}}\n    \
         steps: [{{run: echo}}]\n"
    ));
    let (status, problem) = problem_of(yard.post(super::PIPELINES, json!({})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("workflow_invalid")),
        "{problem:#}"
    );

    // The same from an output is known only later: the job is refused, and the daemon lives.
    let ended = yard
        .run_jobs(
            r#"
  list:
    runs-on: linux
    outputs: {rows: "${{ steps.rows.outputs.rows }}", word: "no list"}
    steps: [{id: rows, run: "echo \"rows=[$(seq -s, 10000)]\" >> $GITHUB_OUTPUT"}]
  many:
    needs: list
    runs-on: linux
    strategy: {matrix: {n: "${{ fromJSON(needs.list.outputs.rows) }}"}}
    steps: [{run: echo}]
  wrong:
    needs: list
    runs-on: linux
    strategy: {matrix: {n: "${{ fromJSON(needs.list.outputs.word) }}"}}
    steps: [{run: echo}]
  after: {needs: [many, wrong], if: always(), runs-on: linux, steps: [{run: echo}]}
"#,
        )
        .await;
    assert_eq!(
        ended.states(),
        [
            "list succeeded",
            "many rejected",
            "wrong rejected",
            "after succeeded"
        ]
    );
    assert_eq!(ended.state(), "rejected");
    yard.stop().await;
}
