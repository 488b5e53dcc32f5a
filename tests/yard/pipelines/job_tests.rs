//! Tests of jobs: read from their reports, told apart, and what is tried again because of them.

use serde_json::json;

use crate::support::{Yard, problem_of};

/// Fails at its first attempt, if a mark says so.
fn jobs(yard: &Yard, more: &str, test: &str) -> String {
    let ran = yard.mark("ran").display().to_string();
    format!(
        r#"
  test:
    runs-on: linux
    reports: ["out/*.xml"]
{more}
    steps:
      - run: |
          echo ran >> {ran}; mkdir out
          {test}
"#
    )
}

const SUITE: &str = r#"printf '<testsuite name="s"><testcase name="a"/><testcase name="b">%s</testcase></testsuite>' "$B" > out/r.xml"#;

#[tokio::test]
async fn the_tests_of_a_job_are_told_and_come_with_an_answer() {
    let mut yard = Yard::new().await;
    yard.jobs(&jobs(&yard, "", &format!("B=; {SUITE}")));
    let green = yard.pipeline(json!({})).await.green();
    assert_eq!(green.job("test")["tests"]["passed"], 2, "{:#}", green.0);
    let again = yard.pipeline(json!({})).await.green();
    assert_eq!(again.states(), ["test reused"]);
    let path = |id: &str| format!("/api/pipelines/{id}/jobs/test/tests");
    for ended in [&green, &again] {
        let told = yard.get_json(&path(ended.id())).await;
        assert_eq!(told["counts"]["passed"], 2);
        assert_eq!(told["items"][0]["name"], "a");
    }
    yard.jobs(&jobs(
        &yard,
        "",
        &format!("B='<failure>no</failure>'; {SUITE}; exit 1"),
    ));
    let red = yard.pipeline(json!({})).await;
    let counts = &red.job("test")["tests"];
    assert_eq!((&counts["failed"], &counts["new"]), (&json!(1), &json!(1)));
    let told = yard.get_json(&path(red.id())).await;
    assert_eq!(
        (&told["items"][0]["name"], &told["items"][0]["verdict"]),
        (&json!("b"), &json!("new"))
    );
    let page = yard.get_json(&(path(red.id()) + "?limit=1")).await;
    assert_eq!(
        (&page["items"][0]["name"], &page["next"]),
        (&json!("b"), &json!(1))
    );
    let passed = yard
        .get_json(&(path(red.id()) + "?state=passed&limit=1"))
        .await;
    assert_eq!(
        (&passed["items"][0]["name"], &passed["next"]),
        (&json!("a"), &json!(null))
    );
    let none = yard
        .run_jobs("\n  test: {runs-on: linux, steps: [{run: 'true'}]}\n")
        .await;
    let (status, problem) = problem_of(yard.get(&path(none.id())).await).await;
    assert_eq!((status, &problem["code"]), (404, &json!("tests_not_found")));
    yard.stop().await;
}

#[tokio::test]
async fn only_a_failure_that_is_known_to_be_flaky_is_tried_again() {
    let mut yard = Yard::new().await;
    let retry = "    retry: {max: 1, on: [flaky]}";
    let failing = format!("B='<failure>no</failure>'; {SUITE}; exit 1");
    yard.jobs(&jobs(&yard, retry, &failing));
    let red = yard.pipeline(json!({})).await;
    assert_eq!(red.job("test")["attempt"], 1);
    assert_eq!(yard.marked("ran").len(), 1);
    // The same tree passes and fails: then it is flaky.
    let mark = yard.mark("pass").display().to_string();
    let flaky =
        format!("test -e {mark} && B= || B='<failure>no</failure>'; {SUITE}; test -e {mark}");
    yard.jobs(&jobs(&yard, &format!("{retry}\n    reuse: off"), &flaky));
    std::fs::write(&mark, "").unwrap();
    yard.pipeline(json!({})).await.green();
    std::fs::remove_file(&mark).unwrap();
    let red = yard.pipeline(json!({})).await;
    let job = red.job("test");
    assert_eq!(
        (&job["attempt"], &job["retries"]),
        (&json!(2), &json!(1)),
        "{job:#}"
    );
    assert_eq!(job["tests"]["flaky"], 1, "{job:#}");
    yard.stop().await;
}
