//! A real sshd.

use super::{asleep, refusal, work_with};
use crate::support::remotes::SshRemote;

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_over_ssh() {
    let mut yard = asleep();
    let Some(remote) = SshRemote::start(&yard.origin).await else {
        return;
    };
    yard.configure(remote.options(&remote.file("user"), &remote.file("known_hosts")));
    yard.start().await;
    work_with(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_key_is_not_known_is_not_spoken_to() {
    let mut yard = asleep();
    let Some(remote) = SshRemote::start(&yard.origin).await else {
        return;
    };
    let nobody = remote.file("nobody");
    std::fs::write(&nobody, "").unwrap();
    for known in [nobody, remote.know("another", "stranger.pub")] {
        let before = std::fs::read(&known).unwrap();
        yard.configure(remote.options(&remote.file("user"), &known));
        yard.start().await;
        let (status, problem) = refusal(&yard).await;
        assert_eq!((status, &problem["code"]), (502, &"remote_host_key".into()));
        assert!(problem["help"].as_str().unwrap().contains("known_hosts"));
        assert_eq!(std::fs::read(&known).unwrap(), before, "nothing was learnt");
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_let_in_is_said() {
    let mut yard = asleep();
    let Some(remote) = SshRemote::start(&yard.origin).await else {
        return;
    };
    yard.configure(remote.options(&remote.file("stranger"), &remote.file("known_hosts")));
    yard.start().await;
    let (_, problem) = refusal(&yard).await;
    assert_eq!(problem["code"], "remote_auth_failed", "{problem}");
    yard.stop().await;
}
