//! What agents do all day, by the official client: how many calls and bytes it takes, and that it arrives.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::installed::{at, python, run_for};
use crate::support::{Binary, Options, PATIENCE, PROGRAM, Yard, git, until};

/// Each agent works on a branch of its own, with a file at its path.
const AGENTS: usize = 8;
const ROUNDS: usize = 3;

pub async fn start(yard: &mut Yard) -> Binary {
    let runtime = yard.dir.path().join("run");
    std::fs::create_dir_all(&runtime).unwrap();
    yard.start_binary(&[("XDG_RUNTIME_DIR", runtime.to_str().unwrap())])
        .await
}

/// What the client reports of each step. It finds the daemon by itself, wherever that is started anew.
pub async fn client(dir: PathBuf, steps: Vec<Value>) -> Vec<Value> {
    let plan = json!({
        "command": PROGRAM,
        "args": ["mcp", "--role", "dev", "--content", "text", "--repo", "demo"],
        "env": { "HOME": dir.join("nobody"), "XDG_RUNTIME_DIR": dir.join("run") },
        "protocol": "2026-07-28",
        "steps": steps,
    });
    let mut command = python();
    command.arg(at("drivers/drive.py")).arg(plan.to_string());
    let ended = run_for(PATIENCE + Duration::from_secs(120), command).await;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let report = report["steps"].as_array().unwrap().clone();
    for (step, said) in steps.iter().zip(&report) {
        let went_wrong = said.get("error").is_some() || said["result"]["isError"] == true;
        assert!(!went_wrong, "{step}: {said:#}\n{stderr}");
    }
    report
}

pub fn call(tool: &str, branch: &str, more: Value) -> Value {
    let mut arguments = more;
    arguments["branch"] = branch.into();
    json!({ "do": "call", "tool": tool, "arguments": arguments })
}

pub fn clone(agent: &str, base: &str) -> Value {
    let task = json!({ "agent_id": agent, "task_id": "t", "base": base });
    json!({ "do": "call", "tool": "git_clone", "arguments": task })
}

fn write(branch: &str, path: &str, content: &str) -> Value {
    let file = json!({ "path": path, "content": content, "mode": "overwrite" });
    call("write_file", branch, file)
}

pub fn branch(agent: &str) -> String {
    format!("agent-{agent}-t")
}

