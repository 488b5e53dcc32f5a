//! By `branchyard bisect`, and by the tool of agents.

use serde_json::json;
use tokio::process::Command;

use super::{line, text, yard_with};
use crate::support::{Agent, PROGRAM};

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_the_first_bad_commit_and_says_how_it_came_there() {
    let (mut yard, ids) = yard_with(&line(30, 11)).await;
    let key_file = yard.workspaces.join(".branchyard/auth.header");
    let bisect = async |more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command
            .args(["bisect", "demo", "main", "--good", &ids[0]])
            .args(more)
            .env_clear()
            .env("PATH", env!("PATH"))
            .env("HOME", yard.dir.path())
            .env("BRANCHYARD_URL", &yard.url)
            .env("BRANCHYARD_KEY_FILE", &key_file)
            .kill_on_drop(true);
        let said = command.output().await.unwrap();
        let [out, notes] = [said.stdout, said.stderr].map(|it| String::from_utf8(it).unwrap());
        (said.status.code().unwrap(), out, notes)
    };
    let (code, out, notes) = bisect(&["--", "grep", "-q", "^good", "state"]).await;
    assert_eq!(
        (code, out),
        (0, format!("{} commit 11\n", ids[11])),
        "{notes}"
    );
    for said in [
        "29 commits may be the first bad one",
        &format!("good {} commit 0", &ids[0][..10]),
        &format!("bad  {} commit 11", &ids[11][..10]),
        "the first bad commit is",
    ] {
        assert!(notes.contains(said), "{said:?}: {notes}");
    }
    let skipping = "case $(tail -n 1 state) in 11) exit 125;; esac; grep -q '^good' state";
    let (code, out, notes) = bisect(&["--", "sh", "-c", skipping]).await;
    let both = format!("{} commit 12\n{} commit 11\n", ids[12], ids[11]);
    assert_eq!((code, out), (1, both), "{notes}");
    let (code, out, notes) = bisect(&["--json", "--", "false"]).await;
    assert_eq!(code, 125, "{notes}");
    let record: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(record["error"]["code"], "good_is_bad");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_finds_it_by_one_call() {
    let (mut yard, ids) = yard_with(&line(30, 11)).await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "all")]);
    let asked = json!({
        "repo": "demo", "branch": "main", "good": ids[0], "idempotency_key": "one",
        "argv": ["grep", "-q", "^good", "state"],
    });
    let found = agent.call("bisect", asked.clone()).await;
    assert_eq!(found["first_bad"]["commit"], ids[11].as_str(), "{found:#}");
    assert_eq!(found["ended"], true);
    let again = agent.call("bisect", asked).await;
    assert_eq!(text(&again["pipeline_id"]), text(&found["pipeline_id"]));
    yard.stop().await;
}
