//! Tests over time: flaky ones, new failures, since when they fail; after a restart, without the database, and only by what
//! the asker may see.

use reqwest::Method;
use serde_json::{Value, json};

use super::{FILE, text};
use crate::support::{PATIENCE, Yard, json_of, problem_of};

const TESTS: &str = "/api/repos/demo/tests";

/// A job whose test `b` fails where there is no file `pass` beside the yard, and whose test `a` passes.
fn workflow(yard: &Yard) -> String {
    let mark = yard.mark("pass").display().to_string();
    format!(
        r#"on: workflow_dispatch
jobs:
  test:
    runs-on: linux
    reuse: off
    reports: ["out/*.xml"]
    steps:
      - run: |
          mkdir out
          test -e {mark} && B= || B='<failure>no</failure>'
          printf '<testsuite name="s"><testcase name="a" time="0.5"/><testcase name="b" file="b.c">%s</testcase></testsuite>' "$B" > out/r.xml
          test -e {mark}
"#
    )
}

fn pass(yard: &Yard, does: bool) {
    let mark = yard.mark("pass");
    if does {
        std::fs::write(mark, "").unwrap();
    } else {
        std::fs::remove_file(mark).unwrap();
    }
}

/// The tests that a list tells, each with its state, and `flaky` or `new`.
fn told(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    let line = |test: &Value| {
        let mut line = format!("{} {}", text(&test["name"]), text(&test["state"]));
        for word in ["flaky", "new"] {
            if test[word] == true {
                line.push_str(&format!(" {word}"));
            }
        }
        line
    };
    items.iter().map(line).collect()
}

/// A yard in which main passed, and `mine`, which has another commit, fails since then. Returns the first pipeline that failed.
async fn failing_on_a_branch() -> (Yard, String) {
    let yard = Yard::new().await;
    yard.workflow(&workflow(&yard));
    pass(&yard, true);
    yard.pipeline(json!({})).await.green();
    yard.origin.branch("mine");
    yard.origin.write("more.txt", "more\n");
    yard.origin.commit("more");
    yard.origin.push("mine");
    pass(&yard, false);
    let red = yard.pipeline(json!({"branch": "mine"})).await;
    assert_eq!(red.state(), "failed", "{:#}", red.0);
    let id = red.id().to_owned();
    (yard, id)
}

