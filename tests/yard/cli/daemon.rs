//! `serve` as a process of its own: what it prints works as pasted, and clients find it by themselves.

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use tokio::process::Command;

use super::{Said, Underway, bare, said};
use crate::support::Origin;

/// A daemon with a demo repository, and the lines that it greeted with.
struct Served {
    daemon: Underway,
    url: String,
    curl: String,
    shell: String,
}

/// Where a daemon and those who look for it leave and find word of each other.
type Place<'a> = (&'static str, &'a Path);

async fn serve(dir: &Path, workspaces: &str, place: Place<'_>) -> Served {
    let repo = "[repos.demo]\nurl = \"./origin.git\"\ndefault_branch = \"feature/it's\"\n";
    serve_repos(dir, workspaces, place, repo).await
}

async fn serve_repos(
    dir: &Path,
    workspaces: &str,
    (variable, place): Place<'_>,
    repos: &str,
) -> Served {
    let config = dir.join(format!("{workspaces}.toml"));
    let text = format!(
        "listen = \"127.0.0.1:0\"\nworkspaces = \"{workspaces}\"\n[git]\nallow_local = true\n{repos}"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = bare(dir, &["serve", "--config", config.to_str().unwrap()]);
    command.env(variable, place);
    let mut daemon = Underway::start(command);
    let mut word_after = async |mark: &str| {
        let line = daemon.until(|line| line.contains(mark)).await;
        line.split_once(mark).unwrap().1.trim().to_owned()
    };
    let url = word_after(" serves ").await;
    let curl = word_after("with curl ").await;
    let shell = word_after("in a shell ").await;
    Served {
        daemon,
        url: url.trim_end_matches('/').to_owned(),
        curl,
        shell,
    }
}

async fn stop(served: Served) -> Said {
    served.daemon.signal(Signal::TERM);
    served.daemon.end().await.ok()
}

/// Pastes a line into a shell that knows nothing but where programs are, and that place.
async fn paste(line: &str, (variable, place): Place<'_>) -> Said {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir("/")
        .env_clear()
        .env("PATH", env!("PATH"))
        .env(variable, place)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    said(shell).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_daemon_prints_works_as_pasted() {
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::new(dir.path());
    origin.branch("feature/it's");
    let nowhere = ("HOME", Path::new("/nonexistent"));
    let served = serve(dir.path(), "a yard's", nowhere).await;
    let key = std::fs::read_to_string(dir.path().join("a yard's/.branchyard/auth.header")).unwrap();
    let key = key.trim_end().rsplit(' ').next().unwrap();
    for line in [&served.curl, &served.shell] {
        assert!(!line.contains(key), "the key is never shown");
    }
    let curl = paste(&served.curl, nowhere).await.ok();
    let mut lines = curl.text().lines();
    assert_eq!(lines.next(), Some("feature/it's"));
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("branchyard: succeeded, exit code 0, commit ")
    );
    assert_eq!(
        paste(&served.shell, nowhere).await.ok().text(),
        "feature/it's\n"
    );
    let left = stop(served).await;
    assert!(!left.text().contains(key) && !left.stderr.contains(key));
    assert!(left.stderr.contains("the sandbox of builds") && !left.stderr.contains('\u{1b}'));
}

#[tokio::test(flavor = "multi_thread")]
async fn how_to_get_in_is_printed_whatever_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::new(dir.path());
    origin.branch("feature/x");
    let nowhere = ("HOME", Path::new("/nonexistent"));
    let repo = "[repos.demo]\nurl = \"./origin.git\"\n";
    let served = serve_repos(dir.path(), "undecided", nowhere, repo).await;
    let curl = paste(&served.curl, nowhere).await.ok();
    assert!(curl.text().contains("feature/x"), "{curl:?}");
    let listed = paste(&served.shell, nowhere).await.ok();
    let branches: Vec<_> = listed.cells().iter().map(|row| row[0].to_owned()).collect();
    assert!(branches.contains(&"feature/x".to_owned()), "{listed:?}");
    stop(served).await;

    let served = serve_repos(dir.path(), "empty", nowhere, "").await;
    let curl = paste(&served.curl, nowhere).await.ok();
    assert!(curl.text().contains("\"items\":[]"), "{curl:?}");
    assert!(
        served.shell.ends_with(" repos add NAME URL"),
        "{}",
        served.shell
    );
    let (origin, name) = (dir.path().join("origin.git"), "demo");
    let add = served
        .shell
        .replace("NAME URL", &format!("{name} {}", origin.display()));
    paste(&add, nowhere).await.ok();
    stop(served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_the_same_user_find_the_daemon_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    Origin::new(dir.path()).branch("feature/it's");
    let runtime = dir.path().join("run");
    std::fs::create_dir(&runtime).unwrap();
    let client = async |args: &[&str]| {
        let mut client = bare(&dir.path().join("nobody"), args);
        client.env("XDG_RUNTIME_DIR", &runtime);
        said(client).await
    };
    let place = ("XDG_RUNTIME_DIR", runtime.as_path());
    let first = serve(dir.path(), "first", place).await;
    assert!(!first.shell.contains("--url"), "{}", first.shell);
    assert_eq!(
        paste(&first.shell, place).await.ok().text(),
        "feature/it's\n"
    );
    let made = client(&["make", "demo", "main", "--", "who"]).await.ok();
    assert_eq!(made.text(), "main\n");
    let doctor = client(&["doctor"]).await.ok();
    assert!(doctor.text().contains(&first.url), "{doctor:?}");

    // The latest daemon is the one that is found, also after an earlier one went.
    let second = serve(dir.path(), "second", place).await;
    assert_ne!(first.url, second.url);
    stop(first).await;
    let doctor = client(&["doctor"]).await.ok();
    assert!(doctor.text().contains(&second.url), "{doctor:?}");
    stop(second).await;
    client(&["runs"]).await.refused(125, &["branchyard serve"]);

    // Without such a directory it is the home in which they meet.
    let home = serve(dir.path(), "third", ("HOME", dir.path())).await;
    assert!(!home.shell.contains("--url"), "{}", home.shell);
    let repos = said(bare(dir.path(), &["repos"])).await.ok();
    assert_eq!(repos.cells()[0][0], "demo");
    stop(home).await;

    // The usual directory is found, whatever the daemon was told.
    let usual = serve(dir.path(), "build-workspaces", place).await;
    let repos = said(bare(dir.path(), &["repos"])).await.ok();
    assert_eq!(repos.cells()[0][0], "demo");
    stop(usual).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    Origin::new(dir.path()).branch("feature/it's");
    let served = serve(dir.path(), "yard", ("HOME", dir.path())).await;
    let yard = dir.path().join("yard");
    let args = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--workspaces",
        yard.to_str().unwrap(),
    ];
    let second = said(bare(dir.path(), &args)).await;
    second.refused(1, &["another daemon uses", "--workspaces"]);
    let address = served.url.trim_start_matches("http://").to_owned();
    let other = dir.path().join("other");
    let args = [
        "serve",
        "--listen",
        &address,
        "--workspaces",
        other.to_str().unwrap(),
    ];
    said(bare(dir.path(), &args))
        .await
        .refused(1, &["failed to listen on", &address]);
    stop(served).await;
}
