//! The daemon killed at every named step of making, moving, saving, cleaning, removing and restoring a
//! workspace: nothing that was there is lost, the next request succeeds, and nothing is left lying about.

use std::path::{Path, PathBuf};

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::work::{commit_in, snapshot, write};
use crate::support::{
    Binary, Options, Yard, encode, git, is_alive, kill, pids_in, text_of, try_git, until,
};

/// Something that is asked of the daemon while it is to be killed.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Make,
    Reset,
    Clean,
    ResetAndClean,
    Remove,
    /// The newest salvage of the branch, into it.
    Restore,
}

impl Ask {
    /// The connection may be cut at any time, so the answer is nobody's concern.
    async fn send(self, yard: &Yard, branch: &str) {
        let run = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let wish = |wish: Value| yard.request(Method::POST, &run).json(&wish);
        let request = match self {
            Self::Make => wish(json!({"args": ["who"]})),
            Self::Reset => wish(json!({"args": ["who"], "sync": "reset"})),
            Self::Clean => wish(json!({"args": ["who"], "clean": true})),
            Self::ResetAndClean => wish(json!({"args": ["who"], "sync": "reset", "clean": true})),
            Self::Remove => {
                let path = format!("/api/repos/demo/branches/{}?force=true", encode(branch));
                yard.request(Method::DELETE, &path)
            }
            Self::Restore => {
                let newest = salvages(yard, branch).await.swap_remove(0);
                let path = format!("/api/salvage/{newest}/restore");
                let request = yard.request(Method::POST, &path);
                request.json(&json!({"force": true}))
            }
        };
        if let Ok(answer) = request.send().await {
            let _ = answer.bytes().await;
        }
    }
}

