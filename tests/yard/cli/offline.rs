//! What needs no daemon, and what is said where there is none.

use super::{bare, cli, command, key_file, said};
use crate::support::{Options, Yard};

#[tokio::test]
async fn without_a_daemon_the_way_to_start_one_is_named() {
    let home = tempfile::tempdir().unwrap();
    let none = said(bare(home.path(), &["runs"])).await;
    none.refused(125, &["no daemon found", "branchyard serve"]);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let dead = said(bare(home.path(), &["--url", &url, "make", "demo", "main"])).await;
    dead.refused(
        125,
        &[
            &format!("no daemon answers at {url} (from --url)"),
            "branchyard serve",
        ],
    );
    let doctor = said(bare(home.path(), &["doctor"])).await;
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(
        doctor
            .cells()
            .iter()
            .any(|row| row[..2] == ["endpoint", "fail"]),
        "{doctor:?}"
    );
}

#[tokio::test]
async fn what_is_wrong_on_the_command_line_is_said_before_anyone_is_asked() {
    let home = tempfile::tempdir().unwrap();
    for (args, word) in [
        (&["make", "demo", "a..b"][..], "a..b"),
        (&["make", "demo", "-x"], "-x"),
        (&["make", "../demo", "main"], "../demo"),
        (&["make", "demo", "main", "--timeout", "soon"], "90s"),
        (&["make", "demo", "main", "-j4"], "-- -j"),
        (&["follow", "latest"], "branchyard runs"),
        (&["nonsense"], "nonsense"),
    ] {
        let refused = said(bare(home.path(), args)).await;
        assert_eq!(refused.text(), "", "{args:?}");
        refused.refused(2, &[word]);
    }
    let url = said(bare(
        home.path(),
        &["--url", "https://me:secret@host", "runs"],
    ))
    .await;
    assert!(!url.stderr.contains("secret"), "{url:?}");
    url.refused(2, &["--url"]);
    let help = said(bare(home.path(), &["make", "--help"])).await.ok();
    assert!(help.text().contains("branchyard make app main"));
    let version = said(bare(home.path(), &["--version"])).await.ok();
    assert_eq!(
        version.text(),
        concat!("branchyard ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_refused_and_never_shown() {
    let mut yard = Yard::new().await;
    let file = yard.dir.path().join("key");
    std::fs::write(&file, "this-is-not-the-key-of-it\n").unwrap();
    let mut wrong = command(&yard, &["runs"]);
    wrong.env("BRANCHYARD_KEY_FILE", &file);
    let wrong = said(wrong).await;
    assert!(!wrong.stderr.contains("this-is-not-the-key"), "{wrong:?}");
    wrong.refused(125, &["not one that this daemon knows"]);
    let mut none = command(&yard, &["runs"]);
    none.env_remove("BRANCHYARD_KEY_FILE")
        .env("HOME", "/nonexistent");
    said(none).await.refused(125, &["has no credential"]);
    // Flags win over the environment.
    let right = key_file(&yard);
    let mut flag = command(&yard, &["runs", "--key-file", right.to_str().unwrap()]);
    flag.env("BRANCHYARD_KEY_FILE", &file);
    said(flag).await.ok();
    let missing = cli(&yard, &["runs", "--key-file", "/nowhere"]).await;
    missing.refused(2, &["the key file /nowhere cannot be read"]);
    yard.stop().await;
}

#[tokio::test]
async fn a_configuration_is_checked_by_name_line_and_expectation() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("y.toml");
    let check = async |text: &str, more: &[&str]| {
        std::fs::write(&file, text).unwrap();
        let args = [&["check-config", "--config", file.to_str().unwrap()], more].concat();
        said(bare(dir.path(), &args)).await
    };
    let good = check(
        "listen = \"127.0.0.1:4000\"\n[repos.app]\nurl = \"https://example.org/app\"\n",
        &[],
    )
    .await;
    assert_eq!(
        good.ok().text(),
        format!(
            "the configuration is valid\n  listen      127.0.0.1:4000\n  workspaces  {}\n  repo        app (https://example.org/app)\n",
            dir.path().join("build-workspaces").display()
        )
    );
    for (text, line, expected) in [
        ("\nlisten = \"nowhere\"\n", 2, "IP address"),
        ("listne = \"127.0.0.1:1\"\n", 1, "listen"),
        ("[timeouts]\nrun = 5\n", 2, "a duration such as \"10s\""),
        ("[repos.app]\n", 1, "url"),
        ("[limits\n", 1, "]"),
    ] {
        let bad = check(text, &[]).await;
        assert_eq!(bad.text(), "");
        let place = format!("{}:{line}:", file.display());
        bad.refused(1, &[&place, expected]);
        let bad = check(text, &["--json"]).await;
        assert_eq!((bad.code, &bad.json()["valid"]), (1, &false.into()));
        assert!(
            bad.json()["detail"].as_str().unwrap().starts_with(&place),
            "{bad:?}"
        );
    }
    let missing = said(bare(
        dir.path(),
        &["check-config", "--config", "/nowhere.toml"],
    ))
    .await;
    missing.refused(1, &["/nowhere.toml"]);
}

/// What Kubernetes gives every pod beside a service named branchyard, and a misspelt setting of ours.
#[tokio::test]
async fn variables_that_are_no_settings_are_told_and_stop_check_config_alone() {
    let injected = [
        ("BRANCHYARD_SERVICE_HOST", "10.0.0.1"),
        ("BRANCHYARD_SERVICE_PORT", "8080"),
        ("BRANCHYARD_SERVICE_PORT_HTTP", "8080"),
        ("BRANCHYARD_PORT", "tcp://10.0.0.1:8080"),
        ("BRANCHYARD_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("BRANCHYARD_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("BRANCHYARD_LISEN", "S3CRET"),
    ];
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&injected).await;
    for (name, _) in injected {
        let told = daemon.until_said(&format!("variable=\"{name}\"")).await;
        assert!(told.contains("WARN") && !told.contains("S3CRET"), "{told}");
    }
    assert_eq!(yard.get("/api/repos").await.status(), 200);
    daemon.stop().await;

    let mut check = bare(yard.dir.path(), &["check-config"]);
    check.envs(injected);
    let names = injected.map(|(name, _)| name);
    said(check).await.refused(1, &names);
}

#[tokio::test]
async fn completions_know_the_commands() {
    let home = tempfile::tempdir().unwrap();
    for (shell, mark) in [
        ("bash", "-F _branchyard branchyard by"),
        ("zsh", "#compdef branchyard"),
        ("fish", "complete --command branchyard"),
    ] {
        let script = said(bare(home.path(), &["completions", shell])).await.ok();
        assert!(script.text().contains(mark), "{shell}");
        assert!(script.text().contains(" __complete "), "{shell}");
    }
    let asked = said(bare(home.path(), &["__complete", "1", "branchyard", ""])).await;
    let asked = asked.ok();
    let commands: Vec<_> = asked.cells().iter().map(|row| row[0].to_owned()).collect();
    for command in [
        "make",
        "follow",
        "check-config",
        "prepare",
        "rerun",
        "diagnostics",
    ] {
        assert!(
            commands.iter().any(|one| one == command),
            "{command}: {commands:?}"
        );
    }
    said(bare(home.path(), &["completions", "tcsh"]))
        .await
        .refused(2, &["bash"]);
}
