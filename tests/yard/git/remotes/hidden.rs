//! A token is nowhere but in git's own hands: not in a log, a journal, a record, a database, an answer, on a
//! command line, or in an environment. Looked for at debug level, after success and after failure.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{asleep, assert_built};
use crate::support::remotes::{Auth, Fault, HttpRemote};
use crate::support::{Yard, each_file, events_of, read_events, text_of, until};

const OF_HOST: &str = "b4sic+T0ken/of=host";
const OF_REPO: &str = "be4rer+T0ken/of=repo";

/// Every guise of the tokens that is looked for.
fn guises() -> Vec<String> {
    let mut guises = Vec::new();
    for token in [OF_HOST, OF_REPO] {
        let pair = STANDARD.encode(format!("x-access-token:{token}"));
        guises.push(token.to_owned());
        guises.push(pair.trim_end_matches('=').to_owned());
        guises.push(STANDARD.encode(token).trim_end_matches('=').to_owned());
        guises.push(crate::support::encode(token));
        guises.push(crate::support::encode(token).to_lowercase());
    }
    guises
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    for guise in guises() {
        let found = bytes
            .windows(guise.len())
            .any(|part| part == guise.as_bytes());
        assert!(!found, "{guise} is in {what}");
    }
}

fn assert_clean_below(dir: &Path) -> usize {
    each_file(dir, &mut |path, bytes| {
        assert_clean(&path.display().to_string(), bytes);
    })
}

