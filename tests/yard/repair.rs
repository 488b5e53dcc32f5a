//! Broken on purpose, then asked for: the request succeeds, and nothing that anybody made is gone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Options, Yard, git, text_of, warnings_of};

/// A workspace with every kind of work in it.
struct Work {
    /// The commit that was never pushed.
    commit: String,
    stash: String,
}

impl Work {
    async fn begin(yard: &Yard) -> Self {
        yard.make("main", &["who"]).await;
        let workspace = yard.workspace("main");
        fs::write(workspace.join("stashed.txt"), "stashed\n").unwrap();
        git(&workspace, &["stash", "push", "-q", "-u"]);
        fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
        git(&workspace, &["add", "mine.txt"]);
        git(&workspace, &["commit", "-q", "-m", "mine"]);
        fs::write(workspace.join("name.txt"), "edited\n").unwrap();
        fs::write(workspace.join("notes.txt"), "notes\n").unwrap();
        Self {
            commit: git(&workspace, &["rev-parse", "HEAD"]),
            stash: git(&workspace, &["rev-parse", "refs/stash"]),
        }
    }

    /// The files, which nothing may ever touch.
    fn files_are_there(yard: &Yard, case: &str) {
        let workspace = yard.workspace("main");
        for (name, content) in [
            ("name.txt", "edited\n"),
            ("notes.txt", "notes\n"),
            ("mine.txt", "mine\n"),
        ] {
            let found = fs::read_to_string(workspace.join(name)).unwrap_or_default();
            assert_eq!(found, content, "{case}: {name}");
        }
    }

    /// Files, commit and stash.
    fn is_there(&self, yard: &Yard, case: &str) {
        Self::files_are_there(yard, case);
        let workspace = yard.workspace("main");
        assert_eq!(
            git(&workspace, &["rev-parse", "HEAD"]),
            self.commit,
            "{case}"
        );
        assert_eq!(
            git(&workspace, &["symbolic-ref", "HEAD"]),
            "refs/heads/main",
            "{case}"
        );
        assert_eq!(
            git(&workspace, &["rev-parse", "stash@{0}"]),
            self.stash,
            "{case}"
        );
        let status = git(&workspace, &["status", "--porcelain"]);
        assert_eq!(status, "M name.txt\n?? notes.txt", "{case}");
        git(&yard.store(), &["fsck", "--no-dangling", "--no-progress"]);
    }
}

type Damage = fn(&Yard);

fn admin(yard: &Yard) -> std::path::PathBuf {
    yard.store().join("worktrees/main")
}

fn cut(path: &Path, keep: impl Fn(usize) -> usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..keep(bytes.len())]).unwrap();
}