pub fn text(said: &Value) -> &str {
    said["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// Prints what the calls cost, and holds it to a bound.
pub fn cost(task: &str, report: &[Value], most: u64) {
    let bytes: Vec<u64> = report
        .iter()
        .filter_map(|said| said["bytes"].as_u64())
        .collect();
    let all: u64 = bytes.iter().sum();
    println!("{task}: {} calls, {all} bytes", bytes.len());
    assert!(all <= most, "{task}: {all} bytes: {bytes:?}");
}

fn fill(yard: &Yard) -> Vec<String> {
    let origin = &yard.origin;
    origin.write(
        "src/greet.c",
        "int greet(int n)\n{\n    int sum = n\n    return sum + 1;\n}\n",
    );
    let tests = "\
build:
\tcc -Wall -c -o greet.o src/greet.c
test:
\t@seq -f 'test %g ... ok' 6788; echo 'test 6789 ... FAILED: expected 4, got 5'; \\
\tseq -f 'test %g ... ok' 6790 10000; exit 1
check:
\t@test `cat number` -lt 11
";
    origin.write("Makefile", tests);
    origin.write("shared.txt", "one\ntwo\nthree\n");
    origin.commit("a project");
    for branch in ["work", "shared", "integration"] {
        origin.push(branch);
    }
    let mut history = Vec::new();
    for number in 0..16 {
        origin.write("number", format!("{number}\n"));
        history.push(origin.commit(&format!("number {number}")));
    }
    origin.push("history");
    history
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_few_calls_and_bytes() {
    let mut yard = Yard::asleep(Options::default());
    let history = fill(&yard);
    let mut daemon = start(&mut yard).await;
    let dir = yard.dir.path().to_owned();

    let of = branch("fixer");
    let build = || call("make", &of, json!({ "args": ["build"] }));
    let fixed = client(
        dir.clone(),
        vec![
            clone("fixer", "work"),
            build(),
            call(
                "read_file",
                &of,
                json!({ "path": "src/greet.c", "start_line": 1, "end_line": 5 }),
            ),
            call(
                "edit_file",
                &of,
                json!({ "path": "src/greet.c", "edits": [{ "old": "= n\n", "new": "= n;\n" }] }),
            ),
            build(),
            call("git_push", &of, json!({ "message": "Mend greet" })),
        ],
    )
    .await;
    assert!(
        text(&fixed[1]).contains("src/greet.c:3") && text(&fixed[1]).contains("failed"),
        "{}",
        text(&fixed[1])
    );
    assert!(text(&fixed[4]).contains("succeeded"), "{}", text(&fixed[4]));
    assert!(git(&yard.origin.bare, &["show", &format!("{of}:src/greet.c")]).contains("n;"));
    cost("a compile error", &fixed, 17_595 / 2);

    let (ann, ben) = (branch("ann"), branch("ben"));
    let commit = |of: &str| call("git_commit", of, json!({ "message": "Two", "all": true }));
    let deliver = |of: &str| call("git_deliver", of, json!({ "into": "shared" }));
    let content = "one\nann and ben\nthree\n";
    let joined = client(
        dir.clone(),
        vec![
            clone("ann", "shared"),
            clone("ben", "shared"),
            write(&ann, "shared.txt", "one\nann\nthree\n"),
            commit(&ann),
            deliver(&ann),
            write(&ben, "shared.txt", "one\nben\nthree\n"),
            commit(&ben),
            deliver(&ben),
            call(
                "git_resolve",
                &ben,
                json!({ "paths": ["shared.txt"], "content": content }),
            ),
            call("git_merge", &ben, json!({ "action": "continue" })),
            deliver(&ben),
        ],
    )
    .await;
    assert!(
        text(&joined[7]).contains("nothing was pushed") && text(&joined[7]).contains("ann"),
        "{}",
        text(&joined[7])
    );
    assert_eq!(
        git(&yard.origin.bare, &["show", "shared:shared.txt"]),
        content.trim_end()
    );
    cost("a conflict of two", &joined, 12_987 / 2);

    let mut test = call("make", &branch("tester"), json!({ "args": ["test"] }));
    test["find"] = json!({ "run": "run_id ([0-9a-f-]{36})" });
    let look = json!({ "run_id": "$run", "pattern": "FAILED" });
    let found = client(
        dir.clone(),
        vec![
            clone("tester", "work"),
            test,
            json!({ "do": "call", "tool": "run_log", "arguments": look }),
        ],
    )
    .await;
    assert!(
        text(&found[2]).contains("test 6789 ... FAILED: expected 4, got 5"),
        "{}",
        text(&found[2])
    );
    cost("a failing test in 10,000 lines", &found, 11_853 / 2);

    let of = "history";
    let asked = json!({ "limit": 16, "verbosity": "minimal" });
    let mut steps = vec![call("git_log", of, asked)];
    let tried = [7, 11, 9, 10];
    for number in tried {
        let asked = json!({ "args": ["check"], "sync": "commit", "commit": history[number] });
        steps.push(call("make", of, asked));
    }
    let bisected = client(dir, steps).await;
    for (said, number) in bisected[1..].iter().zip(tried) {
        let verdict = if number < 11 { "succeeded" } else { "failed" };
        assert!(text(said).contains(verdict), "{number}: {}", text(said));
    }
    cost("a bisection", &bisected, 22_790 / 2);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_agents_deliver_to_one_branch_over_two_kills() {
    let mut yard = Yard::asleep(Options::default());
    fill(&yard);
    let mut daemon = start(&mut yard).await;
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..AGENTS {
        let (agent, dir) = (number.to_string(), yard.dir.path().to_owned());
        let of = branch(&agent);
        // Whatever a kill cut off is done again; what was done before it counts.
        let again = |mut step: Value, done: &str| {
            step["again"] = json!(20);
            step["done"] = json!(done);
            step
        };
        let mut steps = vec![again(clone(&agent, "integration"), "")];
        for round in 0..ROUNDS {
            let name = format!("{number}-{round}");
            steps.push(again(write(&of, &name, "work\n"), ""));
            let commit = json!({ "message": name, "paths": [name] });
            steps.push(again(call("git_commit", &of, commit), "nothing_to_commit"));
            steps.push(again(
                call("git_deliver", &of, json!({ "into": "integration" })),
                "",
            ));
        }
        clients.spawn(client(dir, steps));
    }
    let bare = yard.origin.bare.clone();
    let arrived = || git(&bare, &["ls-tree", "--name-only", "integration"]);
    let is_work = |name: &&str| name.contains('-');
    let count = || arrived().lines().filter(is_work).count();
    for enough in [4, 12] {
        until("some arrived", || count() >= enough).await;
        daemon.kill().await;
        daemon = start(&mut yard).await;
    }
    let mut calls = 0;
    while let Some(report) = clients.join_next().await {
        let report = report.unwrap();
        calls += report
            .iter()
            .filter_map(|said| said["calls"].as_u64())
            .sum::<u64>();
    }
    println!(
        "{AGENTS} agents: {} deliveries, {calls} calls",
        AGENTS * ROUNDS
    );
    assert_eq!(count(), AGENTS * ROUNDS, "{}", arrived());
    for number in 0..AGENTS {
        for round in 0..ROUNDS {
            let name = format!("{number}-{round}");
            let log = git(
                &bare,
                &[
                    "log",
                    "--format=%s",
                    "--no-merges",
                    "integration",
                    "--",
                    &name,
                ],
            );
            assert_eq!(log, name, "each commit once");
        }
    }
    daemon.stop().await;
}
