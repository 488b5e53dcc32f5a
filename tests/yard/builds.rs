//! Building branches: what a stream says, what runs side by side, what waits, and how it ends.

use reqwest::Method;
use serde_json::json;

use crate::support::{Options, Yard, events_of, json_of, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_build_streams_from_clone_to_complete() {
    let mut yard = Yard::new().await;
    let commit = yard.origin.branch("feature/login");
    let events = yard.make("feature/login", &["who"]).await;

    let status = events.iter().filter(|e| e.kind == "status");
    let states: Vec<_> = status
        .clone()
        .filter_map(|e| e.data["state"].as_str())
        .collect();
    assert_eq!(states[0], "queued");
    assert_eq!(states.last(), Some(&"running"));
    let phases: Vec<_> = status
        .clone()
        .filter_map(|e| e.data["phase"].as_str())
        .collect();
    for phase in ["clone", "worktree", "checkout", "sync"] {
        assert!(phases.contains(&phase), "{phase} is missing in {phases:?}");
    }
    assert!(
        status.clone().any(|e| e.data["percent"].is_u64()),
        "the clone shows how far it is"
    );
    let out: Vec<u8> = events.iter().flat_map(|e| e.bytes()).collect();
    assert_eq!(String::from_utf8_lossy(&out), "feature/login\n");
    let last = events.last().unwrap();
    assert_eq!(last.kind, "complete");
    assert_eq!(last.data["state"], "succeeded");
    assert_eq!(last.data["exit_code"], 0);
    assert_eq!(last.data["commit"], commit.as_str());
    assert!(last.data["duration_ms"].is_u64());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_build_keeps_its_streams_and_exit_code_apart() {
    let mut yard = Yard::new().await;
    let events = yard.make("main", &["fail"]).await;
    let on = |kind: &str| -> Vec<u8> {
        events
            .iter()
            .filter(|e| e.kind == kind)
            .flat_map(|e| e.bytes())
            .collect()
    };
    assert!(
        String::from_utf8(on("stderr"))
            .unwrap()
            .starts_with("going wrong\n")
    );
    assert_eq!(on("stdout"), b"");
    let last = &events.last().unwrap().data;
    assert_eq!(
        (&last["state"], &last["exit_code"]),
        (&json!("failed"), &json!(2))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_branches_build_at_the_same_time() {
    let mut yard = Yard::new().await;
    let branches: Vec<_> = (0..10).map(|n| format!("topic/{n}")).collect();
    let mut builds = Vec::new();
    for branch in &branches {
        yard.origin.branch(branch);
    }
    for branch in &branches {
        builds.push(
            yard.start_run("make", branch, json!({"args": ["gate"]}))
                .await,
        );
    }
    // Each waits for a file, so all of them are under way once each has said so.
    for build in &mut builds {
        build.until_line("waiting").await;
    }
    let runs = yard.get_json("/api/runs?state=running").await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 10);
    for branch in &branches {
        std::fs::write(yard.workspace(branch).join("open"), "").unwrap();
    }
    for build in &mut builds {
        assert_eq!(build.end().await.data["state"], "succeeded");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_builds_of_one_branch_queue_in_order_and_see_who_is_first() {
    let mut yard = Yard::new().await;
    let mut first = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    first.until_line("waiting").await;
    let mut second = yard
        .start_run("make", "main", json!({"args": ["who"]}))
        .await;
    let queued = second.until(|e| e.data["position"] == 1).await;
    assert_eq!(queued.data["state"], "queued");
    assert_eq!(queued.data["holder"]["what"], "make gate");
    assert_eq!(queued.data["holder"]["run_id"], first.run_id());
    let mut third = yard
        .start_run("make", "main", json!({"args": ["who"]}))
        .await;
    third.until(|e| e.data["position"] == 2).await;
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert_eq!(described["holder"]["run_id"], first.run_id());

    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    first.end().await;
    assert_eq!(second.end().await.data["state"], "succeeded");
    third
        .until(|e| e.data["holder"]["run_id"] == second.run_id() || e.kind == "complete")
        .await;
    assert_eq!(third.end().await.data["state"], "succeeded");
    let second = yard
        .get_json(&format!("/api/runs/{}", second.run_id()))
        .await;
    let third = yard
        .get_json(&format!("/api/runs/{}", third.run_id()))
        .await;
    assert!(second["ended_at"].as_str().unwrap() <= third["started_at"].as_str().unwrap());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_leaves_no_descendant_alive() {
    let mut yard = Yard::new().await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["background"]}))
        .await;
    build.until_line("started").await;
    let id = build.run_id();
    let carriers = || carriers_of(&id);
    assert!(
        carriers().len() >= 4,
        "make, two sleeps and a session of its own: {:?}",
        carriers()
    );
    let answer = yard
        .request(Method::POST, &format!("/api/runs/{id}/cancel"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 202);
    let end = build.end().await;
    assert_eq!(end.data["state"], "cancelled");
    assert!(end.data["reason"].as_str().unwrap().contains("session"));
    assert_eq!(carriers(), Vec::<String>::new());
    yard.stop().await;
}

/// Processes that carry the run's id in their environment.
fn carriers_of(run: &str) -> Vec<String> {
    let mark = format!("BRANCHYARD_RUN_ID={run}");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let environ = std::fs::read(path.join("environ")).ok()?;
            let carries = environ.split(|b| *b == 0).any(|e| e == mark.as_bytes());
            carries.then(|| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_can_be_cancelled_and_lets_the_next_pass() {
    let mut yard = Yard::new().await;
    let mut first = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    first.until_line("waiting").await;
    let mut second = yard
        .start_run("make", "main", json!({"args": ["who"]}))
        .await;
    second.until(|e| e.data["position"] == 1).await;
    yard.post(&format!("/api/runs/{}/cancel", second.run_id()), json!({}))
        .await;
    let end = second.end().await;
    assert_eq!(
        (&end.data["state"], &end.data["exit_code"]),
        (&json!("cancelled"), &json!(null))
    );
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(first.end().await.data["state"], "succeeded");
    assert_eq!(
        yard.make("main", &["who"]).await.last().unwrap().data["state"],
        "succeeded"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_too_long_is_stopped() {
    let mut yard = Yard::new().await;
    let events = yard
        .run(
            "make",
            "main",
            json!({"args": ["gate"], "timeout": "200ms"}),
        )
        .await;
    let last = &events.last().unwrap().data;
    assert_eq!(last["state"], "timed_out");
    assert!(last["reason"].as_str().unwrap().contains("200ms"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_nobody_watches_any_more_the_build_is_cancelled_unless_it_was_to_go_on() {
    let options = Options {
        timeouts: "disconnect = \"50ms\"".to_owned(),
        ..Options::default()
    };
    let mut yard = Yard::with(options).await;
    yard.origin.branch("kept");
    let mut left = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    left.until_line("waiting").await;
    let left_id = left.run_id();
    let mut kept = yard
        .start_run("make", "kept", json!({"args": ["gate"], "detach": true}))
        .await;
    kept.until_line("waiting").await;
    let kept_id = kept.run_id();
    drop((left, kept));
    let ended = yard
        .get_json(&format!("/api/runs/{left_id}?wait=30s"))
        .await;
    assert_eq!(ended["state"], "cancelled");
    let going_on = yard.get_json(&format!("/api/runs/{kept_id}")).await;
    assert_eq!(going_on["state"], "running");
    std::fs::write(yard.workspace("kept").join("open"), "").unwrap();
    let ended = yard
        .get_json(&format!("/api/runs/{kept_id}?wait=30s"))
        .await;
    assert_eq!(ended["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_viewer_keeps_a_build_alive() {
    let options = Options {
        timeouts: "disconnect = \"50ms\"".to_owned(),
        ..Options::default()
    };
    let mut yard = Yard::with(options).await;
    yard.origin.branch("alone");
    let mut initiator = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    initiator.until_line("waiting").await;
    let id = initiator.run_id();
    let viewer = yard.get(&format!("/stream/runs/{id}")).await;
    drop(initiator);
    // A run that is left alone later than this one is over only when this one's grace is, too.
    let mut alone = yard
        .start_run("make", "alone", json!({"args": ["gate"]}))
        .await;
    alone.until_line("waiting").await;
    let alone_id = alone.run_id();
    drop(alone);
    let ended = yard
        .get_json(&format!("/api/runs/{alone_id}?wait=30s"))
        .await;
    assert_eq!(ended["state"], "cancelled");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    let events = events_of(viewer).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn respond_async_answers_with_the_run_and_wait_with_its_end() {
    let mut yard = Yard::new().await;
    let start = |target: &'static str| {
        yard.request(Method::POST, "/stream/repos/demo/branches/main/make")
            .header("prefer", "respond-async")
            .json(&json!({"args": [target]}))
            .send()
    };
    let response = start("who").await.unwrap();
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let run = json_of(response).await;
    assert_eq!(
        location,
        format!("/api/runs/{}", run["run_id"].as_str().unwrap())
    );
    let ended = yard.get(&format!("{location}?wait=30s&fail=true")).await;
    assert_eq!(ended.status(), 200);
    assert_eq!(json_of(ended).await["state"], "succeeded");

    let failing = start("fail").await.unwrap().headers()["location"]
        .to_str()
        .unwrap()
        .to_owned();
    let ended = yard.get(&format!("{failing}?wait=30s&fail=true")).await;
    assert_eq!(ended.status(), 422, "so that curl -f fails");
    let run: serde_json::Value = ended.json().await.unwrap();
    assert_eq!(
        (&run["state"], &run["exit_code"]),
        (&json!("failed"), &json!(2))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_and_git_verbs_run_like_make() {
    let repo =
        "tasks = { greet = [\"printf\", \"%s-\"] }\nenv = { TOKEN_FOR_BUILDS = \"hidden-value\" }"
            .to_owned();
    let mut yard = Yard::with(Options {
        repo,
        ..Options::default()
    })
    .await;
    let text = |events: Vec<crate::support::Event>| -> String {
        String::from_utf8(events.iter().flat_map(|e| e.bytes()).collect()).unwrap()
    };
    let greeted = yard
        .run(
            "task",
            "main",
            json!({"task": "greet", "args": ["a b", "c"]}),
        )
        .await;
    assert_eq!(text(greeted), "a b-c-");
    let log = yard
        .run(
            "git",
            "main",
            json!({"operation": "log", "args": "--format=%s -1"}),
        )
        .await;
    assert_eq!(text(log), "first\n");
    let unknown = yard
        .post(
            "/stream/repos/demo/branches/main/task",
            json!({"task": "nope"}),
        )
        .await;
    let (status, problem) = crate::support::problem_of(unknown).await;
    assert_eq!(status, 404);
    assert!(problem["help"].as_str().unwrap().contains("greet"));
    let env = yard
        .get("/api/repos/demo/branches/main/env")
        .await
        .text()
        .await
        .unwrap();
    assert!(
        env.contains("TOKEN_FOR_BUILDS") && !env.contains("hidden-value"),
        "{env}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_gets_a_declared_environment_and_a_directory_of_its_own() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "show:\n\t@env | sort; test -d \"$$TMPDIR\" && touch $$TMPDIR/x\n",
    );
    let commit = yard.origin.commit("show");
    yard.origin.push("main");
    let events = yard
        .run(
            "make",
            "main",
            json!({"args": ["show"], "env": {"EXTRA": "1"}}),
        )
        .await;
    let out: Vec<u8> = events.iter().flat_map(|e| e.bytes()).collect();
    let out = String::from_utf8(out).unwrap();
    let names: Vec<_> = out
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    for name in [
        "BRANCHYARD_BRANCH",
        "BRANCHYARD_COMMIT",
        "BRANCHYARD_PORT",
        "BRANCHYARD_PORT_9",
        "BRANCHYARD_REPO",
        "BRANCHYARD_RUN_ID",
        "BRANCHYARD_SLUG",
        "CARGO_BUILD_JOBS",
        "CMAKE_BUILD_PARALLEL_LEVEL",
        "CI",
        "EXTRA",
        "HOME",
        "LANG",
        "PATH",
        "TERM",
        "TMPDIR",
    ] {
        assert!(names.contains(&name), "{name} is missing in {out}");
    }
    let set_by_make = [
        "MAKEFLAGS",
        "MAKELEVEL",
        "MAKE_TERMERR",
        "MAKE_TERMOUT",
        "MFLAGS",
        "PWD",
        "SHLVL",
        "OLDPWD",
        "_",
    ];
    assert_eq!(
        names.len() - names.iter().filter(|n| set_by_make.contains(n)).count(),
        16 + 8,
        "nothing else, with eight more ports: {out}"
    );
    assert!(out.contains(&format!("BRANCHYARD_COMMIT={commit}\n")));
    let tmp = out
        .lines()
        .find_map(|line| line.strip_prefix("TMPDIR="))
        .unwrap();
    // Its end is told first.
    until("it goes with the run", || {
        !std::path::Path::new(tmp).exists()
    })
    .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_does_not_wait_for_the_place_of_a_build() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_concurrent_runs = 1\nmax_concurrent_runs_per_repo = 1\n".to_owned(),
        ..Options::default()
    })
    .await;
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;
    let status = json!({"operation": "status", "sync": "none"});
    let events = yard.run("git", "other", status).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(build.end().await.data["state"], "succeeded");
    yard.stop().await;
}
