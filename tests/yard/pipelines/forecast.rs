//! What a request would start, told before: which jobs would run, and which earlier ones would answer.

use serde_json::{Value, json};

use super::text;
use crate::support::{Yard, problem_of};

const CHECK: &str = "/api/repos/demo/pipelines/check";

const JOBS: &str = r#"
  build:
    runs-on: linux
    outputs: {word: "${{ steps.say.outputs.word }}"}
    steps:
      - {id: say, run: "echo word=out >> $GITHUB_OUTPUT; cp name.txt built"}
      - uses: actions/upload-artifact@v4
        with: {name: built, path: built}
  test:
    needs: build
    runs-on: linux
    inputs: ["name.txt"]
    steps:
      - uses: actions/download-artifact@v4
        with: {name: built}
      - {run: 'test "$W" = out', env: {W: "${{ needs.build.outputs.word }}"}}
  never: {if: "github.ref_name == 'other'", runs-on: linux, steps: [{run: "true"}]}
  elsewhere: {runs-on: windows-latest, steps: [{run: "true"}]}
  secretive: {runs-on: linux, steps: [{run: "true", env: {S: "${{ secrets.NONE }}"}}]}
  last: {needs: [test, secretive], if: always(), runs-on: linux, reuse: "off", steps: [{run: "true"}]}
"#;

impl Yard {
    async fn check(&self, body: Value) -> Value {
        self.post_json(CHECK, body).await
    }
}

/// Each job with what would become of it.
fn would(check: &Value) -> Vec<String> {
    let jobs = check["jobs"].as_array().unwrap().iter();
    jobs.map(|job| format!("{} {}", text(&job["job"]), text(&job["would"])))
        .collect()
}

#[tokio::test]
async fn what_is_told_is_what_happens() {
    let mut yard = Yard::new().await;
    yard.jobs(JOBS);
    let before = yard.check(json!({})).await;
    assert_eq!(before["valid"], true, "{before:#}");
    let fresh = [
        "build run",
        "test follow",
        "never skip",
        "elsewhere skip",
        "secretive reject",
        "last follow",
    ];
    assert_eq!(would(&before), fresh);
    let listed = yard.get_json(super::PIPELINES).await;
    assert_eq!(listed["items"], json!([]));
    let first = yard.pipeline(json!({})).await;
    assert_eq!(first.job("test")["state"], "succeeded", "{:#}", first.0);

    // What has run answers, through outputs and artifacts, and so it does.
    let again = yard.check(json!({})).await;
    let answered = [
        "build reuse",
        "test reuse",
        "never skip",
        "elsewhere skip",
        "secretive reject",
        "last run",
    ];
    assert_eq!(would(&again), answered);
    assert_eq!(again["jobs"][1]["answered_by"]["pipeline"], first.id());
    let second = yard.pipeline(json!({})).await;
    let states = [
        "reused",
        "reused",
        "skipped",
        "skipped",
        "rejected",
        "succeeded",
    ];
    let said: Vec<_> = second
        .jobs()
        .iter()
        .map(|job| text(&job["state"]))
        .collect();
    assert_eq!(said, states);

    // A change: what may see it runs, and what needs that follows.
    yard.origin.write("name.txt", "changed\n");
    yard.origin.commit("changed");
    yard.origin.push("topic");
    let changed = yard.check(json!({"branch": "topic"})).await;
    assert_eq!(would(&changed)[..2], ["build run", "test follow"]);
    // A protected branch is not answered by what an open one made.
    let topic = yard.pipeline(json!({"branch": "topic"})).await;
    assert_eq!(topic.job("test")["state"], "succeeded");
    yard.origin.push("main");
    assert_eq!(
        would(&yard.check(json!({})).await)[..2],
        ["build run", "test follow"]
    );
    yard.stop().await;
}

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once() {
    let mut yard = Yard::new().await;
    yard.jobs("  a: {runs-on: linux, stepz: 1, steps: [{run: '${{ nothing.x }}'}]}\n");
    let check = yard.check(json!({})).await;
    assert_eq!(check["valid"], false);
    let problems = check["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    for problem in problems {
        assert_eq!(problem["code"], "workflow_invalid");
        assert_eq!(
            (&problem["file"], &problem["line"]),
            (&json!(super::FILE), &json!(3))
        );
    }
    for (body, status, code) in [
        (json!({"file": "none.yml"}), 404, "workflow_not_found"),
        (json!({"branch": "none"}), 404, "branch_not_found"),
        (json!({"what": 1}), 422, "unprocessable"),
    ] {
        let (answered, problem) = problem_of(yard.post(CHECK, body).await).await;
        assert_eq!((answered, text(&problem["code"])), (status, code));
    }
    yard.stop().await;
}

/// Work that is not committed is written down for it, which a reader may not have done.
#[tokio::test]
async fn a_reader_asks_about_commits_alone() {
    let mut yard = Yard::new().await;
    yard.jobs("  a: {runs-on: linux, steps: [{run: cat name.txt}]}\n");
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let token = yard
        .token(json!({"name": "wall", "scopes": ["repo:read"]}))
        .await;
    let ask = async |body: Value| {
        yard.asked_by(&token, reqwest::Method::POST, CHECK, Some(body))
            .await
    };
    assert_eq!(ask(json!({})).await.status(), 200);
    let (status, problem) = problem_of(ask(json!({"source": "workspace"})).await).await;
    assert_eq!(
        (status, text(&problem["code"])),
        (403, "missing_right"),
        "{problem:#}"
    );
    yard.stop().await;
}
