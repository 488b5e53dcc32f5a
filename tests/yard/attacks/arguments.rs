//! Arguments for git: refused before any process or run exists.

use serde_json::json;

use super::untouched;
use crate::support::{Yard, problem_of};

/// Verb, arguments, and the statuses that it may get.
pub(super) const HOSTILE: &[(&str, &[&str], &[u16])] = &[
    // What would run a program, or read or write outside of the workspace.
    ("-c", &["core.sshCommand=touch x", "fetch"], &[400]),
    ("-c alias.x=!id x", &[], &[400]),
    ("--exec-path=/tmp", &["status"], &[400]),
    ("status", &["-c", "core.fsmonitor=touch x"], &[400]),
    ("status", &["-C", "/"], &[400]),
    ("status", &["--git-dir=/etc"], &[400]),
    ("status", &["--git-dir", "/etc"], &[400]),
    ("status", &["--work-tree=/"], &[400]),
    ("status", &["--exec-path=/tmp"], &[400]),
    ("status", &["--", "/etc"], &[400]),
    ("status", &["../.."], &[400]),
    ("log", &["--output=/tmp/x"], &[400]),
    ("log", &["--outp=/tmp/x"], &[400]),
    ("log", &["--outpu", "/tmp/x"], &[400]),
    ("log", &["--ext-diff", "-p"], &[400]),
    ("log", &["--textconv", "-p"], &[400]),
    ("log", &["--show-signature"], &[400]),
    ("log", &["--format=%G?"], &[400]),
    ("show", &["--output=x"], &[400]),
    ("show", &["--ext-diff"], &[400]),
    ("diff", &["--no-index", "/etc/passwd", "/dev/null"], &[400]),
    ("diff", &["--no-in", "/etc/passwd", "/dev/null"], &[400]),
    ("diff", &["/etc/passwd", "/dev/null"], &[400]),
    ("diff", &["--", "../../x", "y"], &[400]),
    ("diff", &["--output", "x"], &[400]),
    ("diff", &["--ext-diff"], &[400]),
    ("diff", &["-O/etc/passwd"], &[400]),
    ("grep", &["-O", "x"], &[400]),
    ("grep", &["-Otouch", "x"], &[400]),
    ("grep", &["--open-files-in-pager=touch", "x"], &[400]),
    ("grep", &["--no-index", "x", "/etc"], &[400]),
    ("grep", &["-f", "/etc/passwd"], &[400]),
    ("rebase", &["--exec", "touch x", "HEAD~1"], &[400]),
    ("rebase", &["-x", "touch x", "HEAD~1"], &[400]),
    ("rebase", &["-i"], &[400]),
    ("rebase", &["--strategy=touch"], &[400]),
    ("merge", &["-s", "touch", "x"], &[400]),
    ("merge", &["-F", "/etc/passwd", "x"], &[400]),
    ("commit", &["-F", "/etc/passwd"], &[400]),
    ("commit", &["--file=/etc/passwd"], &[400]),
    ("commit", &["-t", "/etc/passwd"], &[400]),
    ("commit", &["-S"], &[400]),
    ("commit", &["--gpg-sign=x"], &[400]),
    ("add", &["--pathspec-from-file=/etc/passwd"], &[400]),
    ("add", &["-i"], &[400]),
    ("add", &["-e"], &[400]),
    ("add", &["/etc/passwd"], &[400]),
    ("add", &[":(top)../x"], &[400]),
    ("mv", &["name.txt", "/tmp/x"], &[400]),
    ("mv", &["name.txt", "../x"], &[400]),
    ("rm", &["../../x"], &[400]),
    ("blame", &["--contents", "/etc/passwd", "name.txt"], &[400]),
    (
        "blame",
        &["--ignore-revs-file=/etc/passwd", "name.txt"],
        &[400],
    ),
    ("submodule", &["foreach", "touch x"], &[400]),
    ("archive", &["-o", "/tmp/x", "HEAD"], &[400, 403]),
    ("archive", &["--exec=touch x", "--remote=."], &[400, 403]),
    ("bisect", &["run", "touch", "x"], &[400, 403]),
    ("difftool", &["-x", "touch x"], &[400, 403]),
    ("mergetool", &[], &[400, 403]),
    ("daemon", &[], &[400, 403]),
    ("upload-pack", &["/"], &[400, 403]),
    ("clone", &["ext::sh -c id"], &[400, 403]),
    ("init", &["/tmp/x"], &[400, 403]),
    ("apply", &["/etc/passwd"], &[400, 403]),
    ("am", &["/etc/passwd"], &[400, 403]),
    ("hash-object", &["-w", "/etc/passwd"], &[400, 403]),
    ("cat-file", &["--textconv", "HEAD:x"], &[400, 403]),
    ("var", &["GIT_EDITOR"], &[400, 403]),
    ("help", &["-w", "x"], &[400, 403]),
    ("x", &[], &[400]),
    ("", &[], &[400]),
    ("status; id", &[], &[400]),
    ("status\0", &[], &[400]),
    ("../../bin/sh", &[], &[400]),
    ("fetch", &["--upload-pack=touch x"], &[400]),
    ("fetch", &["--upload-pack", "touch x"], &[400]),
    ("fetch", &["ext::sh -c id"], &[400, 403]),
    ("fetch", &["/etc"], &[400, 403]),
    ("fetch", &["--recurse-submodules"], &[400]),
    ("fetch", &["-o", "x"], &[400]),
    ("pull", &["--upload-pack=touch x"], &[400]),
    ("pull", &["ext::sh -c id"], &[400, 403]),
    ("push", &["--receive-pack=touch x"], &[400]),
    ("push", &["--exec=touch x"], &[400]),
    ("push", &["ext::sh -c id"], &[400, 403]),
    ("push", &["--recurse-submodules=on-demand"], &[400]),
    // What would harm others: the shared store, the remote, unsaved work.
    ("config", &["core.sshCommand", "touch x"], &[403]),
    ("config", &["--global", "alias.x", "!id"], &[403]),
    ("remote", &["set-url", "origin", "ext::x"], &[403]),
    ("gc", &[], &[403]),
    ("prune", &[], &[403]),
    ("update-ref", &["-d", "refs/heads/main"], &[403]),
    ("symbolic-ref", &["HEAD", "refs/heads/x"], &[403]),
    ("worktree", &["remove", "main"], &[403]),
    ("stash", &["drop"], &[403]),
    ("push", &["--mirror"], &[403]),
    ("push", &["--force"], &[403]),
    ("push", &["-f", "origin", "main"], &[403]),
    ("push", &["--force-with-lease"], &[403]),
    ("push", &["origin", "+main"], &[403]),
    ("push", &["origin", "+HEAD:refs/heads/main"], &[403]),
    ("push", &["origin", ":main"], &[403]),
    ("push", &["--delete", "origin", "main"], &[403]),
    ("push", &["origin", "HEAD:refs/heads/other"], &[403]),
    ("push", &["origin", "--", "HEAD:other"], &[403]),
    ("push", &["elsewhere"], &[403]),
    ("push", &["--all"], &[403]),
    ("push", &["--tags"], &[403]),
    ("fetch", &["--prune"], &[403]),
    ("fetch", &["origin", "+main:refs/heads/main"], &[403]),
    ("fetch", &["--refmap="], &[403]),
    ("reset", &["--hard"], &[403]),
    ("reset", &["--hard", "origin/main"], &[403]),
    ("reset", &["--keep"], &[403]),
    ("clean", &["-fd"], &[403]),
    ("clean", &["-n"], &[403]),
    ("checkout", &["other"], &[403]),
    ("checkout", &["-B", "x"], &[403]),
    ("checkout", &["-f"], &[403]),
    ("checkout", &["--detach"], &[403]),
    ("switch", &["other"], &[403]),
    ("branch", &["-D", "main"], &[403]),
    ("branch", &["-f", "main", "HEAD~1"], &[403]),
    ("tag", &["-d", "x"], &[403]),
    ("reflog", &["expire", "--all"], &[403]),
    ("rm", &["-rf", "."], &[403]),
];

