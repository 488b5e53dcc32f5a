//! Other ways to a remote: git's own protocol, and ways that lead nowhere.

use super::{asleep, counted, refusal, work_with};
use crate::support::Options;
use crate::support::remotes::GitDaemon;

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_with_gits_own_protocol() {
    let mut yard = asleep();
    let remote = GitDaemon::start(&yard.origin).await;
    yard.configure(remote.options());
    yard.start().await;
    work_with(&yard).await;
    yard.stop().await;

    let mut options = remote.options();
    options.url = Some(remote.url().replace("origin.git", "none.git"));
    yard.configure(options);
    yard.start().await;
    assert_eq!(refusal(&yard).await.1["code"], "remote_not_found");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_nobody_answers_for_is_said_by_its_kind() {
    let port = crate::support::remotes::free_port();
    for (url, code, kind) in [
        (
            format!("http://127.0.0.1:{port}/x"),
            "remote_unreachable",
            "unreachable",
        ),
        (
            "http://git.invalid/x".to_owned(),
            "remote_unresolved",
            "dns",
        ),
    ] {
        let mut yard = asleep();
        yard.configure(Options {
            url: Some(url),
            git: "allow_protocols = [\"http\"]".to_owned(),
            ..Options::default()
        });
        yard.start().await;
        let labels = format!("operation=\"ls-remote\",kind=\"{kind}\"");
        let tried = counted(&yard, "branchyard_remote_retries_total", &labels).await;
        let (status, problem) = refusal(&yard).await;
        assert_eq!((status, problem["code"].as_str()), (502, Some(code)));
        let again = counted(&yard, "branchyard_remote_retries_total", &labels).await;
        assert_eq!(again - tried, 2, "three tries and no more");
        yard.stop().await;
    }
}