/// What breaks one of git's own files.
const BROKEN_FILES: &[(&str, Damage)] = &[
    ("link deleted", |yard| {
        fs::remove_file(yard.workspace("main").join(".git")).unwrap();
    }),
    ("link altered", |yard| {
        fs::write(yard.workspace("main").join(".git"), "gitdir: /nowhere\n").unwrap();
    }),
    ("link replaced by a repository", |yard| {
        let workspace = yard.workspace("main");
        fs::remove_file(workspace.join(".git")).unwrap();
        git(&workspace, &["init", "-q", "."]);
    }),
    ("registration deleted", |yard| {
        fs::remove_dir_all(admin(yard)).unwrap();
    }),
    ("registration emptied", |yard| {
        fs::remove_dir_all(admin(yard)).unwrap();
        fs::create_dir(admin(yard)).unwrap();
    }),
    ("HEAD empty", |yard| {
        fs::write(admin(yard).join("HEAD"), "").unwrap();
    }),
    ("HEAD garbage", |yard| {
        fs::write(admin(yard).join("HEAD"), [0; 41]).unwrap();
    }),
    ("HEAD cut off", |yard| {
        fs::write(admin(yard).join("HEAD"), "ref: refs/heads/").unwrap();
    }),
    ("HEAD deleted", |yard| {
        fs::remove_file(admin(yard).join("HEAD")).unwrap();
    }),
    ("HEAD at a commit that is gone", |yard| {
        fs::write(admin(yard).join("HEAD"), format!("{}\n", "1".repeat(40))).unwrap();
    }),
    ("index empty", |yard| {
        fs::write(admin(yard).join("index"), "").unwrap();
    }),
    ("index cut in half", |yard| {
        cut(&admin(yard).join("index"), |len| len / 2);
    }),
    ("index without its end", |yard| {
        cut(&admin(yard).join("index"), |len| len - 3);
    }),
    ("index garbage", |yard| {
        fs::write(admin(yard).join("index"), "garbage".repeat(100)).unwrap();
    }),
    ("index deleted", |yard| {
        drop(fs::remove_file(admin(yard).join("index")));
    }),
    ("record deleted", |yard| {
        fs::remove_file(admin(yard).join("branchyard.json")).unwrap();
    }),
    ("record garbage", |yard| {
        fs::write(admin(yard).join("branchyard.json"), "{").unwrap();
    }),
    ("branch empty", |yard| {
        fs::write(yard.store().join("refs/heads/main"), "").unwrap();
    }),
    ("branch zeroed", |yard| {
        fs::write(yard.store().join("refs/heads/main"), [0; 41]).unwrap();
    }),
    ("branch deleted", |yard| {
        fs::remove_file(yard.store().join("refs/heads/main")).unwrap();
    }),
    ("remote's branch garbage", |yard| {
        fs::write(yard.store().join("refs/remotes/origin/main"), "garbage\n").unwrap();
    }),
    ("what was seen empty", |yard| {
        fs::write(yard.store().join("refs/branchyard/seen/main"), "").unwrap();
    }),
    ("packed refs with garbage", |yard| {
        git(&yard.store(), &["pack-refs", "--all"]);
        let packed = yard.store().join("packed-refs");
        let mut text = fs::read_to_string(&packed).unwrap();
        text.push_str("garbage\n");
        fs::write(&packed, text).unwrap();
    }),
    ("packed refs cut off", |yard| {
        git(&yard.store(), &["pack-refs", "--all"]);
        cut(&yard.store().join("packed-refs"), |len| len / 2);
    }),
    ("packed refs deleted", |yard| {
        git(&yard.store(), &["pack-refs", "--all"]);
        fs::remove_file(yard.store().join("packed-refs")).unwrap();
    }),
    ("configuration deleted", |yard| {
        fs::remove_file(yard.store().join("config")).unwrap();
    }),
    ("the store's own description deleted", |yard| {
        fs::remove_file(yard.store().join("branchyard.json")).unwrap();
    }),
];

