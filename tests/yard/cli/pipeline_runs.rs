//! `pipeline run`, `list`, `show`, `follow`, `log`, `cancel` and `retry`, against a real daemon.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use super::{Said, Stderr, Underway, cli, command};
use crate::support::{Options, Yard};

/// `test` fails until there is a file `pass` beside the yard.
fn workflow(dir: &Path) -> String {
    let pass = dir.join("pass");
    format!(
        "\
on: {{workflow_dispatch: {{inputs: {{level: {{default: quick}}}}}}, push: {{}}}}
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - {{name: say, run: 'echo \"level $LEVEL\"; printf \"half a line\"', env: {{LEVEL: '${{{{ inputs.level }}}}'}}}}
      - uses: actions/upload-artifact@v4
        with: {{name: dist, path: Makefile}}
  test:
    needs: build
    runs-on: ubuntu-latest
    steps:
      - {{name: gate, run: '[ -e {pass:?} ] && exit; echo \"src/a.c:3:5: error: no such thing\"; exit 3'}}
  ship:
    needs: test
    runs-on: ubuntu-latest
    steps: [{{run: echo shipped}}]
"
    )
}

const LONG: &str = "\
on: workflow_dispatch
jobs:
  wait:
    name: the long wait
    runs-on: ubuntu-latest
    steps: [{name: sit, run: echo waiting; sleep 1000}]
";

