//! On a terminal: a line that says what is waited for, and one that says how it ended. `script` of
//! util-linux gives the terminal.

use std::process::Stdio;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::{PROGRAM, command};
use crate::support::{Options, PATIENCE, Yard};

/// The command on a terminal of its own; `None` where there is no `script`.
fn on_terminal(yard: &Yard, args: &[&str]) -> Option<Command> {
    let found = std::env::split_paths(env!("PATH")).any(|dir| dir.join("script").is_file());
    if !found {
        println!("skipped: there is no `script` here (util-linux) to give a terminal");
        return None;
    }
    let words = [&[PROGRAM], args].concat();
    let line = shlex::try_join(words).unwrap();
    let plain = command(yard, &[]);
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .env_clear()
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    for (name, value) in plain.as_std().get_envs() {
        script.env(name, value.unwrap());
    }
    Some(script)
}

/// Reads until the terminal shows `text`, or to the end; all that it showed so far.
async fn shown(from: &mut (impl AsyncReadExt + Unpin), so_far: &mut String, text: Option<&str>) {
    let reading = async {
        let mut buffer = [0; 4096];
        while !text.is_some_and(|text| so_far.contains(text)) {
            // A terminal whose last user has gone may end with an error instead of nothing.
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => so_far.push_str(&String::from_utf8_lossy(&buffer[..count])),
            }
        }
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    assert!(read.is_ok(), "no {text:?} in {so_far:?}");
    if let Some(text) = text {
        assert!(so_far.contains(text), "no {text:?} in {so_far:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_progress_and_a_summary() {
    let mut yard = Yard::new().await;
    let Some(mut first) = on_terminal(&yard, &["make", "demo", "main", "--", "gate"]) else {
        return yard.stop().await;
    };
    let mut first = first.spawn().unwrap();
    let (mut out, mut text) = (first.stdout.take().unwrap(), String::new());
    shown(&mut out, &mut text, Some("waiting\r\n")).await;
    assert!(text.contains("\u{1b}[2K"), "a line came and went: {text:?}");

    let mut second = on_terminal(&yard, &["make", "demo", "main", "--", "fail"]).unwrap();
    let mut second = second.spawn().unwrap();
    let (mut queue, mut waiting) = (second.stdout.take().unwrap(), String::new());
    let held = "queued, position 1, held by make gate of session";
    shown(&mut queue, &mut waiting, Some(held)).await;

    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    shown(&mut out, &mut text, None).await;
    assert!(text.contains("passed\r\n"), "{text:?}");
    let (_, summary) = text.split_once("passed\r\n").unwrap();
    assert!(summary.contains("succeeded in "), "{text:?}");
    assert!(
        summary.contains("\u{1b}[1m\u{1b}[32m"),
        "in green: {text:?}"
    );
    assert_eq!(first.wait().await.unwrap().code(), Some(0));

    shown(&mut queue, &mut waiting, None).await;
    assert!(waiting.contains("going wrong\r\n"), "{waiting:?}");
    assert!(
        waiting.contains("failed with exit code 2 in "),
        "{waiting:?}"
    );
    assert_eq!(second.wait().await.unwrap().code(), Some(2));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_jobs_of_a_pipeline_as_they_go() {
    let mut yard = Yard::asleep(Options::default());
    let open = yard.dir.path().join("open");
    let workflow = format!(
        "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{{name: \"hold \\e]0;title\\a\", run: 'until [ -e {open:?} ]; do sleep 0.02; done'}}]
  ship:
    needs: build
    runs-on: ubuntu-latest
    steps: [{{run: exit 4}}]
"
    );
    yard.origin.workflow("ci.yml", &workflow);
    yard.start().await;
    let Some(mut run) = on_terminal(&yard, &["pipeline", "run", "demo", "main"]) else {
        return yard.stop().await;
    };
    let mut run = run.spawn().unwrap();
    let (mut out, mut text) = (run.stdout.take().unwrap(), String::new());
    shown(&mut out, &mut text, Some("step 1/1: hold")).await;
    shown(&mut out, &mut text, Some("after build")).await;
    shown(&mut out, &mut text, Some("0 of 2 jobs ended")).await;
    std::fs::write(open, "").unwrap();
    shown(&mut out, &mut text, None).await;
    assert!(!text.contains("\u{1b}]0;"), "no title is set: {text:?}");
    for line in ["✓ build: succeeded in ", "✗ ship: failed in "] {
        assert!(text.contains(line), "no {line:?} in {text:?}");
    }
    let summary = "failed in ";
    assert!(
        text.rsplit("\r\n").nth(1).unwrap().contains(summary),
        "{text:?}"
    );
    assert_eq!(run.wait().await.unwrap().code(), Some(4));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_yard_as_it_changes() {
    let mut yard = Yard::new().await;
    let Some(mut top) = on_terminal(&yard, &["--color", "never", "top"]) else {
        return yard.stop().await;
    };
    let mut top = top.spawn().unwrap();
    let (mut out, mut text) = (top.stdout.take().unwrap(), String::new());
    shown(&mut out, &mut text, Some("no runs yet")).await;
    let run = yard
        .start_detached("main", serde_json::json!({ "args": ["gate"] }))
        .await;
    shown(&mut out, &mut text, Some("1 running, 0 waiting")).await;
    shown(&mut out, &mut text, Some("make gate")).await;
    yard.follow(&run).await.until_line("waiting").await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    shown(&mut out, &mut text, Some("succeeded")).await;
    // The terminal goes away, and its command with it.
    top.kill().await.unwrap();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_tables_and_keeps_quiet_when_told() {
    let mut yard = Yard::new().await;
    let screen = async |args: &[&str]| {
        let mut child = on_terminal(&yard, args)?.spawn().unwrap();
        let mut text = String::new();
        shown(&mut child.stdout.take().unwrap(), &mut text, None).await;
        assert_eq!(child.wait().await.unwrap().code(), Some(0), "{text}");
        Some(text)
    };
    let Some(quiet) = screen(&["-q", "make", "demo", "main", "--", "who"]).await else {
        return yard.stop().await;
    };
    assert_eq!(quiet, "main\r\n");
    let repos = screen(&["--color", "never", "repos"]).await.unwrap();
    assert!(repos.starts_with("NAME "), "{repos:?}");
    let runs = screen(&["runs"]).await.unwrap();
    assert!(
        runs.contains("STATE") && runs.contains("succeeded"),
        "{runs:?}"
    );
    assert!(runs.contains('\u{1b}'), "in colour: {runs:?}");
    let json = screen(&["--json", "runs"]).await.unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&json).is_ok(),
        "{json:?}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_a_line_for_each_branch_and_the_first_error() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    let complaints = "echo 'a.c:3:5: error: first'; echo 'a.c:4:1: error: second'";
    let makefile = format!("gate:\n\t@{complaints}; exit 1\n");
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("broken");
    yard.origin.push("broken");
    let args = ["make", "demo", "main", "broken", "--", "gate"];
    let Some(mut group) = on_terminal(&yard, &args) else {
        return yard.stop().await;
    };
    let mut group = group.spawn().unwrap();
    let (mut out, mut text) = (group.stdout.take().unwrap(), String::new());
    shown(&mut out, &mut text, Some("main   running")).await;
    let failed = "✗ broken failed with exit code 2 in ";
    shown(&mut out, &mut text, Some(failed)).await;
    shown(&mut out, &mut text, Some("1 of 2 done")).await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    shown(&mut out, &mut text, None).await;
    assert_eq!(group.wait().await.unwrap().code(), Some(2));
    let (_, end) = text.split_once("✓ main: succeeded in ").unwrap();
    let (_, end) = end
        .split_once("broken: failed with exit code 2 in ")
        .unwrap();
    assert!(end.contains("s (branchyard log "), "{text:?}");
    assert!(end.contains("): a.c:3:5: error: first"), "{text:?}");
    assert!(end.contains("1 of 2 did not succeed in "), "{text:?}");
    let told = text.matches("broken: failed").count();
    assert_eq!(told, 1, "{text:?}");
    assert!(!text.contains('\t'), "the lines are for people: {text:?}");

    let one = ["make", "demo", "broken", "--", "gate"];
    let mut one = on_terminal(&yard, &one).unwrap().spawn().unwrap();
    let mut text = String::new();
    shown(&mut one.stdout.take().unwrap(), &mut text, None).await;
    assert_eq!(one.wait().await.unwrap().code(), Some(2));
    let (_, end) = text.split_once("failed with exit code 2 in ").unwrap();
    assert!(end.contains("  a.c:3:5: error: first\r\n"), "{text:?}");
    assert!(
        end.contains("  and 1 more: `branchyard diagnostics "),
        "{text:?}"
    );
    println!("{text}");
    yard.stop().await;
}

/// All that a terminal was sent by the command.
async fn all_shown(yard: &Yard, args: &[&str]) -> Option<Vec<u8>> {
    let mut script = on_terminal(yard, args)?;
    let output = tokio::time::timeout(PATIENCE, script.output()).await;
    Some(output.expect("it ends").unwrap().stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_cannot_write_the_clipboard_or_the_title_of_a_terminal() {
    let mut yard = Yard::new().await;
    let hostile: &[&[u8]] = &[
        b"\x1b]52;c;ZXZpbA==\x07",
        b"\x1b]52;c;ZXZpbA==\x1b\\",
        b"\x1b]0;title\x07",
        b"\x1b]2;title\x1b\\",
        b"\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07",
        b"\x1bP+q544e\x1b\\",
        b"\x1b[6n\x1b[c\x1b[>c\x1b[?1049h\x1b[2J\x1b[8m\x1b[0m",
        b"\x1bc\x1b(0",
        b"\x05\x0e",
        "\u{9d}52;c;ZXZpbA==\u{9c}\u{9b}2J\u{202e}".as_bytes(),
        b"\x9d52;c;ZXZpbA==\x9c",
    ];
    let mut output = b"\x1b[31mred\x1b[0m plain\n".to_vec();
    for bytes in hostile {
        output.extend_from_slice(bytes);
        output.push(b'\n');
    }
    output.extend_from_slice(b"\x1b[1mend\x1b[m\n");
    yard.origin.write("output.bin", &output);
    yard.origin.commit("\u{1b}]0;title\u{7}subject");
    yard.origin.push("main");
    let run = yard
        .start_detached("main", serde_json::json!({ "args": ["exact"] }))
        .await;
    yard.ended(&run).await;

    let commands: [&[&str]; 9] = [
        &["make", "demo", "main", "--", "exact"],
        &["make", "demo", "main", "--json", "--", "exact"],
        &["follow", &run],
        &["log", &run],
        &["log", &run, "--tail", "5"],
        &["cat", "demo", "main", "output.bin"],
        &["cat", "demo", "main", "output.bin", "--json"],
        &["git", "demo", "main", "--", "log", "-p", "-1"],
        &["branches", "demo"],
    ];
    for args in commands {
        let Some(shown) = all_shown(&yard, args).await else {
            break;
        };
        let text = String::from_utf8_lossy(&shown);
        // What the command itself draws: its progress is one line that comes and goes.
        let drawn = [
            "\x1b[2K",
            "\x1b[1G",
            "\x1b[?25l",
            "\x1b[?25h",
            "\x1b[1A",
            "\x1b[1B",
        ];
        let mut left = text.into_owned();
        for own in drawn {
            left = left.replace(own, "");
        }
        for piece in left.split('\x1b').skip(1) {
            let end = piece.find(|c: char| !"[0123456789;".contains(c)).unwrap();
            let last = piece[end..].chars().next().unwrap();
            assert!(
                piece.starts_with('[') && "mK".contains(last),
                "{args:?}: {piece:?}"
            );
        }
        let controls = |c: char| c.is_control() && !"\n\r\t\x1b".contains(c);
        assert!(!left.contains(controls), "{args:?}: {left:?}");
        assert!(!left.contains('\u{202e}'), "{args:?}: {left:?}");
        if args[0] == "log" && args.len() == 2 {
            assert!(left.contains("\x1b[31mred\x1b[0m plain\r\n"), "{left:?}");
            assert!(left.contains("\x1b[1mend\x1b[m"), "{left:?}");
        }
    }

    // Into a pipe everything goes as it is.
    for args in [
        &["make", "demo", "main", "--", "exact"][..],
        &["log", &run],
        &["cat", "demo", "main", "output.bin"],
    ] {
        let piped = command(&yard, args).output().await.unwrap();
        assert_eq!(piped.stdout, output, "{args:?}");
    }
    yard.stop().await;
}
