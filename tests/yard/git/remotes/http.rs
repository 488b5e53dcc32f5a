//! Credentials over HTTP.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{asleep, assert_built, counted, git_run, refusal, work_with};
use crate::support::Yard;
use crate::support::remotes::{Auth, Fault, HttpRemote, Proxy, TlsFront};

const TOKEN: &str = "t0ken+of/somebody=";

fn token_file(yard: &Yard, name: &str, token: &str) -> PathBuf {
    let path = yard.dir.path().join(name);
    std::fs::write(&path, token).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn for_host(host: &str, file: &std::path::Path, more: &str) -> String {
    format!("[git.credentials.\"{host}\"]\ntoken_file = {file:?}\n{more}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_with_and_without_a_credential() {
    for (auth, more) in [
        (Auth::Anyone, ""),
        (Auth::Basic("x-access-token", TOKEN), ""),
        (Auth::Basic("somebody", TOKEN), "username = \"somebody\""),
        (Auth::Bearer(TOKEN), "scheme = \"bearer\""),
    ] {
        let mut yard = asleep();
        let remote = HttpRemote::start(&yard.origin, auth.clone()).await;
        let file = token_file(&yard, "token", TOKEN);
        yard.configure(remote.options(&for_host(&remote.host(), &file, more)));
        yard.start().await;
        work_with(&yard).await;
        assert_eq!(remote.shown().is_empty(), auth == Auth::Anyone, "{auth:?}");
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_and_a_wrong_token_are_told_apart_and_not_repeated() {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Basic("x-access-token", "other")).await;
    yard.configure(remote.options(""));
    yard.start().await;
    let (status, problem) = refusal(&yard).await;
    assert_eq!(
        (status, &problem["code"]),
        (502, &"remote_auth_failed".into())
    );
    let help = problem["help"].as_str().unwrap();
    assert!(help.contains("no credential is configured"), "{problem}");
    let asked = remote.requests();
    assert_eq!(asked, 1, "no retry can help that");
    yard.stop().await;

    let file = token_file(&yard, "token", TOKEN);
    yard.configure(remote.options(&for_host(&remote.host(), &file, "")));
    yard.start().await;
    let (_, problem) = refusal(&yard).await;
    assert_eq!(problem["code"], "remote_auth_failed");
    let help = problem["help"].as_str().unwrap();
    let setting = format!("[git.credentials.{:?}]", remote.host());
    assert!(help.contains(&setting), "{problem}");
    assert!(!problem.to_string().contains(TOKEN));

    // This one repeats what it was shown.
    remote.let_in(Auth::Nobody);
    let (_, problem) = refusal(&yard).await;
    assert_eq!(problem["code"], "remote_forbidden", "{problem}");
    assert!(!problem.to_string().contains(TOKEN));
    let failures = "branchyard_remote_failures_total";
    let labels = "operation=\"ls-remote\",kind=\"auth\"";
    assert!(counted(&yard, failures, labels).await >= 1);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_token_is_used_without_a_restart_and_an_open_file_is_not() {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Basic("x-access-token", "first")).await;
    let file = token_file(&yard, "token", "first\n");
    yard.configure(remote.options(&for_host(&remote.host(), &file, "")));
    yard.start().await;
    assert_built(&yard.make("main", &["who"]).await, "main\n");
    remote.let_in(Auth::Basic("x-access-token", "second"));
    assert_eq!(refusal(&yard).await.1["code"], "remote_auth_failed");
    std::fs::write(&file, "second\n").unwrap();
    assert_built(&yard.make("main", &["who"]).await, "main\n");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, problem) = refusal(&yard).await;
    assert_eq!(problem["code"], "credential_unreadable");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("chmod 600"), "{problem}");
    let end = git_run(&yard, "main", "fetch").await;
    assert_eq!(end.data["code"], "credential_unreadable", "{end:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repos_own_token_comes_before_its_hosts() {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Basic("deploy", TOKEN)).await;
    let host = token_file(&yard, "host", "another");
    let own = token_file(&yard, "own", TOKEN);
    let mut options = remote.options(&for_host(&remote.host(), &host, ""));
    options.repo = format!("credential = {{ username = \"deploy\", token_file = {own:?} }}");
    yard.configure(options);
    yard.start().await;
    assert_built(&yard.make("main", &["who"]).await, "main\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed_and_gets_no_credential() {
    for (auth, scheme) in [
        (Auth::Basic("x-access-token", TOKEN), "basic"),
        (Auth::Bearer(TOKEN), "bearer"),
    ] {
        let mut yard = asleep();
        let remote = HttpRemote::start(&yard.origin, auth.clone()).await;
        let elsewhere = HttpRemote::start(&yard.origin, auth).await;
        let file = token_file(&yard, "token", TOKEN);
        let scheme = format!("scheme = \"{scheme}\"");
        yard.configure(remote.options(&for_host(&remote.host(), &file, &scheme)));
        yard.start().await;
        assert_built(&yard.make("main", &["who"]).await, "main\n");
        let there = format!("http://{}", elsewhere.address);
        // At once, and only after it was shown to the first.
        remote.fail(Fault::Redirect(there.clone()));
        let (status, problem) = refusal(&yard).await;
        assert_eq!(
            (status, &problem["code"]),
            (502, &"remote_redirected".into())
        );
        let help = problem["help"].as_str().unwrap();
        assert!(help.contains("redirects are not followed"), "{problem}");
        remote.fail(Fault::None);
        remote.fail_next([Fault::None, Fault::Redirect(there.clone())]);
        let _ = refusal(&yard).await;
        // Nor where git itself fetches or pushes.
        remote.fail(Fault::None);
        yard.origin.branch("feature");
        assert_built(&yard.make("feature", &["who"]).await, "feature\n");
        remote.fail(Fault::Redirect(there));
        for operation in ["fetch", "push"] {
            let run = super::git_run(&yard, "feature", operation).await;
            assert_ne!(run.data["state"], "succeeded", "{run:?}");
        }
        assert_eq!(elsewhere.requests(), 0);
        assert_eq!(elsewhere.shown(), Vec::<String>::new());
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_on_the_way_where_it_should_be() {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let proxy = Proxy::start(remote.address).await;
    let mut options = remote.options(&format!("[git.http]\nproxy = \"{}\"", proxy.url()));
    options.url = Some("http://git.invalid/origin.git".to_owned());
    yard.configure(options);
    yard.start().await;
    work_with(&yard).await;
    assert!(proxy.connections() > 0);
    yard.stop().await;

    let direct = format!(
        "[git.http]\nproxy = \"{}\"\nno_proxy = [\"127.0.0.1\"]",
        proxy.url()
    );
    let before = proxy.connections();
    yard.configure(remote.options(&direct));
    yard.start().await;
    assert_built(&yard.make("feature", &["who"]).await, "feature\n");
    assert_eq!(proxy.connections(), before);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_authority_is_trusted_where_it_is_named() {
    let mut yard = asleep();
    let remote = HttpRemote::start(&yard.origin, Auth::Basic("x-access-token", TOKEN)).await;
    let front = TlsFront::start(yard.dir.path(), remote.address).await;
    let file = token_file(&yard, "token", TOKEN);
    let credential = for_host(&front.host(), &file, "");
    let mut options = remote.options(&credential);
    options.url = Some(front.url());
    yard.configure(options);
    yard.start().await;
    let (_, problem) = refusal(&yard).await;
    assert_eq!(problem["code"], "remote_tls", "{problem}");
    assert!(problem["help"].as_str().unwrap().contains("ca_file"));
    assert_eq!(remote.shown(), Vec::<String>::new());
    yard.stop().await;

    let trusted = format!("{credential}[git.http]\nca_file = {:?}\n", front.ca_file);
    let mut options = remote.options(&trusted);
    options.url = Some(front.url());
    yard.configure(options);
    yard.start().await;
    work_with(&yard).await;
    yard.stop().await;
}