const QUICK: &[&str] = &["status", "log", "branch", "diff", "show"];

#[tokio::test(flavor = "multi_thread")]
async fn git_arguments_that_run_read_write_or_harm_are_refused() {
    let mut yard = Yard::new().await;
    for (operation, args, statuses) in HOSTILE {
        let input = format!("git {operation} {args:?}");
        let body = json!({"operation": operation, "args": args});
        let answer = yard
            .post("/stream/repos/demo/branches/main/git", body.clone())
            .await;
        let (status, problem) = problem_of(answer).await;
        assert!(statuses.contains(&status), "{input}: {problem}");
        let field = problem["field"].as_str().unwrap_or_default();
        assert!(["args", "operation"].contains(&field), "{input}: {problem}");

        let answer = yard
            .post("/api/repos/demo/branches/main/git/quick", body)
            .await;
        let (status, problem) = problem_of(answer).await;
        let expected: &[u16] = if QUICK.contains(operation) {
            statuses
        } else {
            &[400]
        };
        assert!(expected.contains(&status), "quick {input}: {problem}");
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// A string is split into words once; nothing in it is expanded, and it hides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_string_of_arguments_is_judged_word_by_word() {
    let mut yard = Yard::new().await;
    for args in [
        "--output=/tmp/x",
        "'--output=/tmp/x'",
        "--out\"put\"=/tmp/x",
        "\\--output=/tmp/x",
        "-p --output /tmp/x",
        "$(id) --output=x",
        "'open",
        "open\\",
        "a\0b",
    ] {
        for (path, verb) in [
            ("/stream/repos/demo/branches/main/git", "log"),
            ("/api/repos/demo/branches/main/git/quick", "log"),
        ] {
            let answer = yard
                .post(path, json!({"operation": verb, "args": args}))
                .await;
            let (status, problem) = problem_of(answer).await;
            assert_eq!(
                (status, &problem["field"]),
                (400, &json!("args")),
                "{args:?}"
            );
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_git_arguments_pass() {
    let mut yard = Yard::new().await;
    for (operation, args) in [
        ("status", json!(["--porcelain=v2", "--branch"])),
        ("log", json!("--oneline -n 5 -- name.txt")),
        ("diff", json!(["--stat", "HEAD"])),
        ("show", json!("HEAD:name.txt")),
        ("fetch", json!([])),
        ("grep", json!(["-n", "main", "--", "name.txt"])),
    ] {
        let body = json!({"operation": operation, "args": args});
        let events = yard.run("git", "main", body).await;
        let last = &events.last().unwrap().data;
        assert_eq!(
            last["state"], "succeeded",
            "git {operation} {args}: {events:?}"
        );
    }
    yard.stop().await;
}
