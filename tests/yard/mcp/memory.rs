//! What the daemon keeps of calls that were answered: nothing.

use std::ops::Range;
use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{Agent, Binary, Options, Yard, kib, until};

const AGENTS: usize = 8;
const FILES: usize = 30;
/// Of each: what git takes apart has to be of some size for anything to be kept of it.
const LINES: usize = 10_000;
const COMMITS: usize = 40;
/// What it may have more in the end than after a while: caches that fill, and how an allocator rounds.
const SLACK_KIB: u64 = 8 * 1024;

async fn busy_yard() -> (Yard, Binary) {
    let mut yard = Yard::asleep(Options {
        tables: "[limits]\nmax_requests_per_second = 100000\nmax_request_burst = 100000\n".into(),
        ..Options::default()
    });
    let lines = |seed: usize, count: usize| -> String {
        let word = |line: usize| line.wrapping_mul(2_654_435_761).rotate_left(7) ^ seed;
        (0..count)
            .map(|line| format!("{:x} of {seed}\n", word(line)))
            .collect()
    };
    for number in 0..FILES {
        yard.origin
            .write(&format!("src/{number}.txt"), lines(number, LINES));
    }
    for number in 0..COMMITS {
        // A little of it changes each time, at another place.
        let changed = lines(number % FILES, LINES).replacen(&format!("{number}"), "changed", 20);
        yard.origin
            .write(&format!("src/{}.txt", number % FILES), changed);
        yard.origin.commit(&format!("change {number}"));
    }
    for branch in ["b0", "b1", "b2", "b3"] {
        yard.origin.push(branch);
    }
    let daemon = yard.start_binary(&[]).await;
    (yard, daemon)
}

/// What becomes of the sessions that clients open. Those that are left stay in memory, up to a number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sessions {
    Ended,
    Left,
}

/// The call of this number: all kinds of looks, and now and then a build or a session.
async fn call(yard: &Yard, agent: &Agent, sessions: Sessions, number: usize) {
    let branch = format!("b{}", number % 4);
    let file = format!("src/{}.txt", number % FILES);
    let back = format!("HEAD~{}", number % COMMITS);
    let (name, more) = match number % 11 {
        0 => ("read_file", json!({ "path": file })),
        1 => (
            "grep",
            json!({ "pattern": format!("of {}$", number % FILES) }),
        ),
        2 => ("git_status", json!({})),
        3 => ("git_log", json!({ "limit": 30, "patch": true })),
        4 => ("git_show", json!({ "revision": back })),
        5 => ("git_diff", json!({ "from": back })),
        6 => ("ls", json!({ "path": "src" })),
        7 => ("git_list", json!({ "what": "branches" })),
        8 if number.is_multiple_of(7) => ("git_blame", json!({ "path": "src/0.txt" })),
        8 => ("runs", json!({})),
        9 if number.is_multiple_of(5) => ("make", json!({ "args": ["who"] })),
        9 => ("list", json!({})),
        _ if sessions == Sessions::Left || number.is_multiple_of(3) => {
            let other = Agent::older(yard, &[]).await;
            if sessions == Sessions::Ended {
                let end = yard.request(Method::DELETE, "/mcp");
                let end = end.header("mcp-session-id", other.session().unwrap());
                assert!(end.send().await.unwrap().status().is_success());
            }
            return;
        }
        _ => ("git_reflog", json!({})),
    };
    let mut given = more;
    if name != "list" {
        given["repo"] = "demo".into();
        given["branch"] = branch.into();
    }
    let answer = agent.tool(name, given).await;
    assert_ne!(answer["isError"], true, "{name}: {answer}");
}

async fn calls(yard: &Arc<Yard>, sessions: Sessions, numbers: Range<usize>) {
    let mut all = JoinSet::new();
    for first in 0..AGENTS {
        let (yard, numbers) = (yard.clone(), numbers.clone());
        all.spawn(async move {
            let sets = [("branchyard-toolsets", "yard,build,git_read")];
            let agent = match first % 2 {
                0 => Agent::with(&yard, &sets),
                _ => Agent::older(&yard, &sets).await,
            };
            for number in numbers.skip(first).step_by(AGENTS) {
                call(&yard, &agent, sessions, number).await;
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

/// Calls until it has what it keeps, and then as many more as should cost nothing.
async fn stays_flat(sessions: Sessions, first: usize, more: usize) {
    let (yard, mut daemon) = busy_yard().await;
    let yard = Arc::new(yard);
    let has = || kib(daemon.pid(), "status", "RssAnon:");
    calls(&yard, sessions, 0..first).await;
    let after_a_while = has();
    calls(&yard, sessions, first..first + more).await;
    println!(
        "{first} calls: {after_a_while} KiB; {more} more: {} KiB",
        has()
    );
    // What was in use a moment ago is given back in a while.
    until("memory is given back", || {
        has() <= after_a_while + SLACK_KIB
    })
    .await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_leave_nothing_behind() {
    stays_flat(Sessions::Ended, 600, 1_200).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_twenty_thousand_calls_cost_nothing_after_five_thousand() {
    stays_flat(Sessions::Left, 5_000, 20_000).await;
}
