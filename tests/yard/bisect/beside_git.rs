//! Two bisects over 500 commits, in a daemon that is killed meanwhile, beside `git bisect run`.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::history::{made, with_merges};
use super::{asleep, ended, found, started, text};
use crate::support::{Yard, git, processes_in, until};

const COMMITS: usize = 500;
/// One on the main line or on a branch each, wherever the dice fell.
const FIRST_BAD: [usize; 2] = [137, 402];
const SEED: u64 = 28;

/// Notes that it was started, waits for the file `open`, and looks for a line of `state`.
fn command(dir: &Path, which: usize) -> Value {
    let dir = dir.display();
    let script = format!(
        "echo $BRANCHYARD_COMMIT >> {dir}/starts-{which}; while [ ! -e {dir}/open ]; do sleep 0.01; done; \
         grep -q '^{which} good' state"
    );
    json!(["sh", "-c", script])
}

/// What git finds, one commit after another.
fn found_by_git(yard: &Yard, which: usize, good: &str) -> String {
    let clone = yard.dir.path().join(format!("clone-{which}"));
    let (from, to) = (yard.origin.url(), clone.display().to_string());
    git(yard.dir.path(), &["clone", "-q", &from, &to]);
    git(&clone, &["bisect", "start", "main", good]);
    let script = format!("grep -q '^{which} good' state");
    git(&clone, &["bisect", "run", "sh", "-c", &script]);
    git(&clone, &["rev-parse", "refs/bisect/bad"])
}

fn starts(yard: &Yard, which: usize) -> HashMap<String, usize> {
    let file = yard.dir.path().join(format!("starts-{which}"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut starts = HashMap::new();
    for commit in text.lines() {
        *starts.entry(commit.to_owned()).or_default() += 1;
    }
    starts
}

/// The first bad commit is bad, each of its parents is good, and a run says so.
async fn see_decisive(yard: &Yard, answer: &Value, ids: &[String], parents: &[usize]) {
    let exit = async |run: &Value| {
        let run = yard.get_json(&format!("/api/runs/{}", text(run))).await;
        (run["exit_code"].clone(), run["about"]["commit"].clone())
    };
    let first = &answer["first_bad"];
    assert_eq!(
        exit(&first["run_id"]).await,
        (json!(1), first["commit"].clone())
    );
    let good = answer["good_parents"].as_array().unwrap();
    let commits: Vec<_> = good.iter().map(|parent| text(&parent["commit"])).collect();
    let expected: Vec<_> = parents.iter().map(|parent| ids[*parent].as_str()).collect();
    assert_eq!(commits, expected);
    for parent in good {
        let tested = text(&parent["tested"]);
        assert_eq!(exit(&parent["run_id"]).await, (json!(0), json!(tested)));
        let is_in = [
            "merge-base",
            "--is-ancestor",
            text(&parent["commit"]),
            tested,
        ];
        git(&yard.origin.bare, &is_in);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_bisects_find_what_git_finds_though_the_daemon_is_killed() {
    let mut yard = asleep("");
    let commits = with_merges(COMMITS, &FIRST_BAD, SEED);
    let ids = made(&yard.origin, &commits);
    let mut daemon = yard.start_binary(&[]).await;
    let mut bisects = Vec::new();
    for which in 0..FIRST_BAD.len() {
        let argv = command(yard.dir.path(), which);
        bisects.push(started(&yard, json!({"good": ids[0], "argv": argv})).await);
    }
    // A round of each is under way.
    until("the first commits are tested", || {
        (0..FIRST_BAD.len()).all(|which| starts(&yard, which).len() == 3)
    })
    .await;
    daemon.kill().await;
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    daemon = yard.start_binary(&[]).await;
    for (which, id) in bisects.iter().enumerate() {
        let record = ended(&yard, id).await;
        let first_bad = FIRST_BAD[which];
        assert_eq!(found(&record), ids[first_bad], "{record:#}");
        assert_eq!(found(&record), found_by_git(&yard, which, &ids[0]));
        let bisect = &record["bisect"];
        assert_eq!(bisect["commits"], COMMITS - 1);
        let rounds = bisect["rounds"].as_u64().unwrap();
        // log2 is 9. With three commits at once it is half of that, and a round in which the ends are tested.
        assert!(rounds <= 6, "{rounds}");
        see_decisive(&yard, &bisect["answer"], &ids, &commits[first_bad].parents).await;
        let twice = starts(&yard, which)
            .into_iter()
            .filter(|(_, times)| *times > 1);
        assert_eq!(twice.collect::<Vec<_>>(), []);
        assert_eq!(record["warnings"], Value::Null);
    }
    assert_eq!(processes_in(&yard.workspaces), Vec::<String>::new());
    daemon.stop().await;
}
