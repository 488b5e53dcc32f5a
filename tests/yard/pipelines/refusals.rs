//! Files that are refused before anything starts: with their place, and with nothing left behind.

use serde_json::json;

use super::{FILE, PIPELINES, refused, text};
use crate::support::{Options, Yard, problem_of};

const HEAD: &str = "on: workflow_dispatch\njobs:\n  one:\n    runs-on: linux\n";

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_place() {
    let mut yard = Yard::new().await;
    let cases = [
        ("    steps: [{rnu: echo}]\n", "workflow_invalid", "5:14"),
        (
            "    needs: two\n    steps: [{run: echo}]\n",
            "workflow_invalid",
            "5:12",
        ),
        (
            "    steps: [{run: \"echo ${{ github.evnt }}\"}]\n",
            "workflow_invalid",
            "5:",
        ),
        (
            "    steps: [{uses: codecov/codecov-action@v5}]\n",
            "action_not_supported",
            "5:20",
        ),
        (
            "    container: rust\n    steps: [{run: echo}]\n",
            "not_supported_yet",
            "5:5",
        ),
        (
            "    services: {}\n    steps: [{run: echo}]\n",
            "not_supported_yet",
            "5:5",
        ),
        (
            "    environment: live\n    steps: [{run: echo}]\n",
            "not_supported_yet",
            "5:5",
        ),
        (
            "    steps: [{run: echo, shell: pwsh}]\n",
            "workflow_invalid",
            "5:32",
        ),
        ("    steps: [{wait: none}]\n", "workflow_invalid", "5:20"),
    ];
    for (rest, code, place) in cases {
        let problem = refused(&yard, &format!("{HEAD}{rest}")).await;
        assert_eq!(problem["code"], code, "{rest}: {problem:#}");
        let detail = text(&problem["detail"]);
        assert!(
            detail.contains(&format!("{FILE}:{place}")),
            "{rest}: {detail}"
        );
    }
    // Several at once, in order.
    let problem = refused(
        &yard,
        &format!("{HEAD}    steps: [{{rnu: a}}]\n    nedes: b\n"),
    )
    .await;
    let lines: Vec<_> = text(&problem["detail"]).lines().collect();
    assert!(lines.len() > 1 && lines[0].contains(":5:"), "{lines:?}");

    let listed = yard.get_json(PIPELINES).await;
    assert_eq!(listed["items"], json!([]));
    let left = std::fs::read_dir(yard.workspaces.join(".branchyard/pipelines"));
    assert_eq!(left.unwrap().count(), 0);
    assert_eq!(yard.scratch_worktrees(), [""; 0]);
    yard.stop().await;
}

#[tokio::test]
async fn files_branches_and_commits_that_are_not_there_are_named() {
    let mut yard = Yard::new().await;
    let code = async |body: serde_json::Value| {
        let (status, problem) = problem_of(yard.post(PIPELINES, body).await).await;
        format!("{status} {}", text(&problem["code"]))
    };
    assert_eq!(code(json!({})).await, "404 workflow_not_found");
    let workflow = format!("{HEAD}    steps: [{{run: echo}}]\n");
    yard.origin
        .write(".branchyard/workflows/other.yml", &workflow);
    yard.origin.write(".github/workflows/third.yml", &workflow);
    yard.workflow(&workflow);
    assert_eq!(code(json!({})).await, "422 unprocessable");
    for (file, expected) in [
        ("nope.yml", "404 workflow_not_found"),
        ("third.yml", "404 workflow_not_found"),
        (".github/workflows/third.yml", "404 workflow_not_found"),
        ("Makefile", "404 workflow_not_found"),
        ("../../etc/passwd", "404 workflow_not_found"),
        ("/etc/passwd", "404 workflow_not_found"),
        (
            ".branchyard/workflows/../../Makefile",
            "404 workflow_not_found",
        ),
        (".branchyard/workflows/ci.yml\n", "404 workflow_not_found"),
    ] {
        assert_eq!(code(json!({"file": file})).await, expected, "{file}");
    }
    assert_eq!(
        code(json!({"branch": "nope"})).await,
        "404 branch_not_found"
    );
    let elsewhere = yard.origin.branch("topic");
    let body = json!({"branch": "main", "commit": elsewhere, "file": "ci.yml"});
    assert_eq!(code(body).await, "404 commit_not_found");
    let unknown = "1".repeat(40);
    let body = json!({"commit": unknown, "file": "ci.yml"});
    assert_eq!(code(body).await, "404 commit_not_found");
    for wrong in [
        json!({"commit": "HEAD"}),
        json!({"branch": "../x"}),
        json!({"nope": 1}),
    ] {
        assert!(code(wrong.clone()).await.starts_with('4'), "{wrong}");
    }
    for file in ["ci.yml", FILE, "other.yml"] {
        yard.pipeline(json!({"file": file})).await.green();
    }
    yard.stop().await;
}

