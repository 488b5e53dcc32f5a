//! Runs from the shell: output as it came, exit codes, Ctrl-C, and finding a run again.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use super::{Underway, cli, command};
use crate::support::{Options, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn make_is_as_if_it_ran_here() {
    let mut yard = Yard::new().await;
    let who = cli(&yard, &["make", "demo", "main", "--", "who"])
        .await
        .ok();
    assert_eq!((who.text(), who.stderr.as_str()), ("main\n", ""));

    let fail = cli(&yard, &["make", "demo", "main", "--", "fail"]).await;
    assert_eq!((fail.code, fail.text()), (2, ""), "make's own exit code");
    assert!(fail.stderr.starts_with("going wrong\n"), "{}", fail.stderr);
    assert!(fail.stderr.contains("make: *** "), "{}", fail.stderr);

    let quiet = cli(&yard, &["-q", "make", "demo", "main", "who"])
        .await
        .ok();
    assert_eq!((quiet.text(), quiet.stderr.as_str()), ("main\n", ""));
    let quiet = cli(&yard, &["make", "demo", "main", "-q", "--", "fail"]).await;
    assert_eq!((quiet.code, &quiet.stderr), (2, &fail.stderr));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_no_text_comes_out_byte_for_byte() {
    let mut yard = Yard::new().await;
    let bytes: Vec<u8> = (0..=255).chain(*b"\r\n\n\xff no end").collect();
    yard.origin.at("main");
    yard.origin.write("output.bin", &bytes);
    yard.origin.commit("bytes");
    yard.origin.push("main");
    let exact = cli(&yard, &["make", "demo", "main", "--", "exact"])
        .await
        .ok();
    assert_eq!(exact.stdout, bytes);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_name_works_from_end_to_end() {
    let mut yard = Yard::new().await;
    let longest = "l".repeat(240);
    for name in ["a/b", "a-b", "A/b", &longest, "ünïcode"] {
        let commit = yard.origin.branch(name);
        let content = format!("{name}\n");
        let made = cli(&yard, &["make", "demo", name, "--", "who"]).await.ok();
        assert_eq!(made.text(), content);
        let head = cli(&yard, &["git", "demo", name, "rev-parse", "HEAD"])
            .await
            .ok();
        assert_eq!(head.text().trim(), commit);
        let cat = cli(&yard, &["cat", "demo", name, "name.txt"]).await.ok();
        assert_eq!(cat.text(), content);
        let path = cli(&yard, &["prepare", "demo", name]).await.ok();
        assert_eq!(
            path.text().trim_end(),
            yard.workspace(name).to_str().unwrap()
        );
        let listed = cli(&yard, &["branches", "demo"]).await.ok();
        assert!(
            listed
                .cells()
                .iter()
                .any(|row| row[0] == name && row[1] == commit)
        );
        let runs = cli(&yard, &["runs", "--repo", "demo", "--branch", name])
            .await
            .ok();
        assert_eq!(runs.cells().len(), 2);
        cli(&yard, &["rm", "demo", name]).await.ok();
        assert!(!yard.workspace(name).exists());
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_and_tasks_run_like_make() {
    let mut yard = Yard::with(Options {
        repo: "[repos.demo.tasks]\nsay = [\"echo\", \"said:\"]\nbad = [\"sh\", \"-c\", \"exit 7\"]"
            .into(),
        ..Options::default()
    })
    .await;
    let said = cli(&yard, &["task", "demo", "main", "say", "--", "-n", "x"])
        .await
        .ok();
    assert_eq!(said.text(), "said: -n x\n");
    assert_eq!(cli(&yard, &["task", "demo", "main", "bad"]).await.code, 7);
    let unknown = cli(&yard, &["task", "demo", "main", "none"]).await;
    unknown.refused(
        125,
        &[
            "no task named \"none\"",
            "help: the tasks of demo are: bad, say",
        ],
    );

    let log = [
        "git",
        "demo",
        "main",
        "--sync",
        "none",
        "log",
        "--format=%s",
    ];
    assert_eq!(cli(&yard, &log).await.ok().text(), "first\n");
    std::fs::write(yard.workspace("main").join("new.txt"), "").unwrap();
    let status = cli(&yard, &["git", "demo", "main", "status", "--short"])
        .await
        .ok();
    assert_eq!(status.text(), "?? new.txt\n");
    // It only looks, which is no run.
    let runs = cli(&yard, &["runs", "--limit", "1"]).await.ok();
    assert!(runs.cells()[0][5].starts_with("git log "), "{runs:?}");
    let worktree = cli(&yard, &["git", "demo", "main", "worktree", "list"]).await;
    assert_eq!(worktree.code, 125, "{worktree:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_looks_beside_a_build() {
    let mut yard = Yard::new().await;
    let blob: Vec<u8> = (0..=255).chain(*b"\nno end").collect();
    yard.origin.at("main");
    yard.origin.write("blob.bin", &blob);
    yard.origin
        .write("long.txt", "a line of a long file\n".repeat(60_000));
    yard.origin.commit("long");
    yard.origin.push("main");
    let mut build = Underway::start(command(&yard, &["make", "demo", "main", "--", "gate"]));
    build.until(|line| line == "waiting").await;
    std::fs::write(yard.workspace("main").join("new.txt"), "").unwrap();

    let git = async |args: &[&str]| cli(&yard, &[&["git", "demo", "main"], args].concat()).await;
    assert_eq!(
        git(&["status", "--short"]).await.ok().text(),
        "?? new.txt\n"
    );
    let log = git(&["log", "--format=%s"]).await.ok();
    assert_eq!(log.text(), "long\nfirst\n");
    assert!(
        git(&["branch", "--list"])
            .await
            .ok()
            .text()
            .contains("main")
    );
    assert_eq!(
        git(&["diff", "--exit-code", "HEAD~1", "--", "name.txt"])
            .await
            .ok()
            .text(),
        ""
    );
    let differs = git(&["diff", "--exit-code", "--stat", "HEAD~1"]).await;
    assert_eq!(differs.code, 1, "git's own code: {differs:?}");
    let unknown = git(&["show", "nothing-of-this-name"]).await;
    assert_eq!((unknown.code, unknown.text()), (128, ""), "{unknown:?}");
    assert!(unknown.stderr.starts_with("fatal: "), "{unknown:?}");
    // What is no text, and what is longer than an answer, byte for byte.
    assert_eq!(git(&["show", "HEAD:blob.bin"]).await.ok().stdout, blob);
    let long = git(&["show", "HEAD:long.txt"]).await.ok();
    assert_eq!(long.text(), "a line of a long file\n".repeat(60_000));
    let events = cli(&yard, &["--json", "git", "demo", "main", "status"])
        .await
        .ok();
    assert!(events.text().contains("\"complete\""), "{events:?}");
    // What is asked for as a run, and changes nothing, goes on beside it as well.
    for looks in [&["log", "--format=%s"][..], &["blame", "name.txt"]] {
        git(&[&["--sync", "none"], looks].concat()).await.ok();
    }

    let running = yard.get_json("/api/runs?state=running").await;
    assert_eq!(running["items"].as_array().unwrap().len(), 1, "{running}");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await.ok();

    // The first look makes the workspace.
    yard.origin.branch("other");
    let other = cli(&yard, &["git", "demo", "other", "log", "--format=%s", "-1"]).await;
    assert_eq!(other.ok().text().lines().count(), 1);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_the_run() {
    let mut yard = Yard::new().await;
    let mut make = Underway::start(command(
        &yard,
        &["make", "demo", "main", "--", "background"],
    ));
    make.until(|line| line == "started").await;
    make.signal(Signal::INT);
    let said = make.end().await;
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.stderr.contains("cancelled after "), "{said:?}");
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"][0]["state"], "cancelled");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_ends_the_run() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write("Makefile", "endless:\n\t@yes\n");
    yard.origin.commit("endless");
    yard.origin.push("main");
    let mut make = Underway::start(command(&yard, &["make", "demo", "main", "--", "endless"]));
    make.until(|line| line == "y").await;
    let Underway { mut child, stdout } = make;
    drop(stdout);
    let status = tokio::time::timeout(crate::support::PATIENCE, child.wait()).await;
    assert_eq!(
        status.unwrap().unwrap().code(),
        Some(141),
        "as after SIGPIPE"
    );
    let id = yard.get_json("/api/runs").await["items"][0]["run_id"].clone();
    let run = yard
        .get_json(&format!("/api/runs/{}?wait=60s", id.as_str().unwrap()))
        .await;
    assert_eq!(run["state"], "cancelled");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_background_is_left_once_it_is_ready() {
    let mut yard = Yard::with(Options {
        tables: "[code]\nwithout_sandbox = true\n".to_owned(),
        ..Options::default()
    })
    .await;
    let asked = ["exec", "--background", "--ready-line", "up"];
    let within = ["--ready-within", "40s", "demo", "main"];
    let serves = ["sh", "-c", "sleep 0.3; echo is up; exec sleep 60"];
    let ready = cli(&yard, &[&asked[..], &within, &serves].concat()).await;
    let id = ready.ok().text().trim_end().to_owned();
    let run = yard.get_json(&format!("/api/runs/{id}")).await;
    assert_eq!(run["state"], "running", "{run}");
    cli(&yard, &["cancel", &id]).await.ok();

    let fails = [&asked[..], &within, &["sh", "-c", "exit 5"]].concat();
    let words = ["is not ready, it has ended: failed", "branchyard log "];
    cli(&yard, &fails).await.refused(5, &words);
    // To end well is not to be ready.
    let ends = [&asked[..], &within, &["true"]].concat();
    cli(&yard, &ends).await.refused(1, &words[1..]);
    let unready = ["exec", "--ready-port", "80", "demo", "main", "true"];
    cli(&yard, &unready).await.refused(2, &["--background"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_the_code_environment_that_is_named() {
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().to_owned();
    let conda = dir.join("conda");
    std::fs::write(&conda, "#!/bin/sh\nmkdir -p \"$5\"\n").unwrap();
    std::fs::set_permissions(&conda, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.display());
    yard.configure(Options {
        tables: format!("[code]\nwithout_sandbox = true\n[build]\npath = {path:?}\n"),
        ..Options::default()
    });
    yard.start().await;
    let science = json!({ "action": "configure", "name": "science", "kind": "conda" });
    yard.post_json("/api/repos/demo/branches/main/code_env", science)
        .await;
    let say = ["demo", "main", "sh", "-c", "echo \"<$CONDA_PREFIX>\""];
    let named = [&["exec", "--code-env", "science"][..], &say].concat();
    let said = cli(&yard, &named).await.ok();
    assert!(
        said.text().ends_with("/branchyard-envs/science>\n"),
        "{said:?}"
    );
    let said = cli(&yard, &[&["exec"][..], &say].concat()).await.ok();
    assert_eq!(said.text(), "<>\n");
    let other = [&["exec", "--code-env", "other"][..], &say].concat();
    let words = ["no code environment named \"other\""];
    cli(&yard, &other).await.refused(125, &words);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_run_is_listed_followed_and_cancelled() {
    let mut yard = Yard::new().await;
    let started = cli(&yard, &["make", "demo", "main", "--detach", "--", "gate"])
        .await
        .ok();
    let id = started.text().trim_end().to_owned();

    let mut onlooker = Underway::start(command(&yard, &["follow", &id]));
    onlooker.until(|line| line == "waiting").await;
    let mut follower = Underway::start(command(&yard, &["follow", &id]));
    follower.until(|line| line == "waiting").await;
    let listed = cli(&yard, &["runs", "--limit", "1"]).await.ok();
    let row = &listed.cells()[0];
    assert_eq!(
        row[..6],
        [id.as_str(), "running", "", "demo", "main", "make gate"]
    );

    onlooker.signal(Signal::INT);
    assert_eq!(onlooker.end().await.code, 130);
    let run = yard.get_json(&format!("/api/runs/{id}")).await;
    assert_eq!(run["state"], "running", "who only looks on ends nothing");

    let cancelled = cli(&yard, &["cancel", &id]).await.ok();
    assert_eq!(cancelled.stderr, format!("cancelling {id}\n"));
    follower
        .end()
        .await
        .refused(130, &["cancelled after ", "cancelled by session"]);
    let again = cli(&yard, &["cancel", &id]).await.ok();
    assert_eq!(again.stderr, format!("{id} has ended already: cancelled\n"));
    let after = cli(&yard, &["follow", &id]).await;
    assert_eq!((after.code, after.text()), (130, "waiting\n"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_goes_on_from_a_cursor_and_knows_when_nothing_is_left() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "lines:\n\t@echo one; echo two; echo three; exit 5\n",
    );
    yard.origin.commit("lines");
    yard.origin.push("main");
    let events = cli(&yard, &["--json", "make", "demo", "main", "--", "lines"]).await;
    assert_eq!((events.code, events.stderr.as_str()), (2, ""));
    let events: Vec<serde_json::Value> = events
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let id = events[0]["run_id"].as_str().unwrap();
    let after_one = events.iter().find(|e| e["line"] == "one").unwrap()["id"]
        .as_str()
        .unwrap();
    let rest = cli(&yard, &["follow", id, "--from", after_one]).await;
    assert_eq!((rest.code, rest.text()), (2, "two\nthree\n"));
    let last = events.last().unwrap();
    assert_eq!(last["type"], "complete");
    let nothing = cli(
        &yard,
        &["follow", id, "--from", last["id"].as_str().unwrap()],
    )
    .await;
    assert_eq!((nothing.code, nothing.text()), (2, ""));
    let wild = cli(&yard, &["follow", id, "--from", "nonsense"]).await;
    wild.refused(2, &["not a cursor of this run"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_times_out_or_cannot_be_has_a_code_of_its_own() {
    let mut yard = Yard::new().await;
    let late = cli(
        &yard,
        &["make", "demo", "main", "--timeout", "1s", "--", "gate"],
    )
    .await;
    late.refused(124, &["timed out after ", "it ran longer than 1s"]);
    let none = cli(&yard, &["make", "demo", "nowhere"]).await;
    none.refused(125, &["the remote has no branch named nowhere", "help: "]);
    let repo = cli(&yard, &["make", "nothing", "main"]).await;
    repo.refused(125, &["there is no repository named nothing"]);
    let shell = cli(&yard, &["make", "demo", "main", "--", "--eval=x"]).await;
    shell.refused(2, &["--eval"]);
    let torn = cli(
        &yard,
        &["make", "demo", "main", "--clean", "--sync", "none"],
    )
    .await;
    torn.refused(2, &["`sync: none` may touch nothing: choose one"]);
    let commit = yard.origin.head();
    let built = cli(
        &yard,
        &["make", "demo", "main", "--commit", &commit, "--", "who"],
    )
    .await;
    assert_eq!(built.ok().text(), "main\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_leaves_alone_is_a_warning_and_the_environment_is_passed_on() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write("Makefile", "who:\n\t@echo $$GREETING\n");
    yard.origin.commit("greeting");
    yard.origin.push("main");
    let greeting = [
        "make",
        "demo",
        "main",
        "--env",
        "GREETING=a=b c",
        "--",
        "who",
    ];
    assert_eq!(cli(&yard, &greeting).await.ok().text(), "a=b c\n");
    std::fs::write(yard.workspace("main").join("name.txt"), "mine\n").unwrap();
    let left = cli(&yard, &greeting).await.ok();
    assert!(
        left.stderr.starts_with("warning: left alone at "),
        "{left:?}"
    );
    assert_eq!(left.text(), "a=b c\n");
    let prepared = cli(&yard, &["prepare", "demo", "main"]).await.ok();
    assert!(
        prepared.stderr.starts_with("warning: left alone at "),
        "{prepared:?}"
    );

    let origin = yard.origin.bare.clone();
    std::fs::rename(&origin, origin.with_extension("away")).unwrap();
    let gone = cli(&yard, &greeting).await;
    gone.refused(125, &["the remote could not be asked", "help: "]);
    let stale = cli(&yard, &["make", "demo", "main", "--stale", "--", "who"])
        .await
        .ok();
    assert!(
        stale.stderr.contains("warning: going on with what is here"),
        "{stale:?}"
    );
    yard.post_json("/api/repos", json!({"name": "other", "url": "/nowhere"}))
        .await;
    yard.stop().await;
}
