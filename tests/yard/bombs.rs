//! Builds that start as many processes as they can, from their first instruction on: each stays within its limit, ends
//! with its time, and leaves nothing behind.
//!
//! The outer bound is a control group which the test makes, with the real program inside.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process_table::see_all_at_work;
use crate::support::{
    Agent, Binary, Options, PATIENCE, Table, Yard, json_of, processes_in, processes_of,
};

const LIMIT: usize = 60;
/// Its supervisor, and what there is of a sandbox.
const NOT_ITS_OWN: usize = 3;
/// What all of the test may have.
const TABLE: u64 = 400;
const TIMEOUT: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_millis(300);
/// To kill them all, on a machine that is busy with other tests.
const SLACK: Duration = Duration::from_secs(20);
/// What a bomb is given at most, where it takes so much of the machine that it ended before this test had a look.
const LONGEST: Duration = Duration::from_secs(16);

/// How it goes on making more of itself.
const KINDS: [&str; 5] = ["forks", "orphans", "threads", "execs", "shells"];

const BOMB: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
static void *rest(void *x) { for (;;) pause(); return x; }
int main(int argc, char **argv) {
    char *none[] = {0};
    (void)argc;
    signal(SIGTERM, SIG_IGN);
    for (;;) {
        pthread_t thread;
        if (!strcmp(argv[1], "forks")) { fork(); }
        /* Their parents are gone, and each has a session of its own. */
        if (!strcmp(argv[1], "orphans")) { if (fork() == 0) { if (fork() > 0) _exit(0); setsid(); } }
        if (!strcmp(argv[1], "threads")) { if (pthread_create(&thread, 0, rest, 0)) fork(); }
        /* Without the variable that they could be found by. */
        if (!strcmp(argv[1], "execs")) { fork(); execve("./bomb", argv, none); }
    }
}
"#;

fn options(profile: &str) -> Options {
    let bombs = KINDS[..4].iter();
    let bombs: String = bombs
        .map(|kind| format!("{kind} = [\"./bomb\", {kind:?}]\n"))
        .collect();
    Options {
        tables: format!(
            "[sandbox]\nprofile = {profile:?}\n[limits]\nmax_processes = {LIMIT}\n\
             [reaper]\nmax_worktrees_per_repo = 10000\nlow_water = \"1B\"\nhigh_water = \"1B\"\n"
        ),
        timeouts: format!("grace = \"{}ms\"\ndrain = \"500ms\"\n", GRACE.as_millis()),
        repo: format!(
            "[repos.demo.tasks]\nbuild = [\"cc\", \"-pthread\", \"-o\", \"bomb\", \"bomb.c\"]\n\
             shells = [\"sh\", \"-c\", \"b() {{ b & b & wait; }}; b; exec sleep 60\"]\n{bombs}"
        ),
        ..Options::default()
    }
}

async fn start(yard: &Yard, task: &str, timeout: Duration) -> String {
    let path = "/stream/repos/demo/branches/main/task";
    let request = yard
        .request(reqwest::Method::POST, path)
        .header("prefer", "respond-async");
    let asked = json!({"task": task, "timeout": format!("{}s", timeout.as_secs())});
    let started = json_of(request.json(&asked).send().await.unwrap()).await;
    started["run_id"].as_str().unwrap().to_owned()
}

fn asleep(profile: &str) -> Yard {
    let yard = Yard::asleep(options(profile));
    yard.origin.write("bomb.c", BOMB);
    yard.origin.commit("a bomb");
    yard.origin.push("main");
    yard
}

async fn build(yard: &Yard) {
    let built = start(yard, "build", PATIENCE).await;
    let record = yard.ended(&built).await;
    assert_eq!(record["state"], "succeeded", "{record}");
}

