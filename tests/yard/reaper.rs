//! What goes by itself, what stays, and what it says about that.

mod pins;
mod races;
mod room;
mod time;
mod work;

use std::path::Path;
use std::time::Instant;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Options, PATIENCE, Yard, encode, json_of};

/// A yard whose reaper only works when it is told to, with these further lines under `[reaper]`.
/// Whatever is in `ignored/` and every `*.o` is build output that git ignores, `out/` such that it shows.
async fn yard(reaper: &str) -> Yard {
    Yard::with(options(reaper)).await
}

fn options(reaper: &str) -> Options {
    let water = if reaper.contains("low_water") {
        ""
    } else {
        "low_water = \"1B\"\nhigh_water = \"1B\""
    };
    let number = if reaper.contains("max_worktrees_per_repo") {
        ""
    } else {
        "max_worktrees_per_repo = 1000"
    };
    Options {
        tables: format!("[reaper]\ninterval = \"1h\"\n{number}\n{water}\n{reaper}"),
        repo: "build_output = [\"/ignored\", \"*.o\", \"out\"]".into(),
        ..Options::default()
    }
}

async fn reap(yard: &Yard) -> Value {
    yard.post_json("/api/reap", json!({})).await
}

async fn dry_run(yard: &Yard) -> Value {
    yard.post_json("/api/reap?dry_run=true", json!({})).await
}

/// What is said of one branch.
fn of<'a>(reaping: &'a Value, branch: &str) -> &'a Value {
    let items = reaping["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["branch"] == branch);
    found.unwrap_or_else(|| panic!("no {branch} in {reaping}"))
}

/// Reaps until `holds`: what depends on seconds gone by needs some.
async fn reap_until(yard: &Yard, what: &str, mut holds: impl FnMut(&Value) -> bool) -> Value {
    let by = Instant::now() + PATIENCE;
    loop {
        let reaping = reap(yard).await;
        if holds(&reaping) {
            return reaping;
        }
        assert!(Instant::now() < by, "never: {what}: {reaping}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// A workspace of this branch, which is made upstream first.
async fn workspace(yard: &Yard, branch: &str) {
    yard.origin.branch(branch);
    let events = yard.make(branch, &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
}

/// Workspaces of these branches, all at the commit of main, a few at a time.
async fn workspaces(yard: &Yard, branches: &[String]) {
    let pushed = branches
        .iter()
        .map(|name| format!("main:refs/heads/{name}"));
    let pushed: Vec<String> = pushed.collect();
    let mut args = vec!["push", "-q", "origin"];
    args.extend(pushed.iter().map(String::as_str));
    yard.origin.git(&args);
    for some in branches.chunks(8) {
        let made = some.iter().map(|branch| {
            let path = format!("/api/repos/demo/branches/{}", encode(branch));
            let request = yard.request(Method::PUT, &path).json(&json!({}));
            tokio::spawn(request.send())
        });
        for made in made.collect::<Vec<_>>() {
            json_of(made.await.unwrap().unwrap()).await;
        }
    }
}

/// Build output of so many KiB in a workspace, as a build leaves it.
fn build(workspace: &Path, kib: usize) {
    let dir = workspace.join("ignored");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("big"), vec![7; kib * 1024]).unwrap();
}

/// Says how long ago a workspace was used, in the daemon's own time, while no daemon runs.
fn age(yard: &Yard, branch: &str, change: impl FnOnce(&mut Value)) {
    let dir = yard.workspace(branch);
    let name = dir.file_name().unwrap();
    let file = yard
        .store()
        .join("worktrees")
        .join(name)
        .join("branchyard.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(file, record.to_string()).unwrap();
}

/// Sets the count of seconds in which daemons ran.
fn set_ticks(yard: &Yard, ticks: u64) {
    let file = yard.workspaces.join(".branchyard/ticks.json");
    let text = json!({"version": 1, "ticks": ticks}).to_string();
    std::fs::write(file, text).unwrap();
}

fn pin_of(branch: &str) -> String {
    format!("/api/repos/demo/branches/{branch}/pin")
}
