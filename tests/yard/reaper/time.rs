//! Age and number. Age is the daemon's own time: no clock and no downtime makes anything old.

use super::*;
use crate::support::until;

const DAY: u64 = 24 * 60 * 60;

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_idle_goes_without_a_trace_and_what_has_work_stays() {
    let mut yard = yard("worktree_ttl = \"1d\"").await;
    for branch in ["idle", "edited", "built"] {
        workspace(&yard, branch).await;
    }
    std::fs::write(yard.workspace("edited").join("name.txt"), "mine\n").unwrap();
    build(&yard.workspace("built"), 64);
    let young = reap(&yard).await;
    assert_eq!(young["totals"]["keep"], 4, "{young}");
    yard.stop().await;
    set_ticks(&yard, 2 * DAY);
    yard.start().await;
    let reaping = reap(&yard).await;
    for branch in ["idle", "built"] {
        assert_eq!(of(&reaping, branch)["outcome"]["result"], "done");
        assert!(!yard.workspace(branch).exists());
    }
    assert!(yard.workspace("edited").exists());
    let edited = of(&reaping, "edited");
    assert_eq!(edited["action"], "keep");
    assert_eq!(edited["pins"], json!(["changes to tracked files"]));
    assert_eq!(edited["why"], "has work in it: changes to tracked files");

    let recent = yard.get_json("/api/reap").await;
    assert!(recent["next_pass"].is_string(), "{recent}");
    let mut said = Vec::new();
    for item in recent["items"].as_array().unwrap() {
        assert!(item["why"].as_str().unwrap().contains("worktree_ttl"));
        assert!(item["bytes"].as_u64().unwrap() > 0, "{item}");
        said.push(format!("{} {}", item["action"], item["branch"]));
    }
    said.sort();
    assert_eq!(said, [r#""remove" "built""#, r#""remove" "idle""#]);
    let metrics = yard.get("/metrics").await.text().await.unwrap();
    for name in [
        r#"branchyard_reaped_total{action="remove",reason="ttl"} 2"#,
        "branchyard_reaped_bytes_total",
        "branchyard_yard_bytes",
        "branchyard_workspaces_pinned",
    ] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    // It comes back whole.
    let events = yard.make("idle", &["who"]).await;
    assert_eq!(crate::support::text_of(&events), "idle\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_the_least_recently_used_goes_as_soon_as_one_is_made() {
    let mut yard = yard("").await;
    for branch in ["one", "two", "three"] {
        workspace(&yard, branch).await;
    }
    yard.stop().await;
    yard.configure(options("max_worktrees_per_repo = 2"));
    // Seconds tell them apart, so that it need not be waited for them.
    set_ticks(&yard, 1000);
    for (branch, tick) in [("one", 100), ("two", 50), ("three", 200)] {
        age(&yard, branch, |record| record["used_tick"] = json!(tick));
    }
    yard.start().await;
    let planned = dry_run(&yard).await;
    assert_eq!(of(&planned, "two")["action"], "remove");
    assert_eq!(planned["totals"]["remove"], 1);
    workspace(&yard, "four").await;
    until("the oldest two are gone", || {
        !yard.workspace("one").exists() && !yard.workspace("two").exists()
    })
    .await;
    assert!(yard.workspace("three").exists() && yard.workspace("four").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_a_use() {
    let mut yard = yard("").await;
    for branch in ["read", "built"] {
        workspace(&yard, branch).await;
    }
    yard.stop().await;
    yard.configure(options("max_worktrees_per_repo = 1"));
    set_ticks(&yard, 1000);
    age(&yard, "read", |record| record["used_tick"] = json!(100));
    age(&yard, "built", |record| record["used_tick"] = json!(500));
    yard.start().await;
    assert_eq!(of(&dry_run(&yard).await, "read")["action"], "remove");
    yard.post_json("/api/repos/demo/branches/read/ls", json!({}))
        .await;
    let planned = dry_run(&yard).await;
    assert_eq!(of(&planned, "read")["action"], "keep");
    assert_eq!(of(&planned, "built")["action"], "remove");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_the_clock_nor_downtime_makes_anything_old() {
    let mut yard = yard("worktree_ttl = \"1d\"").await;
    workspace(&yard, "kept").await;
    let ticks = yard.workspaces.join(".branchyard/ticks.json");
    let file = |text: &'static str| Some(text.to_owned());
    // What the clock said then, and what the count of idle time is found to be.
    for (last_used, count) in [
        ("2020-01-01T00:00:00Z", None),
        ("2099-01-01T00:00:00Z", None),
        ("2020-01-01T00:00:00Z", Some(None)),
        ("2020-01-01T00:00:00Z", Some(file(""))),
        (
            "2020-01-01T00:00:00Z",
            Some(file(r#"{"version":1,"ticks":0}"#)),
        ),
        (
            "2020-01-01T00:00:00Z",
            Some(file(r#"{"version":9,"ticks":99999999}"#)),
        ),
    ] {
        yard.stop().await;
        assert!(ticks.exists(), "written at a clean stop");
        age(&yard, "kept", |record| {
            record["last_used"] = json!(last_used);
            record["created_at"] = json!(last_used);
        });
        match &count {
            None => {}
            Some(None) => std::fs::remove_file(&ticks).unwrap(),
            Some(Some(text)) => std::fs::write(&ticks, text).unwrap(),
        }
        yard.start().await;
        let reaping = reap(&yard).await;
        let kept = of(&reaping, "kept");
        assert_eq!(kept["action"], "keep", "{last_used} {count:?}: {kept}");
        assert!(kept["idle"].as_u64().unwrap() < DAY, "{kept}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_time_goes_on_over_a_restart_and_a_mark_from_the_future_is_now() {
    let mut yard = yard("worktree_ttl = \"1d\"").await;
    for branch in ["old", "young", "future", "unmarked"] {
        workspace(&yard, branch).await;
    }
    yard.stop().await;
    set_ticks(&yard, 10 * DAY);
    for (branch, tick) in [
        ("old", json!(8 * DAY)),
        ("young", json!(10 * DAY - 600)),
        ("future", json!(99 * DAY)),
        ("unmarked", json!(null)),
    ] {
        age(&yard, branch, |record| record["used_tick"] = tick);
    }
    yard.start().await;
    let reaping = reap(&yard).await;
    for (branch, action, idle) in [
        ("old", "remove", 2 * DAY),
        ("young", "keep", 600),
        ("future", "keep", 0),
        ("unmarked", "keep", 0),
    ] {
        let item = of(&reaping, branch);
        assert_eq!(item["action"], action, "{item}");
        let known = item["idle"].as_u64().unwrap();
        assert!((idle..idle + 60).contains(&known), "{item}");
    }
    assert_eq!(of(&reaping, "old")["outcome"]["result"], "done");
    assert!(!yard.workspace("old").exists());
    yard.stop().await;
    // From now on these two grow old as well.
    set_ticks(&yard, 12 * DAY);
    yard.start().await;
    let planned = dry_run(&yard).await;
    for branch in ["young", "future", "unmarked"] {
        assert_eq!(of(&planned, branch)["action"], "remove", "{planned}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_workspaces_are_listed_reaped_and_found_again() {
    many_workspaces(30).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_five_hundred_workspaces_are_listed_reaped_and_found_again() {
    many_workspaces(500).await;
}

async fn many_workspaces(number: usize) {
    let mut yard = yard("").await;
    let branches: Vec<_> = (0..number).map(|n| format!("many/{n}")).collect();
    workspaces(&yard, &branches).await;
    let listed = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), number);
    assert_eq!(listed["items"][0]["pins"], json!([]));
    assert!(listed["items"][0]["size"].as_u64().unwrap() > 0);
    let planned = dry_run(&yard).await;
    assert_eq!(
        planned["totals"]["keep"].as_u64().unwrap(),
        number as u64 + 1
    );
    yard.stop().await;
    yard.configure(options("max_worktrees_per_repo = 5"));
    yard.start().await;
    let reaping = reap(&yard).await;
    assert_eq!(reaping["totals"]["remove"], number - 5);
    let left = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(left["items"].as_array().unwrap().len(), 5);
    assert!(left["items"][0]["sizes"]["source"].as_u64().unwrap() > 0);
    yard.stop().await;
}
