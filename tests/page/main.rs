//! The page in a real browser, against the real daemon. The tests themselves are JavaScript, beside this file: here is
//! what they need, a yard with the demo's repository and a daemon that comes back when it is killed.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

#[path = "../conformance/installed.rs"]
#[expect(
    dead_code,
    reason = "the page's tests need a part of what the others need"
)]
mod installed;
#[path = "../../benches/groups/growth/planted.rs"]
mod planted;
#[path = "../yard/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the page's tests need a part of what the others need"
)]
mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use installed::{at, node, run_for};
use support::{PROGRAM, end_processes_in, processes_in};

const KEY: &str = "the-key-of-the-page-tests";
/// For all tests of a file.
const PATIENCE: Duration = Duration::from_secs(300);

/// A directory with the demo's repository, and how to serve it.
struct Demo {
    dir: TempDir,
    port: u16,
}

impl Demo {
    fn make() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Given back at once: a daemon that is started anew has to be where it was.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        let demo = Self { dir, port };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let made = std::process::Command::new(fixtures.join("make-demo.sh"))
            .arg(demo.path("demo.git"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        fs::write(demo.path("key"), KEY).unwrap();
        fs::set_permissions(demo.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(demo.path("yard.toml"), demo.config()).unwrap();
        demo
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn config(&self) -> String {
        format!(
            "workspaces = {:?}\nkey_file = {:?}\n[reaper]\nmax_worktrees_per_repo = 1000\n[timeouts]\ngrace = \"1s\"\n[limits]\n\
             max_requests_per_second = 10000\nmax_request_burst = 10000\nmax_streams_per_principal = 1000\n\
             [sandbox]\nprofile = \"none\"\n[git]\nallow_local = true\n\
             [repos.demo]\nurl = {:?}\n{}",
            self.path("workspaces"),
            self.path("key"),
            self.path("demo.git"),
            include_str!("tasks.toml"),
        )
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A daemon, which has noted its process id.
    async fn serve(&self) -> Child {
        let child = Command::new(PROGRAM)
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--config")
            .arg(self.path("yard.toml"))
            .env_clear()
            .env("PATH", env!("PATH"))
            .env("HOME", self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.path("daemon.log")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        fs::write(self.path("pid"), child.id().unwrap().to_string()).unwrap();
        child
    }

    /// Gives the repository so many more branches, and each a workspace with a run in it.
    async fn build_many(&self, count: usize) {
        let git = |args: &[&str]| support::git(&self.path("demo.git"), args);
        for n in 0..count {
            git(&["branch", &format!("many/{n:03}"), "main"]);
        }
        let mut daemon = self.serve().await;
        let mut make = Command::new(PROGRAM);
        make.args(["make", "demo", "many/*", "--", "clean"])
            .env_clear()
            .env("PATH", env!("PATH"))
            .env("HOME", self.dir.path())
            .env("BRANCHYARD_URL", self.url())
            .env("BRANCHYARD_KEY_FILE", self.path("key"));
        let address = ("127.0.0.1", self.port);
        support::until("the daemon answers", || {
            std::net::TcpStream::connect(address).is_ok()
        })
        .await;
        let made = run_for(PATIENCE, make).await;
        assert!(made.status.success(), "{made:?}");
        daemon.kill().await.unwrap();
    }

    /// Serves until it is told to stop; a daemon that is killed is followed by another.
    async fn serve_on(&self, mut stop: oneshot::Receiver<()>) {
        loop {
            let mut daemon = self.serve().await;
            tokio::select! {
                _ = daemon.wait() => {}
                _ = &mut stop => {
                    daemon.kill().await.unwrap();
                    return;
                }
            }
        }
    }
}

/// Runs the tests of a file.
async fn pass(file: &str) {
    pass_at(&Demo::make(), file).await;
}

async fn pass_at(demo: &Demo, file: &str) {
    let (stop, stopped) = oneshot::channel();
    let testing = async {
        let mut node = node();
        node.args(["--test-reporter=spec"])
            .arg(at(&format!("page/{file}")))
            .env("HOME", demo.dir.path())
            .env("BRANCHYARD_URL", demo.url())
            .env("BRANCHYARD_KEY", KEY)
            .env(
                "BRANCHYARD_RESTART",
                format!("kill -KILL $(cat {})", demo.path("pid").display()),
            );
        let ended = run_for(PATIENCE, node).await;
        stop.send(()).unwrap();
        ended
    };
    let (ended, ()) = tokio::join!(testing, demo.serve_on(stopped));
    let said = String::from_utf8_lossy(&ended.stdout);
    let log = fs::read_to_string(demo.path("daemon.log")).unwrap();
    // A run outlives its daemon.
    end_processes_in(demo.dir.path());
    println!("{said}");
    assert!(ended.status.success(), "{log}");
    assert_eq!(processes_in(demo.dir.path()), Vec::<String>::new());
}

#[tokio::test]
async fn the_page_weighs_little_at_first_and_in_all() {
    pass("weight.test.mjs").await;
}

#[tokio::test]
async fn every_view_shows_what_there_is_and_does_what_it_offers() {
    pass("views.test.mjs").await;
}

#[tokio::test]
async fn the_yard_is_filtered_worked_on_watched_and_shown_on_a_wall() {
    pass("yard.test.mjs").await;
}

#[tokio::test]
async fn a_log_is_followed_resumed_and_shown_as_what_it_is() {
    pass("log.test.mjs").await;
}

#[tokio::test]
async fn the_tests_of_a_run_are_counted_and_listed_as_text() {
    pass("tests.test.mjs").await;
}

#[tokio::test]
async fn a_pipeline_is_started_watched_retried_and_its_artifacts_saved() {
    pass("pipelines.test.mjs").await;
}

#[tokio::test]
async fn a_workspace_shows_its_work_and_a_failed_branch_is_mended_by_keyboard() {
    pass("workspace.test.mjs").await;
}

/// Not in a test that runs with others: how long it takes would be their doing.
#[tokio::test]
#[ignore = "makes two hundred workspaces: make soak"]
async fn soak_a_large_yard_is_on_the_screen_within_a_second() {
    let demo = Demo::make();
    demo.build_many(200).await;
    planted::plant(&demo.path("workspaces"), 9_800);
    pass_at(&demo, "large.test.mjs").await;
}

#[tokio::test]
async fn the_page_is_for_everybody() {
    pass("access.test.mjs").await;
}
