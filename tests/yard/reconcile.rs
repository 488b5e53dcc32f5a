//! What is on disk against what should be: half-made, left over, moved by hand, locked by the dead.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, git, text_of, until, warnings_of};

fn refusal(events: &[Event]) -> &Value {
    let last = events.last().unwrap();
    assert_eq!(last.kind, "error", "{events:?}");
    &last.data["code"]
}

async fn codes(yard: &Yard) -> Vec<String> {
    let findings = yard.get_json("/api/findings").await;
    let items = findings["items"].as_array().unwrap().iter();
    items
        .map(|item| item["code"].as_str().unwrap().to_owned())
        .collect()
}

fn names_in(dir: PathBuf) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_was_never_completed_is_taken_away_at_start_and_no_other() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.branch("other");
    let mut daemon = yard.start_binary(&[]).await;
    yard.make("main", &["who"]).await;
    daemon.stop().await;
    let mut daemon = yard
        .start_binary(&[("BRANCHYARD_CRASH_AT", "create-registered")])
        .await;
    assert!(yard.run_unheeded("other", "who").await.is_none());
    assert!(!daemon.ended().await.success());
    assert!(yard.store().join("worktrees/other").exists());
    // The run that was queued would make it again; without it nothing may be left.
    fs::remove_dir_all(yard.workspaces.join(".branchyard/runs")).unwrap();
    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(names_in(yard.store().join("worktrees")), ["main"]);
    assert_eq!(names_in(yard.workspaces.join("demo")), [".git", "main"]);
    let refs = git(&yard.store(), &["for-each-ref", "--format=%(refname)"]);
    let expected = "refs/branchyard/seen/main\nrefs/heads/main\nrefs/remotes/origin/main\nrefs/remotes/origin/other";
    assert_eq!(refs, expected);
    let trash = yard.workspaces.join(".branchyard/trash");
    until("the trash is empty", || names_in(trash.clone()).is_empty()).await;
    assert_eq!(text_of(&yard.make("other", &["who"]).await), "other\n");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_that_came_and_went_by_hand_are_told_and_nothing_is_lost() {
    let mut yard = Yard::new().await;
    for branch in ["gone", "feature/x", "feature/y"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
    }
    let gone = yard.workspace("gone");
    fs::write(gone.join("mine.txt"), "mine\n").unwrap();
    git(&gone, &["add", "mine.txt"]);
    git(&gone, &["commit", "-q", "-m", "mine"]);
    let mine = git(&gone, &["rev-parse", "HEAD"]);
    fs::remove_dir_all(&gone).unwrap();
    // Registered nowhere: one whose branch is known, one whose branch is not, one that is nobody's.
    let (known, unknown) = (yard.workspace("feature/x"), yard.workspace("feature/y"));
    for dir in [&known, &unknown] {
        fs::write(dir.join("notes.txt"), "notes\n").unwrap();
        let name = dir.file_name().unwrap();
        fs::remove_dir_all(yard.store().join("worktrees").join(name)).unwrap();
    }
    for name in ["refs/heads/feature/y", "refs/remotes/origin/feature/y"] {
        git(&yard.store(), &["update-ref", "-d", name]);
    }
    let stranger = yard.workspaces.join("demo/stranger");
    fs::create_dir(&stranger).unwrap();
    fs::write(stranger.join("theirs.txt"), "theirs\n").unwrap();
    let mut told = codes(&yard).await;
    told.sort();
    assert_eq!(
        told,
        [
            "directory_gone",
            "stranger",
            "unknown_workspace",
            "unregistered"
        ]
    );

    yard.stop().await;
    yard.start().await;
    let mut told = codes(&yard).await;
    told.sort();
    assert_eq!(told, ["stranger", "unknown_workspace"]);
    assert_eq!(git(&yard.store(), &["rev-parse", "refs/heads/gone"]), mine);
    let status = git(&known, &["status", "--porcelain"]);
    assert_eq!(status, "?? notes.txt");
    assert!(unknown.join("notes.txt").exists());

    yard.post_json("/api/findings/mend", json!({})).await;
    assert!(!unknown.exists());
    let kept = yard.workspaces.join(".branchyard/quarantine");
    let room = kept.join(&names_in(kept.clone())[0]);
    let dir = unknown.file_name().unwrap();
    assert_eq!(
        fs::read_to_string(room.join(dir).join("notes.txt")).unwrap(),
        "notes\n"
    );
    assert_eq!(codes(&yard).await, ["stranger", "quarantined"]);
    assert!(stranger.join("theirs.txt").exists());
    let events = yard.make("gone", &["who"]).await;
    assert_eq!(text_of(&events), "gone\n");
    assert_eq!(git(&gone, &["rev-parse", "HEAD"]), mine);
    yard.stop().await;
}

