//! Builds outlive the daemon: `kill -9` in the middle of them, and what the next daemon makes of it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::support::{
    Following, Options, PROGRAM, Yard, is_alive, processes_in, processes_of, text_of, until,
};

/// Targets that print numbered lines until `open` stands in the test's directory, note every start in
/// `starts`, how far they are in `far-<run>` and how many lines there were in `ended-<run>`.
fn makefile(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "\
well ill:
\t@echo $$BRANCHYARD_RUN_ID >> {dir}/starts; n=0; \\
\twhile [ ! -e {dir}/open ]; do \\
\t  n=$$((n+1)); echo line $$n; echo $$n > {dir}/far-$$BRANCHYARD_RUN_ID; sleep 0.05; \\
\tdone; \\
\techo after $$n lines; echo $$n > {dir}/ended-$$BRANCHYARD_RUN_ID; [ $@ = well ] || exit 7
hide:
\t@(env -i $$(which setsid) $$(which sh) -c 'trap \"\" TERM; echo $$$$ > {dir}/hidden; exec >/dev/null 2>&1; while :; do {sleep} 300; done' &); \\
\t({sleep} 300 >/dev/null 2>&1 &); \\
\tn=0; while :; do n=$$((n+1)); echo line $$n; sleep 0.05; done
big:
\t@yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | head -c 10000000; \\
\techo printed > {dir}/printed; while [ ! -e {dir}/open ]; do sleep 0.05; done
who:
\t@cat name.txt
",
        sleep = "/bin/sleep",
    )
}

fn yard() -> Yard {
    let yard = Yard::asleep(Options {
        tables: "[limits]\nmax_concurrent_runs = 64\nmax_concurrent_runs_per_repo = 64\n"
            .to_owned(),
        ..Options::default()
    });
    yard.origin.write("Makefile", makefile(yard.dir.path()));
    yard.origin.commit("numbered");
    yard.origin.push("main");
    yard
}

/// The number in a file that a build writes again and again; for a moment it is empty then.
fn number_in(file: &Path) -> Option<usize> {
    loop {
        let text = std::fs::read_to_string(file).ok()?;
        if !text.is_empty() {
            return text.trim().parse().ok();
        }
    }
}

/// How many lines a run has printed by now.
fn far(yard: &Yard, run: &str) -> usize {
    let file = yard.dir.path().join(format!("far-{run}"));
    // Between two numbers it is empty for a moment.
    while file.exists() {
        if let Some(far) = number_in(&file) {
            return far;
        }
    }
    0
}

async fn until_further(yard: &Yard, run: &str) {
    let before = far(yard, run);
    until("the build goes on", || far(yard, run) > before + 2).await;
}

fn expected_log(yard: &Yard, run: &str) -> String {
    let lines = number_in(&yard.dir.path().join(format!("ended-{run}"))).unwrap();
    let mut log: String = (1..=lines).map(|n| format!("line {n}\n")).collect();
    log.push_str(&format!("after {lines} lines\n"));
    log
}