/// Sets one off, and sees it end with its time.
async fn set_off(
    yard: &Yard,
    kind: &str,
    timeout: Duration,
    meanwhile: impl AsyncFnOnce(&str),
) -> Value {
    let run = start(yard, kind, timeout).await;
    meanwhile(&run).await;
    let record = yard.ended(&run).await;
    // A shell that cannot fork gives up.
    let gave_up = kind == "shells" && record["state"] == "failed";
    assert!(
        gave_up || record["state"] == "timed_out",
        "{kind}: {record}"
    );
    let took = Duration::from_millis(record["duration_ms"].as_u64().unwrap());
    assert!(took < timeout + GRACE + SLACK, "{kind}: {record}");
    assert_eq!(processes_of(&run), [""; 0], "{kind}");
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0], "{kind}");
    assert_eq!(Yard::groups_of(&run), Vec::<PathBuf>::new(), "{kind}");
    record
}

/// The most processes and threads that a run was seen with while `time` passes; none where it was never seen.
async fn most_of(table: &Table, run: &str, time: Duration) -> Option<usize> {
    let until = Instant::now() + time;
    let mut most = None;
    while Instant::now() < until {
        if let Some(group) = table.group_of(run) {
            // The group that it was in from the start holds all others of the run.
            let start = group.parent().unwrap();
            let number = |file: &str| -> Option<usize> {
                // It may be gone by now.
                let text = std::fs::read_to_string(start.join(file)).ok()?;
                Some(text.trim().parse().unwrap())
            };
            if let (Some(limit), Some(now)) = (number("pids.max"), number("pids.current")) {
                assert_eq!(limit, LIMIT + NOT_ITS_OWN);
                most = most.max(Some(now));
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    most
}

async fn see_no_harm(table: &Table, yard: &Yard) {
    see_all_at_work(&yard.get_json("/readyz").await);
    assert_eq!(table.read("pids.events"), "max 0", "the table was full");
    let who = yard.make("main", &["who"]).await;
    assert_eq!(crate::support::text_of(&who), "main\n");
}

async fn every_kind(profile: &str) {
    let Some(table) = Table::new(&format!("bomb-{profile}")) else {
        return;
    };
    table.limit(&TABLE.to_string());
    let mut yard = asleep(profile);
    let mut daemon: Binary = table.start(&mut yard).await;
    build(&yard).await;
    for kind in KINDS {
        let mut time = TIMEOUT;
        let (record, most) = loop {
            let mut most = None;
            let see = async |run: &str| most = most_of(&table, run, time).await;
            let record = set_off(&yard, kind, time, see).await;
            match most {
                Some(most) => break (record, most),
                None => time *= 2,
            }
            assert!(time <= LONGEST, "{kind}: never seen");
        };
        println!("{profile} {kind}: at most {most}");
        // One that is being refused counts until it is; each processor may be at one.
        let refused = std::thread::available_parallelism().unwrap().get();
        assert!(most <= LIMIT + NOT_ITS_OWN + refused, "{kind}: {most}");
        // It did run into it.
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("max_processes"), "{kind}: {record}");
    }
    see_no_harm(&table, &yard).await;
    daemon.stop().await;
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_each_stays_within_its_limit() {
    every_kind("none").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_sandbox_each_stays_within_its_limit() {
    every_kind("standard").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_strict_sandbox_each_stays_within_its_limit() {
    every_kind("strict").await;
}

/// A user who may make no groups has the limit of the processes of all runs.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_ordinary_daemon_each_stays_within_its_limit() {
    let Some(table) = Table::new("bomb-ordinary") else {
        return;
    };
    table.limit(&TABLE.to_string());
    let mut yard = asleep("none");
    let mut daemon = yard.start_ordinary().await;
    table.take_in(&daemon);
    build(&yard).await;
    for kind in KINDS {
        set_off(&yard, kind, TIMEOUT, async |_| ()).await;
    }
    println!("all with the daemon: at most {}", table.read("pids.peak"));
    see_no_harm(&table, &yard).await;
    daemon.stop().await;
    table.remove().await;
}

async fn start_own(yard: &Yard, body: Value) -> String {
    let path = "/stream/repos/demo/branches/main/exec";
    let request = yard
        .request(reqwest::Method::POST, path)
        .header("prefer", "respond-async");
    let started = json_of(request.json(&body).send().await.unwrap()).await;
    started["run_id"].as_str().unwrap().to_owned()
}

/// The warnings that a record has.
fn codes_of(record: &Value) -> Vec<&str> {
    let warnings = record["warnings"].as_array().into_iter().flatten();
    let codes = warnings.map(|warning| warning["code"].as_str());
    codes.map(Option::unwrap).collect()
}

/// What a caller can make up by itself, as a command and as code.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_makes_up_is_bounded_and_named() {
    let Some(table) = Table::new("bomb-own") else {
        return;
    };
    table.limit(&TABLE.to_string());
    let mut options = options("standard");
    options.tables = options.tables.replace(
        "[limits]\n",
        "[limits]\nmax_memory = \"100MiB\"\nmax_output = \"1MiB\"\n",
    );
    let mut yard = Yard::asleep(options);
    let mut daemon: Binary = table.start(&mut yard).await;
    let shells = "b() { b & b & wait; }; b; exec sleep 60";
    let hungry = "x = []\nwhile True:\n    x.append(bytearray(10 << 20))\n";
    let flood = "yes 0123456789012345678901234567890123456789 | head -c 1000000000";
    for (what, body) in [
        (
            "max_processes",
            json!({ "argv": ["bash", "-c", shells], "timeout": "2s" }),
        ),
        (
            "max_processes",
            json!({ "script": shells, "interpreter": "bash", "timeout": "2s" }),
        ),
        (
            "longer than 1s",
            json!({ "argv": ["sh", "-c", "while :; do :; done"], "timeout": "1s" }),
        ),
        (
            "longer than 1s",
            json!({ "script": "while True: pass", "interpreter": "python", "timeout": "1s" }),
        ),
        (
            "max_memory",
            json!({ "argv": ["python3", "-c", hungry], "timeout": "1m" }),
        ),
        (
            "max_memory",
            json!({ "script": hungry, "interpreter": "python", "timeout": "1m" }),
        ),
        ("", json!({ "argv": ["sh", "-c", flood] })),
        ("", json!({ "script": flood, "interpreter": "shell" })),
    ] {
        let run = start_own(&yard, body.clone()).await;
        let record = yard.ended(&run).await;
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(what), "{body}: {record}");
        assert_eq!(processes_of(&run), [""; 0], "{body}");
        assert!(yard.log(&run).await.len() < 2 << 20, "{body}");
        let is_flood = what.is_empty();
        assert_eq!(record["state"] == "succeeded", is_flood, "{record}");
        let is_cut = codes_of(&record).contains(&"output_limit");
        assert_eq!(is_cut, is_flood, "{record}");
    }
    // The same as code of an agent, which holds each answer to 20,000 bytes itself.
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "build,code")]);
    let ended = ["failed", "signalled"];
    for (what, states, language, code, timeout) in [
        (
            "max_processes",
            ["timed_out", "failed"],
            "bash",
            shells,
            "2s",
        ),
        (
            "longer than 1s",
            ["timed_out"; 2],
            "python",
            "while True: pass",
            "1s",
        ),
        ("max_memory", ended, "python", hungry, "1m"),
        ("output_limit", ["succeeded"; 2], "shell", flood, "1m"),
    ] {
        let asked = json!({
            "repo": "demo", "branch": "main", "language": language, "code": code, "timeout": timeout,
        });
        let mut told = agent.call("execute_code", asked).await;
        while told["ended"] == false {
            let on = json!({ "run_id": told["run_id"], "cursor": told["next_cursor"] });
            told = agent.call("run_wait", on).await;
        }
        assert!(
            states.iter().any(|state| told["state"] == *state),
            "{what}: {told}"
        );
        let is_flood = what == "output_limit";
        let named = match is_flood {
            true => told["notices"].to_string(),
            false => told["reason"].to_string(),
        };
        assert!(named.contains(what), "{told}");
        assert!(!is_flood || told["truncated"] == true, "{told}");
        let run = told["run_id"].as_str().unwrap();
        assert_eq!(processes_of(run), [""; 0], "{what}");
    }
    see_no_harm(&table, &yard).await;
    daemon.stop().await;
    table.remove().await;
}
