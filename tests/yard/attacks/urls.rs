//! Repository URLs that a caller registers.

use serde_json::json;

use crate::support::{Options, Yard, problem_of};

pub(super) const HOSTILE: &[&str] = &[
    "ext::sh -c id",
    "ext::sh -c touch% /tmp/x",
    "fd::3",
    "transport::address",
    "file:///etc",
    "file://localhost/etc",
    "FILE:///etc",
    "/etc",
    "./x",
    "../x",
    "~/x",
    "x",
    "",
    "-x",
    "--upload-pack=touch x",
    "ssh://-oProxyCommand=touch%20x/x",
    "ssh://-oProxyCommand=id@example.com/x",
    "ssh://user@-oProxyCommand=id/x",
    "-oProxyCommand=id:x",
    "git@-oProxyCommand=id:x",
    "http://example.com/x",
    "git://example.com/x",
    "ftp://example.com/x",
    "https://127.0.0.1/x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://0x7f000001/x",
    "https://0177.0.0.1/x",
    "https://0/x",
    "https://0.0.0.0/x",
    "https://localhost/x",
    "https://LOCALHOST./x",
    "https://a.localhost/x",
    "https://[::1]/x",
    "https://[::]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://[fe80::1]/x",
    "https://[fc00::1]/x",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/x",
    "https://192.168.1.1/x",
    "https://172.16.0.1/x",
    "ssh://git@127.0.0.1/x",
    "git@127.0.0.1:x",
    "git@[::1]:x",
    "git@localhost:x",
    "https://example.com/x\n",
    "https://example.com/x\0y",
    "https://exa mple.com/x",
    "https:///x",
    "https://user:TOKEN-OF-SOMEBODY@example.com/x",
    "https://TOKEN-OF-SOMEBODY@example.com/x",
    "https://example.com/x?token=TOKEN-OF-SOMEBODY",
];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_urls_are_refused_and_nothing_of_them_is_kept() {
    // No name is looked up outside of this machine.
    let mut yard = Yard::with(Options {
        bare: true,
        tables: "[git]\nallow_hosts = [\"example.com\"]\n".to_owned(),
        ..Options::default()
    })
    .await;
    for url in HOSTILE {
        let body = json!({"name": "x", "url": url});
        let (status, problem) = problem_of(yard.post("/api/repos", body).await).await;
        assert_eq!((status, &problem["field"]), (400, &json!("url")), "{url:?}");
        assert!(
            !problem.to_string().contains("TOKEN"),
            "{url:?}: the answer repeats a secret: {problem}"
        );
    }
    let listed = yard.get_json("/api/repos").await;
    assert_eq!(listed["items"], json!([]));
    let kept = yard.workspaces.join(".branchyard/repos");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);

    // The rules let honest ones through, else the above would prove nothing.
    for (name, url) in [
        ("one", "https://example.com/group/x.git"),
        ("two", "git@example.com:group/x.git"),
        ("three", "ssh://git@example.com:2222/x"),
    ] {
        let answer = yard
            .post_json("/api/repos", json!({"name": name, "url": url}))
            .await;
        assert_eq!(answer["url"], url);
    }
    yard.stop().await;
}

/// Where the operator allows local repositories, the rest of the rules still holds.
#[tokio::test(flavor = "multi_thread")]
async fn allowing_local_repositories_allows_nothing_else() {
    let mut yard = Yard::new().await;
    for url in HOSTILE
        .iter()
        .filter(|url| !url.starts_with('/') && !url.to_ascii_lowercase().starts_with("file:"))
    {
        let body = json!({"name": "x", "url": url});
        let (status, problem) = problem_of(yard.post("/api/repos", body).await).await;
        assert_eq!((status, &problem["field"]), (400, &json!("url")), "{url:?}");
    }
    let url = yard.origin.url();
    yard.post_json("/api/repos", json!({"name": "x", "url": url}))
        .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_are_refused_at_registration() {
    let mut yard = Yard::new().await;
    let long = "x".repeat(64);
    for name in [
        "",
        "..",
        ".",
        "../x",
        "/x",
        "a/b",
        "-x",
        ".git",
        ".branchyard",
        "a b",
        "a\n",
        "a\0",
        "é",
        &long,
    ] {
        let body = json!({"name": name, "url": "https://example.com/x"});
        let (status, problem) = problem_of(yard.post("/api/repos", body).await).await;
        assert!([400, 422].contains(&status), "{name:?}: {problem}");
        assert_eq!(problem["field"], "name", "{name:?}: {problem}");
    }
    for branch in ["-x", "HEAD", "a..b", "refs/heads/x"] {
        let body = json!({"name": "x", "url": "https://example.com/x", "default_branch": branch});
        let (status, problem) = problem_of(yard.post("/api/repos", body).await).await;
        assert!([400, 422].contains(&status), "{branch:?}: {problem}");
        assert_eq!(problem["field"], "default_branch", "{branch:?}: {problem}");
    }
    let listed = yard.get_json("/api/repos").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    yard.stop().await;
}
