//! Signals to the real program, what it says while it lives, and what it prepares at its start.

use reqwest::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Options, Raw, Yard, events_of, git, problem_of, text_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_first_signal_drains() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut yard = Yard::asleep(Options::default());
        let mut daemon = yard.start_binary(&[]).await;
        let mut build = yard
            .start_run("make", "main", json!({"args": ["gate"]}))
            .await;
        build.until_line("waiting").await;
        daemon.signal(signal);
        daemon.until_said("stopping").await;

        for (kind, body) in [
            ("make", json!({"args": ["who"]})),
            ("git", json!({"operation": "status"})),
        ] {
            let path = format!("/stream/repos/demo/branches/main/{kind}");
            let (status, problem) = problem_of(yard.post(&path, body).await).await;
            let got = (status, &problem["code"]);
            assert_eq!(got, (503, &json!("draining")), "{signal:?} {kind}");
        }
        let running = yard.get_json("/api/runs?state=running").await;
        assert_eq!(
            running["items"].as_array().unwrap().len(),
            1,
            "reads are served"
        );
        let file = json!({"path": "name.txt"});
        yard.post_json("/api/repos/demo/branches/main/read_file", file)
            .await;

        std::fs::write(yard.workspace("main").join("open"), "").unwrap();
        let end = build.end().await;
        assert_eq!(end.kind, "complete", "{signal:?}");
        assert_eq!(end.data["state"], "succeeded", "{signal:?}");
        assert_eq!(text_of(&build.events), "waiting\npassed\n", "{signal:?}");
        assert_eq!(daemon.ended().await.code(), Some(0), "{signal:?}");
    }
}

/// What runs is left to its supervisor, and what waits to the next daemon.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_waits_for_no_run_and_ends_none() {
    let mut yard = Yard::asleep(Options {
        timeouts: "shutdown = \"1h\"\n".to_owned(),
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;
    let mut queued = yard
        .start_run("make", "main", json!({"args": ["who"]}))
        .await;
    queued.until(|event| event.data["position"] == 1).await;
    daemon.signal(Signal::TERM);
    daemon.until_said("stopping").await;
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ended().await.code(), Some(0));
    for run in [&mut build, &mut queued] {
        run.until_cut().await;
        let last = run.events.last().unwrap();
        let told = ["complete", "error"].contains(&last.kind.as_str());
        assert!(!told, "it has not ended: {last:?}");
    }

    let mut daemon = yard.start_binary(&[]).await;
    let record = yard
        .get_json(&format!("/api/runs/{}", build.run_id()))
        .await;
    assert_eq!(record["state"], "running", "{record}");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    for (run, text) in [(&build, "waiting\npassed\n"), (&queued, "main\n")] {
        let path = format!("/stream/runs/{}", run.run_id());
        let events = events_of(yard.get(&path).await).await;
        assert_eq!(events.last().unwrap().data["state"], "succeeded");
        assert_eq!(text_of(&events), text);
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_in_no_answer_and_no_line_of_the_log() {
    let key = "a-key-that-must-not-be-told-0123456789";
    let env = [
        ("BRANCHYARD_SESSION_KEY", key),
        ("BRANCHYARD_LOG", "trace"),
        ("RUST_BACKTRACE", "1"),
    ];
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&env).await;
    assert_eq!(yard.key(), key);
    let proc = format!("/proc/{}/cmdline", daemon.pid());
    assert!(!std::fs::read_to_string(proc).unwrap().contains(key));
    yard.make("main", &["who"]).await;
    let run = yard.get_json("/api/runs").await["items"][0]["run_id"].to_string();
    let run = run.trim_matches('"');
    let requests = [
        ("GET", "/".to_owned(), ""),
        ("GET", "/healthz".to_owned(), ""),
        ("GET", "/readyz".to_owned(), ""),
        ("GET", "/metrics".to_owned(), ""),
        ("GET", "/api/repos".to_owned(), ""),
        ("GET", "/api/repos/demo".to_owned(), ""),
        ("GET", "/api/repos/demo/branches?remote=true".to_owned(), ""),
        ("GET", "/api/repos/demo/branches/main".to_owned(), ""),
        ("GET", "/api/repos/demo/branches/main/env".to_owned(), ""),
        ("POST", "/api/repos/demo/branches/main/ls".to_owned(), "{}"),
        (
            "POST",
            "/api/repos/demo/branches/main/git/quick".to_owned(),
            "{\"operation\":\"status\"}",
        ),
        ("GET", "/api/runs".to_owned(), ""),
        ("GET", format!("/api/runs/{run}"), ""),
        ("GET", format!("/api/runs/{run}/log"), ""),
        ("GET", format!("/stream/runs/{run}"), ""),
        (
            "POST",
            "/stream/repos/demo/branches/main/make".to_owned(),
            "{\"args\":[\"fail\"]}",
        ),
        (
            "POST",
            "/stream/repos/demo/branches/-x/make".to_owned(),
            "{}",
        ),
        (
            "POST",
            "/stream/repos/demo/branches/main/make".to_owned(),
            "{",
        ),
        ("PATCH", "/api/repos".to_owned(), ""),
        ("GET", "/nowhere".to_owned(), ""),
    ];
    for (method, target, body) in &requests {
        let answer = Raw::json(&yard, method, target, *body).send(&yard).await;
        assert!(
            !answer.head.contains(key),
            "{method} {target}: {}",
            answer.head
        );
        assert!(
            !answer.body.contains(key),
            "{method} {target}: {}",
            answer.body
        );
    }
    // Also where it is sent in a wrong place.
    let query = format!("/api/repos?token={key}");
    let answer = Raw::new("GET", &query).send(&yard).await;
    assert_eq!(answer.status, 401);
    assert!(!answer.body.contains(key), "{}", answer.body);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    assert!(daemon.said.len() > 5, "it does log: {:?}", daemon.said);
    for line in &daemon.said {
        assert!(!line.contains(key), "the key is in the log: {line}");
    }
    // Nor is it kept anywhere on disk once the daemon is gone.
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", key])
        .arg(&yard.workspaces)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_are_prepared_at_the_start_where_the_operator_says_so() {
    let mut yard = Yard::asleep(Options {
        repo: "prewarm = [\"main\", \"topic/one\", \"nowhere\"]\n".to_owned(),
        ..Options::default()
    });
    let commit = yard.origin.branch("topic/one");
    let mut daemon = yard.start_binary(&[]).await;
    for branch in ["main", "topic/one"] {
        let line = format!("prewarmed repo=demo branch={branch}");
        daemon.until_said(&line).await;
    }
    daemon.until_said("failed to prewarm").await;
    // Without the remote there is nothing else that could make them.
    let away = yard.dir.path().join("origin-away.git");
    std::fs::rename(&yard.origin.bare, &away).unwrap();
    let described = yard.get_json("/api/repos/demo/branches/topic%2Fone").await;
    assert_eq!(described["commit"], commit.as_str());
    assert_eq!(
        git(&yard.workspace("topic/one"), &["status", "--porcelain"]),
        ""
    );
    let listed = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert_eq!(
        yard.get_json("/api/runs").await["items"],
        json!([]),
        "it is no run"
    );
    let answer = yard.request(Method::GET, "/api/repos/demo/branches/nowhere");
    assert_eq!(answer.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}
