//! Concurrency groups: one at a time, the others in the order of their age, none dropped unless the file says so.

use serde_json::json;

use super::{cancel, text};
use crate::support::{Options, Yard};

/// A pipeline whose job waits for the file `open-<n>` and says that it ran.
fn gate(yard: &Yard, concurrency: &str, of_job: &str) {
    let dir = yard.dir.path().display();
    yard.workflow(&format!(
        r#"
on: {{workflow_dispatch: {{inputs: {{n: {{type: number, required: true}}}}}}}}
{concurrency}
jobs:
  one:
    runs-on: linux
    {of_job}
    steps:
      - run: |
          mkdir {dir}/busy; trap 'rmdir {dir}/busy' EXIT
          echo $N >> {dir}/ran
          while [ ! -e {dir}/open-$N ]; do sleep 0.01; done
        env: {{N: "${{{{ inputs.n }}}}"}}
"#
    ));
}

const GROUP: &str = "concurrency: {group: only}";

async fn start(yard: &Yard, n: usize) -> String {
    yard.start_pipeline(json!({"inputs": {"n": n}})).await
}

fn open(yard: &Yard, n: usize) {
    std::fs::write(yard.mark(&format!("open-{n}")), "").unwrap();
}

#[tokio::test]
async fn those_of_a_group_run_one_after_another_in_the_order_of_their_age() {
    for (of_file, of_job) in [(GROUP, ""), ("", GROUP)] {
        let mut yard = Yard::new().await;
        gate(&yard, of_file, of_job);
        let first = start(&yard, 0).await;
        yard.until_job(&first, "one", "running").await;
        let mut others = Vec::new();
        for n in 1..4 {
            others.push(start(&yard, n).await);
            if of_file.is_empty() {
                yard.until_job(&others[n - 1], "one", "waiting").await;
            }
        }
        let waiting = yard
            .get_json(&format!("/api/pipelines/{}", others[0]))
            .await;
        let reason = match of_file {
            "" => &waiting["jobs"][0]["reason"],
            _ => &waiting["reason"],
        };
        assert!(text(reason).contains(&first), "{waiting:#}");
        // One that waits can be cancelled, and holds nobody up.
        cancel(&yard, &others[1]).await;
        assert_eq!(yard.pipeline_ended(&others[1]).await.state(), "cancelled");
        for n in 0..4 {
            open(&yard, n);
        }
        for id in [&first, &others[0], &others[2]] {
            yard.pipeline_ended(id).await.green();
        }
        assert_eq!(yard.marked("ran"), ["0", "1", "3"]);
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_newer_one_cancels_those_before_it_where_the_file_says_so() {
    for in_job in [false, true] {
        let cancels = "concurrency: {group: \"g-${{ github.ref }}\", cancel-in-progress: true}";
        let mut yard = Yard::new().await;
        let (of_file, of_job) = if in_job { ("", cancels) } else { (cancels, "") };
        gate(&yard, of_file, of_job);
        let first = start(&yard, 0).await;
        yard.until_job(&first, "one", "running").await;
        let second = start(&yard, 1).await;
        let first = yard.pipeline_ended(&first).await;
        assert_eq!(first.states(), ["one cancelled"]);
        let _ = std::fs::remove_dir(yard.mark("busy"));
        open(&yard, 1);
        let second = yard.pipeline_ended(&second).await;
        let begun = text(&second.job("one")["started_at"]);
        assert!(text(&first.job("one")["ended_at"]) <= begun);
        assert!(text(&first.job("one")["reason"]).contains("concurrency group"));
        yard.stop().await;
    }
}

#[tokio::test]
async fn only_the_newest_waits_where_the_file_says_so() {
    let mut yard = Yard::new().await;
    gate(&yard, "concurrency: {group: only, queue: single}", "");
    let first = start(&yard, 0).await;
    yard.until_job(&first, "one", "running").await;
    let second = start(&yard, 1).await;
    let third = start(&yard, 2).await;
    assert_eq!(yard.pipeline_ended(&second).await.state(), "cancelled");
    open(&yard, 0);
    open(&yard, 2);
    yard.pipeline_ended(&first).await.green();
    yard.pipeline_ended(&third).await.green();
    assert_eq!(yard.marked("ran"), ["0", "2"]);
    yard.stop().await;
}

/// Of a job as of a whole pipeline: who held the group holds it, and who waited waits in the same order.
#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_daemon_keeps_the_order_of_a_group() {
    for (of_file, of_job) in [(GROUP, ""), ("", GROUP)] {
        let mut yard = Yard::asleep(Options::default());
        gate(&yard, of_file, of_job);
        let mut daemon = yard.start_binary(&[]).await;
        let mut ids = vec![start(&yard, 0).await];
        yard.until_job(&ids[0], "one", "running").await;
        for n in 1..7 {
            let id = start(&yard, n).await;
            if of_file.is_empty() {
                yard.until_job(&id, "one", "waiting").await;
            }
            ids.push(id);
        }
        daemon.kill().await;
        let mut daemon = yard.start_binary(&[]).await;
        let held = yard.get_json(&format!("/api/pipelines/{}", ids[0])).await;
        assert_eq!(held["jobs"][0]["state"], "running", "{held:#}");
        for n in 0..7 {
            open(&yard, n);
        }
        for id in &ids {
            yard.pipeline_ended(id).await.green();
        }
        assert_eq!(yard.marked("ran"), ["0", "1", "2", "3", "4", "5", "6"]);
        daemon.stop().await;
    }
}
