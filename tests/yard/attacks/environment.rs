//! The environment of a build: what a caller may add, and what never gets in.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::json;

use super::untouched;
use crate::support::{Options, Yard, problem_of, text_of};

/// What a caller may not set, by name or by value.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("LD_PRELOAD", "/tmp/x.so"),
    ("LD_LIBRARY_PATH", "/tmp"),
    ("LD_AUDIT", "/tmp/x.so"),
    ("BASH_ENV", "/tmp/x"),
    ("ENV", "/tmp/x"),
    ("BASH_FUNC_ls%%", "() { id; }"),
    ("BASH_FUNC_ls", "() { id; }"),
    ("GIT_DIR", "/tmp"),
    ("GIT_SSH_COMMAND", "touch x"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_PARAMETERS", "'core.pager=id'"),
    ("GIT_EXTERNAL_DIFF", "touch x"),
    ("GIT_ALLOW_PROTOCOL", "ext"),
    ("SSH_AUTH_SOCK", "/tmp/x"),
    ("MAKEFLAGS", "--eval=x"),
    ("GNUMAKEFLAGS", "--eval=x"),
    ("MAKEFILES", "/tmp/x"),
    ("MFLAGS", "-n"),
    ("PATH", "/tmp"),
    ("HOME", "/tmp"),
    ("SHELL", "/tmp/sh"),
    ("TMPDIR", "/"),
    ("IFS", "x"),
    ("PS4", "$(id)"),
    ("PYTHONSTARTUP", "/tmp/x"),
    ("PERL5OPT", "-Mx"),
    ("NODE_OPTIONS", "--require=/tmp/x"),
    ("RUBYOPT", "-rx"),
    ("RUSTC_WRAPPER", "/tmp/x"),
    ("BRANCHYARD_RUN_ID", "x"),
    ("BRANCHYARD_SESSION_KEY", "x"),
    ("", "x"),
    ("A=B", "x"),
    ("A B", "x"),
    ("1A", "x"),
    ("A\0", "x"),
    ("A\n", "x"),
    ("V", "a\0b"),
    ("V", "$(shell id)"),
    ("V", "${shell id}"),
];

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_change_what_runs_are_refused() {
    let mut yard = Yard::new().await;
    for (name, value) in VARIABLES {
        let mut env = serde_json::Map::new();
        env.insert((*name).to_owned(), json!(value));
        let make = "/stream/repos/demo/branches/main/make";
        let (status, problem) = problem_of(yard.post(make, json!({"env": env})).await).await;
        let field = problem["field"].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{name:?}={value:?}: {problem}");
        assert!(field.starts_with("env."), "{name:?}: {problem}");
        // Git takes none, whatever they are called.
        let (git, body) = (
            "/stream/repos/demo/branches/main/git",
            json!({"operation": "status", "env": env}),
        );
        let (status, problem) = problem_of(yard.post(git, body).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!("env")),
            "{name:?}"
        );
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Git reaches the remote with the daemon's credentials; nobody else says by which way.
#[tokio::test(flavor = "multi_thread")]
async fn git_is_given_no_variables_at_all() {
    let mut yard = Yard::with(Options {
        // What an operator lets builds have is not meant for git.
        repo: "allow_env = [\"GIT_SSH_COMMAND\", \"PATH\"]\n".to_owned(),
        ..Options::default()
    })
    .await;
    for name in [
        "https_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "SSL_CERT_FILE",
        "SSLKEYLOGFILE",
        "CURL_HOME",
        "OPENSSL_CONF",
        "KRB5_CONFIG",
        "GIT_SSH_COMMAND",
        "PATH",
        "V",
    ] {
        let body = json!({"operation": "push", "env": {name: "x"}});
        let path = "/stream/repos/demo/branches/main/git";
        let (status, problem) = problem_of(yard.post(path, body).await).await;
        assert_eq!((status, &problem["field"]), (422, &json!("env")), "{name}");
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Everything that a build is given: declared by the yard, or made by make and the shell themselves.
pub(super) const DECLARED: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "TERM",
    "CI",
    "TMPDIR",
    "BRANCHYARD_REPO",
    "BRANCHYARD_BRANCH",
    "BRANCHYARD_COMMIT",
    "BRANCHYARD_RUN_ID",
    "BRANCHYARD_SLUG",
    "BRANCHYARD_PORT",
    "BRANCHYARD_PORT_1",
    "BRANCHYARD_PORT_2",
    "BRANCHYARD_PORT_3",
    "BRANCHYARD_PORT_4",
    "BRANCHYARD_PORT_5",
    "BRANCHYARD_PORT_6",
    "BRANCHYARD_PORT_7",
    "BRANCHYARD_PORT_8",
    "BRANCHYARD_PORT_9",
    "CARGO_BUILD_JOBS",
    "CMAKE_BUILD_PARALLEL_LEVEL",
    "OPERATORS",
    "CALLERS",
];
pub(super) const MAKES_AND_SHELLS: &[&str] = &[
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKE_TERMERR",
    "MAKE_TERMOUT",
    "MFLAGS",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "_",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_build_sees_the_declared_environment_and_nothing_of_the_daemons() {
    let key = "the-key-of-this-daemon-0123456789";
    let mut yard = Yard::asleep(Options {
        repo: "env = { OPERATORS = \"word\" }\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write(
        "Makefile",
        "env:\n\t@env -0 | tr '\\0\\n' '\\n '\nfds:\n\t@ls /proc/self/fd\n",
    );
    yard.origin.commit("env");
    yard.origin.push("main");
    let mut daemon = yard
        .start_binary(&[
            ("BRANCHYARD_SESSION_KEY", key),
            ("BRANCHYARD_LOG", "debug"),
            ("AWS_SECRET_ACCESS_KEY", "the-operators-secret"),
            ("SSH_AUTH_SOCK", "/nowhere/agent"),
            ("MAKEFLAGS", "--print-data-base"),
        ])
        .await;
    let body = json!({"args": ["-s", "env"], "env": {"CALLERS": "word"}});
    let events = yard.run("make", "main", body).await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );
    let said = text_of(&events);
    let names: BTreeSet<_> = said
        .lines()
        .map(|line| line.split_once('=').unwrap().0)
        .collect();
    for declared in DECLARED {
        assert!(names.contains(declared), "{declared} is missing: {said}");
    }
    let undeclared: Vec<_> = names
        .iter()
        .filter(|name| !DECLARED.contains(name) && !MAKES_AND_SHELLS.contains(name))
        .collect();
    assert!(undeclared.is_empty(), "undeclared: {undeclared:?}");
    for secret in [key, "the-operators-secret", "/nowhere/agent"] {
        assert!(!said.contains(secret), "{secret} reached a build: {said}");
    }
    // A build has its three streams, and `ls` the directory that it reads: nothing else, not even what
    // this very test was given by whoever runs it.
    let events = yard.make("main", &["-s", "fds"]).await;
    let said = text_of(&events);
    assert_eq!(said, "0\n1\n2\n3\n", "descriptors leak into builds");

    // The description of it says what is set, but not what the operator set it to.
    let answer = yard
        .request(Method::GET, "/api/repos/demo/branches/main/env")
        .send()
        .await
        .unwrap();
    let text = answer.text().await.unwrap();
    assert!(text.contains("\"OPERATORS\""), "{text}");
    for secret in [key, "the-operators-secret", "\"word\""] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().await.success());
    for line in &daemon.said {
        assert!(!line.contains(key), "the key is in the log: {line}");
    }
}
