//! A process table that is full, or that a build tries to fill: the daemon goes on, and so does what it does by itself.
//!
//! The table is that of a control group which the test makes, with the real program inside.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Binary, Options, PROGRAM, Yard, json_of, kill, until};

/// A control group with a limit of processes; whatever is in it ends with it.
struct Table(PathBuf);

impl Table {
    /// Or none, where no such group can be made.
    fn new(name: &str) -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = groups.lines().find_map(|line| line.split_once(":pids:"));
        let own = own.map_or("/", |(_, own)| own).trim_start_matches('/');
        let name = format!("branchyard-test-{name}-{}", std::process::id());
        let dir = PathBuf::from("/sys/fs/cgroup/pids").join(own).join(name);
        if let Err(error) = std::fs::create_dir(&dir) {
            println!("skipped: no control group of version 1 with a limit of processes: {error}");
            return None;
        }
        Some(Self(dir))
    }

    fn read(&self, file: &str) -> String {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap();
        text.trim().to_owned()
    }

    fn limit(&self, most: &str) {
        std::fs::write(self.0.join("pids.max"), most).unwrap();
    }

    /// Starts the daemon inside.
    async fn start(&self, yard: &mut Yard) -> Binary {
        use std::os::unix::fs::PermissionsExt;
        let program = yard.dir.path().join("inside");
        let group = self.0.join("cgroup.procs");
        let script = format!(
            "#!/bin/sh\necho $$ > {}\nexec {PROGRAM} \"$@\"\n",
            group.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        yard.start_program(program.to_str().unwrap(), &[]).await
    }

    /// It and the groups within, each after the one that it is in.
    fn dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.0.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at) {
            let below = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
            let below: Vec<_> = below.collect();
            dirs.extend(below);
            at += 1;
        }
        dirs
    }

    fn members(&self) -> Vec<i32> {
        let listed = |dir: &PathBuf| std::fs::read_to_string(dir.join("cgroup.procs"));
        let listed = self
            .dirs()
            .iter()
            .filter_map(|dir| listed(dir).ok())
            .collect::<String>();
        listed
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect()
    }

    /// The daemon left nothing inside.
    async fn remove(self) {
        until("nothing is left inside", || self.members().is_empty()).await;
        assert_eq!(self.dirs(), std::slice::from_ref(&self.0));
        let gone = || std::fs::remove_dir(&self.0).is_ok() || !self.0.exists();
        until("the group is gone", gone).await;
    }
}

impl Drop for Table {
    /// After a test that failed: what it started in there ends.
    fn drop(&mut self) {
        for _ in 0..200 {
            if !self.0.exists() {
                return;
            }
            self.limit("0");
            for pid in self.members() {
                kill(pid, Signal::KILL);
            }
            for dir in self.dirs().iter().rev() {
                let _ = std::fs::remove_dir(dir);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

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
fn see_all_at_work(ready: &Value) {
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
            9,
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

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_does_not_fill_it() {
    let Some(table) = Table::new("bomb") else {
        return;
    };
    // Of these all runs may have half, and each of them a quarter.
    table.limit("240");
    let mut yard = Yard::asleep(options(
        "",
        "[ -x bomb ] && exec ./bomb; echo 'int fork(void); int main(void) { for (;;) fork(); }' > bomb.c; cc -o bomb bomb.c",
    ));
    let mut daemon = table.start(&mut yard).await;
    let made = start_task(&yard).await;
    assert_eq!(yard.ended(&made).await["state"], "succeeded");
    // It begins at once, before its run is enclosed.
    let run = start_task(&yard).await;
    let refused = |group: &PathBuf| {
        std::fs::read_to_string(group.join("pids.events"))
            .is_ok_and(|events| events.trim() != "max 0")
    };
    until("it has hit its limit", || {
        Yard::groups_of(&run).iter().any(refused)
    })
    .await;
    let group = Yard::groups_of(&run).into_iter().find(refused).unwrap();
    assert_eq!(
        std::fs::read_to_string(group.join("pids.max"))
            .unwrap()
            .trim(),
        "60"
    );
    let all = std::fs::read_to_string(group.join("../pids.max")).unwrap();
    assert_eq!(all.trim(), "120");
    see_all_at_work(&yard.get_json("/readyz").await);
    println!("at most {} at once", table.read("pids.peak"));
    assert_eq!(
        table.read("pids.events"),
        "max 0",
        "the table itself was never full"
    );
    yard.post_json(&format!("/api/runs/{run}/cancel"), json!({}))
        .await;
    assert_eq!(yard.ended(&run).await["state"], "cancelled");
    assert_eq!(
        crate::support::text_of(&yard.make("main", &["who"]).await),
        "main\n"
    );
    daemon.stop().await;
    table.remove().await;
}
