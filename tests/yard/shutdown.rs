//! A daemon that is told to stop leaves its builds to their supervisors, and nothing of them is lost.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Options, Yard, until};

const RUNS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn fifty_builds_go_on_after_the_daemon_was_told_to_stop() {
    let mut yard = Yard::asleep(Options {
        timeouts: "shutdown = \"500ms\"\n".to_owned(),
        tables: "[limits]\nmax_concurrent_runs = 64\nmax_concurrent_runs_per_repo = 64\n"
            .to_owned(),
        ..Options::default()
    });
    let dir = yard.dir.path().to_owned();
    let lines = |word: &str| -> String { (1..=20).map(|n| format!("{word} {n}\n")).collect() };
    std::fs::write(dir.join("before"), lines("before")).unwrap();
    std::fs::write(dir.join("after"), lines("after")).unwrap();
    let makefile = format!(
        "gate:\n\t@cat {dir}/before; echo x >> {dir}/waiting; while [ ! -e {dir}/open ]; do sleep 0.2; done; \\\n\
         \tcat {dir}/after; echo x >> {dir}/passed\n",
        dir = dir.display()
    );
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("gate");
    yard.origin.push("main");
    let branches: Vec<_> = (0..RUNS).map(|n| format!("many/{n}")).collect();
    for branch in &branches {
        yard.origin.branch(branch);
    }
    let count =
        |file: &str| std::fs::read_to_string(dir.join(file)).map_or(0, |text| text.lines().count());
    let mut daemon = yard.start_binary(&[]).await;
    let mut runs = Vec::new();
    for branch in &branches {
        runs.push(yard.start_detached(branch, json!({"args": ["gate"]})).await);
    }
    until("all run", || count("waiting") == RUNS).await;
    let mut viewer = yard.follow(&runs[0]).await;
    viewer.until_line("before 20").await;

    let begun = Instant::now();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ended().await.code(), Some(0), "{:#?}", daemon.said);
    let took = begun.elapsed();
    println!("it left {RUNS} builds after {took:?}");
    assert!(
        took >= Duration::from_millis(500),
        "it waits for them first"
    );
    viewer.until_cut().await;
    assert!(viewer.events.iter().all(|event| event.kind != "complete"));

    // One half ends without a daemon, the other may see the next one.
    std::fs::write(dir.join("open"), "").unwrap();
    until("half of them ended", || count("passed") >= RUNS / 2).await;
    let mut daemon = yard.start_binary(&[]).await;
    let expected = lines("before") + &lines("after");
    for run in &runs {
        let record = yard.ended(run).await;
        assert_eq!(record["state"], "succeeded", "{record}");
        assert_eq!(yard.log(run).await, expected);
        let mut viewer = yard.follow(run).await;
        viewer.until_cut().await;
        let ends = viewer.events.iter().filter(|e| e.kind == "complete");
        assert_eq!(ends.count(), 1);
    }
    assert_eq!((count("waiting"), count("passed")), (RUNS, RUNS));
    daemon.stop().await;
}
