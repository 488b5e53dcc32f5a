//! Many agents at once, each on a branch of its own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

const AGENTS: usize = 32;

fn yard() -> Yard {
    let yard = Yard::asleep(Options {
        tables: "[limits]\nmax_concurrent_runs = 16\nmax_concurrent_runs_per_repo = 16\n"
            .to_owned(),
        ..Options::default()
    });
    yard.origin.write(
        "Makefile",
        "all:\n\t@cat name.txt; echo $$BRANCHYARD_BRANCH $(WORD)\n",
    );
    for agent in 0..AGENTS {
        let branch = branch_of(agent);
        yard.origin.write("name.txt", format!("{branch}\n"));
        yard.origin.commit(&branch);
        yard.origin.push(&branch);
    }
    yard
}

fn branch_of(agent: usize) -> String {
    format!("agent-{agent}-task/{}", agent * 7)
}

/// One agent's work: whatever it hears must be of its own branch.
async fn work(agent: Agent, number: usize, commit: String, mut goes_on: impl FnMut(usize) -> bool) {
    let branch = branch_of(number);
    let mut round = 0;
    while goes_on(round) {
        let word = format!("word-{number}-{round}");
        let made = agent
            .call("make", json!({ "args": [format!("WORD={word}")] }))
            .await;
        let is_own = |answer: &Value, what: &str| {
            assert_eq!(answer["branch"], branch.as_str(), "{what}: {answer}");
            assert_eq!(answer["commit"], commit.as_str(), "{what}: {answer}");
        };
        is_own(&made, "make");
        assert_eq!(made["state"], "succeeded", "{made}");
        assert_eq!(made["output"], format!("{branch}\n{branch} {word}\n"));
        is_own(&agent.call("ls", json!({})).await, "ls");
        let read = agent.call("read_file", json!({ "path": "name.txt" })).await;
        is_own(&read, "read_file");
        assert_eq!(read["text"], format!("{branch}\n"));
        let log = json!({ "operation": "log", "args": "-n1 --format=%H" });
        let log = agent.call("git", log).await;
        is_own(&log, "git");
        assert_eq!(log["output"], format!("{commit}\n"));
        round += 1;
    }
}

async fn all_at_once(goes_on: impl Fn(usize) -> bool + Clone + Send + 'static) {
    let mut yard = yard();
    yard.start().await;
    let mut working = Vec::new();
    for number in 0..AGENTS {
        let branch = branch_of(number);
        let commit = yard.origin.git(&["rev-parse", &format!("origin/{branch}")]);
        let fixed = [
            ("branchyard-repo", "demo"),
            ("branchyard-branch", branch.as_str()),
        ];
        let agent = match number % 2 {
            0 => Agent::with(&yard, &fixed),
            _ => Agent::older(&yard, &fixed).await,
        };
        working.push(tokio::spawn(work(agent, number, commit, goes_on.clone())));
    }
    for agent in working {
        agent.await.unwrap();
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_agents_never_hear_of_one_another() {
    all_at_once(|round| round < 3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: make soak"]
async fn soak_thirty_two_agents_for_a_minute() {
    let end = Instant::now() + Duration::from_secs(60);
    all_at_once(move |_| Instant::now() < end).await;
}