/// Someone who lives, in a place.
struct Person(Child);

impl Person {
    fn in_dir(dir: PathBuf) -> Self {
        Self(
            Command::new("sleep")
                .arg("60")
                .current_dir(dir)
                .spawn()
                .unwrap(),
        )
    }

    fn leave(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Where a lock is, below the store; whether moving a workspace meets it.
const LOCKS: &[(&str, bool)] = &[
    ("worktrees/main/index.lock", true),
    ("worktrees/main/HEAD.lock", true),
    ("refs/heads/main.lock", true),
    ("refs/remotes/origin/main.lock", true),
    ("refs/branchyard/seen/main.lock", true),
    ("refs/branchyard/seen-next/main.lock", true),
    ("refs/stash.lock", false),
    ("HEAD.lock", false),
    ("config.lock", false),
    ("packed-refs.lock", false),
    ("packed-refs.new", false),
    ("shallow.lock", false),
    ("gc.pid", false),
    ("objects/info/commit-graph.lock", false),
    ("objects/info/commit-graphs/commit-graph-chain.lock", false),
    ("objects/maintenance.lock", false),
    ("logs/refs/heads/main.lock", false),
];

fn plant(yard: &Yard, lock: &str) -> PathBuf {
    let path = yard.store().join(lock);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    path
}

fn push(yard: &Yard, content: &str) {
    yard.origin.at("main");
    yard.origin.write("name.txt", content);
    yard.origin.commit(content);
    yard.origin.push("main");
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_the_dead_are_in_nobodys_way() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for (n, (lock, _)) in LOCKS.iter().enumerate() {
        plant(&yard, lock);
        let content = format!("{n}\n");
        push(&yard, &content);
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), content, "{lock}: {events:#?}");
    }
    yard.stop().await;
    let planted: Vec<_> = LOCKS.iter().map(|(lock, _)| plant(&yard, lock)).collect();
    yard.start().await;
    assert!(planted.iter().all(|lock| !lock.exists()));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_the_living_are_waited_for_and_left() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for (n, (lock, met)) in LOCKS.iter().enumerate() {
        let place = match lock.starts_with("worktrees") {
            true => yard.workspace("main"),
            false => yard.store(),
        };
        let path = plant(&yard, lock);
        let person = Person::in_dir(place);
        // As old as can be: age alone proves nothing.
        let old = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
        let content = format!("{n}\n");
        push(&yard, &content);
        let events = yard.make("main", &["who"]).await;
        match met {
            true => assert_eq!(refusal(&events), "index_locked", "{lock}"),
            false => assert_eq!(text_of(&events), content, "{lock}: {events:#?}"),
        }
        assert!(path.exists(), "{lock}");
        person.leave();
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), content, "{lock}: {events:#?}");
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_goes_on_while_its_store_is_replaced() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    let mut build = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    build.until_line("waiting").await;
    let lost = git(&yard.store(), &["rev-parse", "refs/remotes/origin/other"]);
    let lost = yard
        .store()
        .join("objects")
        .join(&lost[..2])
        .join(&lost[2..]);
    fs::remove_file(lost).unwrap();
    let events = yard.make("other", &["who"]).await;
    assert_eq!(text_of(&events), "other\n", "{events:#?}");
    assert!(
        warnings_of(&events).contains(&"store_healed"),
        "{events:#?}"
    );
    fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(build.end().await.data["state"], "succeeded");
    git(&yard.workspace("main"), &["log", "-1"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_keeps_what_only_an_index_a_log_or_a_ref_of_ours_leads_to() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let (workspace, store) = (yard.workspace("main"), yard.store());
    fs::write(workspace.join("staged.txt"), "only in the index\n").unwrap();
    git(&workspace, &["add", "staged.txt"]);
    let staged = git(&workspace, &["rev-parse", ":staged.txt"]);
    git(&workspace, &["stash", "push", "-q", "--keep-index"]);
    let stashed = git(&workspace, &["rev-parse", "refs/stash"]);
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    let other = yard.workspace("other");
    git(&other, &["checkout", "-q", "--detach"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "detached"]);
    let detached = git(&other, &["rev-parse", "HEAD"]);
    git(&other, &["checkout", "-q", "other"]);
    let commit = |message: &str| {
        let tree = git(&store, &["rev-parse", "refs/heads/main^{tree}"]);
        git(&store, &["commit-tree", &tree, "-m", message])
    };
    let salvaged = commit("salvaged");
    git(
        &store,
        &["update-ref", "refs/branchyard/salvage/x", &salvaged],
    );
    let unreachable = commit("nobody leads here");
    let loose = || git(&store, &["count-objects"]);
    assert_ne!(loose(), "0 objects, 0 kilobytes");
    // Git packs what nobody leads to beside a pack that is there.
    yard.post_json("/api/repos/demo/maintain", json!({})).await;
    let done = yard.post_json("/api/repos/demo/maintain", json!({})).await;
    assert_eq!(done["after"], json!({"loose": 0, "packs": 1}), "{done}");
    assert_eq!(loose(), "0 objects, 0 kilobytes");
    for kept in [&staged, &stashed, &detached, &salvaged, &unreachable] {
        git(&store, &["cat-file", "-e", kept]);
    }
    assert!(store.join("objects/info/commit-graph").exists());
    assert_eq!(text_of(&yard.make("other", &["who"]).await), "other\n");
    git(&store, &["fsck", "--no-dangling", "--no-progress"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_finds_the_one_that_is_broken_among_many_workspaces() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    yard.stop().await;
    let store = yard.store();
    let head = git(&store, &["rev-parse", "refs/heads/main"]);
    for n in 0..500 {
        let (name, admin) = (format!("b{n}"), store.join(format!("worktrees/b{n}")));
        let workspace = yard.workspace(&name);
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(&workspace).unwrap();
        for file in ["commondir", "index"] {
            fs::copy(store.join("worktrees/main").join(file), admin.join(file)).unwrap();
        }
        for file in ["branchyard.json", "config.worktree", "gitdir", "HEAD"] {
            let text = fs::read_to_string(store.join("worktrees/main").join(file)).unwrap();
            let text = text
                .replace("heads/main", &format!("heads/{name}"))
                .replace("\"main\"", &format!("\"{name}\""))
                .replace("demo/main", &format!("demo/{name}"));
            fs::write(admin.join(file), text).unwrap();
        }
        let link = fs::read_to_string(yard.workspace("main").join(".git")).unwrap();
        let link = link.replace("worktrees/main", &format!("worktrees/{name}"));
        fs::write(workspace.join(".git"), link).unwrap();
        for name in [
            format!("refs/heads/{name}"),
            format!("refs/branchyard/seen/{name}"),
        ] {
            fs::write(store.join(name), format!("{head}\n")).unwrap();
        }
    }
    fs::write(store.join("worktrees/b7/HEAD"), "").unwrap();
    yard.start().await;
    assert_eq!(codes(&yard).await, [""; 0]);
    let head = fs::read_to_string(store.join("worktrees/b7/HEAD")).unwrap();
    assert_eq!(head, "ref: refs/heads/b7\n");
    yard.stop().await;
}
