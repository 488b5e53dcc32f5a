//! Many pipelines under a daemon that is killed again and again, while an agent works on in its own workspace.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Ended, text};
use crate::support::chance::Chance;
use crate::support::{Binary, Options, Yard, git, processes_in};

/// As many jobs and scratch worktrees at once.
const POOL: usize = 4;

struct Storm {
    pipelines: usize,
    kills: usize,
    /// Between two kills, in milliseconds: at least, and how much more at most.
    pause: (u64, usize),
    seed: u64,
}

/// Five jobs: every step notes that it was started, in a file that outlives it.
fn workflow(yard: &Yard) {
    let marks = yard.mark("marks");
    let mark = |step: &str| {
        format!(
            "echo \"$GITHUB_RUN_ID $GITHUB_JOB {step}\" >> {}; for i in 1 2 3; do echo \"{step} line $i\"; done",
            marks.display()
        )
    };
    let (one, two) = (mark("one"), mark("two"));
    let plain = |name: &str, needs: &str| {
        format!(
            "  {name}:\n    runs-on: linux\n{needs}    steps:\n      - run: '{one}; sleep 0.02'\n      - run: '{two}'\n"
        )
    };
    let jobs = [
        plain("a", ""),
        format!(
            "  b:\n    runs-on: linux\n    outputs: {{word: '${{{{ steps.say.outputs.word }}}}'}}\n    steps:\n      - \
             id: say\n        run: '{one}; echo \"word=$GITHUB_RUN_ID\" >> $GITHUB_OUTPUT'\n      - run: '{two}'\n"
        ),
        plain("c", "    needs: [a, b]\n"),
        format!(
            "  d:\n    runs-on: linux\n    needs: b\n    steps:\n      - {{run: '{one}; test \"$W\" = \"$GITHUB_RUN_ID\"', \
             env: {{W: '${{{{ needs.b.outputs.word }}}}'}}}}\n      - {{if: always(), run: '{two}; exit 3'}}\n"
        ),
        plain("e", "    needs: d\n    if: failure()\n"),
    ];
    // Each is to run, though all see the same.
    yard.jobs(
        &jobs
            .concat()
            .replace("    runs-on", "    reuse: \"off\"\n    runs-on"),
    );
}

const STATES: [&str; 5] = [
    "a succeeded",
    "b succeeded",
    "c succeeded",
    "d failed",
    "e succeeded",
];

async fn weather(storm: &Storm) {
    let limits =
        format!("[limits]\nmax_concurrent_runs = 8\nmax_concurrent_runs_per_repo = {POOL}");
    let mut yard = Yard::asleep(Options {
        tables: limits,
        ..Options::default()
    });
    workflow(&yard);
    yard.origin.branch("agent");
    let mut chance = Chance::new(storm.seed);
    let mut daemon = yard.start_binary(&[]).await;
    yard.put("/api/repos/demo/branches/agent", json!({})).await;
    let mut ids = Vec::new();
    let mut builds = Vec::new();
    for nth in 0..=storm.kills {
        // Some are started in each daemon's life, with a key: whether they were is not known after a kill.
        let share = storm.pipelines * (nth + 1) / (storm.kills + 1);
        let working = async {
            while ids.len() < share {
                let key = format!("pipeline {}", ids.len());
                ids.push(started(&yard, &key).await);
            }
            builds.push(edit_and_build(&yard, nth).await);
        };
        if nth == storm.kills {
            working.await;
            break;
        }
        let (least, more) = storm.pause;
        let pause = least + u64::try_from(chance.below(more)).unwrap();
        let (_, ()) = tokio::join!(
            tokio::time::timeout(Duration::from_millis(pause), working),
            tokio::time::sleep(Duration::from_millis(pause))
        );
        daemon.kill().await;
        daemon = yard.start_binary(&[]).await;
    }
    see_all(&yard, &ids).await;
    assert!(!builds.is_empty());
    for build in &builds {
        assert_eq!(yard.ended(build).await["state"], "succeeded");
        assert_eq!(yard.log(build).await, "agent\n");
        // If it waited for the workspace, then for another build of the agent's.
        let follow = format!("/stream/runs/{build}");
        for event in crate::support::events_of(yard.get(&follow).await).await {
            let holder = event.data["holder"]["run_id"].as_str();
            let is_own = |holder: &str| builds.iter().any(|build| build == holder);
            assert!(holder.is_none_or(is_own), "{event:?}");
        }
    }
    see_nothing_left(&yard, daemon).await;
}