fn starts(yard: &Yard) -> Vec<String> {
    let text = std::fs::read_to_string(yard.dir.path().join("starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Follows on from where a viewer was cut off.
async fn resume(yard: &Yard, viewer: &mut Following) {
    let run = viewer.run_id();
    let mut request = yard
        .request(Method::GET, &format!("/stream/runs/{run}"))
        .header("accept", "application/x-ndjson");
    if let Some(last) = viewer.events.last() {
        request = request.header("last-event-id", &last.id);
    }
    viewer.go_on(request.send().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_goes_on_without_its_daemon_and_its_viewers_after() {
    for (target, state, code) in [("well", "succeeded", 0), ("ill", "failed", 2)] {
        let mut yard = yard();
        yard.origin.branch("unwatched");
        let mut daemon = yard.start_binary(&[]).await;
        let unwatched = yard
            .start_detached("unwatched", json!({"args": [target]}))
            .await;
        let mut viewers = vec![
            yard.start_run("make", "main", json!({"args": [target]}))
                .await,
        ];
        viewers[0].until_line("line 2").await;
        let watched = viewers[0].run_id();
        for _ in 0..2 {
            let mut viewer = yard.follow(&watched).await;
            viewer.until_line("line 1").await;
            viewers.push(viewer);
        }
        until("both run", || far(&yard, &unwatched) > 1).await;
        daemon.kill().await;
        for viewer in &mut viewers {
            viewer.until_cut().await;
        }
        // Nobody listens to these lines.
        until_further(&yard, &watched).await;
        until_further(&yard, &unwatched).await;

        let mut daemon = yard.start_binary(&[]).await;
        for run in [&watched, &unwatched] {
            let record = yard.get_json(&format!("/api/runs/{run}")).await;
            assert_eq!(record["state"], "running", "{record}");
        }
        for viewer in &mut viewers {
            resume(&yard, viewer).await;
            let now = far(&yard, &watched);
            viewer.until_line(&format!("line {now}")).await;
        }
        std::fs::write(yard.dir.path().join("open"), "").unwrap();
        for viewer in &mut viewers {
            let end = viewer.end().await;
            assert_eq!(end.data["state"], state, "{end:?}");
            assert_eq!(end.data["exit_code"], code, "{end:?}");
            viewer.until_cut().await;
            let of_make: Vec<_> = viewer
                .events
                .iter()
                .filter(|event| event.kind == "stdout")
                .cloned()
                .collect();
            assert_eq!(text_of(&of_make), expected_log(&yard, &watched));
            let ends = viewer.events.iter().filter(|e| e.kind == "complete");
            assert_eq!(ends.count(), 1);
        }
        let path = format!("/api/runs/{unwatched}?wait=50s");
        let record = yard.get_json(&path).await;
        assert_eq!(record["state"], state, "{record}");
        assert_eq!(record["exit_code"], code, "{record}");
        let log = yard.log(&unwatched).await;
        assert!(log.starts_with(&expected_log(&yard, &unwatched)), "{log:?}");
        let mut started = starts(&yard);
        started.sort();
        let mut both = [watched, unwatched];
        both.sort();
        assert_eq!(started, both, "each was started once");
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_while_no_daemon_lived_is_told_by_the_next() {
    let mut yard = yard();
    yard.origin.branch("ill");
    let mut daemon = yard.start_binary(&[]).await;
    let well = yard.start_detached("main", json!({"args": ["well"]})).await;
    let ill = yard.start_detached("ill", json!({"args": ["ill"]})).await;
    until("both run", || far(&yard, &well) > 0 && far(&yard, &ill) > 0).await;
    let supervisors = [&well, &ill].map(|run| yard.supervisor_of(run));
    daemon.kill().await;
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    until("both ended", || {
        supervisors.iter().all(|pid| !is_alive(*pid))
    })
    .await;

    let mut daemon = yard.start_binary(&[]).await;
    for (run, state, code) in [(&well, "succeeded", 0), (&ill, "failed", 2)] {
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(record["state"], state, "{record}");
        assert_eq!(record["exit_code"], code, "{record}");
        let log = yard.log(run).await;
        assert!(log.starts_with(&expected_log(&yard, run)), "{log:?}");
    }
    assert_eq!(starts(&yard).len(), 2);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_builds_outlive_three_daemons() {
    let mut yard = yard();
    let branches: Vec<_> = (0..20).map(|n| format!("many/{n}")).collect();
    for branch in &branches {
        yard.origin.branch(branch);
    }
    let mut daemon = yard.start_binary(&[]).await;
    let mut runs = Vec::new();
    for branch in &branches {
        runs.push(yard.start_detached(branch, json!({"args": ["well"]})).await);
    }
    // The first dies while some of them are still being prepared.
    until("some run", || runs.iter().any(|run| far(&yard, run) > 0)).await;
    for _ in 0..3 {
        daemon.kill().await;
        let at_it: Vec<_> = runs.iter().filter(|run| far(&yard, run) > 0).collect();
        for run in at_it {
            until_further(&yard, run).await;
        }
        daemon = yard.start_binary(&[]).await;
    }
    for run in &runs {
        yard.follow(run).await.until_line("line 1").await;
    }
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    for run in &runs {
        let record = yard.get_json(&format!("/api/runs/{run}?wait=50s")).await;
        assert_eq!(record["state"], "succeeded", "{record}");
        assert_eq!(yard.log(run).await, expected_log(&yard, run));
    }
    let mut started = starts(&yard);
    started.sort();
    runs.sort();
    assert_eq!(started, runs, "each was started once");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_lost_run_lives_not_even_what_hides() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[]).await;
    let run = yard.start_detached("main", json!({"args": ["hide"]})).await;
    let hidden = yard.dir.path().join("hidden");
    until("it hides", || number_in(&hidden).is_some()).await;
    let hidden = i32::try_from(number_in(&hidden).unwrap()).unwrap();
    // By then it is enclosed, where a group can be had at all.
    let held = daemon.until_said("limits of runs are held").await;
    let groups = !held.contains("no cgroups");
    if groups {
        // What it starts just before it is enclosed is enclosed a moment later.
        until("it is enclosed with what it started", || {
            let children = format!("/proc/{hidden}/task/{hidden}/children");
            let children = std::fs::read_to_string(children).unwrap();
            let mut members: Vec<_> = children.split_whitespace().map(str::to_owned).collect();
            let has_started = !members.is_empty();
            members.push(format!("{hidden}"));
            has_started
                && Yard::groups_of(&run).iter().any(|group| {
                    let pids = std::fs::read_to_string(group.join("cgroup.procs"));
                    pids.is_ok_and(|pids| {
                        members
                            .iter()
                            .all(|member| pids.lines().any(|pid| pid == member))
                    })
                })
        })
        .await;
    } else {
        println!("what hides is not looked at: {held}");
    }
    daemon.kill().await;
    yard.kill_supervisor(&run).await;
    assert!(is_alive(hidden) && !processes_of(&run).is_empty());

    let mut daemon = yard.start_binary(&[]).await;
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["state"], "lost", "{record}");
    assert!(record["reason"].is_string(), "{record}");
    assert_eq!(processes_of(&run), [""; 0]);
    if groups {
        assert!(!is_alive(hidden), "{:?}", processes_in(yard.dir.path()));
        assert_eq!(Yard::groups_of(&run), Vec::<PathBuf>::new());
    } else {
        crate::support::kill(hidden, rustix::process::Signal::KILL);
    }
    let log = yard.log(&run).await;
    let lines = log.lines().count();
    let expected: String = (1..=lines).map(|n| format!("line {n}\n")).collect();
    assert!(lines > 0);
    assert_eq!(log, expected);
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    daemon.stop().await;
}

/// A lock file that names a living process which is not the supervisor: its number was used again, or
/// the machine was started anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_neither_adopted_nor_killed() {
    let mut yard = yard();
    let branches = ["later", "boot", "held"];
    for branch in branches {
        yard.origin.branch(branch);
    }
    let mut daemon = yard.start_binary(&[]).await;
    let mut runs = Vec::new();
    for branch in branches {
        runs.push(yard.start_detached(branch, json!({"args": ["well"]})).await);
    }
    until("all run", || runs.iter().all(|run| far(&yard, run) > 0)).await;
    daemon.kill().await;
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut locks = Vec::new();
    for (n, run) in runs.iter().enumerate() {
        yard.kill_supervisor(run).await;
        let alive = yard.run_dir(run).join("alive");
        let text = std::fs::read_to_string(&alive).unwrap();
        let own = identity(stranger.id(), &text);
        let (started, boot) = match n {
            0 => (own.started - 1, own.boot.as_str()),
            1 => (own.started, "7"),
            _ => (own.started + 1, own.boot.as_str()),
        };
        let pid = stranger.id();
        let planted = format!(r#"{{"pid":{pid},"started":{started},"boot":{boot}}}"#);
        File::create(&alive)
            .unwrap()
            .write_all(planted.as_bytes())
            .unwrap();
        if n == 2 {
            // Somebody even holds the lock.
            let lock = File::open(&alive).unwrap();
            flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
            locks.push(lock);
        }
    }
    let mut daemon = yard.start_binary(&[]).await;
    for run in &runs {
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(record["state"], "lost", "{record}");
        assert_eq!(processes_of(run), [""; 0]);
    }
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    for branch in branches {
        let events = yard.make(branch, &["who"]).await;
        assert_eq!(text_of(&events), format!("{branch}\n"));
    }
    daemon.stop().await;
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

struct Identity {
    started: u64,
    boot: String,
}

/// What a lock file would say of a process, in the words of one that is there. The boot is a number
/// too long for most readers of JSON, so it is taken as text.
fn identity(pid: u32, like: &str) -> Identity {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let started = fields.split_whitespace().nth(19).unwrap().parse().unwrap();
    let (_, boot) = like.split_once(r#""boot":"#).unwrap();
    Identity {
        started,
        boot: boot.trim_end_matches('}').to_owned(),
    }
}

/// An upgrade in the middle of a build: one copy of the program starts it, another ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_is_adopted_by_another_copy_of_the_program() {
    let mut yard = yard();
    let copy = yard.dir.path().join("branchyard-before");
    std::fs::copy(PROGRAM, &copy).unwrap();
    let mut daemon = yard.start_program(copy.to_str().unwrap(), &[]).await;
    let run = yard.start_detached("main", json!({"args": ["well"]})).await;
    until("it runs", || far(&yard, &run) > 0).await;
    daemon.kill().await;
    std::fs::remove_file(&copy).unwrap();
    let mut daemon = yard.start_binary(&[]).await;
    until_further(&yard, &run).await;
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}?wait=50s")).await;
    assert_eq!(record["state"], "succeeded", "{record}");
    assert_eq!(yard.log(&run).await, expected_log(&yard, &run));
    daemon.stop().await;
}

/// A supervisor is there for as long as its build: there may be hundreds.
#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_takes_little_memory() {
    let mut yard = yard();
    let mut daemon = yard.start_binary(&[]).await;
    let run = yard.start_detached("main", json!({"args": ["big"]})).await;
    until("it has printed", || {
        yard.dir.path().join("printed").exists()
    })
    .await;
    let pid = u32::try_from(yard.supervisor_of(&run)).unwrap();
    let (of_program, own) = private_memory(pid);
    println!("private memory of a supervisor: {own} KiB, and {of_program} KiB of its program");
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}?wait=50s")).await;
    assert_eq!(record["state"], "succeeded", "{record}");
    assert_eq!(yard.log(&run).await.len(), 10_000_000);
    daemon.stop().await;
    assert!(own < 1024, "{own} KiB");
}

/// What no other process shares, in KiB: pages of the program that the loader relocated, which are as many as the program
/// has tables (in a build without optimisation one for each function that is called), and what the process takes by itself.
fn private_memory(pid: u32) -> (u64, u64) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    let (mut is_of_program, mut of_program, mut own) = (false, 0, 0);
    for line in maps.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["Private_Clean:" | "Private_Dirty:", size, _] if is_of_program => {
                of_program += size.parse::<u64>().unwrap();
            }
            ["Private_Clean:" | "Private_Dirty:", size, _] => own += size.parse::<u64>().unwrap(),
            [range, ..] if !range.ends_with(':') => {
                is_of_program = words.get(5).is_some_and(|path| Path::new(path) == program);
            }
            _ => {}
        }
    }
    (of_program, own)
}

/// Kills of the daemon alone, at any moment from its start on, lose nothing and start nothing twice.
async fn outlive_kills_at_random(kills: u32, seed: u64) {
    let mut yard = yard();
    let branches: Vec<_> = (0..10).map(|n| format!("many/{n}")).collect();
    for branch in &branches {
        yard.origin.branch(branch);
    }
    let mut dice = seed;
    let mut daemon = yard.start_binary(&[]).await;
    let mut runs = Vec::new();
    for branch in &branches {
        runs.push(yard.start_detached(branch, json!({"args": ["well"]})).await);
    }
    for _ in 0..kills {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        tokio::time::sleep(Duration::from_millis(dice % 150)).await;
        daemon.kill().await;
        daemon = yard.spawn_binary(&[]);
    }
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    for run in &runs {
        yard.follow(run).await.until_line("line 1").await;
    }
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    for run in &runs {
        let record = yard.ended(run).await;
        assert_eq!(record["state"], "succeeded", "{record}");
        assert_eq!(yard.log(run).await, expected_log(&yard, run));
    }
    let mut started = starts(&yard);
    started.sort();
    runs.sort();
    assert_eq!(started, runs, "each was started once");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_at_random_moments_lose_nothing() {
    outlive_kills_at_random(8, 0x5EED).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_kills_at_random_moments_lose_nothing() {
    for seed in 1..=40 {
        println!("seed {seed}");
        outlive_kills_at_random(10, 0x9E37_79B9 * seed).await;
    }
}

/// A directory in its place: the file cannot be written, as on a full disk, until that goes.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_cannot_be_written_yet_is_shown_and_told_later() {
    let mut yard = yard();
    yard.start().await;
    let mut viewer = yard
        .start_run("make", "main", json!({"args": ["well"]}))
        .await;
    viewer.until_line("line 1").await;
    let run = viewer.run_id();
    let obstacle = yard.run_dir(&run).join("run.json.new");
    std::fs::create_dir(&obstacle).unwrap();
    std::fs::write(yard.dir.path().join("open"), "").unwrap();

    let record = yard.ended(&run).await;
    assert_eq!(record["state"], "succeeded", "{record}");
    let next = yard.make("main", &["well"]).await;
    assert_eq!(next.last().unwrap().data["state"], "succeeded");
    assert!(viewer.events.iter().all(|event| event.kind != "complete"));

    std::fs::remove_dir(&obstacle).unwrap();
    assert_eq!(viewer.end().await.data["state"], "succeeded");
    assert_eq!(yard.log(&run).await, expected_log(&yard, &run));
    yard.stop().await;
}