#[tokio::test]
async fn a_test_that_differs_between_attempts_at_the_same_files_is_flaky() {
    let mut yard = Yard::new().await;
    yard.workflow(&workflow(&yard));
    let red = yard.pipeline(json!({})).await;
    let list = yard.get_json(TESTS).await;
    assert_eq!(told(&list), ["b failed", "a passed"], "{list:#}");
    let failing = &list["items"][0];
    assert_eq!(
        (&failing["suite"], &failing["file"]),
        (&json!("s"), &json!("b.c"))
    );
    assert_eq!(failing["failing_since"]["commit"], red.0["commit"]);
    assert_eq!(list["items"][1]["ms"], 500);
    pass(&yard, true);
    let retry = format!("/api/pipelines/{}/retry", red.id());
    yard.post_json(&retry, json!({})).await;
    yard.pipeline_ended(red.id()).await.green();
    let list = yard.get_json(TESTS).await;
    assert_eq!(told(&list), ["b passed flaky", "a passed"], "{list:#}");
    let flaky = &list["items"][0];
    assert_eq!((&flaky["passed"], &flaky["failed"]), (&json!(1), &json!(1)));
    let last = &flaky["last"];
    assert_eq!(
        (
            &last["pipeline_id"],
            &last["job"],
            &last["attempt"],
            &last["file"]
        ),
        (&json!(red.id()), &json!("test"), &json!(2), &json!(FILE)),
    );
    assert!(flaky["failing_since"].is_null(), "{flaky:#}");
    // Filters and pages.
    for (query, expected) in [
        ("?flaky=true", "b passed flaky"),
        ("?flaky=false", "a passed"),
        ("?q=A", "a passed"),
        ("?limit=1", "b passed flaky"),
        ("?limit=1&from=1", "a passed"),
    ] {
        let list = yard.get_json(&format!("{TESTS}{query}")).await;
        assert_eq!(told(&list), [expected], "{query}");
        let next = if query == "?limit=1" {
            json!(1)
        } else {
            json!(null)
        };
        assert_eq!(list["next"], next, "{query}");
    }
    assert_eq!(
        told(&yard.get_json(&format!("{TESTS}?state=failed")).await),
        [""; 0]
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_failure_is_new_on_a_branch_and_is_told_since_its_first_commit() {
    let (mut yard, first) = failing_on_a_branch().await;
    let red = yard.get_json(&format!("/api/pipelines/{first}")).await;
    yard.origin.write("more.txt", "and more\n");
    yard.origin.commit("and more");
    yard.origin.push("mine");
    yard.pipeline(json!({"branch": "mine"})).await;
    let list = yard.get_json(TESTS).await;
    assert_eq!(told(&list), ["b failed new", "a passed"], "{list:#}");
    assert_eq!(list["items"][0]["failing_since"]["commit"], red["commit"]);
    assert_eq!(
        list["items"][0]["failing_since"]["pipeline_id"],
        json!(first)
    );
    let mine = yard.get_json(&format!("{TESTS}?branch=mine")).await;
    assert_eq!(told(&mine), ["b failed new", "a passed"]);
    assert_eq!(
        (&mine["items"][0]["passed"], &mine["items"][0]["failed"]),
        (&json!(0), &json!(2))
    );
    let main = yard.get_json(&format!("{TESTS}?branch=main")).await;
    assert_eq!(told(&main), ["a passed", "b passed"]);
    yard.stop().await;
}

#[tokio::test]
async fn tests_over_time_survive_a_restart_and_the_loss_of_the_database() {
    let (mut yard, _) = failing_on_a_branch().await;
    // Those of runs are told beside them.
    let report =
        "printf '<testsuite name=\"s\"><testcase name=\"of a run\"/></testsuite>' > junit.xml\n";
    yard.origin.write("Makefile", format!("test:\n\t{report}"));
    yard.origin.commit("make");
    yard.origin.push("mine");
    let run = json!({"args": ["test"], "tests": true});
    yard.run("make", "mine", run).await;
    let before = yard.get_json(TESTS).await;
    assert_eq!(
        told(&before),
        ["b failed new", "a passed", "of a run passed"],
        "{before:#}"
    );
    yard.stop().await;
    yard.start().await;
    assert_eq!(yard.get_json(TESTS).await, before);
    yard.stop().await;
    for name in ["yard.db", "yard.db-wal", "yard.db-shm"] {
        let _ = std::fs::remove_file(yard.workspaces.join(".branchyard").join(name));
    }
    yard.start().await;
    // It is brought to what is on disk beside the first requests.
    let whole = async { while yard.get_json(TESTS).await != before {} };
    let in_time = tokio::time::timeout(PATIENCE, whole).await;
    assert!(in_time.is_ok(), "{:#}", yard.get_json(TESTS).await);
    yard.stop().await;
}

#[tokio::test]
async fn only_results_of_branches_that_are_to_be_seen_count() {
    let (mut yard, _) = failing_on_a_branch().await;
    let ask = async |branch: &str, query: &str| {
        let name = format!("{branch}-{}", query.len());
        let asked = json!({"role": "dev", "name": name, "repos": ["demo"], "branches": [branch]});
        let token = yard.token(asked).await;
        yard.asked_by(&token, Method::GET, &format!("{TESTS}{query}"), None)
            .await
    };
    let main = json_of(ask("main", "").await).await;
    assert_eq!(told(&main), ["a passed", "b passed"], "{main:#}");
    // Nor is what passes on a branch that is not to be seen.
    let mine = json_of(ask("mine", "").await).await;
    assert_eq!(told(&mine), ["b failed", "a passed"], "{mine:#}");
    let other = json_of(ask("other", "").await).await;
    assert_eq!(told(&other), [""; 0]);
    let (status, _) = problem_of(ask("main", "?branch=mine").await).await;
    assert_eq!(status, 404);
    yard.stop().await;
}
