//! Room on the disk: build output goes first, then checkouts, then clones; no more than needed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::support::{git, problem_of};

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_workspaces_come_down_to_a_quarter() {
    // A clean checkout takes some 20 KiB of disk.
    build_output_goes(200, 256, "18MiB").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes and 2 GB: make soak"]
async fn soak_two_gigabytes_of_build_output_come_down_to_a_budget() {
    build_output_goes(200, 10 * 1024, "500MB").await;
}

/// So many workspaces with so much build output each, which have to come under a budget.
async fn build_output_goes(number: usize, kib: usize, budget: &str) {
    let mut yard = yard("").await;
    let branches: Vec<_> = (0..number).map(|n| format!("branch-{n}")).collect();
    workspaces(&yard, &branches).await;
    for branch in &branches {
        build(&yard.workspace(branch), kib);
    }
    let before = dry_run(&yard).await;
    let bytes = (number * kib * 1024) as u64;
    assert!(before["disk"]["yard"].as_u64().unwrap() > bytes, "{before}");
    assert_eq!(before["totals"]["drop_build_output"], 0);
    yard.stop().await;
    // The first is the one that was used last.
    set_ticks(&yard, 100_000);
    for (n, branch) in branches.iter().enumerate() {
        age(&yard, branch, |record| {
            record["used_tick"] = json!(90_000 - n);
            record["measured_tick"] = json!(0);
        });
    }
    yard.configure(options(&format!("max_size = \"{budget}\"")));
    yard.start().await;
    let reaping = reap(&yard).await;
    let (max_size, yard_size) = (&reaping["disk"]["max_size"], &reaping["disk"]["yard"]);
    let (max_size, yard_size) = (max_size.as_u64().unwrap(), yard_size.as_u64().unwrap());
    let freed = reaping["totals"]["bytes"].as_u64().unwrap();
    assert!(yard_size - freed <= max_size, "{reaping}");
    // And not one more than needed.
    let one = (kib * 1024) as u64;
    assert!(yard_size - freed + one + 16 * 1024 > max_size, "{reaping}");
    assert_eq!(reaping["totals"]["remove"], 0);
    let dropped = reaping["totals"]["drop_build_output"].as_u64().unwrap();
    for (n, branch) in branches.iter().enumerate() {
        let workspace = yard.workspace(branch);
        assert!(workspace.join("name.txt").exists(), "{branch}");
        let is_kept = workspace.join("ignored/big").exists();
        let goes = n as u64 >= number as u64 - dropped;
        assert_eq!(is_kept, !goes, "{branch}: the least recently used lost it");
    }
    let after = dry_run(&yard).await;
    assert_eq!(after["totals"]["keep"], number + 1, "{}", after["totals"]);
    assert!(after["disk"]["yard"].as_u64().unwrap() <= max_size);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn below_low_water_build_output_then_checkouts_go_and_work_stays() {
    // More than any disk has free, so all that may go goes.
    let mut yard = yard("low_water = \"1000000TiB\"\nhigh_water = \"2000000TiB\"").await;
    for branch in ["clean", "edited"] {
        workspace(&yard, branch).await;
        build(&yard.workspace(branch), 64);
        // What git shows may be meant for a commit.
        let shown = yard.workspace(branch).join("out");
        std::fs::create_dir(&shown).unwrap();
        std::fs::write(shown.join("shown"), "x").unwrap();
    }
    let edited = yard.workspace("edited");
    std::fs::write(edited.join("name.txt"), "mine\n").unwrap();
    std::fs::write(edited.join("notes.txt"), "mine too\n").unwrap();

    let planned = dry_run(&yard).await;
    assert_eq!(of(&planned, "clean")["action"], "remove");
    assert_eq!(of(&planned, "edited")["action"], "drop_build_output");
    assert!(of(&planned, "edited")["outcome"].is_null());
    assert!(edited.join("ignored/big").exists(), "only planned");
    assert!(yard.workspace("clean").exists(), "only planned");

    let reaping = reap(&yard).await;
    assert!(!yard.workspace("clean").exists());
    assert_eq!(of(&reaping, "edited")["outcome"]["result"], "done");
    let freed = of(&reaping, "edited")["outcome"]["bytes"].as_u64().unwrap();
    assert!(freed >= 64 * 1024, "{reaping}");
    assert!(!edited.join("ignored").exists());
    assert!(edited.join("out/shown").exists());
    let read = |name: &str| std::fs::read_to_string(edited.join(name)).unwrap();
    assert_eq!(read("name.txt"), "mine\n");
    assert_eq!(read("notes.txt"), "mine too\n");
    assert_eq!(git(&edited, &["status", "--porcelain"]).lines().count(), 3);

    let again = reap(&yard).await;
    assert_eq!(of(&again, "edited")["action"], "keep");
    assert_eq!(
        of(&again, "edited")["sizes"]["droppable"],
        0,
        "measured anew"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tracked_file_and_a_repository_within_build_output_stay() {
    let mut yard = yard("low_water = \"1000000TiB\"\nhigh_water = \"1000000TiB\"").await;
    yard.origin.branch("tracked");
    yard.origin.write("ignored/tracked.txt", "tracked\n");
    yard.origin.git(&["add", "-f", "ignored/tracked.txt"]);
    yard.origin.commit("a tracked file in an ignored directory");
    yard.origin.push("tracked");
    yard.make("tracked", &["who"]).await;
    let tracked = yard.workspace("tracked");
    std::fs::write(tracked.join("ignored/big"), vec![7; 100_000]).unwrap();
    std::fs::write(tracked.join("mine.txt"), "keeps the workspace").unwrap();

    workspace(&yard, "nested").await;
    let nested = yard.workspace("nested");
    build(&nested, 64);
    git(&nested, &["init", "-q", "ignored/deep/inner"]);
    std::fs::write(nested.join("ignored/deep/inner/mine"), "mine").unwrap();
    std::fs::write(nested.join("mine.txt"), "keeps the workspace").unwrap();

    let reaping = reap(&yard).await;
    assert_eq!(of(&reaping, "nested")["sizes"]["droppable"], 0);
    assert_eq!(git(&tracked, &["status", "--porcelain"]), "?? mine.txt");
    assert!(nested.join("ignored/deep/inner/mine").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_clone_goes_last_and_comes_back_when_it_is_wanted() {
    let tables = "[reaper]\nmax_size = \"1B\"\nworktree_ttl = \"1d\"\nlow_water = \"1B\"\nhigh_water = \"1B\"";
    let mut yard = Yard::with(Options {
        tables: tables.into(),
        ..Options::default()
    })
    .await;
    workspace(&yard, "topic").await;
    let first = reap(&yard).await;
    assert_eq!(of(&first, "topic")["action"], "remove");
    let store = &first["stores"][0];
    assert_eq!(
        (&store["repo"], &store["action"]),
        (&json!("demo"), &json!("keep"))
    );
    assert_eq!(store["why"], "it has a workspace");
    let second = reap(&yard).await;
    assert_eq!(second["stores"][0]["action"], "keep", "used just now");
    yard.stop().await;

    let ticks = yard.workspaces.join(".branchyard/ticks.json");
    let later = || {
        let text = std::fs::read(&ticks).unwrap();
        let mut count: Value = serde_json::from_slice(&text).unwrap();
        count["ticks"] = json!(count["ticks"].as_u64().unwrap() + 200_000);
        std::fs::write(&ticks, count.to_string()).unwrap();
    };
    later();
    // A commit that no remote has keeps the store.
    let kept = git(
        &yard.store(),
        &[
            "commit-tree",
            "-m",
            "kept",
            "refs/remotes/origin/main^{tree}",
        ],
    );
    git(
        &yard.store(),
        &["update-ref", "refs/branchyard/salvage/x", &kept],
    );
    yard.start().await;
    let third = reap(&yard).await;
    assert_eq!(
        third["stores"][0]["why"],
        "it has refs/branchyard/salvage/x"
    );
    git(
        &yard.store(),
        &["update-ref", "-d", "refs/branchyard/salvage/x"],
    );
    // And so does anything that no store of ours has.
    std::fs::create_dir(yard.store().join("set-aside")).unwrap();
    let fourth = reap(&yard).await;
    assert_eq!(fourth["stores"][0]["why"], "there is set-aside in it");
    std::fs::remove_dir(yard.store().join("set-aside")).unwrap();
    // Or that somebody put beside it, whatever its name.
    let beside = OsStr::from_bytes(b"caf\xe9");
    let beside = yard.store().parent().unwrap().join(beside);
    std::fs::write(&beside, "mine").unwrap();
    let kept = reap(&yard).await;
    assert_eq!(kept["stores"][0]["why"], "it has caf\u{fffd}", "{kept}");
    std::fs::remove_file(&beside).unwrap();

    let fifth = reap(&yard).await;
    assert_eq!(fifth["stores"][0]["action"], "discard_store", "{fifth}");
    assert_eq!(fifth["stores"][0]["outcome"]["result"], "done", "{fifth}");
    assert!(!yard.store().exists());
    let recent = yard.get_json("/api/reap").await;
    assert_eq!(recent["items"][0]["action"], "discard_store");
    assert_eq!(recent["items"][0]["branch"], json!(null));
    let events = yard.make("topic", &["who"]).await;
    assert_eq!(crate::support::text_of(&events), "topic\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing_and_says_all() {
    let mut yard = yard("max_size = \"1B\"").await;
    workspace(&yard, "clean").await;
    build(&yard.workspace("clean"), 64);
    workspace(&yard, "work").await;
    std::fs::write(yard.workspace("work").join("notes.txt"), "x").unwrap();
    let before = tree_of(&yard);
    for _ in 0..3 {
        dry_run(&yard).await;
    }
    assert_eq!(tree_of(&yard), before);
    let planned = dry_run(&yard).await;
    let work = of(&planned, "work");
    assert_eq!(work["pins"], json!(["untracked files: notes.txt"]));
    for field in ["source", "build_output", "measured_at"] {
        assert!(!work["sizes"][field].is_null(), "{work}");
    }
    assert!(work["last_used"].is_string() && work["idle"].is_u64());
    for field in [
        "free",
        "total",
        "low_water",
        "high_water",
        "yard",
        "max_size",
    ] {
        assert!(planned["disk"][field].is_u64(), "{field}: {planned}");
    }
    assert_eq!(yard.get_json("/api/reap").await["items"], json!([]));
    let described = yard.get_json("/api/repos/demo/branches/clean").await;
    let sizes = &described["sizes"];
    assert!(sizes["build_output"].as_u64().unwrap() >= 64 * 1024);
    let total = sizes["source"].as_u64().unwrap() + sizes["build_output"].as_u64().unwrap();
    assert_eq!(described["size"], total);

    let one = yard
        .post_json("/api/reap?dry_run=true&repo=demo", json!({}))
        .await;
    assert_eq!(one["items"].as_array().unwrap().len(), 2);
    for (query, status) in [("repo=none", 404), ("dry=1", 422), ("repo=..", 422)] {
        let refused = yard.post(&format!("/api/reap?{query}"), json!({})).await;
        assert_eq!(problem_of(refused).await.0, status, "{query}");
    }
    yard.stop().await;
}

/// Every file of the repo's workspaces.
fn tree_of(yard: &Yard) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![yard.workspaces.join("demo")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".git") {
                pending.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}
