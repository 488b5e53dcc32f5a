//! Remotes that hang, break off, or have no time: bounded, tried again where that helps, and counted.

use std::time::Duration;

use serde_json::json;

use super::{asleep, assert_built, counted, refusal};
use crate::support::remotes::{Auth, Fault, HttpRemote};
use crate::support::{Yard, text_of};

const FAILURES: &str = "branchyard_remote_failures_total";
const RETRIES: &str = "branchyard_remote_retries_total";

async fn yard_with(timeouts: &str) -> (Yard, HttpRemote) {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let mut options = remote.options("");
    options.timeouts = timeouts.to_owned();
    yard.configure(options);
    yard.start().await;
    (yard, remote)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_has_no_time_twice_is_asked_three_times() {
    let (mut yard, remote) = yard_with("").await;
    for status in [503, 429] {
        remote.fail_next([Fault::Status(status), Fault::Status(status)]);
        assert_built(&yard.make("main", &["who"]).await, "main\n");
    }
    let labels = "operation=\"ls-remote\",kind=\"busy\"";
    assert!(counted(&yard, FAILURES, labels).await >= 4);
    assert!(counted(&yard, RETRIES, labels).await >= 4);

    remote.fail(Fault::Status(503));
    let before = remote.requests();
    let (status, problem) = refusal(&yard).await;
    assert_eq!((status, &problem["code"]), (502, &json!("remote_busy")));
    assert_eq!(remote.requests() - before, 3);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_off_is_made_again() {
    let (mut yard, remote) = yard_with("").await;
    // Asking takes two requests, a clone two more before the one that brings the objects.
    let sound = std::iter::repeat_n(Fault::None, 4);
    remote.fail_next([Fault::Cut].into_iter().chain(sound).chain([Fault::Cut]));
    assert_built(&yard.make("main", &["who"]).await, "main\n");
    for operation in ["ls-remote", "fetch"] {
        let labels = format!("operation=\"{operation}\",kind=\"cut_off\"");
        assert!(counted(&yard, RETRIES, &labels).await >= 1, "{operation}");
    }

    remote.fail(Fault::Cut);
    assert_eq!(refusal(&yard).await.1["code"], "remote_cut_off");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_hangs_or_trickles_is_given_up_and_what_is_here_still_builds() {
    let (mut yard, remote) = yard_with("remote = \"1s\"").await;
    yard.make("main", &["who"]).await;
    for fault in [Fault::Hang, Fault::Trickle(Duration::from_millis(50))] {
        remote.fail(fault);
        let before = remote.requests();
        let (status, problem) = refusal(&yard).await;
        assert_eq!(
            (status, &problem["code"]),
            (504, &json!("remote_timed_out"))
        );
        assert_eq!(
            remote.requests() - before,
            1,
            "it had all the time there was"
        );
    }
    let body = json!({ "args": ["who"], "stale": true });
    let events = yard.run("make", "main", body).await;
    assert_eq!(text_of(&events), "main\n");
    let labels = "operation=\"ls-remote\",kind=\"timeout\"";
    assert!(counted(&yard, FAILURES, labels).await >= 2);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_bounded_by_its_silence_and_by_its_length() {
    for timeouts in ["fetch_stall = \"1s\"", "fetch = \"1s\""] {
        let (mut yard, remote) = yard_with(timeouts).await;
        remote.fail_next([Fault::None, Fault::None]);
        remote.fail_next([Fault::Hang]);
        let events = yard.make("main", &["who"]).await;
        let end = events.last().unwrap();
        assert_eq!(end.data["code"], "remote_timed_out", "{end:?}");
        assert_built(&yard.make("main", &["who"]).await, "main\n");
        yard.stop().await;
    }
}

/// Git takes a page without an end of a line for a list of no branches.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_is_not_taken_for_a_remote_without_branches() {
    let (mut yard, remote) = yard_with("").await;
    yard.make("main", &["who"]).await;
    for page in [
        "<html>Log in to this network</html>",
        "",
        "<html>\n</html>\n",
    ] {
        remote.fail(Fault::Page(page));
        let (status, problem) = refusal(&yard).await;
        assert_eq!(status, 502, "{page:?}: {problem}");
        assert_ne!(problem["code"], "gone_upstream", "{page:?}: {problem}");
        let listed = yard.get("/api/repos/demo/branches?remote=true").await;
        assert_eq!(listed.status(), 502, "{page:?}");
        let body = json!({ "args": ["who"], "stale": true });
        let events = yard.run("make", "main", body).await;
        assert_eq!(text_of(&events), "main\n", "{page:?}");
    }
    remote.fail(Fault::None);
    assert_built(&yard.make("main", &["who"]).await, "main\n");
    // One that is really gone is told as before, as long as others are there.
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    crate::support::git(&yard.origin.bare, &["branch", "-D", "other"]);
    let gone = yard.make("other", &["who"]).await;
    assert_eq!(
        gone.last().unwrap().data["code"],
        "gone_upstream",
        "{gone:?}"
    );
    yard.stop().await;
}
