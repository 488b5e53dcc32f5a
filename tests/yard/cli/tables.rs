//! What tables look like on terminals of 80, 100 and 120 columns: each is written down in `snapshots`, and
//! `BRANCHYARD_WRITE_REFERENCE=1` writes them anew.

pub mod answers;

use std::path::Path;

use super::{bare, canned};
use crate::support::Terminal;

const WIDTHS: [u16; 3] = [80, 100, 120];
const ROWS: u16 = 40;

/// Compares with what is written down.
#[track_caller]
fn check(name: &str, shown: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join(format!("tests/yard/cli/snapshots/{name}.txt"));
    if std::env::var_os("BRANCHYARD_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, shown).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        shown, written,
        "{name}: BRANCHYARD_WRITE_REFERENCE=1 writes it anew"
    );
}

/// What a command leaves on a screen.
async fn shown(home: &Path, args: &[&str], width: u16) -> String {
    // Notes are prose, which may go on in the next line.
    let command = bare(home, &[&["--color", "never", "--quiet"], args].concat());
    let mut terminal = Terminal::start(&command, (width, ROWS));
    let code = terminal.end().await;
    let text = terminal.text();
    assert_eq!(code, 0, "{args:?}: {text}");
    terminal.assert_no_wrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_fits_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    canned::answer_with(home.path(), answers::all()).await;
    for (name, line) in [
        ("runs", "runs"),
        ("branches", "branches app --remote"),
        ("repos", "repos"),
        ("ls", "ls app main"),
        ("env", "env app main"),
        ("machine", "machine"),
        ("audit", "audit"),
        ("deliveries", "deliveries app"),
        ("salvage-list", "salvage list"),
        (
            "salvage-show",
            "salvage show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
        ),
        ("token-list", "token list"),
        ("reap", "reap --dry-run"),
        ("test-history", "test-history app"),
        ("pipeline-list", "pipeline list app"),
        (
            "pipeline-show",
            "pipeline show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
        ),
        ("pipeline-check", "pipeline run app main --check"),
        (
            "artifact-list",
            "artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
        ),
        (
            "artifact-files",
            "artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist",
        ),
    ] {
        let mut all = String::new();
        for width in WIDTHS {
            let args: Vec<_> = line.split(' ').collect();
            let text = shown(home.path(), &args, width).await;
            all.push_str(&format!("{width} columns\n\n{text}\n\n"));
        }
        check(name, &all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn top_fits_the_terminal_and_follows_its_size() {
    let home = tempfile::tempdir().unwrap();
    canned::answer_with(home.path(), answers::all()).await;
    let command = bare(home.path(), &["--color", "never", "top"]);
    let mut top = Terminal::start(&command, (WIDTHS[0], 14));
    let mut all = String::new();
    for width in WIDTHS {
        top.resize(width, 14);
        // What was drawn before the size changed is not as wide.
        let is_drawn = |text: &str| {
            let foot = text.lines().last().unwrap_or_default();
            foot.contains(" of ") && foot.chars().count() == usize::from(width)
        };
        let text = top.until(is_drawn).await;
        top.assert_no_wrap();
        all.push_str(&format!("{width} columns\n\n{text}\n\n"));
    }
    top.press("?");
    let help = top.until_shown("this help").await;
    all.push_str(&format!("help\n\n{help}\n"));
    check("top", &all);
    top.press("qq");
    assert_eq!(top.end().await, 0);
}