/// Writes what a build can see of itself to files, where nothing is redacted, and prints it, too.
const MAKEFILE: &str = "\
look:
\t@mkdir -p seen
\t@env > seen/env
\t@cat /proc/self/environ /proc/$$PPID/environ > seen/environ
\t@cat /proc/[0-9]*/cmdline > seen/cmdlines 2>/dev/null || true
\t@ls -l /proc/self/fd > seen/descriptors
\t@cat seen/*; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' || true
";

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_seen_by_nobody() {
    let mut yard = asleep();
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.commit("look");
    yard.origin.push("main");
    let basic = HttpRemote::start(&yard.origin, Auth::Basic("x-access-token", OF_HOST)).await;
    let bearer = HttpRemote::start(&yard.origin, Auth::Bearer(OF_REPO)).await;
    let file = yard.dir.path().join("token");
    std::fs::write(&file, OF_REPO).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut options = basic.options(&format!(
        "[git.credentials.\"{}\"]\ntoken_env = \"FORGE\"\n\
         [repos.other]\nurl = \"{}\"\n\
         [repos.other.credential]\ntoken_file = {file:?}\nscheme = \"bearer\"\n",
        basic.host(),
        bearer.url(),
    ));
    options.top = "log = \"debug\"".to_owned();
    options.timeouts = "remote = \"3s\"".to_owned();
    yard.configure(options);
    let mut daemon = yard.start_binary(&[("FORGE", OF_HOST)]).await;

    let mut answers = vec![yard.make("main", &["look"]).await];
    let path = "/stream/repos/other/branches/main/make";
    answers.push(events_of(yard.post(path, json!({ "args": ["look"] })).await).await);
    for events in &answers {
        assert_eq!(events.last().unwrap().data["state"], "succeeded");
        assert!(text_of(events).contains("FORGE=***"), "the daemon's own");
    }
    for repo in ["demo", "other"] {
        let seen = yard.workspaces.join(repo).join("main/seen");
        assert_eq!(assert_clean_below(&seen), 4);
        let descriptors = std::fs::read_to_string(seen.join("descriptors")).unwrap();
        assert!(!descriptors.contains("memfd"), "{descriptors}");
    }
    for (operation, repo) in [("fetch", "demo"), ("fetch", "other"), ("status", "other")] {
        let path = format!("/stream/repos/{repo}/branches/main/git");
        let events = events_of(yard.post(&path, json!({ "operation": operation })).await).await;
        assert_eq!(events.last().unwrap().data["state"], "succeeded");
        answers.push(events);
    }
    watch_git(&yard, &basic).await;

    // It repeats what it was shown; then it knows another token.
    for auth in [Auth::Nobody, Auth::Basic("x-access-token", "renewed")] {
        basic.let_in(auth);
        let refused = yard.get("/api/repos/demo/branches?remote=true").await;
        assert_eq!(refused.status(), 502);
        assert_clean("a problem", &refused.bytes().await.unwrap());
        let body = json!({ "operation": "fetch", "sync": "none" });
        answers.push(yard.run("git", "main", body).await);
        assert_eq!(
            answers.last().unwrap().last().unwrap().data["state"],
            "failed"
        );
    }
    assert!(!basic.shown().is_empty() && !bearer.shown().is_empty());
    for events in answers {
        let run = events[0].data["run_id"].as_str().unwrap().to_owned();
        assert_clean("a stream", format!("{events:?}").as_bytes());
        assert_clean("a log", yard.log(&run).await.as_bytes());
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_clean("a record", record.to_string().as_bytes());
    }
    for path in [
        "/metrics",
        "/api/repos",
        "/api/runs",
        "/api/repos/demo/branches/main/env",
    ] {
        let answer = yard.get(path).await.bytes().await.unwrap();
        assert_clean(path, &answer);
    }
    daemon.stop().await;
    assert!(daemon.said.iter().any(|line| line.contains("DEBUG")));
    assert_clean("the log", daemon.said.join("\n").as_bytes());
    assert!(assert_clean_below(&yard.workspaces) > 50);
}

/// Looks at all processes while git holds the credential: ours, in the daemon's hands and in a run's.
async fn watch_git(yard: &Yard, remote: &HttpRemote) {
    for run in [false, true] {
        // Once refused, git has asked for the credential; then it waits.
        remote.fail_next([Fault::None, Fault::Hang]);
        let body = json!({ "operation": "fetch", "sync": "none", "timeout": "3s" });
        let waiting = match run {
            true => yard.post("/stream/repos/demo/branches/main/git", body),
            false => yard.post(
                "/stream/repos/demo/branches/main/make",
                json!({ "args": ["look"] }),
            ),
        };
        let before = remote.shown().len();
        let look = async {
            until("git has shown the credential", || {
                remote.shown().len() > before
            })
            .await;
            assert!(look_at_processes(), "git holds a descriptor");
        };
        let (answer, ()) = tokio::join!(
            async {
                let answer = waiting.await;
                let kind = answer.headers()["content-type"]
                    .to_str()
                    .unwrap()
                    .to_owned();
                let text = answer.text().await.unwrap();
                assert_clean("an answer", text.as_bytes());
                (kind, text)
            },
            look
        );
        if run {
            let events = read_events(&answer.0, &answer.1);
            assert_eq!(events.last().unwrap().data["state"], "timed_out");
        } else {
            assert!(answer.1.contains("remote_timed_out"), "{}", answer.1);
        }
        remote.fail(Fault::None);
    }
    assert_built(
        &yard
            .run("git", "main", json!({ "operation": "fetch" }))
            .await,
        "",
    );
}

/// Whether somebody holds the descriptor; the tokens must be on no command line, and in no environment but
/// the daemon's, where the operator put one.
fn look_at_processes() -> bool {
    let mut held = false;
    for entry in std::fs::read_dir("/proc").unwrap() {
        let process = entry.unwrap().path();
        let Ok(cmdline) = std::fs::read(process.join("cmdline")) else {
            continue;
        };
        assert_clean("a command line", &cmdline);
        if !String::from_utf8_lossy(&cmdline).contains("serve") {
            let environ = std::fs::read(process.join("environ")).unwrap_or_default();
            assert_clean("an environment", &environ);
        }
        let descriptor = std::fs::read_link(process.join("fd/3")).unwrap_or_default();
        held |= descriptor.to_string_lossy().contains("memfd:branchyard");
    }
    held
}