/// The ids of a branch's salvages, the newest first.
async fn salvages(yard: &Yard, branch: &str) -> Vec<String> {
    let path = format!("/api/salvage?repo=demo&branch={}", encode(branch));
    let page = yard.get_json(&path).await;
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs that had not started are queued again by the next daemon; waits until all have ended.
async fn quiet(yard: &Yard) {
    let page = yard.get_json("/api/runs?limit=20").await;
    for run in page["items"].as_array().unwrap() {
        yard.ended(run["run_id"].as_str().unwrap()).await;
    }
}

/// Work of all kinds that go together.
fn work_in(workspace: &Path) {
    write(workspace, "name.txt", "stashed\n");
    git(workspace, &["stash", "push", "-q", "-m", "for later"]);
    commit_in(workspace, "mine");
    write(workspace, "staged.txt", "staged\n");
    git(workspace, &["add", "staged.txt"]);
    write(workspace, "name.txt", "edited\n");
    write(workspace, "notes/deep/x", "untracked\n");
    write(workspace, "ignored/.env", "SECRET=1\n");
    git(workspace, &["init", "-q", "nested"]);
    write(&workspace.join("nested"), "file", "nested\n");
    commit_in(&workspace.join("nested"), "mine");
}

/// Kills the daemon at `point` of what `ask` wants, and starts the next one.
async fn cut(yard: &mut Yard, point: &str, ask: Ask, branch: &str) -> Binary {
    let mut doomed = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
    ask.send(yard, branch).await;
    assert!(!doomed.ended().await.success(), "{point} was passed");
    let daemon = yard.start_binary(&[]).await;
    quiet(yard).await;
    daemon
}

/// What was there is there, or one of the salvages brings it back byte for byte.
async fn assert_kept(yard: &Yard, branch: &str, before: &[String], what: &str) {
    if yard.workspace(branch).exists() && snapshot(yard, branch) == before {
        return;
    }
    let saved = salvages(yard, branch).await;
    let mut after = Vec::new();
    // The first one was made of what was there; a later one may hold what a crash made of it.
    for id in saved.iter().rev() {
        let path = format!("/api/salvage/{id}/restore");
        yard.post_json(&path, json!({"force": true})).await;
        after = snapshot(yard, branch);
        if after == before {
            return;
        }
    }
    panic!("{what}: {saved:?} restore {after:#?} in place of {before:#?}");
}

/// Whether `make` works in a workspace, whatever is in it.
async fn assert_usable(yard: &Yard, branch: &str, what: &str) {
    let events = yard.make(branch, &["who"]).await;
    let last = events.last().unwrap();
    assert_eq!(last.data["state"], "succeeded", "{what}: {events:#?}");
}

/// Stops the daemon and looks for whatever it should not have left.
async fn assert_tidy(yard: &Yard, daemon: &mut Binary, branches: &[&str], what: &str) {
    daemon.stop().await;
    let state = yard.workspaces.join(".branchyard");
    for dir in ["trash", "staging", "tmp"] {
        assert_eq!(names_in(&state.join(dir)), [""; 0], "{what}: {dir}");
    }
    let mut expected: Vec<_> = branches.iter().map(|name| yard.workspace(name)).collect();
    let mut dirs = names_in(&yard.workspaces.join("demo"));
    dirs.retain(|name| name != ".git");
    expected.sort();
    let on_disk: Vec<_> = dirs
        .iter()
        .map(|dir| yard.workspaces.join("demo").join(dir))
        .collect();
    assert_eq!(on_disk, expected, "{what}");
    let mut known: Vec<_> = git(&yard.store(), &["worktree", "list", "--porcelain"])
        .lines()
        .filter_map(|line| line.strip_prefix("worktree ").map(PathBuf::from))
        .filter(|path| *path != yard.workspaces.join("demo"))
        .collect();
    known.sort();
    assert_eq!(known, expected, "{what}");
    let admin = names_in(&yard.store().join("worktrees"));
    assert_eq!(admin, dirs, "{what}");
    let fsck = try_git(&yard.store(), &["fsck", "--no-dangling", "--no-progress"]);
    let said = [fsck.stdout, fsck.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // The store's own HEAD never has a commit, and git says so.
    let said: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("notice: HEAD"))
        .collect();
    assert!(fsck.status.success() && said.is_empty(), "{what}: {said:?}");
    for place in [&yard.store(), &state] {
        let left = leftovers(place);
        assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Files that only somebody at work has.
fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names_in(dir) {
        let path = dir.join(&name);
        if path.is_dir() {
            found.extend(leftovers(&path));
        } else if [".lock", ".new", ".branchyard"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.starts_with("tmp_obj")
        {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_whose_making_is_cut_off_is_made_and_follows_its_remote() {
    for point in ["create-asked", "create-registered", "create-filled"] {
        let mut yard = Yard::asleep(Options::default());
        yard.origin.branch("new");
        let mut daemon = cut(&mut yard, point, Ask::Make, "new").await;
        assert_eq!(text_of(&yard.make("new", &["who"]).await), "new\n");
        // Nothing of ours may be taken for somebody's commits when the remote is rewritten.
        yard.origin.at("main");
        yard.origin.write("name.txt", "rewritten\n");
        yard.origin.commit("rewritten");
        yard.origin.push("new");
        let events = yard.make("new", &["who"]).await;
        assert_eq!(text_of(&events), "rewritten\n", "{point}: {events:#?}");
        assert_tidy(&yard, &mut daemon, &["new"], point).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_cut_off_is_completed_and_keeps_what_lies_beside() {
    for point in ["move-begun", "move-moved"] {
        let mut yard = Yard::asleep(Options::default());
        let mut daemon = yard.start_binary(&[]).await;
        yard.make("main", &["who"]).await;
        let workspace = yard.workspace("main");
        write(&workspace, "name.txt", "stashed\n");
        git(&workspace, &["stash", "push", "-q", "-m", "for later"]);
        write(&workspace, "notes/deep/x", "untracked\n");
        write(&workspace, "ignored/.env", "SECRET=1\n");
        daemon.stop().await;
        yard.origin.at("main");
        yard.origin.write("name.txt", "newer\n");
        let newer = yard.origin.commit("newer");
        yard.origin.push("main");

        let mut daemon = cut(&mut yard, point, Ask::Make, "main").await;
        assert_eq!(text_of(&yard.make("main", &["who"]).await), "newer\n");
        assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), newer, "{point}");
        let status = git(&workspace, &["status", "--porcelain", "--ignored"]);
        assert_eq!(status, "?? notes/\n!! ignored/", "{point}");
        assert!(git(&workspace, &["stash", "list"]).contains("for later"));
        let env = std::fs::read(workspace.join("ignored/.env")).unwrap();
        assert_eq!(env, b"SECRET=1\n", "{point}");
        assert_eq!(salvages(&yard, "main").await, [""; 0], "{point}");
        assert_tidy(&yard, &mut daemon, &["main"], point).await;
    }
}

/// Whatever a kill at `points` of `ask` finds in the workspace is kept.
async fn keeps_work(ask: Ask, points: &[&str]) {
    for point in points {
        let mut yard = Yard::asleep(Options::default());
        let mut daemon = yard.start_binary(&[]).await;
        yard.make("main", &["who"]).await;
        work_in(&yard.workspace("main"));
        let before = snapshot(&yard, "main");
        if matches!(ask, Ask::Restore) {
            Ask::Remove.send(&yard, "main").await;
            assert!(!yard.workspace("main").exists());
            // What is in the way of what is restored is work, too.
            yard.make("main", &["who"]).await;
            write(&yard.workspace("main"), "name.txt", "later\n");
        }
        daemon.stop().await;

        let what = format!("{ask:?} at {point}");
        let mut daemon = cut(&mut yard, point, ask, "main").await;
        assert_usable(&yard, "main", &what).await;
        assert_kept(&yard, "main", &before, &what).await;
        assert_usable(&yard, "main", &what).await;
        if matches!(ask, Ask::Restore) {
            let later = saved_file(&yard, "main", "name.txt", b"later\n").await;
            assert!(later, "{what}: what was in the way is saved");
        }
        assert_tidy(&yard, &mut daemon, &["main"], &what).await;
    }
}

/// Whether some salvage of the branch holds this file with this content.
async fn saved_file(yard: &Yard, branch: &str, path: &str, content: &[u8]) -> bool {
    for id in salvages(yard, branch).await {
        let path = format!("/api/salvage/{id}/file?path={}", encode(path));
        let file = yard.get(&path).await;
        if file.status().is_success() && file.bytes().await.unwrap() == content {
            return true;
        }
    }
    false
}

const SAVING: [&str; 3] = ["salvage-archived", "salvage-written", "salvage-named"];

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_cut_off_loses_nothing() {
    let going = [
        "remove-saved",
        "remove-marked",
        "remove-moved",
        "remove-unnamed",
    ];
    keeps_work(Ask::Remove, &[&SAVING[..], &going].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_that_is_cut_off_loses_nothing() {
    let moving = ["reset-begun", "reset-moved"];
    keeps_work(Ask::Reset, &[&SAVING[..], &moving].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_build_that_is_cut_off_loses_nothing() {
    keeps_work(Ask::Clean, &["salvage-named", "clean-saved"]).await;
    keeps_work(Ask::ResetAndClean, &["salvage-named", "reset-begun"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_cut_off_loses_nothing() {
    keeps_work(
        Ask::Restore,
        &["salvage-named", "restore-files", "restore-head"],
    )
    .await;
}

const FILES: usize = 2000;

fn push_many(yard: &Yard, content: &str) -> String {
    // Git would tidy up after so much, in the background.
    yard.origin.git(&["config", "gc.auto", "0"]);
    git(&yard.origin.bare, &["config", "gc.auto", "0"]);
    yard.origin.at("main");
    for n in 0..FILES {
        let path = format!("many/{}/{n}.txt", n % 10);
        yard.origin.write(&path, format!("{content} {n}\n"));
    }
    let commit = yard.origin.commit(content);
    yard.origin.push("main");
    commit
}

/// How many of the many files are as `content` has them.
fn arrived(workspace: &Path, content: &str) -> usize {
    let path = |n: usize| workspace.join(format!("many/{}/{n}.txt", n % 10));
    (0..FILES)
        .step_by(10)
        .filter(|n| {
            std::fs::read(path(*n)).is_ok_and(|now| now == format!("{content} {n}\n").as_bytes())
        })
        .count()
}

/// Has a checkout of `content` killed while it writes: the daemon, and its git unless that is to go on.
async fn kill_while_files_come(yard: &mut Yard, content: &str, git_too: bool) {
    let mut daemon = yard.start_binary(&[]).await;
    let workspace = yard.workspace("main");
    let asked = yard.start_detached("main", json!({"args": ["who"]})).await;
    until("files come", || arrived(&workspace, content) > 0).await;
    daemon.kill().await;
    let at_work = pids_in(&workspace);
    if git_too {
        for pid in at_work {
            kill(pid, Signal::KILL);
            until("git is gone", || !is_alive(pid)).await;
        }
    }
    drop(asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_checkout_that_is_killed_is_made_anew() {
    for git_too in [true, false] {
        let mut yard = Yard::asleep(Options::default());
        let commit = push_many(&yard, "first");
        kill_while_files_come(&mut yard, "first", git_too).await;
        let mut daemon = yard.start_binary(&[]).await;
        quiet(&yard).await;
        assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
        let workspace = yard.workspace("main");
        assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), commit);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
        until("no git is left", || pids_in(&yard.workspaces).is_empty()).await;
        assert_tidy(&yard, &mut daemon, &["main"], &format!("{git_too}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_is_killed_is_completed_around_what_a_person_has_there() {
    for git_too in [true, false] {
        let mut yard = Yard::asleep(Options::default());
        push_many(&yard, "before");
        let mut daemon = yard.start_binary(&[]).await;
        yard.make("main", &["who"]).await;
        let workspace = yard.workspace("main");
        write(&workspace, "notes.txt", "before\n");
        daemon.stop().await;
        let commit = push_many(&yard, "after");
        kill_while_files_come(&mut yard, "after", git_too).await;
        if git_too {
            // It is not whole, and one of the files that were still to come is somebody's by now.
            write(&workspace, "many/9/1999.txt", "mine\n");
        }
        let mut daemon = yard.start_binary(&[]).await;
        quiet(&yard).await;
        until("no git is left", || pids_in(&workspace).is_empty()).await;
        assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
        assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), commit);
        assert_eq!(git(&workspace, &["status", "--porcelain", "-uno"]), "");
        assert_eq!(arrived(&workspace, "after"), FILES / 10);
        let notes = std::fs::read(workspace.join("notes.txt")).unwrap();
        assert_eq!(notes, b"before\n");
        if git_too {
            let saved = saved_file(&yard, "main", "many/9/1999.txt", b"mine\n").await;
            assert!(saved, "what a person wrote is saved");
        }
        assert_tidy(&yard, &mut daemon, &["main"], &format!("{git_too}")).await;
    }
}

/// Something that a person does in a workspace whose move was cut off: what it is, how it is done, and
/// what must be in a salvage or in the workspace after (a file with its content, or a commit's message).
type Deed = (&'static str, fn(&Path), Trace);

#[derive(Debug, Clone, Copy)]
enum Trace {
    File(&'static str, &'static str),
    /// The object of this content, which some ref or index must lead to.
    Blob(&'static str),
    Commit(&'static str),
}

const DEEDS: &[Deed] = &[
    (
        "an edit of a file that the move leaves alone",
        |w| write(w, "Makefile", "who:\n\t@cat name.txt\n# mine\n"),
        Trace::File("Makefile", "who:\n\t@cat name.txt\n# mine\n"),
    ),
    (
        "an edit of a file that was moved",
        |w| write(w, "one.txt", "mine\n"),
        Trace::File("one.txt", "mine\n"),
    ),
    (
        "an edit that git is told to overlook",
        |w| {
            git(w, &["update-index", "--assume-unchanged", "Makefile"]);
            write(w, "Makefile", "who:\n\t@cat name.txt\n# mine\n");
        },
        Trace::File("Makefile", "who:\n\t@cat name.txt\n# mine\n"),
    ),
    (
        "a staged change that the file no longer has",
        |w| {
            write(w, "two.txt", "mine\n");
            git(w, &["add", "two.txt"]);
            write(w, "two.txt", "old\n");
        },
        Trace::Blob("mine\n"),
    ),
    (
        "a commit of one file",
        |w| {
            write(w, "two.txt", "mine\n");
            git(w, &["commit", "-q", "-m", "my commit", "two.txt"]);
        },
        Trace::Commit("my commit"),
    ),
    (
        "an untracked file where the new tree has a file",
        |w| write(w, "fresh.txt", "mine\n"),
        Trace::File("fresh.txt", "mine\n"),
    ),
    (
        "an untracked file where the new tree has a directory",
        |w| write(w, "folder", "mine\n"),
        Trace::File("folder", "mine\n"),
    ),
    (
        "an untracked file in a directory where the new tree has a file",
        |w| write(w, "fresh.txt/inner", "mine\n"),
        Trace::File("fresh.txt/inner", "mine\n"),
    ),
    (
        "a link where the new tree has a directory",
        |w| std::os::unix::fs::symlink("mine\n", w.join("folder")).unwrap(),
        Trace::Blob("mine\n"),
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_does_to_a_half_moved_workspace_is_kept() {
    for (what, deed, trace) in DEEDS {
        let mut yard = Yard::asleep(Options::default());
        for file in ["one.txt", "two.txt"] {
            yard.origin.write(file, "old\n");
        }
        yard.origin.commit("old");
        yard.origin.push("main");
        let mut daemon = yard.start_binary(&[]).await;
        yard.make("main", &["who"]).await;
        daemon.stop().await;
        for file in ["one.txt", "two.txt", "fresh.txt", "folder/inner.txt"] {
            yard.origin.write(file, "new\n");
        }
        let target = yard.origin.commit("new");
        yard.origin.push("main");
        let mut doomed = yard
            .start_binary(&[("BRANCHYARD_CRASH_AT", "move-begun")])
            .await;
        Ask::Make.send(&yard, "main").await;
        assert!(!doomed.ended().await.success());
        // As git leaves it when it is killed: a file is new, and nothing else says so.
        let workspace = yard.workspace("main");
        write(&workspace, "one.txt", "new\n");
        deed(&workspace);

        let mut daemon = yard.start_binary(&[]).await;
        quiet(&yard).await;
        assert_usable(&yard, "main", what).await;
        let head = git(&workspace, &["rev-parse", "HEAD"]);
        let status = git(&workspace, &["status", "--porcelain"]);
        let is_healed = head == target && status.is_empty();
        assert!(is_healed, "{what}: {head} {status}");
        assert!(is_kept(&yard, *trace).await, "{what}");
        assert_tidy(&yard, &mut daemon, &["main"], what).await;
    }
}

async fn is_kept(yard: &Yard, trace: Trace) -> bool {
    match trace {
        Trace::File(path, content) => saved_file(yard, "main", path, content.as_bytes()).await,
        Trace::Blob(content) => {
            let id = git2::Oid::hash_object(git2::ObjectType::Blob, content.as_bytes()).unwrap();
            git(&yard.store(), &["rev-list", "--objects", "--all"]).contains(&id.to_string())
        }
        Trace::Commit(message) => {
            git(&yard.store(), &["log", "--all", "--format=%s"]).contains(message)
        }
    }
}
