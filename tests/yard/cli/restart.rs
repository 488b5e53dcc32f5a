//! A daemon that is killed and started anew while somebody watches: nothing is lost, nothing comes twice.

use rustix::process::Signal;
use tokio::process::Command;

use super::{Said, Stderr, Underway, bare, said};
use crate::support::{Binary, Options, Yard, processes_in};

/// A yard whose daemons are found by themselves, each at an address and with a key of its own.
pub(super) struct Restarting {
    pub(super) yard: Yard,
    daemon: Binary,
}

impl Restarting {
    pub(super) async fn new(makefile: &str) -> Self {
        let mut yard = Yard::asleep(Options::default());
        std::fs::create_dir(yard.dir.path().join("run")).unwrap();
        yard.origin.at("main");
        yard.origin.write("Makefile", makefile);
        yard.origin.commit("made for restarts");
        yard.origin.push("main");
        yard.origin.git(&["branch", "-f", "main", "HEAD"]);
        let daemon = start(&mut yard).await;
        Self { yard, daemon }
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(&self.yard.dir.path().join("nobody"), args);
        command.env("XDG_RUNTIME_DIR", self.yard.dir.path().join("run"));
        command
    }

    async fn cli(&self, args: &[&str]) -> Said {
        said(self.command(args)).await
    }

    pub(super) async fn kill(&mut self) {
        self.daemon.signal(Signal::KILL);
        assert!(!self.daemon.ended().await.success());
    }

    /// Ends the daemon as an operator does who does not want to wait for builds.
    pub(super) async fn hurry(&mut self) {
        self.daemon.signal(Signal::TERM);
        self.daemon.until_said("stopping: no new runs").await;
        self.daemon.signal(Signal::TERM);
        assert!(self.daemon.ended().await.success());
    }

    pub(super) async fn start_anew(&mut self) {
        let before = self.yard.url.clone();
        self.daemon = start(&mut self.yard).await;
        assert_ne!(before, self.yard.url, "it is somewhere else now");
    }

    pub(super) fn open_gate(&self, branch: &str) {
        std::fs::write(self.yard.workspace(branch).join("open"), "").unwrap();
    }

    pub(super) async fn stop(mut self) {
        self.daemon.signal(Signal::TERM);
        assert!(self.daemon.ended().await.success());
        assert_eq!(processes_in(&self.yard.workspaces), Vec::<String>::new());
    }
}

async fn start(yard: &mut Yard) -> Binary {
    let runtime = yard.dir.path().join("run");
    yard.start_binary(&[("XDG_RUNTIME_DIR", runtime.to_str().unwrap())])
        .await
}

/// Prints before, while and after the daemon is gone; half a line is under way when it goes.
const GATED: &str = "\
gate:
\t@seq 2000; printf half; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done; \\
\techo ' whole'; seq 2001 4000; printf '\\377\\r\\n no end'
who:
\t@cat name.txt
";

fn expected() -> Vec<u8> {
    let count = |from: u32, to: u32| (from..=to).map(|n| format!("{n}\n")).collect::<String>();
    let text = format!("{}half whole\n{}", count(1, 2000), count(2001, 4000));
    [text.as_bytes(), b"\xff\r\n no end"].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn make_and_follow_go_on_through_a_restart_byte_for_byte() {
    let mut yard = Restarting::new(GATED).await;
    let mut make = Underway::start(yard.command(&["make", "demo", "main", "--", "gate"]));
    make.until(|line| line == "2000").await;
    let runs = yard.yard.get_json("/api/runs").await;
    let id = runs["items"][0]["run_id"].as_str().unwrap().to_owned();
    let mut follow = Underway::start(yard.command(&["follow", &id]));
    follow.until(|line| line == "2000").await;
    let mut events = Underway::start(yard.command(&["--json", "follow", &id]));
    let mut lines = vec![events.until(|_| true).await];
    while !lines.last().unwrap().contains("\"2000\"") {
        lines.push(events.until(|_| true).await);
    }

    yard.kill().await;
    // The build goes on without a daemon: what it prints now nobody saw come.
    yard.open_gate("main");
    yard.start_anew().await;

    let expected = expected();
    let seen = expected.windows(5).position(|w| w == b"2000\n").unwrap() + 5;
    for viewer in [make, follow] {
        let ended = viewer.end().await.ok();
        assert!(ended.stdout == expected[seen..], "{:?}", ended.text_lossy());
        assert!(
            ended.stderr.contains("taking it up again"),
            "{}",
            ended.stderr
        );
    }
    let rest = events.end().await.ok();
    lines.extend(rest.text().lines().map(str::to_owned));
    let parsed: Vec<serde_json::Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut ids: Vec<&str> = parsed.iter().map(|e| e["id"].as_str().unwrap()).collect();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "no event twice");
    assert_eq!(parsed.last().unwrap()["type"], "complete");

    let after = yard.cli(&["follow", &id]).await.ok();
    assert!(after.stdout == expected);
    let log = yard.cli(&["log", &id]).await.ok();
    assert!(log.stdout == expected);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_goes_on_through_a_restart() {
    let mut yard = Restarting::new(GATED).await;
    yard.yard.origin.branch("next");
    let args = ["make", "demo", "main", "next", "--", "gate"];
    let mut make = Underway::start(yard.command(&args));
    let mut stderr = Stderr::of(&mut make);
    stderr.until("main: started").await;
    stderr.until("next: started").await;
    // A command that prints is in the hands of its supervisor.
    for run in yard.cli(&["runs"]).await.ok().cells() {
        let mut follow = Underway::start(yard.command(&["follow", run[0]]));
        follow.until(|line| line == "2000").await;
    }
    yard.kill().await;
    yard.open_gate("main");
    yard.start_anew().await;
    make.until(|line| line.starts_with("main\tsucceeded\t0\t"))
        .await;
    yard.open_gate("next");
    let ended = make.end().await;
    let said = stderr.rest().await;
    assert_eq!(ended.code, 0, "{said}");
    assert!(
        ended.text().starts_with("next\tsucceeded\t0\t"),
        "{ended:?}"
    );
    assert_eq!(ended.text().lines().count(), 1, "{ended:?}");
    assert_eq!(said.matches(": started").count(), 2, "{said}");
    assert!(said.contains("all 2 succeeded in "), "{said}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_reaches_a_daemon_that_is_not_there_yet() {
    let mut yard = Restarting::new(GATED).await;
    let mut make = Underway::start(yard.command(&["make", "demo", "main", "--", "gate"]));
    make.until(|line| line == "2000").await;
    let mut stderr = Stderr::of(&mut make);
    yard.kill().await;
    stderr.until("taking it up again").await;
    make.signal(Signal::INT);
    yard.start_anew().await;
    let said = make.end().await;
    assert_eq!(said.code, 130, "{said:?}");
    let said = stderr.rest().await;
    assert!(said.contains("cancelled after "), "{said}");
    let runs = yard.cli(&["runs", "--state", "cancelled"]).await.ok();
    assert_eq!(runs.cells().len(), 1, "{runs:?}");
    yard.stop().await;
}
