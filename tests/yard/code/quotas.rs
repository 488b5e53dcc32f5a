//! What principals and workspaces may use in a day, and of the disk.

use serde_json::{Value, json};

use crate::support::{Options, PATIENCE, Yard, problem_of};

const BRANCH: &str = "feature";
const EXEC: &str = "/stream/repos/demo/branches/feature/exec";

fn yard(limits: &str) -> Yard {
    let yard = Yard::asleep(Options {
        tables: format!("[sandbox]\nprofile = \"standard\"\n[limits]\n{limits}\n"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.push(BRANCH);
    yard
}

async fn refused(yard: &Yard, path: &str, body: Value) -> (u16, String, String) {
    let (status, problem) = problem_of(yard.post(path, body).await).await;
    let text = |field: &str| problem[field].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("detail"))
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_day_are_counted_over_restarts() {
    let mut yard = yard("max_runs_per_day_per_principal = 4\nmax_runs_per_day_per_workspace = 3");
    let mut daemon = yard.start_binary(&[]).await;
    let hello = json!({ "argv": ["true"] });
    for _ in 0..2 {
        yard.run("exec", BRANCH, hello.clone()).await;
    }
    // Git is not counted, and what is refused is not either.
    yard.run("git", BRANCH, json!({ "operation": "status" }))
        .await;
    refused(&yard, EXEC, json!({})).await;
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    yard.run("exec", BRANCH, hello.clone()).await;
    let (status, code, detail) = refused(&yard, EXEC, hello.clone()).await;
    assert_eq!((status, code.as_str()), (429, "used_up"), "{detail}");
    assert!(
        detail.contains("limits.max_runs_per_day_per_workspace is 3"),
        "{detail}"
    );
    // Those of a group count each; of one that is too large none is started.
    let group = json!({ "branches": ["main", BRANCH], "args": ["who"] });
    let (status, code, _) = refused(&yard, "/stream/repos/demo/make", group).await;
    assert_eq!((status, code.as_str()), (429, "used_up"));
    yard.run("make", "main", json!({ "args": ["who"] })).await;
    let make = EXEC.replace("feature/exec", "main/make");
    let (status, _, detail) = refused(&yard, &make, json!({ "args": ["who"] })).await;
    assert_eq!(status, 429);
    assert!(
        detail.contains("limits.max_runs_per_day_per_principal is 4"),
        "{detail}"
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_all_processor_time_is_ended_and_says_so() {
    let mut yard = yard("max_cpu_per_day_per_principal = \"2s\"");
    let mut daemon = yard.start_binary(&[]).await;
    // Neither a child of another session nor one that has ended is overlooked.
    let spin = "setsid sh -c 'while :; do :; done' & sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; wait";
    let body = json!({ "argv": ["sh", "-c", spin], "timeout": "60s" });
    let events = yard.run("exec", BRANCH, body.clone()).await;
    let end = &events.last().unwrap().data;
    assert_eq!(end["state"], "cancelled", "{end}");
    let reason = end["reason"].as_str().unwrap();
    assert!(
        reason.contains("limits.max_cpu_per_day_per_principal is 2s"),
        "{reason}"
    );
    let runs = yard.get_json("/api/runs?kind=exec").await;
    let taken = runs["items"][0]["cpu_ms"].as_u64().unwrap();
    assert!(taken >= 2000, "{runs}");
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let (status, code, _) = refused(&yard, EXEC, body).await;
    assert_eq!((status, code.as_str()), (429, "used_up"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_processor_time_of_one_workspace_is_no_others() {
    let mut yard = yard("max_cpu_per_day_per_workspace = \"1s\"");
    yard.start().await;
    let body = json!({ "argv": ["sh", "-c", "while :; do :; done"], "timeout": "60s" });
    let events = yard.run("exec", BRANCH, body.clone()).await;
    let end = &events.last().unwrap().data;
    assert_eq!(end["state"], "cancelled", "{end}");
    let reason = end["reason"].as_str().unwrap();
    assert!(
        reason.contains("limits.max_cpu_per_day_per_workspace is 1s"),
        "{reason}"
    );
    let (status, code, detail) = refused(&yard, EXEC, body).await;
    assert_eq!((status, code.as_str()), (429, "used_up"));
    assert!(detail.contains("the workspace of feature"), "{detail}");
    let other = yard.make("main", &["who"]).await;
    assert_eq!(other.last().unwrap().data["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_not_written_beyond_what_a_workspace_may_take() {
    let mut yard = yard("max_disk_per_workspace = \"512KiB\"");
    yard.start().await;
    let verb = |name: &str| format!("/api/repos/demo/branches/{BRANCH}/{name}");
    let write = async |path: &str, size: usize| {
        let body = json!({ "path": path, "content": "x".repeat(size), "mode": "overwrite" });
        yard.post(&verb("write_file"), body).await
    };
    // What is known to be too much before it is there.
    let (status, problem) = problem_of(write("large", 600 << 10).await).await;
    let code = problem["code"].as_str();
    assert_eq!((status, code), (409, Some("workspace_too_large")));
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("limits.max_disk_per_workspace is 512KiB"),
        "{detail}"
    );
    assert!(!yard.workspace(BRANCH).join("large").exists());
    assert!(write("small", 1).await.status().is_success());

    let full = yard.workspace(BRANCH).join("full");
    std::fs::write(&full, "x".repeat(2 << 20)).unwrap();
    let has_room = async || write("small", 1).await.status().is_success();
    let noticed = async { while has_room().await {} };
    tokio::time::timeout(PATIENCE, noticed).await.unwrap();
    let patch = "--- /dev/null\n+++ b/more\n@@ -0,0 +1 @@\n+more\n";
    let edit =
        |old: &str, new: &str| json!({ "path": "name.txt", "edits": [{ "old": old, "new": new }] });
    for (name, body) in [
        ("apply_patch", json!({ "patch": patch })),
        ("edit_file", edit("main", "a longer name")),
    ] {
        let (status, code, detail) = refused(&yard, &verb(name), body).await;
        assert_eq!((status, code.as_str()), (409, "workspace_too_large"));
        assert!(detail.contains("max_disk_per_workspace"), "{detail}");
    }
    // What makes room is done, and then there is some.
    for (name, body) in [
        ("edit_file", edit("main", "m")),
        (
            "move_file",
            json!({ "from": "name.txt", "to": "moved.txt" }),
        ),
        ("delete_file", json!({ "path": "full" })),
    ] {
        yard.post_json(&verb(name), body).await;
    }
    assert!(!full.exists());
    let free = async { while !has_room().await {} };
    tokio::time::timeout(PATIENCE, free).await.unwrap();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fills_its_workspace_is_ended_and_says_so() {
    let mut yard = yard("max_disk_per_workspace = \"20MiB\"");
    yard.start().await;
    // No more than 64 MiB, whatever becomes of the limit.
    let fill = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=fill-$i bs=1M count=8 2>/dev/null; sleep 1; done; exec sleep 60";
    let body = json!({ "argv": ["sh", "-c", fill], "timeout": "60s" });
    let events = yard.run("exec", BRANCH, body.clone()).await;
    let end = &events.last().unwrap().data;
    assert_eq!(end["state"], "cancelled", "{end}");
    let reason = end["reason"].as_str().unwrap();
    assert!(
        reason.contains("limits.max_disk_per_workspace is 20"),
        "{reason}"
    );
    let (status, code, _) = refused(&yard, EXEC, body).await;
    assert_eq!((status, code.as_str()), (409, "workspace_too_large"));
    // As soon as there is room again, it goes on.
    for number in 1..=8 {
        let _ = std::fs::remove_file(yard.workspace(BRANCH).join(format!("fill-{number}")));
    }
    let is_refused = async || {
        let again = yard.post(EXEC, json!({ "argv": ["true"] })).await;
        again.status() == 409
    };
    let free = async { while is_refused().await {} };
    tokio::time::timeout(PATIENCE, free).await.unwrap();
    let hidden = "import os, time\nfor i in range(30):\n    os.mkdir('x' * 200)\n    os.chdir('x' * 200)\ntime.sleep(60)\n";
    let body = json!({ "script": hidden, "interpreter": "python" });
    let events = yard.run("exec", BRANCH, body).await;
    let reason = events.last().unwrap().data["reason"].to_string();
    assert!(reason.contains("cannot be told"), "{reason}");
    yard.stop().await;
}
