//! Whatever kind of work there is: a verb that discards it saves it first, and one that refuses touches
//! nothing.

use serde_json::{Value, json};

use crate::support::work::{WORK, snapshot, upstream};
use crate::support::{Yard, git, json_of};

fn verbs() -> [(&'static str, Value); 3] {
    [
        (
            "reset",
            json!({ "mode": "hard", "to": "origin/other", "confirm": true }),
        ),
        (
            "clean",
            json!({ "dry_run": false, "confirm": true, "directories": true, "ignored": true }),
        ),
        (
            "checkout",
            json!({ "paths": ["."], "from": "origin/other", "confirm": true }),
        ),
    ]
}

#[tokio::test]
async fn no_kind_of_work_is_lost_to_a_verb() {
    let mut yard = Yard::new().await;
    let branches: Vec<String> = (0..WORK.len()).map(|n| format!("work-{n}")).collect();
    upstream(&yard, &branches);
    yard.make("other", &["who"]).await;
    yard.make("clash", &["who"]).await;
    let (mut saved, mut wrong) = (0, Vec::new());
    for ((what, make, _), branch) in WORK.iter().zip(&branches) {
        yard.make(branch, &["who"]).await;
        let workspace = yard.workspace(branch);
        make(&yard, &workspace, branch);
        let tip = git(&workspace, &["rev-parse", &format!("refs/heads/{branch}")]);
        let before = snapshot(&yard, branch);
        for (verb, body) in verbs() {
            let answer = yard.try_verb(branch, verb, body.clone()).await;
            let mut is_refused = true;
            if answer.status().is_success() {
                is_refused = false;
                let done = json_of(answer).await;
                match done["kept"]["salvage_id"].as_str() {
                    Some(id) => {
                        saved += 1;
                        let body = json!({ "force": true });
                        yard.restore(&json!({ "id": id }), body).await;
                    }
                    // Only what a commit has was moved, and can be moved back.
                    None if verb == "reset" => {
                        git(&workspace, &["reset", "-q", "--hard", &tip]);
                    }
                    // A deletion is the one change that a checkout undoes without a salvage.
                    None if verb == "checkout" && done["count"] != 0 => {
                        git(&workspace, &["rm", "-q", "-f", "other.txt"]);
                        // Where a kind of work has another submodule.
                        git(&workspace, &["checkout", "-q", "HEAD", "--", ".gitmodules"]);
                        if *what == "a deleted file" {
                            make(&yard, &workspace, branch);
                        }
                    }
                    None => {}
                }
            } else if !answer.status().is_client_error() {
                wrong.push(format!("{what}: {verb} {body}: {}", answer.status()));
            }
            let now = snapshot(&yard, branch);
            if now != before {
                let differs = now.iter().find(|line| !before.contains(line));
                wrong.push(format!(
                    "{what}: {verb} {body}, refused: {is_refused}: {differs:?}"
                ));
                break;
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(
        saved > WORK.len() / 2,
        "only {saved} times was there something to save"
    );
    yard.stop().await;
}
