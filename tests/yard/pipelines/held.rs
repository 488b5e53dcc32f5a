//! Held worktrees: a failed job's files can be read until its time is over, and nobody waits for them.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Ended, text};
use crate::support::{Following, Options, Yard, problem_of};

const FAILS: &str = "
  bad:
    runs-on: linux
    hold: 1h
    steps: [{run: 'mkdir out; echo made > out/made.txt; echo changed > name.txt; exit 3'}]
";

async fn read(yard: &Yard, ended: &Ended, what: &str, body: Value) -> Value {
    let path = format!("/api/pipelines/{}/jobs/bad/{what}", ended.id());
    yard.post_json(&path, body).await
}

#[tokio::test]
async fn the_worktree_of_a_failed_job_can_be_read_across_a_restart() {
    let mut yard = Yard::new().await;
    let ended = yard.run_jobs(FAILS).await;
    assert_eq!(ended.states(), ["bad failed"]);
    assert!(ended.job("bad")["held_until"].is_string(), "{:#}", ended.0);
    for _ in 0..2 {
        let made = read(&yard, &ended, "read_file", json!({"path": "out/made.txt"})).await;
        assert_eq!(
            (&made["text"], &made["modified"]),
            (&json!("made\n"), &json!(true))
        );
        assert_eq!(made["commit"], ended.0["commit"]);
        let changed = read(&yard, &ended, "read_file", json!({"path": "name.txt"})).await;
        assert_eq!(
            (&changed["text"], &changed["modified"]),
            (&json!("changed\n"), &json!(true))
        );
        let listed = read(&yard, &ended, "ls", json!({"path": "out"})).await;
        assert_eq!(listed["entries"][0]["path"], "out/made.txt");
        let found = read(&yard, &ended, "grep", json!({"pattern": "^made"})).await;
        assert_eq!(found["matches"][0]["path"], "out/made.txt");
        yard.stop().await;
        yard.start().await;
    }
    let path = format!("/api/pipelines/{}/jobs/bad/read_file", ended.id());
    for (hostile, status) in [("../../other", 403), (".git", 403), ("/etc/passwd", 400)] {
        let asked = yard.post(&path, json!({"path": hostile})).await;
        assert_eq!(problem_of(asked).await.0, status, "{hostile}");
    }
    // Another attempt has a worktree of its own.
    let retry = format!("/api/pipelines/{}/retry", ended.id());
    yard.post_json(&retry, json!({})).await;
    let again = yard.pipeline_ended(ended.id()).await;
    assert!(again.job("bad")["held_until"].is_string(), "{:#}", again.0);
    assert_eq!(yard.scratch_worktrees().len(), 1);
    yard.stop().await;
}

#[tokio::test]
async fn as_many_held_as_the_pool_is_large_keep_nobody_waiting_and_the_oldest_goes() {
    let tables = "[limits]\nmax_concurrent_runs_per_repo = 2\n[pipelines]\nmax_held = 2";
    let mut yard = Yard::with(Options {
        tables: tables.to_owned(),
        ..Options::default()
    })
    .await;
    let mut all = Vec::new();
    let fail = async |n: usize| {
        // By their files the three are told apart.
        let jobs = FAILS.replace("echo made", &format!("echo made {n}"));
        yard.run_jobs(&jobs).await
    };
    all.push(fail(0).await);
    all.push(fail(1).await);
    let watching = yard.request(Method::GET, "/stream/events");
    let watching = watching.header("accept", "application/x-ndjson");
    let mut watching = Following::new(watching.send().await.unwrap());
    watching.until(|event| event.kind == "queue").await;
    all.push(fail(2).await);
    // Its state is as before; what is told is that there is something to look at anew.
    let released = watching
        .until(|event| event.data["pipeline_id"] == all[0].id())
        .await;
    assert_eq!(
        (released.kind.as_str(), &released.data["state"]),
        ("pipeline", &json!("failed"))
    );
    let ended = yard
        .run_jobs("\n  good: {runs-on: linux, steps: [{run: 'true'}]}\n")
        .await;
    assert_eq!(ended.states(), ["good succeeded"]);
    let path = format!("/api/pipelines/{}/jobs/bad/ls", all[0].id());
    let (status, problem) = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!((status, text(&problem["code"])), (409, "not_held"));
    let first = yard
        .get_json(&format!("/api/pipelines/{}", all[0].id()))
        .await;
    assert!(first["jobs"][0]["held_until"].is_null(), "{first:#}");
    for (n, ended) in all.iter().enumerate().skip(1) {
        let made = read(&yard, ended, "read_file", json!({"path": "out/made.txt"})).await;
        assert_eq!(made["text"], format!("made {n}\n"));
    }
    yard.stop().await;
}
