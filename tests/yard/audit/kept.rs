//! What is recorded stays: over a kill, against whoever opens the file, and without anybody's secrets.

use reqwest::Method;
use rusqlite::Connection;
use serde_json::json;

use super::{fields, newest, records, since};
use crate::support::{Options, Yard, problem_of, until};

#[tokio::test]
async fn a_kill_loses_nothing_that_was_begun_and_sqlite_changes_nothing() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let first = yard.make("main", &["who"]).await[0].data["run_id"].clone();
    // In the middle of this one the daemon goes: a commit waits for a build, which waits for a file.
    let build = yard
        .start_detached("main", json!({ "args": ["gate"] }))
        .await;
    yard.follow(&build).await.until_line("waiting").await;
    let path = "/api/repos/demo/branches/main/git/commit";
    let commit = yard
        .request(Method::POST, path)
        .json(&json!({ "message": "m", "all": true }));
    let commit = tokio::spawn(commit.send());
    let file = yard.workspaces.join(".branchyard/trust.db");
    let begun = || {
        let other = Connection::open(&file).unwrap();
        let count = other.query_row("SELECT count(*) FROM audit_begun", [], |row| row.get(0));
        count == Ok(1)
    };
    until("the commit is noted", begun).await;
    daemon.kill().await;
    commit.await.unwrap().unwrap_err();

    let other = Connection::open(&file).unwrap();
    for attempt in [
        "UPDATE audit SET principal = 'nobody'",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit (id, at, via, action, outcome, count) VALUES (1, 0, 'http', 'x', 'allowed', 1)",
    ] {
        other.execute(attempt, []).unwrap_err();
    }
    drop(other);

    let mut daemon = yard.start_binary(&[]).await;
    let all = since(&yard, 0).await;
    assert_eq!(all.len(), 3, "{all:#?}");
    for (record, run) in all.iter().zip([first, json!(build)]) {
        assert_eq!(
            fields(record, ["action", "outcome", "run"]),
            [&json!("make"), &json!("allowed"), &run]
        );
    }
    let names = [
        "principal",
        "via",
        "action",
        "repo",
        "branch",
        "outcome",
        "code",
    ];
    let expected = [
        "session",
        "http",
        "git.commit",
        "demo",
        "main",
        "unknown",
        "daemon_ended",
    ];
    assert_eq!(
        fields(&all[2], names),
        expected.map(|name| json!(name)).each_ref()
    );

    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.ended(&build).await;
    // Ids go on where they were.
    let last = newest(&yard).await;
    yard.make("main", &["who"]).await;
    assert_eq!(newest(&yard).await, last + 1);
    daemon.stop().await;
}

#[tokio::test]
async fn no_secret_is_in_it_and_a_caller_who_left_is() {
    let mut yard = Yard::new().await;
    let word = "xyzzy-93c1";
    let body =
        json!({ "args": ["who", format!("V={word}")], "env": { "CFLAGS": format!("-D{word}") } });
    yard.run("make", "main", body).await;
    yard.post(
        "/api/repos",
        json!({ "name": "r", "url": format!("https://u:{word}@example.org/r") }),
    )
    .await;
    yard.try_verb(
        "main",
        "commit",
        json!({ "message": word, "nonsense": word }),
    )
    .await;
    let url = format!("{}/api/repos?key={word}", yard.url);
    yard.client.get(url).bearer_auth(word).send().await.unwrap();
    assert_eq!(since(&yard, 0).await.len(), 4);

    // A caller begins to move files behind a build, and does not wait.
    let mut build = yard
        .start_run("make", "main", json!({ "args": ["gate"] }))
        .await;
    build.until_line("waiting").await;
    let path = "/api/repos/demo/branches/main/git/pull";
    let request = yard.request(Method::POST, path).json(&json!({}));
    let patience = std::time::Duration::from_millis(300);
    request.timeout(patience).send().await.unwrap_err();
    let mut left = Vec::new();
    while left.is_empty() {
        left = records(&yard, "outcome=unknown").await;
    }
    assert_eq!(
        fields(&left[0], ["action", "code"]),
        [&json!("git.pull"), &json!("caller_left")]
    );
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;

    let key = yard.key();
    yard.stop().await;
    for file in ["trust.db", "trust.db-wal"] {
        let bytes =
            std::fs::read(yard.workspaces.join(".branchyard").join(file)).unwrap_or_default();
        for secret in [word, &key] {
            let is_there = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} in {file}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_that_cannot_be_recorded() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let file = yard.workspaces.join(".branchyard/trust.db");
    let hold = Connection::open(&file).unwrap();
    hold.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let address = "/api/repos/demo/branches/main";
    let (status, problem) = problem_of(yard.delete(address).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("audit_unavailable")),
        "{problem}"
    );
    assert!(yard.workspace("main").exists());
    // To look is not to change.
    assert_eq!(yard.get_json(address).await["branch"], "main");
    hold.execute_batch("ROLLBACK").unwrap();
    drop(hold);
    assert_eq!(yard.delete(address).await.status(), 204);
    let removed = records(&yard, "action=branch.remove").await;
    assert_eq!(removed.len(), 1, "{removed:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_went_with_the_write_ahead_log_are_missed() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    daemon.stop().await;
    let mut daemon = yard.start_binary(&[]).await;
    yard.token(json!({"role": "dev"})).await;
    yard.make("main", &["who"]).await;
    daemon.kill().await;
    let state = yard.workspaces.join(".branchyard");
    for name in ["trust.db-wal", "trust.db-shm"] {
        std::fs::remove_file(state.join(name)).unwrap();
    }
    let mut daemon = yard.start_binary(&[]).await;
    daemon.until_said("trust.db lacks its last changes").await;
    let missing = records(&yard, "action=audit.missing").await;
    assert_eq!(missing.len(), 1, "{missing:?}");
    daemon.stop().await;
    // It is told once.
    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(records(&yard, "action=audit.missing").await.len(), 1);
    daemon.stop().await;
}
