//! `top` on a terminal: its keys, and that it leaves the terminal as it was, however it ends.

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;
use serde_json::json;

use super::tables::answers;
use super::{bare, canned, command};
use crate::support::{Terminal, Yard};

const SIZE: (u16, u16) = (100, 16);

fn top(yard: &Yard) -> Terminal {
    Terminal::start(&command(yard, &["--color", "never", "top"]), SIZE)
}

/// Everything is as it was before.
fn assert_restored(terminal: &Terminal) {
    assert!(!terminal.is_taken(), "{}", terminal.text());
    let modes = terminal.settings().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
    let written = String::from_utf8_lossy(&terminal.written);
    assert!(written.contains("\u{1b}[?25h"), "the cursor is back");
}

/// A run under way, and one that failed.
async fn yard() -> (Yard, String) {
    let yard = Yard::new().await;
    yard.origin.at("main");
    let broken = "gate:\n\t@echo 'src/a.c:3:5: error: no such thing' >&2; exit 1\n";
    yard.origin.write("Makefile", broken);
    yard.origin.commit("broken");
    yard.origin.push("broken");
    let body = json!({ "args": ["gate"] });
    let failed = yard.start_detached("broken", body.clone()).await;
    yard.ended(&failed).await;
    let run = yard.start_detached("main", body).await;
    yard.follow(&run).await.until_line("waiting").await;
    (yard, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_select_filter_and_cancel_runs() {
    let (mut yard, run) = yard().await;
    let mut top = top(&yard);
    let text = top.until_shown("src/a.c:3:5: error: no such thing").await;
    assert!(text.starts_with("1 running, 0 waiting"), "{text}");
    let line = text.lines().find(|line| line.starts_with("> ")).unwrap();
    assert!(line.contains("running") && line.contains("main"), "{text}");

    top.press("/broken\r");
    let filtered = top
        .until(|text| text.contains("filter: broken") && !text.contains("running  "))
        .await;
    assert!(filtered.contains("> failed"), "{filtered}");
    top.press("c");
    top.until_shown("it has ended").await;
    top.press("\u{1b}");
    top.until_shown("running  ").await;

    top.press("\u{1b}[Bjk");
    top.press("c");
    top.until_shown("cancel make gate on demo main? ").await;
    top.press("n");
    top.until(|text| !text.contains("? y cancels")).await;
    assert_eq!(
        yard.get_json(&format!("/api/runs/{run}")).await["state"],
        "running"
    );
    top.press("cy");
    top.until_shown("cancelled").await;
    assert_eq!(yard.ended(&run).await["state"], "cancelled");
    top.press("q");
    assert_eq!(top.end().await, 0);
    assert_restored(&top);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enter_follows_the_selected_run() {
    let (mut yard, run) = yard().await;
    let mut top = top(&yard);
    top.until_shown("> running").await;
    top.press("\r");
    // What was on the screen of `top` is gone, and the run's output there.
    top.until(|text| text.contains("waiting") && !text.contains("STATE"))
        .await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    top.until_shown("passed").await;
    assert_eq!(top.end().await, 0, "the run's own code");
    assert_restored(&top);
    assert_eq!(yard.ended(&run).await["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_as_it_was_however_top_ends() {
    let (mut yard, run) = yard().await;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let mut top = top(&yard);
        top.until_shown("> running").await;
        assert!(top.is_taken());
        assert!(!top.settings().local_modes.contains(LocalModes::ICANON));
        let pid = Pid::from_raw(i32::try_from(top.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(top.end().await, 0, "{signal:?}");
        assert_restored(&top);
    }
    // Ctrl-C as a key is the same signal, and Ctrl-Z nothing.
    let mut top = top(&yard);
    top.until_shown("> running").await;
    top.press("\u{1a}?");
    top.until_shown("this help").await;
    top.press("\u{3}");
    assert_eq!(top.end().await, 0);
    assert_restored(&top);
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.ended(&run).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_as_it_was_after_an_error() {
    let home = tempfile::tempdir().unwrap();
    let mut answers = answers::all();
    // A line that never ends, as far as the command can tell.
    let endless = json!({ "type": "hello", "more": "a".repeat(6 << 20) });
    answers.insert("/stream/events", endless);
    canned::answer_with(home.path(), answers).await;
    let mut top = Terminal::start(&bare(home.path(), &["--color", "never", "top"]), SIZE);
    assert_eq!(top.end().await, 125);
    let text = top.text();
    assert!(
        text.starts_with("error: the daemon sent a line that never ends"),
        "{text}"
    );
    assert_restored(&top);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_goes_leaves_the_keys() {
    let (mut yard, run) = yard().await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.ended(&run).await;
    let mut top = top(&yard);
    top.until_shown("> succeeded").await;
    yard.stop().await;
    top.until_shown("the daemon is not there").await;
    top.press("q");
    assert_eq!(top.end().await, 0);
    assert_restored(&top);
}