/// What only a running job knows is refused there, and the jobs beside it go on.
#[tokio::test]
async fn text_from_outside_never_becomes_a_part_of_a_script() {
    let mut yard = Yard::new().await;
    yard.workflow(
        r#"
on: {workflow_dispatch: {inputs: {word: {type: string}}}}
jobs:
  script:
    runs-on: linux
    steps: [{run: "echo ${{ inputs.word }}"}]
  env:
    runs-on: linux
    steps: [{run: "echo \"$WORD\"", env: {WORD: "${{ inputs.word }}"}}]
"#,
    );
    let plain = yard.pipeline(json!({"inputs": {"word": "a-b/c.d"}})).await;
    assert_eq!(plain.states(), ["script succeeded", "env succeeded"]);
    let mark = yard.mark("injected");
    let word = format!("a; touch {}", mark.display());
    let body = json!({"inputs": {"word": word}});
    let answer = yard.post(PIPELINES, body).await;
    if answer.status().is_success() {
        let record: serde_json::Value = answer.json().await.unwrap();
        let ended = yard.pipeline_ended(text(&record["pipeline_id"])).await;
        assert_eq!(ended.states(), ["script rejected", "env succeeded"]);
        let log = yard.step_log(&ended, "env", 1).await;
        assert_eq!(log, format!("{word}\n"));
    } else {
        let (_, problem) = problem_of(answer).await;
        assert_eq!(problem["code"], "unsafe_interpolation", "{problem:#}");
    }
    assert!(!mark.exists());
    yard.stop().await;
}

#[tokio::test]
async fn a_job_that_cannot_be_run_here_is_rejected_alone() {
    let mut yard = Yard::with(Options {
        repo: "[repos.demo.pipelines]\nskip_actions = [\"codecov/*\"]".to_owned(),
        ..Options::default()
    })
    .await;
    let ended = yard
        .run_jobs(
            r#"
  secret:
    runs-on: linux
    steps: [{run: echo, env: {KEY: "${{ secrets.KEY }}"}}]
  tool:
    runs-on: linux
    steps: [{uses: actions/setup-python@v5, with: {python-version: "99.1"}}, {run: echo}]
  fine:
    runs-on: linux
    steps:
      - uses: actions/checkout@v4
      - {uses: codecov/codecov-action@v5, with: {token: "${{ secrets.CODECOV }}"}}
      - {uses: actions/setup-python@v5, with: {python-version: "3.x"}}
      - run: echo fine
"#,
        )
        .await;
    assert_eq!(
        ended.states(),
        ["secret rejected", "tool rejected", "fine succeeded"],
        "{:#}",
        ended.0
    );
    assert_eq!(ended.state(), "rejected");
    assert_eq!(ended.job("secret")["error"]["code"], "secret_refused");
    assert_eq!(ended.job("tool")["error"]["code"], "toolchain_missing");
    assert_eq!(ended.steps("fine")[1], "2 skipped");
    let warnings = ended.0["warnings"].as_array().unwrap();
    assert!(!warnings.is_empty(), "{:#}", ended.0);
    yard.stop().await;
}
