//! What is asked for is had, or the run is refused; what is not asked for is said.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::options;
use crate::support::{Options, PROGRAM, Yard, json_of, problem_of, text_of};

/// A directory with the programs that a daemon needs, and no bwrap.
fn without_bubblewrap(yard: &Yard) -> String {
    let dir = yard.dir.path().join("programs");
    std::fs::create_dir(&dir).unwrap();
    for program in ["git", "make", "sh", "cat"] {
        let found = std::env::split_paths(env!("PATH"))
            .map(|dir| dir.join(program))
            .find(|file| file.is_file());
        symlink(found.unwrap(), dir.join(program)).unwrap();
    }
    dir.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_bubblewrap_only_who_asked_for_nothing_runs_and_is_told() {
    let mut yard = Yard::asleep(options("standard", ""));
    let path = without_bubblewrap(&yard);
    let env = [("PATH", path.as_str())];
    let mut daemon = yard.start_binary(&env).await;
    let make = "/stream/repos/demo/branches/main/make";
    let (status, problem) = problem_of(yard.post(make, json!({"args": ["who"]})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("sandbox_unavailable")),
        "{problem}"
    );
    assert!(
        problem["detail"].as_str().unwrap().contains("bwrap"),
        "{problem}"
    );
    assert!(
        problem["help"].as_str().unwrap().contains("doctor"),
        "{problem}"
    );
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"], json!([]), "it was refused before it was one");
    let ready = yard.get_json("/readyz").await;
    let obstacle = ready["sandbox"]["obstacles"]["standard"].as_str().unwrap();
    assert!(obstacle.contains("bwrap"), "{ready}");
    // Git does not run in one.
    let status = yard
        .run("git", "main", json!({"operation": "status"}))
        .await;
    assert_eq!(status.last().unwrap().data["state"], "succeeded");
    daemon.stop().await;

    // Nobody asked for one: it runs bare, and that is said.
    yard.configure(Options {
        tables: "[sandbox]\ntmp_size = \"1GiB\"\n".to_owned(),
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&env).await;
    daemon.until_said("builds run without a sandbox").await;
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"][0]["sandbox"], "none", "{runs}");
    let ready = yard.get_json("/readyz").await;
    assert_eq!(ready["sandbox"]["profile"], "none", "{ready}");
    let doctor = doctor(&yard).await;
    assert!(
        doctor.contains("sandbox") && doctor.contains("bwrap is not in"),
        "{doctor}"
    );
    daemon.stop().await;
}

async fn doctor(yard: &Yard) -> String {
    let key = yard.workspaces.join(".branchyard/auth.header");
    let output = tokio::process::Command::new(PROGRAM)
        .args([
            "--url",
            &yard.url,
            "--key-file",
            key.to_str().unwrap(),
            "doctor",
        ])
        .env_clear()
        .env("PATH", env!("PATH"))
        .output()
        .await
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_is_standard_and_a_repo_has_its_own() {
    let mut yard = Yard::asleep(Options {
        tables: "[sandbox]\ntmp_size = \"1GiB\"\n[repos.bare]\nurl = \"./origin.git\"\n\
                 [repos.bare.sandbox]\nprofile = \"none\"\n"
            .to_owned(),
        repo: "[repos.demo.sandbox]\nbinds_writable = [\"~/cache\"]\nbinds_read_only = [\"~/tools\"]\n"
            .to_owned(),
        ..Options::default()
    });
    yard.origin.write(
        "Makefile",
        "all:\n\t@cat ~/tools/tool; echo x 2>/dev/null > ~/tools/x || echo read-only; \
         cat ~/cache/seen 2>/dev/null; echo seen > ~/cache/seen\n",
    );
    yard.origin.commit("binds");
    yard.origin.push("main");
    let home = yard.dir.path().to_owned();
    std::fs::create_dir(home.join("tools")).unwrap();
    std::fs::write(home.join("tools/tool"), "tool\n").unwrap();
    yard.start().await;
    // What is to be bound has to be there when it is needed.
    let make = "/stream/repos/demo/branches/main/make";
    let (status, problem) = problem_of(yard.post(make, json!({})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("sandbox_unavailable")),
        "{problem}"
    );
    assert!(
        problem["detail"].as_str().unwrap().contains("/cache"),
        "{problem}"
    );
    std::fs::create_dir(home.join("cache")).unwrap();
    assert_eq!(text_of(&yard.make("main", &[]).await), "tool\nread-only\n");
    assert_eq!(
        text_of(&yard.make("main", &[]).await),
        "tool\nread-only\nseen\n"
    );
    assert_eq!(
        std::fs::read_to_string(home.join("cache/seen")).unwrap(),
        "seen\n"
    );
    // A link that leads to what is the daemon's, since.
    std::fs::remove_dir_all(home.join("cache")).unwrap();
    symlink(yard.workspaces.join(".branchyard"), home.join("cache")).unwrap();
    let events = yard.make("main", &[]).await;
    assert_eq!(
        events.last().unwrap().data["code"],
        "sandbox_unavailable",
        "{events:?}"
    );
    std::fs::remove_file(home.join("cache")).unwrap();

    let path = "/stream/repos/bare/branches/main/make";
    let request = yard
        .request(reqwest::Method::POST, path)
        .header("prefer", "respond-async");
    let started = json_of(request.json(&json!({})).send().await.unwrap()).await;
    let run = started["run_id"].as_str().unwrap();
    let record = yard.ended(run).await;
    assert_eq!(record["sandbox"], "none", "{record}");
    let ready = yard.get_json("/readyz").await["sandbox"].clone();
    assert_eq!(ready["profile"], "standard", "{ready}");
    assert_eq!(ready["repos"], json!({"bare": "none"}), "{ready}");
    for one in ready["mechanisms"].as_array().unwrap() {
        assert!(
            one["available"].is_boolean() && one["detail"].is_string(),
            "{one}"
        );
    }
    let doctor = doctor(&yard).await;
    for name in [
        "profile standard",
        "bubblewrap:",
        "seccomp:",
        "landlock:",
        "cgroups:",
    ] {
        assert!(doctor.contains(name), "{name}: {doctor}");
    }
    yard.stop().await;
}