async fn started(yard: &Yard, key: &str) -> String {
    let request = yard.request(reqwest::Method::POST, super::PIPELINES);
    let request = request.header("idempotency-key", key).json(&json!({}));
    let record = crate::support::json_of(request.send().await.unwrap()).await;
    text(&record["pipeline_id"]).to_owned()
}

/// An agent's own work, in files that no job ever touches or waits for. Returns its build.
async fn edit_and_build(yard: &Yard, nth: usize) -> String {
    let content = format!("edit {nth}\n");
    let file = yard.workspace("agent").join("edited.txt");
    std::fs::write(&file, &content).unwrap();
    yard.verb("agent", "status", json!({})).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
    yard.start_detached("agent", json!({"args": ["who"]})).await
}

async fn see_all(yard: &Yard, ids: &[String]) {
    let mut expected = Vec::new();
    for id in ids {
        let ended = yard.pipeline_ended(id).await;
        assert_eq!(ended.state(), "failed", "{:#}", ended.0);
        assert_eq!(ended.states(), STATES, "{:#}", ended.0);
        see_logs(yard, &ended).await;
        for job in ["a", "b", "c", "d", "e"] {
            for step in ["one", "two"] {
                expected.push(format!("{id} {job} {step}"));
            }
        }
    }
    let mut marked = yard.marked("marks");
    marked.sort();
    expected.sort();
    assert_eq!(marked, expected, "every step is started exactly once");
    let total = yard.get_json("/api/repos/demo/pipelines?limit=500").await;
    assert_eq!(total["items"].as_array().unwrap().len(), ids.len());
}

async fn see_logs(yard: &Yard, ended: &Ended) {
    for job in ended.jobs() {
        let steps = job["steps"].as_array().unwrap();
        for (step, word) in steps.iter().zip(["one", "two"]) {
            let log = yard.log(text(&step["run_id"])).await;
            let whole: String = (1..=3).map(|n| format!("{word} line {n}\n")).collect();
            assert_eq!(log, whole, "{job:#}");
        }
    }
    let follow = format!("/stream/pipelines/{}", ended.id());
    let events = crate::support::events_of(yard.get(&follow).await).await;
    let is_end = |data: &Value| data["jobs"].is_array() && data["ended_at"].is_string();
    let ends = events.iter().filter(|event| is_end(&event.data)).count();
    assert_eq!(ends, 1, "{events:#?}");
}

async fn see_nothing_left(yard: &Yard, mut daemon: Binary) {
    let scratch = yard.scratch_worktrees();
    assert!(scratch.len() <= POOL, "{scratch:?}");
    let listed = git(&yard.store(), &["worktree", "list", "--porcelain"]);
    let known = listed.lines().filter(|line| line.contains("/@scratch-"));
    assert_eq!(known.count(), scratch.len(), "{listed}");
    assert!(!listed.contains("prunable"), "{listed}");
    git(
        &yard.store(),
        &["rev-list", "--quiet", "--objects", "--all"],
    );
    let agent = yard.workspace("agent");
    assert_eq!(git(&agent, &["status", "--porcelain"]), "?? edited.txt");
    assert_eq!(
        std::fs::read_to_string(agent.join("name.txt")).unwrap(),
        "agent\n"
    );
    assert_eq!(git(&agent, &["symbolic-ref", "--short", "HEAD"]), "agent");
    daemon.stop().await;
    assert_eq!(processes_in(&yard.workspaces), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_pipelines_outlive_five_kills() {
    weather(&Storm {
        pipelines: 20,
        kills: 5,
        pause: (200, 900),
        seed: 28,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_two_hundred_pipelines_outlive_sixty_kills() {
    weather(&Storm {
        pipelines: 200,
        kills: 60,
        pause: (2000, 4000),
        seed: 0x5EED,
    })
    .await;
}
