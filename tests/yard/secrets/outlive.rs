//! A killed daemon takes no secret with it, and leaves none behind.

use serde_json::json;

use super::{NPM, RENEWED, assert_clean, assert_clean_below, digest, options, yard};
use crate::support::until;

/// Prints half of its secret, waits, and prints the rest.
const HOLDS: &str = "\
half=${NPM_TOKEN%???????????}
echo holding; touch holding
printf 'split %s' \"$half\"
while [ ! -e open ]; do sleep 0.02; done
echo \"${NPM_TOKEN#\"$half\"}\"
printf %s \"$NPM_TOKEN\" | sha256sum
";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_keeps_its_secret_and_one_in_line_gets_what_is_right_by_then() {
    let mut yard = yard();
    yard.origin.at("main");
    yard.origin.write("hold.sh", HOLDS);
    yard.origin.commit("holds");
    yard.origin.push("main");
    yard.origin.push("release/1");
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;
    let mut runs = Vec::new();
    // One of each branch is at it, and another waits for it.
    for branch in ["main", "main", "release%2F1", "release%2F1"] {
        let request = yard.request(
            reqwest::Method::POST,
            &format!("/stream/repos/demo/branches/{branch}/task"),
        );
        let request = request.header("prefer", "respond-async");
        let answer = request
            .json(&json!({ "task": "hold" }))
            .send()
            .await
            .unwrap();
        let record = crate::support::json_of(answer).await;
        runs.push(record["run_id"].as_str().unwrap().to_owned());
    }
    let workspaces = ["main", "release/1"].map(|branch| yard.workspace(branch));
    until("both hold their secret", || {
        workspaces.iter().all(|dir| dir.join("holding").exists())
    })
    .await;
    daemon.kill().await;
    assert_clean("the log", daemon.said.join("\n").as_bytes());
    assert_clean_below(&yard.workspaces);

    // Another value, and not for main any more.
    yard.configure(options(&yard, "\"release/*\""));
    let mut daemon = yard.start_binary(&[("NPM", RENEWED)]).await;
    for dir in &workspaces {
        std::fs::write(dir.join("open"), "").unwrap();
    }
    for (run, given) in [
        (&runs[0], Some(NPM)),
        (&runs[1], None),
        (&runs[2], Some(NPM)),
        (&runs[3], Some(RENEWED)),
    ] {
        let record = yard.ended(run).await;
        let log = yard.log(run).await;
        assert_clean("a log", log.as_bytes());
        assert_clean("a record", record.to_string().as_bytes());
        match given {
            Some(secret) => {
                assert_eq!(record["state"], "succeeded", "{record}");
                assert!(log.contains(&digest(secret)), "{log}");
                assert!(log.contains("split ***\n"), "{log}");
            }
            None => {
                assert_eq!(record["state"], "rejected", "{record}");
                assert_eq!(record["error"]["code"], "secret_refused", "{record}");
            }
        }
    }
    daemon.stop().await;
    assert_clean("the log", daemon.said.join("\n").as_bytes());
    assert!(assert_clean_below(&yard.workspaces) > 50);
}
