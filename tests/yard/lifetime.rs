//! The daemon's own life: what is kept when it stops, what is mended when it starts.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Event, Options, Yard, events_of, git, problem_of, processes_in, text_of, until,
};

async fn follow(yard: &Yard, run: &str, from: &str) -> reqwest::Response {
    yard.request(Method::GET, &format!("/stream/runs/{run}"))
        .header("last-event-id", from)
        .send()
        .await
        .unwrap()
}

fn plain(events: &[Event]) -> Vec<(String, Value)> {
    let pair = |event: &Event| (event.id.clone(), event.data.clone());
    events.iter().map(pair).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn history_logs_and_cursors_outlive_the_daemon() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    let mut runs = Vec::new();
    for (branch, target) in [("main", "who"), ("main", "fail"), ("topic", "build")] {
        let events = yard.make(branch, &[target]).await;
        let id = events[0].data["run_id"].as_str().unwrap().to_owned();
        let record = yard.get_json(&format!("/api/runs/{id}")).await;
        let log = yard.get(&format!("/api/runs/{id}/log")).await;
        runs.push((id, events, record, log.bytes().await.unwrap()));
    }
    let listed = yard.get_json("/api/runs").await;
    yard.stop().await;
    yard.start().await;

    assert_eq!(yard.get_json("/api/runs").await, listed);
    for (id, events, record, log) in &runs {
        assert_eq!(&yard.get_json(&format!("/api/runs/{id}")).await, record);
        let again = yard.get(&format!("/api/runs/{id}/log")).await;
        assert_eq!(again.bytes().await.unwrap(), log);
        let all = events_of(yard.get(&format!("/stream/runs/{id}")).await).await;
        assert_eq!(plain(&all), plain(events));
        for (n, event) in events.iter().enumerate() {
            let answer = follow(&yard, id, &event.id).await;
            if n + 1 == events.len() {
                assert_eq!(
                    answer.status().as_u16(),
                    204,
                    "after the last event of {id}"
                );
            } else {
                let rest = events_of(answer).await;
                assert_eq!(
                    plain(&rest),
                    plain(&events[n + 1..]),
                    "{id} from {}",
                    event.id
                );
            }
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_supervisor_died_with_the_daemon_is_lost_and_nothing_of_it_lives() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let mut build = yard
        .start_run("make", "main", json!({"args": ["background"]}))
        .await;
    build.until_line("started").await;
    let id = build.run_id();
    let seen = build.events.last().unwrap().id.clone();
    daemon.kill().await;
    yard.kill_supervisor(&id).await;
    let left = processes_in(&yard.workspaces);
    assert!(
        !left.is_empty(),
        "the build outlived its supervisor, as this test needs"
    );

    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(processes_in(&yard.workspaces), Vec::<String>::new());
    let record = yard.get_json(&format!("/api/runs/{id}")).await;
    assert_eq!(record["state"], "lost");
    assert!(record["ended_at"].is_string(), "{record}");
    let rest = events_of(follow(&yard, &id, &seen).await).await;
    let kinds: Vec<_> = rest.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["complete"], "a viewer resumes and sees the end");
    assert_eq!(rest[0].data["state"], "lost");
    let log = yard.get(&format!("/api/runs/{id}/log")).await;
    assert_eq!(log.text().await.unwrap(), "started\n");
    let tmp = yard.workspaces.join(".branchyard/tmp");
    until("its temporary files are gone", || {
        std::fs::read_dir(&tmp).unwrap().next().is_none()
    })
    .await;

    // The workspace can be used, and another restart changes nothing.
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "main\n");
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(yard.get_json(&format!("/api/runs/{id}")).await, record);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_made_clone_is_cleared_away_and_made_again() {
    let mut yard = Yard::asleep(Options::default());
    let half = yard.workspaces.join(".branchyard/staging/demo-half");
    std::fs::create_dir_all(half.join("objects/pack")).unwrap();
    std::fs::write(half.join("objects/pack/tmp_pack_x"), "half").unwrap();
    std::fs::write(half.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::create_dir_all(yard.workspaces.join("demo")).unwrap();
    // What git does there for a daemon that was killed: it goes on for a while.
    let mut git = std::process::Command::new("sh")
        .args(["-c", "n=0; while : > f$n; do n=$((n+1)); done"])
        .current_dir(half.join("objects/pack"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("it writes", || half.join("objects/pack/f100").exists()).await;
    yard.start().await;
    assert!(!half.exists());
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    git.kill().unwrap();
    git.wait().unwrap();
    yard.stop().await;
}

/// What a crash leaves of a workspace, at every step of making it.
#[tokio::test(flavor = "multi_thread")]
async fn a_half_made_workspace_is_made_again() {
    type Break = fn(&Yard, PathBuf, PathBuf);
    let steps: [(&str, Break); 6] = [
        ("some files are missing", |_, _, workspace| {
            std::fs::remove_file(workspace.join("name.txt")).unwrap();
        }),
        ("a file is half written", |_, _, workspace| {
            std::fs::write(workspace.join("Makefile"), "half").unwrap();
            std::fs::write(workspace.join("name.txt.tmp"), "half").unwrap();
        }),
        ("no file and no index yet", |_, admin, workspace| {
            std::fs::remove_file(admin.join("index")).unwrap();
            let git_file = std::fs::read(workspace.join(".git")).unwrap();
            std::fs::remove_dir_all(&workspace).unwrap();
            std::fs::create_dir(&workspace).unwrap();
            std::fs::write(workspace.join(".git"), git_file).unwrap();
        }),
        ("not recorded yet", |_, admin, _| {
            std::fs::remove_file(admin.join("branchyard.json")).unwrap();
        }),
        ("no directory at all", |_, admin, workspace| {
            std::fs::remove_dir_all(&workspace).unwrap();
            std::fs::remove_file(admin.join("branchyard.json")).unwrap();
        }),
        ("a link in its place", |yard, _, workspace| {
            std::fs::remove_dir_all(&workspace).unwrap();
            let outside = yard.dir.path().join("outside");
            std::fs::create_dir(&outside).unwrap();
            std::fs::write(outside.join("theirs.txt"), "theirs").unwrap();
            std::os::unix::fs::symlink(outside, workspace).unwrap();
        }),
    ];
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for (what, break_it) in steps {
        let branch = format!("half/{}", what.replace(' ', "-"));
        yard.origin.branch(&branch);
        yard.make(&branch, &["who"]).await;
        let workspace = yard.workspace(&branch);
        let admin = yard
            .store()
            .join("worktrees")
            .join(workspace.file_name().unwrap());
        yard.stop().await;
        std::fs::write(admin.join("locked"), "preparing").unwrap();
        break_it(&yard, admin.clone(), workspace.clone());
        yard.start().await;

        let (status, problem) = problem_of(
            yard.get(&format!(
                "/api/repos/demo/branches/{}",
                crate::support::encode(&branch)
            ))
            .await,
        )
        .await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("no_workspace")),
            "{what}"
        );
        let events = yard.make(&branch, &["who"]).await;
        assert_eq!(
            text_of(&events),
            format!("{branch}\n"),
            "{what}: {events:?}"
        );
        assert!(!admin.join("locked").exists(), "{what}");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{what}");
        let described = yard
            .get_json(&format!(
                "/api/repos/demo/branches/{}",
                crate::support::encode(&branch)
            ))
            .await;
        assert_eq!(
            described["pins"],
            json!([]),
            "{what}: it is not taken for work"
        );
    }
    let theirs = yard.dir.path().join("outside/theirs.txt");
    assert!(theirs.exists(), "what a link leads to stays");
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_refuses_and_says_who_is_first() {
    let mut yard = Yard::asleep(Options::default());
    let mut first = yard.start_binary(&[]).await;
    let endpoint = yard.workspaces.join(".branchyard/endpoint.json");
    let before = std::fs::read(&endpoint).unwrap();
    let mut second = yard.spawn_binary(&[]);
    let refusal = second.until_said("another daemon").await;
    assert!(!second.ended().await.success());
    let pid = format!("process {}", first.pid());
    assert!(refusal.contains(&pid), "{refusal:?} does not name {pid}");
    let dir = yard.workspaces.display().to_string();
    assert!(refusal.contains(&dir), "{refusal:?} does not name {dir}");
    assert_eq!(
        std::fs::read(&endpoint).unwrap(),
        before,
        "the first stays findable"
    );
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");

    // However the first ended, its directory is free then.
    first.signal(Signal::KILL);
    first.ended().await;
    let mut third = yard.start_binary(&[]).await;
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    third.signal(Signal::TERM);
    assert!(third.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_is_for_its_owner_and_goes_with_the_daemon() {
    let mut yard = Yard::asleep(Options::default());
    let runtime = yard.dir.path().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let state = yard.workspaces.join(".branchyard");
    let files = [
        state.join("endpoint.json"),
        state.join("auth.header"),
        runtime.join("branchyard/endpoint.json"),
    ];
    let env = [("XDG_RUNTIME_DIR", runtime.to_str().unwrap())];
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut daemon = yard.start_binary(&env).await;
        for file in &files {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", file.display());
        }
        for file in [&files[0], &files[2]] {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(
                !text.contains(&yard.key()),
                "{} holds the key",
                file.display()
            );
            let endpoint: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(endpoint["url"], yard.url);
            assert_eq!(endpoint["pid"], daemon.pid());
        }
        keys.push(yard.key());
        daemon.signal(Signal::TERM);
        assert!(daemon.ended().await.success());
        for file in &files {
            assert!(!file.exists(), "{} is left behind", file.display());
        }
    }
    assert_ne!(keys[0], keys[1], "a generated key is made anew");
}

/// The directory is gone, but the branch and its commits are in the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_deleted_by_hand_is_made_again_with_its_commits() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    for (what, commits) in [("untouched", 0), ("with a commit", 1)] {
        yard.make("topic", &["who"]).await;
        let workspace = yard.workspace("topic");
        for _ in 0..commits {
            git(&workspace, &["commit", "-q", "--allow-empty", "-m", "mine"]);
        }
        let mine = git(&workspace, &["rev-parse", "HEAD"]);
        std::fs::remove_dir_all(&workspace).unwrap();
        let events = yard.make("topic", &["who"]).await;
        let last = &events.last().unwrap().data;
        assert_eq!(last["state"], "succeeded", "{what}: {events:?}");
        assert_eq!(text_of(&events), "topic\n", "{what}");
        assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), mine, "{what}");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{what}");
        let described = yard.get_json("/api/repos/demo/branches/topic").await;
        assert_eq!(described["ahead"], commits, "{what}");
    }
    yard.stop().await;
}
