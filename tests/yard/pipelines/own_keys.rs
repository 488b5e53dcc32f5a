//! Files that are GitHub's cannot have Branchyard's own keys: the operator says them of their jobs.

use serde_json::json;

use crate::support::{Options, Yard};

const TABLES: &str = r#"
[repos.demo.pipelines]
files = [".github/workflows/ci.yml"]

[repos.demo.pipelines.jobs."ci/test"]
inputs = ["src/**"]
hold = "30m"

[repos.demo.pipelines.jobs."ci/rows"]
inputs = ["src/**"]

[repos.demo.pipelines.jobs."ci/always"]
reuse = "off"

[repos.demo.pipelines.jobs."ci/test".retry]
max = 2
on = ["lost"]
"#;

const WORKFLOW: &str = r#"
on: workflow_dispatch
jobs:
  list:
    runs-on: linux
    outputs: {rows: '["x"]'}
    steps: [{run: "true"}]
  test: {runs-on: linux, steps: [{run: "! test -e src/bad"}]}
  rows:
    needs: list
    runs-on: linux
    strategy: {matrix: {row: "${{ fromJSON(needs.list.outputs.rows) }}"}}
    steps: [{run: "true"}]
  always: {runs-on: linux, steps: [{run: "true"}]}
"#;

#[tokio::test]
async fn the_operator_says_them_of_jobs_of_other_files() {
    let mut yard = Yard::asleep(Options {
        tables: TABLES.to_owned(),
        ..Options::default()
    });
    yard.origin.write(".github/workflows/ci.yml", WORKFLOW);
    yard.origin.write("src/a", "a\n");
    yard.origin.commit("workflow");
    yard.origin.push("main");
    yard.start().await;
    let states = async |body| {
        let ended = yard.pipeline(body).await;
        let states = ended.jobs().iter().map(|job| job["state"].clone());
        (states.collect::<Vec<_>>(), ended)
    };
    let (first, _) = states(json!({})).await;
    assert_eq!(first, ["succeeded"; 4]);
    // Outside of what counts for two of them, one made of outputs among these; and one is never answered.
    yard.origin.write("name.txt", "other\n");
    yard.origin.commit("outside");
    yard.origin.push("main");
    let (second, _) = states(json!({})).await;
    assert_eq!(second, ["succeeded", "reused", "reused", "succeeded"]);
    // Inside; and what failed is held.
    yard.origin.write("src/bad", "");
    yard.origin.commit("inside");
    yard.origin.push("main");
    let (third, ended) = states(json!({})).await;
    assert_eq!(third, ["succeeded", "failed", "succeeded", "succeeded"]);
    assert!(ended.job("test")["held_until"].is_string(), "{:#}", ended.0);
    yard.stop().await;
}
