//! What pipelines cost: a job and a step beside a shell that does the same, the move of a scratch worktree beside `git
//! checkout`, and jobs that are answered without being run.

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::measure::{Aim, Report, Row, Series, Unit, interleave, timed};
use crate::setting::{ByHand, Served, Site, git_in, quiet};

/// Jobs, or steps, that are measured at once: what one more of them takes.
const MORE: usize = 20;
/// Jobs of a pipeline that is answered.
const ANSWERED: usize = 100;
/// What each step does, by the shell that a step of a workflow has.
const SHELL: [&str; 4] = ["--noprofile", "--norc", "-eo", "pipefail"];

pub async fn measure(report: &mut Report) {
    jobs_and_steps(report).await;
    answered(report).await;
    for (files, rounds) in report.scale.repositories() {
        moved(report, files, rounds).await;
    }
}

/// A workflow of one job, or of the rows of one.
fn workflow(job: &str, steps: usize) -> String {
    let steps = "      - run: 'true'\n".repeat(steps);
    format!("on: workflow_dispatch\njobs:\n  job:\n    runs-on: linux\n{job}    steps:\n{steps}")
}

/// As many rows, one after another or all at once.
fn rows(count: usize, most: usize) -> String {
    let numbers: Vec<_> = (0..count).map(|n| n.to_string()).collect();
    let numbers = numbers.join(", ");
    format!("    strategy: {{max-parallel: {most}, matrix: {{n: [{numbers}]}}}}\n")
}

const RUN: &str = "    reuse: \"off\"\n";

async fn jobs_and_steps(report: &mut Report) {
    let more = report.scale.of(MORE, 2);
    let one_after_another = format!("{RUN}{}", rows(more + 1, 1));
    let site = Site::with_workflows(
        report.scale.of(1_000, 30),
        0,
        &[
            ("one", &workflow(RUN, 1)),
            ("steps", &workflow(RUN, more + 1)),
            ("jobs", &workflow(&one_after_another, 1)),
        ],
    );
    let by_hand = site.by_hand();
    by_hand.add("main");
    let dir = by_hand.path("main");
    let script = dir.join(".git-step.sh");
    std::fs::write(&script, "true\n").unwrap();
    let step = || timed(|| shell(&dir, &script));
    let job = || git_in(&dir, &["checkout", "-q", "--detach", "main"]) + step();
    let served = site.serve().await;
    pipeline(&served, "one", "main").await;
    let rounds = report.scale.rounds(15);
    let [shell_job, shell_step, one, steps, jobs] =
        interleave(rounds, async |method, _| match method {
            0 => job(),
            1 => step(),
            2 => pipeline(&served, "one", "main").await.0,
            3 => pipeline(&served, "steps", "main").await.0,
            _ => pipeline(&served, "jobs", "main").await.0,
        })
        .await;
    let each = |many: &Series| many.less(&one).map(|took| took / more as f64);
    report.add(
        Row::new("pipeline of a job of a step", Unit::Seconds, &one)
            .beside("checkout, bash", &shell_job),
    );
    report.add(Row::new("one more step", Unit::Seconds, &each(&steps)).beside("bash", &shell_step));
    report.add(
        Row::new("one more job of a step", Unit::Seconds, &each(&jobs))
            .beside("checkout, bash", &shell_job),
    );
    served.stop().await;
}

fn shell(dir: &Path, script: &Path) {
    quiet(
        dir,
        "bash",
        &[&SHELL[..], &[script.to_str().unwrap()]].concat(),
    );
}

async fn answered(report: &mut Report) {
    let count = report.scale.of(ANSWERED, 3);
    let site = Site::with_workflows(
        report.scale.of(1_000, 30),
        0,
        &[("all", &workflow(&rows(count, count), 1))],
    );
    let served = site.serve().await;
    pipeline(&served, "all", "main").await;
    let [per_second] = interleave(report.scale.rounds(9), async |_, _| {
        let (took, record) = pipeline(&served, "all", "main").await;
        let jobs = record["jobs"].as_array().unwrap();
        assert!(jobs.iter().all(|job| job["state"] == "reused"), "{record}");
        jobs.len() as f64 / took
    })
    .await;
    report.add(Row::new("answered jobs", Unit::PerSecond, &per_second).aiming(Aim::AtLeast(50.0)));
    served.stop().await;
}

/// From the commit of one branch to that of another, which differ in a few files, and back.
async fn moved(report: &mut Report, files: usize, rounds: usize) {
    let site = Site::with_workflows(files, 2, &[("one", &workflow(RUN, 1))]);
    let label = site.label.clone();
    let by_hand = site.by_hand();
    let branches = ["bench-0", "bench-1"];
    for branch in branches {
        by_hand.fetch(branch);
    }
    let worktrees = ["checkout", "cleaned"].map(|name| detached(&by_hand, name));
    let served = site.serve().await;
    for branch in branches {
        pipeline(&served, "one", branch).await;
    }
    let [checkout, cleaned, yard] = interleave(rounds, async |method, round| {
        let branch = branches[round % 2];
        match method {
            0 | 1 => {
                let dir = &worktrees[method];
                let mut took = git_in(dir, &["checkout", "-q", "--detach", branch]);
                if method == 1 {
                    took += git_in(dir, &["clean", "-q", "-ffdx"]);
                }
                took
            }
            _ => preparing(&pipeline(&served, "one", branch).await.1),
        }
    })
    .await;
    let name = format!("moving a scratch worktree, {label}");
    let row = |against, plain| Row::new(&name, Unit::Seconds, &yard).beside(against, plain);
    report.add(row("checkout", &checkout));
    report.add(row("checkout, clean -ffdx", &cleaned));
    served.stop().await;
}

fn detached(by_hand: &ByHand, name: &str) -> std::path::PathBuf {
    let path = by_hand.path(name);
    let add = [
        "worktree",
        "add",
        "-q",
        "--detach",
        path.to_str().unwrap(),
        "bench-1",
    ];
    git_in(&by_hand.clone, &add);
    path
}

/// Runs a pipeline to its end, which must be a good one; how long that took.
async fn pipeline(served: &Served, file: &str, branch: &str) -> (f64, Value) {
    let began = Instant::now();
    let asked = json!({ "branch": branch, "file": format!("{file}.yml") });
    let path = "/api/repos/demo/pipelines";
    let started = served.ask(Method::POST, path, Some(&asked)).await;
    let started: Value = serde_json::from_slice(&started).unwrap();
    let id = started["pipeline_id"].as_str().unwrap();
    let mut record = started.clone();
    while record["ended_at"].is_null() {
        let answer = served.get(&format!("/api/pipelines/{id}?wait=50s")).await;
        record = serde_json::from_slice(&answer).unwrap();
    }
    assert_eq!(record["state"], "succeeded", "{record}");
    (began.elapsed().as_secs_f64(), record)
}

/// From the moment in which the only job has its worktree and its slot, until the first step begins.
fn preparing(record: &Value) -> f64 {
    let job = &record["jobs"][0];
    let [began, step] = [&job["started_at"], &job["steps"][0]["started_at"]].map(|at| {
        let at: Timestamp = at.as_str().unwrap().parse().unwrap();
        at
    });
    step.duration_since(began).as_secs_f64()
}