/// What no request need meet.
const ELSEWHERE: &[(&str, Damage)] = &[
    ("another ref empty", |yard| {
        fs::write(yard.store().join("refs/heads/other"), "").unwrap();
    }),
    ("stash empty", |yard| {
        fs::write(yard.store().join("refs/stash"), "").unwrap();
    }),
    ("stash deleted", |yard| {
        fs::remove_file(yard.store().join("refs/stash")).unwrap();
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_is_mended_by_the_request_that_meets_it() {
    for (case, damage) in BROKEN_FILES {
        let mut yard = Yard::new().await;
        let work = Work::begin(&yard).await;
        damage(&yard);
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "edited\n", "{case}: {events:#?}");
        work.is_there(&yard, case);
        // And for good: the next one meets nothing.
        let events = yard.make("main", &["who"]).await;
        assert_eq!(warnings_of(&events), ["left_alone"], "{case}: {events:#?}");
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_is_mended_at_start() {
    let mut told = 0;
    for (case, damage) in BROKEN_FILES.iter().chain(ELSEWHERE) {
        let mut yard = Yard::new().await;
        let work = Work::begin(&yard).await;
        yard.stop().await;
        damage(&yard);
        yard.start().await;
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "edited\n", "{case}: {events:#?}");
        work.is_there(&yard, case);
        let findings = yard.get_json("/api/findings").await;
        let left = findings["items"].as_array().unwrap();
        assert!(
            left.iter().all(|finding| finding["code"] == "quarantined"),
            "{case}: {findings:#}"
        );
        // What was done is told to more than the log.
        for mended in findings["mended_at_start"].as_array().unwrap() {
            let done = mended["done"].as_str().unwrap();
            assert!(
                done.ends_with(", when the daemon started"),
                "{case}: {mended}"
            );
            told += 1;
        }
        yard.stop().await;
    }
    assert!(told > 5, "{told}");
}

/// The codes of findings, apart from what is only kept.
fn codes(findings: &Value) -> Vec<String> {
    let items = findings["items"].as_array().unwrap().iter();
    items
        .map(|item| item["code"].as_str().unwrap().to_owned())
        .filter(|code| code != "quarantined")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_is_told_and_mended_on_demand() {
    // What guards every request is put back by the look itself.
    let unseen = ["configuration deleted"];
    for (case, damage) in BROKEN_FILES.iter().chain(ELSEWHERE) {
        let mut yard = Yard::new().await;
        let work = Work::begin(&yard).await;
        damage(&yard);
        let told = codes(&yard.get_json("/api/findings").await);
        assert!(!told.is_empty() || unseen.contains(case), "{case}");
        Work::files_are_there(&yard, case);
        let mended = yard.post_json("/api/findings/mend", json!({})).await;
        for code in &told {
            assert!(codes(&mended).contains(code), "{case}: {told:?} {mended:#}");
        }
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "edited\n", "{case}: {events:#?}");
        work.is_there(&yard, case);
        let left = codes(&yard.get_json("/api/findings").await);
        assert_eq!(left, [""; 0], "{case}");
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_not_kept_from_its_file_by_what_is_broken() {
    for (case, damage) in BROKEN_FILES {
        let mut yard = Yard::new().await;
        Work::begin(&yard).await;
        damage(&yard);
        let path = "/api/repos/demo/branches/main/read_file";
        let read = yard.post_json(path, json!({"path": "name.txt"})).await;
        assert_eq!(read["text"], "edited\n", "{case}: {read}");
        Work::files_are_there(&yard, case);
        yard.stop().await;
    }
}

/// The objects of the store that are not in packs.
fn loose(yard: &Yard, revision: &str) -> std::path::PathBuf {
    let id = git(&yard.store(), &["rev-parse", revision]);
    yard.store().join("objects").join(&id[..2]).join(&id[2..])
}

fn writable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn flip(path: &Path, at: impl Fn(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = at(bytes.len());
    for byte in &mut bytes[at..at + 4] {
        *byte ^= 0xff;
    }
    writable(path);
    fs::write(path, bytes).unwrap();
}

/// The only pack, and its index.
fn pack(yard: &Yard, ending: &str) -> std::path::PathBuf {
    let packs = fs::read_dir(yard.store().join("objects/pack")).unwrap();
    let path = packs
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|found| found == ending))
        .unwrap();
    writable(&path);
    path
}

/// What takes objects away that the remote has; whether everything is packed before.
const LOST_OBJECTS: &[(&str, bool, Damage)] = &[
    ("the remote's commit deleted", false, |yard| {
        fs::remove_file(loose(yard, "refs/remotes/origin/main")).unwrap();
    }),
    ("the remote's commit empty", false, |yard| {
        let path = loose(yard, "refs/remotes/origin/main");
        writable(&path);
        fs::write(path, "").unwrap();
    }),
    ("the remote's commit flipped", false, |yard| {
        flip(&loose(yard, "refs/remotes/origin/main"), |len| len / 2);
    }),
    ("a tree deleted", false, |yard| {
        fs::remove_file(loose(yard, "refs/remotes/origin/main^{tree}")).unwrap();
    }),
    ("a file's content deleted", false, |yard| {
        fs::remove_file(loose(yard, "refs/remotes/origin/main:Makefile")).unwrap();
    }),
    ("the index of the pack deleted", true, |yard| {
        fs::remove_file(pack(yard, "idx")).unwrap();
    }),
    ("the index of the pack cut off", true, |yard| {
        cut(&pack(yard, "idx"), |len| len / 2);
    }),
    ("the end of the pack cut off", true, |yard| {
        cut(&pack(yard, "pack"), |len| len - 10);
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn lost_objects_are_fetched_anew_and_everything_local_is_kept() {
    for (case, packed, damage) in LOST_OBJECTS {
        let mut yard = Yard::new().await;
        yard.origin.branch("other");
        let work = Work::begin(&yard).await;
        yard.make("other", &["who"]).await;
        if *packed {
            let done = yard.post_json("/api/repos/demo/maintain", json!({})).await;
            assert_eq!(done["after"]["packs"], 1, "{done}");
        }
        damage(&yard);
        // Something that needs the objects: a new branch of the remote, and the branch itself.
        yard.origin.at("main");
        yard.origin.write("more.txt", "more\n");
        yard.origin.commit("more");
        yard.origin.push("main");
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "edited\n", "{case}: {events:#?}");
        let events = yard.make("other", &["who"]).await;
        assert_eq!(text_of(&events), "other\n", "{case}: {events:#?}");
        yard.origin.branch("third");
        let events = yard.make("third", &["who"]).await;
        assert_eq!(text_of(&events), "third\n", "{case}: {events:#?}");
        work.is_there(&yard, case);
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_any_object_is_filled_again_and_files_show_as_changes() {
    let mut yard = Yard::new().await;
    Work::begin(&yard).await;
    let theirs = git(&yard.store(), &["rev-parse", "refs/remotes/origin/main"]);
    fs::rename(yard.store().join("objects"), yard.dir.path().join("taken")).unwrap();
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "edited\n", "{events:#?}");
    Work::files_are_there(&yard, "objects");
    let workspace = yard.workspace("main");
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), theirs);
    let status = git(&workspace, &["status", "--porcelain"]);
    assert_eq!(status, "M name.txt\n?? mine.txt\n?? notes.txt");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_vanished_is_cloned_again_and_its_workspaces_are_taken_back() {
    let mut yard = Yard::new().await;
    yard.origin.branch("feature/x");
    Work::begin(&yard).await;
    yard.make("feature/x", &["who"]).await;
    fs::write(yard.workspace("feature/x").join("notes.txt"), "x\n").unwrap();
    fs::remove_dir_all(yard.store()).unwrap();
    let events = yard.make("feature/x", &["who"]).await;
    assert_eq!(text_of(&events), "feature/x\n", "{events:#?}");
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "edited\n", "{events:#?}");
    Work::files_are_there(&yard, "vanished");
    let status = git(&yard.workspace("feature/x"), &["status", "--porcelain"]);
    assert_eq!(status, "?? notes.txt");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_without_a_remote_is_told_and_nothing_moves() {
    let mut yard = Yard::new().await;
    let work = Work::begin(&yard).await;
    let lost = loose(&yard, "refs/remotes/origin/main");
    let aside = yard.dir.path().join("aside");
    fs::rename(&lost, &aside).unwrap();
    let away = yard.dir.path().join("away");
    fs::rename(&yard.origin.bare, &away).unwrap();
    let body = json!({"args": ["who"], "sync": "none"});
    let events = yard.run("make", "main", body.clone()).await;
    let last = events.last().unwrap();
    assert_eq!(last.data["code"], "store_damaged", "{events:#?}");
    assert!(
        !yard.workspaces.join(".branchyard/quarantine").exists()
            || fs::read_dir(yard.workspaces.join(".branchyard/quarantine"))
                .unwrap()
                .next()
                .is_none()
    );
    fs::rename(&away, &yard.origin.bare).unwrap();
    let events = yard.run("make", "main", body).await;
    assert_eq!(text_of(&events), "edited\n", "{events:#?}");
    assert_eq!(warnings_of(&events), ["store_healed"]);
    work.is_there(&yard, "remote");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_a_store_is_replaced_leaves_the_old_or_the_new_one() {
    for point in [
        "objects-rescued",
        "objects-marked",
        "objects-exchanged",
        "refs-settled",
    ] {
        let mut yard = Yard::asleep(Options::default());
        let mut daemon = yard.start_binary(&[]).await;
        let work = Work::begin(&yard).await;
        daemon.stop().await;
        let lost = loose(&yard, "refs/remotes/origin/main");
        fs::remove_file(lost).unwrap();
        let mut daemon = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
        assert!(yard.run_unheeded("main", "who").await.is_none(), "{point}");
        assert!(!daemon.ended().await.success(), "{point}");
        Work::files_are_there(&yard, point);
        let mut daemon = yard.start_binary(&[]).await;
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "edited\n", "{point}: {events:#?}");
        work.is_there(&yard, point);
        let rooms = fs::read_dir(yard.workspaces.join(".branchyard/quarantine"))
            .unwrap()
            .count();
        assert_eq!(rooms, 1, "{point}");
        daemon.stop().await;
    }
}
