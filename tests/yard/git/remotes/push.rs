//! Pushes to remotes that refuse, hang and break off: each arrives once, or is refused by kind and can be
//! done again.

use serde_json::{Value, json};

use super::{asleep, counted};
use crate::support::remotes::{Auth, Fault, GitDaemon, HttpRemote, SshRemote};
use crate::support::{Yard, git, problem_of};

const BRANCH: &str = "agent-a-1";
/// Requests of a push before the one that brings the objects: two that ask for the branch, and one that
/// begins.
const BEFORE: usize = 3;

async fn begun(yard: &Yard) {
    let task = json!({ "repo": "demo", "agent_id": "a", "task_id": "1" });
    yard.post_json("/api/git/clone", task).await;
}

async fn over_http(timeouts: &str) -> (Yard, HttpRemote) {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let mut options = remote.options("");
    options.timeouts = timeouts.to_owned();
    yard.configure(options);
    yard.start().await;
    begun(&yard).await;
    (yard, remote)
}

fn change(yard: &Yard, name: &str) -> Value {
    std::fs::write(yard.workspace(BRANCH).join(name), "work\n").unwrap();
    json!({ "message": name })
}

/// The commit of the agent's branch on the remote, which has each subject once.
fn arrived(yard: &Yard, subjects: &[&str]) -> String {
    let range = format!("main..{BRANCH}");
    let log = git(&yard.origin.bare, &["log", "--format=%s", &range]);
    assert_eq!(log.lines().collect::<Vec<_>>(), subjects);
    git(&yard.origin.bare, &["rev-parse", BRANCH])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_finds_no_time_twice_arrives() {
    let (mut yard, remote) = over_http("").await;
    for _ in 0..2 {
        remote.fail_next(std::iter::repeat_n(Fault::None, BEFORE));
        remote.fail_next([Fault::Status(503)]);
    }
    let pushed = yard.verb(BRANCH, "push", change(&yard, "one")).await;
    assert_eq!(
        (&pushed["state"], &pushed["attempts"]),
        (&json!("pushed"), &json!(3)),
        "{pushed}"
    );
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["one"]));
    let labels = "operation=\"push\",kind=\"busy\"";
    assert_eq!(
        counted(&yard, "branchyard_remote_retries_total", labels).await,
        2
    );

    remote.fail_next(std::iter::repeat_n(Fault::None, BEFORE));
    remote.fail_next([Fault::Status(503)]);
    let mut body = change(&yard, "two");
    body["retries"] = 0.into();
    let (status, problem) = problem_of(yard.try_verb(BRANCH, "push", body).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (502, &json!("remote_busy")),
        "{problem}"
    );
    let pushed = yard.verb(BRANCH, "push", json!({})).await;
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["two", "one"]));
    yard.stop().await;
}

/// The remote took it, and its answer was lost on the way.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_answer_breaks_off_is_found_to_have_arrived() {
    let (mut yard, remote) = over_http("").await;
    remote.fail_next(std::iter::repeat_n(Fault::None, BEFORE));
    remote.fail_next([Fault::Cut]);
    let pushed = yard.verb(BRANCH, "push", change(&yard, "one")).await;
    assert_eq!(
        (&pushed["state"], &pushed["attempts"]),
        (&json!("pushed"), &json!(2)),
        "{pushed}"
    );
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["one"]));
    assert_eq!(pushed["outgoing"].as_array().unwrap().len(), 1);

    // What was replaced is told even so.
    let old = arrived(&yard, &["one"]);
    git(
        &yard.workspace(BRANCH),
        &["commit", "-q", "--amend", "-m", "better"],
    );
    remote.fail_next(std::iter::repeat_n(Fault::None, BEFORE));
    remote.fail_next([Fault::Cut]);
    let pushed = yard.verb(BRANCH, "push", json!({})).await;
    assert_eq!(pushed["replaced"], old, "{pushed}");
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["better"]));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_hangs_is_given_up_and_nothing_is_lost() {
    for timeouts in ["fetch_stall = \"1s\"", "fetch = \"1s\""] {
        let (mut yard, remote) = over_http(timeouts).await;
        remote.fail_next(std::iter::repeat_n(Fault::None, BEFORE));
        remote.fail_next([Fault::Hang]);
        let body = change(&yard, "one");
        let (status, problem) = problem_of(yard.try_verb(BRANCH, "push", body).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (504, &json!("remote_timed_out")),
            "{problem}"
        );
        let pushed = yard.verb(BRANCH, "push", json!({})).await;
        assert_eq!(pushed["remote_commit"], arrived(&yard, &["one"]));
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_arrive_over_ssh_and_gits_own_protocol() {
    let mut yard = asleep();
    let daemon = GitDaemon::start(&yard.origin).await;
    yard.configure(daemon.options());
    yard.start().await;
    begun(&yard).await;
    let pushed = yard.verb(BRANCH, "push", change(&yard, "one")).await;
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["one"]));
    yard.stop().await;

    let mut yard = asleep();
    let Some(ssh) = SshRemote::start(&yard.origin).await else {
        return;
    };
    yard.configure(ssh.options(&ssh.file("user"), &ssh.file("known_hosts")));
    yard.start().await;
    begun(&yard).await;
    let pushed = yard.verb(BRANCH, "push", change(&yard, "one")).await;
    assert_eq!(pushed["remote_commit"], arrived(&yard, &["one"]));
    yard.stop().await;
}
