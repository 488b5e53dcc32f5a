//! Slots and scratch worktrees: jobs take them in one order, and so never wait for each other in a circle.

use serde_json::json;

use super::text;
use crate::support::{Options, Yard, text_of};

fn one_at_a_time() -> Options {
    Options {
        tables: "[limits]\nmax_concurrent_runs = 1\nmax_concurrent_runs_per_repo = 3".to_owned(),
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_slot_is_enough_for_any_number_of_jobs() {
    let mut yard = Yard::asleep(one_at_a_time());
    let busy = yard.mark("busy");
    let step = format!("mkdir {0}; rmdir {0}", busy.display());
    let job = |name: &str, rest: &str| {
        format!(
            "  {name}:\n    runs-on: linux\n{rest}    steps:\n      - {{run: \"{step}\"}}\n      - {{id: back, background: true, run: \"true\"}}\n      - wait: back\n      - {{run: \"{step}\"}}\n"
        )
    };
    yard.jobs(
        &[
            job("a", ""),
            job("b", ""),
            job("c", "    needs: [a, b]\n"),
            job("d", "    concurrency: {group: one}\n"),
            job("e", "    concurrency: {group: one}\n"),
            job("f", "    strategy: {matrix: {n: [1, 2, 3]}}\n"),
        ]
        .concat(),
    );
    let mut daemon = yard.start_binary(&[]).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(yard.start_pipeline(json!({})).await);
    }
    // A plain run takes its turn among them, in a workspace of its own.
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "main\n");
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    for id in &ids {
        yard.pipeline_ended(id).await.green();
    }
    let scratch = yard.scratch_worktrees();
    assert!(scratch.len() <= 3, "{scratch:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_job_says_what_it_waits_for() {
    let mut yard = Yard::with(one_at_a_time()).await;
    let dir = yard.dir.path().display().to_string();
    yard.jobs(&format!(
        "  one: {{runs-on: linux, steps: [{{run: 'while [ ! -e {dir}/open ]; do sleep 0.01; done'}}]}}\n"
    ));
    let first = yard.start_pipeline(json!({})).await;
    yard.until_job(&first, "one", "running").await;
    let second = yard.start_pipeline(json!({})).await;
    let job = yard.until_job(&second, "one", "queued").await;
    let reason = match job["reason"].as_str() {
        Some(reason) => reason.to_owned(),
        None => {
            let record = yard.get_json(&format!("/api/pipelines/{second}")).await;
            text(&record["jobs"][0]["reason"]).to_owned()
        }
    };
    assert!(reason.contains("position 1"), "{reason}");
    std::fs::write(yard.mark("open"), "").unwrap();
    for id in [&first, &second] {
        yard.pipeline_ended(id).await.green();
    }
    yard.stop().await;
}