async fn yard() -> (Yard, PathBuf) {
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().to_owned();
    yard.origin.workflow("long.yml", LONG);
    yard.origin.workflow("ci.yml", &workflow(&dir));
    yard.start().await;
    (yard, dir.join("pass"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_job_left_is_listed_and_printed() {
    let mut yard = Yard::asleep(Options::default());
    let held = "\
on: workflow_dispatch
jobs:
  bad:
    runs-on: ubuntu-latest
    hold: 1h
    steps: [{run: 'mkdir out; printf \"made\\nof two lines\" > out/made.txt; exit 3'}]
  fine:
    runs-on: ubuntu-latest
    steps: [{run: echo fine}]
";
    yard.origin.workflow("ci.yml", held);
    yard.start().await;
    cli(&yard, &["pipeline", "run", "demo", "main"]).await;
    let listed = cli(&yard, &["pipeline", "list", "demo", "--json"]).await;
    let id = listed.json()["items"][0]["pipeline_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = cli(&yard, &["pipeline", "show", &id]).await;
    let advice = format!("branchyard pipeline ls {id} bad");
    assert!(shown.stderr.contains(&advice), "{shown:?}");

    let listed = cli(&yard, &["pipeline", "ls", &id, "bad", "out"])
        .await
        .ok();
    assert_eq!(listed.cells()[0][3], "out/made.txt");
    let printed = cli(&yard, &["pipeline", "cat", &id, "bad", "out/made.txt"]).await;
    assert_eq!(printed.ok().text(), "made\nof two lines");
    let lines = [
        "pipeline",
        "cat",
        &id,
        "bad",
        "out/made.txt",
        "--lines",
        "2",
    ];
    assert_eq!(cli(&yard, &lines).await.ok().text(), "of two lines");
    let outside = cli(&yard, &["pipeline", "cat", &id, "bad", "../../x"]).await;
    outside.refused(125, &["../../x"]);
    let not_held = cli(&yard, &["pipeline", "ls", &id, "fine"]).await;
    not_held.refused(125, &["not held", "hold: 30m"]);
    yard.stop().await;
}

/// Jobs and their states, as the lines on stdout have them.
fn states(said: &Said) -> Vec<String> {
    let cells = said.cells();
    cells.iter().map(|row| row[..2].join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_fails_is_looked_into_and_retried() {
    let (mut yard, pass) = yard().await;
    let failed = cli(&yard, &["pipeline", "run", "demo", "main", "ci.yml"]).await;
    assert_eq!(failed.code, 3, "as the step that failed: {failed:?}");
    assert_eq!(
        states(&failed),
        ["build succeeded", "test failed", "ship skipped"]
    );
    for words in [
        "ci.yml of demo, main at ",
        "build: step 1/2: say\n",
        "test: step 1/1: gate\n",
        "failed in ",
        "1 of 3 jobs did not succeed\n",
    ] {
        assert!(failed.stderr.contains(words), "no {words:?} in {failed:?}");
    }

    let listed = cli(&yard, &["pipeline", "list", "demo", "--branch", "main"]).await;
    let listed = listed.ok();
    let row = &listed.cells()[0];
    let id = row[0].to_owned();
    assert_eq!((row[1], row[6]), ("failed", "3/3, 1 failed"), "{listed:?}");
    let none = cli(&yard, &["pipeline", "list", "demo", "--state", "running"]).await;
    assert_eq!(none.ok().stderr, "no pipelines\n");

    let shown = cli(&yard, &["pipeline", "show", &id]).await.ok();
    let cells = shown.cells();
    let gate = cells.iter().find(|row| row[2] == "gate").unwrap();
    assert_eq!(gate[..5], ["test", "1", "gate", "failed", "3"]);
    let diagnostics = cli(&yard, &["diagnostics", gate[6]]).await.ok();
    assert_eq!(diagnostics.text(), "src/a.c:3:5: error: no such thing\n");

    let error = "src/a.c:3:5: error: no such thing\n";
    let log = cli(&yard, &["pipeline", "log", &id, "--failed"]).await.ok();
    assert_eq!(
        log.text(),
        format!("==> test, step 1: gate (failed) <==\n{error}")
    );
    let step = ["pipeline", "log", &id, "build", "--step", "1"];
    let step = cli(&yard, &step).await.ok();
    assert_eq!(step.text(), "level quick\nhalf a line", "byte for byte");
    let all = cli(&yard, &["pipeline", "log", &id, "--json"]).await.ok();
    let logs: Vec<Value> = all
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(logs.len(), 2, "{all:?}");
    assert_eq!(
        (&logs[1]["job"], &logs[1]["log"]),
        (&"test".into(), &error.into())
    );
    let unknown = cli(&yard, &["pipeline", "log", &id, "none"]).await;
    unknown.refused(2, &["no job \"none\"", "build, test, ship"]);

    std::fs::write(pass, "").unwrap();
    let retried = cli(&yard, &["pipeline", "retry", &id]).await.ok();
    assert_eq!(
        states(&retried),
        ["build succeeded", "test succeeded", "ship succeeded"],
        "nothing of the first attempt"
    );
    assert!(retried.stderr.contains("attempt 2"), "{retried:?}");
    let again = cli(&yard, &["pipeline", "retry", &id]).await;
    again.refused(125, &["no job of the pipeline has failed", "help: "]);
    let followed = cli(&yard, &["pipeline", "follow", &id]).await.ok();
    assert_eq!(states(&followed), states(&retried));
    let json = cli(&yard, &["pipeline", "follow", &id, "--json"])
        .await
        .ok();
    let events: Vec<Value> = json
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = events.last().unwrap();
    assert_eq!(
        (&events[0]["type"], &events[0]["attempt"]),
        (&"pipeline".into(), &2.into())
    );
    assert_eq!(
        (&last["type"], &last["state"]),
        (&"pipeline".into(), &"succeeded".into())
    );
    let from = last["id"].as_str().unwrap();
    let rest = cli(&yard, &["pipeline", "follow", &id, "--from", from]).await;
    assert_eq!(rest.ok().text().lines().count(), 3, "each job as it is");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_are_given_and_output_is_shown_after_the_name_of_its_job() {
    let (mut yard, pass) = yard().await;
    std::fs::write(pass, "").unwrap();
    let run = ["pipeline", "run", "demo", "main", "ci.yml", "--input"];
    let shown = [&run[..], &["level=full", "--output"]].concat();
    let shown = cli(&yard, &shown).await.ok();
    let mut lines: Vec<_> = shown.text().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "build | half a line",
            "build | level full",
            "ship | shipped"
        ]
    );
    assert!(shown.stderr.contains("ship: succeeded in "), "{shown:?}");

    let unknown = cli(&yard, &[&run[..], &["none=x"]].concat()).await;
    unknown.refused(2, &["none"]);
    let several = cli(&yard, &["pipeline", "run", "demo", "main"]).await;
    several.refused(2, &["name one", "ci.yml", "long.yml"]);
    let missing = cli(&yard, &["pipeline", "run", "demo", "main", "no.yml"]).await;
    missing.refused(125, &["no workflow file no.yml"]);
    let key = ["--detach", "--idempotency-key", "k"];
    let detached = [&["pipeline", "run", "demo", "main", "ci.yml"][..], &key].concat();
    let first = cli(&yard, &detached).await.ok();
    let second = cli(&yard, &detached).await.ok();
    assert_eq!(first.text(), second.text());
    let quiet = ["-q", "pipeline", "follow", first.text().trim_end()];
    assert_eq!(cli(&yard, &quiet).await.ok().stderr, "");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_what_one_started_and_leaves_what_one_looks_at() {
    let (mut yard, _) = yard().await;
    let run = ["pipeline", "run", "demo", "main", "long.yml"];
    let mut started = Underway::start(command(&yard, &run));
    let mut stderr = Stderr::of(&mut started);
    stderr.until("the long wait: step 1/1: sit\n").await;
    let running = ["pipeline", "list", "demo", "--state", "running"];
    let id = cli(&yard, &running).await.ok().cells()[0][0].to_owned();

    let mut onlooker = Underway::start(command(&yard, &["pipeline", "follow", &id]));
    let mut seen = Stderr::of(&mut onlooker);
    seen.until("the long wait: step 1/1: sit\n").await;
    onlooker.signal(Signal::INT);
    assert_eq!(onlooker.end().await.code, 130);
    assert_eq!(cli(&yard, &running).await.ok().cells().len(), 1);

    started.signal(Signal::INT);
    let ended = started.end().await;
    assert_eq!(ended.code, 130, "{ended:?}");
    assert_eq!(states(&ended), ["the long wait cancelled"]);
    assert!(stderr.rest().await.contains("cancelled in "));
    let followed = cli(&yard, &["pipeline", "follow", &id]).await;
    assert_eq!(followed.code, 130);
    let ended = cli(&yard, &["pipeline", "cancel", &id]).await.ok();
    assert_eq!(ended.stderr, format!("{id} has ended already: cancelled\n"));

    let detached = cli(&yard, &[&run[..], &["--detach"]].concat()).await.ok();
    let id = detached.text().trim_end();
    let cancelled = cli(&yard, &["pipeline", "cancel", id]).await.ok();
    assert_eq!(cancelled.stderr, format!("cancelling {id}\n"));
    assert_eq!(cli(&yard, &["pipeline", "follow", id]).await.code, 130);
    yard.stop().await;
}
