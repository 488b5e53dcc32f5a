//! A process table that is full: the daemon goes on, and so does what it does by itself. One that a build tries to fill
//! is in [`crate::bombs`].
//!
//! The table is that of a control group which the test makes, with the real program inside.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Options, Table, Yard, json_of};

fn options(reaper: &str, task: &str) -> Options {
    Options {
        tables: format!(
            "[reaper]\nmax_worktrees_per_repo = 10000\nlow_water = \"1B\"\nhigh_water = \"1B\"\n{reaper}\n"
        ),
        repo: format!("[repos.demo.tasks]\nit = [\"sh\", \"-c\", {task:?}]\n"),
        ..Options::default()
    }
}

async fn start_task(yard: &Yard) -> String {
    let path = "/stream/repos/demo/branches/main/task";
    let request = yard
        .request(reqwest::Method::POST, path)
        .header("prefer", "respond-async");
    let started = request.json(&json!({"task": "it"})).send().await.unwrap();
    json_of(started).await["run_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// What the daemon does by itself: all of it, and whether it does.
pub fn see_all_at_work(ready: &Value) {
    assert_eq!(ready["status"], "ready", "{ready}");
    let loops = ready["background"].as_array().unwrap();
    let names: Vec<_> = loops
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let all = [
        "audit",
        "disk_reserve",
        "journal_watcher",
        "pipeline_expiry",
        "reaper",
        "repo_maintenance",
        "run_expiry",
        "run_index",
        "trash",
        "trust",
    ];
    assert_eq!(names, all);
    for one in loops {
        assert_eq!(
            (&one["state"], &one["restarts"]),
            (&json!("running"), &json!(0)),
            "{one}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_full_every_loop_lives_and_what_runs_ends_rightly() {
    let Some(table) = Table::new("full") else {
        return;
    };
    let mut yard = Yard::asleep(options(
        "interval = \"11s\"",
        "mkfifo gate; echo ready; read x < gate; exit 7",
    ));
    let mut daemon = table.start(&mut yard).await;
    let run = start_task(&yard).await;
    yard.follow(&run).await.until_line("ready").await;
    let next_pass = async || yard.get_json("/api/reap").await["next_pass"].clone();
    let before = next_pass().await;

    // Nothing new can start. The next pass of the reaper finds what idle threads there are by then: by themselves
    // those would be gone after ten seconds.
    table.limit("1");
    while next_pass().await == before {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Requests that need a thread are answered.
    for _ in 0..10 {
        let machine = yard.get_json("/api/machine").await;
        assert_eq!(
            machine["background"].as_array().unwrap().len(),
            10,
            "{machine}"
        );
        yard.post_json("/api/reap", json!({"dry_run": true})).await;
        see_all_at_work(&yard.get_json("/readyz").await);
    }
    assert!(
        std::thread::spawn(|| ()).join().is_ok(),
        "only that table is full"
    );
    // A command cannot be started, and that is said.
    let refused = start_task(&yard).await;
    let queued = yard.get_json(&format!("/api/runs/{refused}")).await;
    assert_eq!(
        queued["state"], "queued",
        "the first one still holds the workspace: {queued}"
    );
    yard.post_json(&format!("/api/runs/{refused}/cancel"), json!({}))
        .await;
    assert_eq!(yard.ended(&refused).await["state"], "cancelled");

    std::fs::write(yard.workspace("main").join("gate"), "go\n").unwrap();
    let record = yard.ended(&run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(7)),
        "{record}"
    );
    table.limit("max");
    std::fs::remove_file(yard.workspace("main").join("gate")).unwrap();
    see_all_at_work(&yard.get_json("/readyz").await);
    assert_eq!(
        crate::support::text_of(&yard.make("main", &["who"]).await),
        "main\n"
    );
    daemon.stop().await;
    table.remove().await;
}
