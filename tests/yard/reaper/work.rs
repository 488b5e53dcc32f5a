//! Whatever the reaper has for a reason, work stays.

use super::*;
use crate::support::work::{WORK, snapshot, upstream};

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_work_stays_by_age_by_number_and_under_pressure() {
    // Only what everyone calls build output is that.
    let options = |reaper: &str| Options {
        repo: String::new(),
        ..options(reaper)
    };
    let mut yard = Yard::with(options("")).await;
    let branches: Vec<String> = (0..WORK.len()).map(|n| format!("work-{n}")).collect();
    upstream(&yard, &branches);
    for branch in &branches {
        yard.make(branch, &["who"]).await;
    }
    // With nothing in it, it goes: the reasons below are reasons to go.
    workspace(&yard, "empty").await;
    for ((_, work, _), branch) in WORK.iter().zip(&branches) {
        work(&yard, &yard.workspace(branch), branch);
    }
    let before: Vec<_> = branches
        .iter()
        .map(|branch| snapshot(&yard, branch))
        .collect();
    for (way, reaper) in [
        ("age", "worktree_ttl = \"1s\""),
        ("number", "max_worktrees_per_repo = 1"),
        ("pressure", "low_water = \"99%\"\nhigh_water = \"99%\""),
        ("budget", "max_size = \"1B\""),
    ] {
        yard.stop().await;
        yard.configure(options(""));
        yard.start().await;
        yard.make("empty", &["who"]).await;
        yard.stop().await;
        yard.configure(options(reaper));
        set_ticks(&yard, 1_000_000);
        for branch in branches.iter().chain([&"empty".to_owned()]) {
            age(&yard, branch, |record| record["used_tick"] = json!(0));
        }
        yard.start().await;
        let reaping = reap(&yard).await;
        assert_eq!(
            of(&reaping, "empty")["action"],
            "remove",
            "{way}: {reaping}"
        );
        assert!(!yard.workspace("empty").exists(), "{way}");
        for (n, branch) in branches.iter().enumerate() {
            let (what, _, said) = WORK[n];
            let item = of(&reaping, branch);
            assert_eq!(item["action"], "keep", "{what}, {way}: {item}");
            assert!(
                item["pins"].to_string().contains(said),
                "{what}, {way}: {item}"
            );
            assert_eq!(snapshot(&yard, branch), before[n], "{what}, {way}");
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_expires_in_the_daemons_own_time_and_not_by_the_clock_alone() {
    let mut yard = yard("salvage_ttl = \"1d\"").await;
    workspace(&yard, "topic").await;
    std::fs::write(yard.workspace("topic").join("notes.txt"), "mine\n").unwrap();
    let path = "/api/repos/demo/branches/topic?force=true";
    json_of(yard.delete(path).await).await;
    let saved = |yard: &Yard| {
        let listed = yard.request(Method::GET, "/api/salvage").send();
        async {
            json_of(listed.await.unwrap()).await["items"]
                .as_array()
                .unwrap()
                .len()
        }
    };
    // Ticks that say a year went by, which the clock does not know of: kept.
    yard.stop().await;
    set_ticks(&yard, 366 * 24 * 3600);
    yard.start().await;
    reap(&yard).await;
    assert_eq!(saved(&yard).await, 1);
    yard.stop().await;
    yard.configure(options("salvage_ttl = \"1s\""));
    yard.start().await;
    let by = Instant::now() + PATIENCE;
    while saved(&yard).await > 0 {
        assert!(Instant::now() < by, "it never expires");
        reap(&yard).await;
    }
    yard.stop().await;
}
