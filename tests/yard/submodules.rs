//! Submodules in workspaces: filled, moved with their commit, left alone where somebody worked, and never a way out.

mod kept;
mod random;
mod verbs;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::first_clones::join_all;
use crate::support::beside::{Beside, add, record, work};
use crate::support::work::commit_in;
use crate::support::{Event, Options, Yard, git, text_of, warnings_of};

fn contained() -> Options {
    Options {
        tables: "[sandbox]\nprofile = \"standard\"".to_owned(),
        ..Options::default()
    }
}

/// Adds this target to the Makefile, and pushes all that was changed to `main`.
fn push(yard: &Yard, message: &str) -> String {
    let commit = yard.origin.commit(message);
    yard.origin.push("main");
    commit
}

fn target(yard: &Yard, script: &str) {
    yard.origin.write("Makefile", format!("t:\n\t@{script}\n"));
}

/// All files below a directory but git's own, with their modes and what they hold.
fn files(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            if path.ends_with(".git") {
                continue;
            }
            if meta.is_dir() {
                pending.push(path.clone());
            }
            let content = match meta.is_file() {
                true => std::fs::read(&path).unwrap(),
                false => Vec::new(),
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, (meta.mode(), content));
        }
    }
    found
}

/// The files are those of a fresh clone with all submodules, and git sees nothing to do in any of them.
fn assert_as_cloned(yard: &Yard, branch: &str) {
    let fresh = yard
        .dir
        .path()
        .join(format!("fresh-{}", uuid::Uuid::now_v7()));
    let allowed = "protocol.file.allow=always";
    let (url, to) = (yard.origin.url(), fresh.to_str().unwrap());
    let clone = [
        "-c",
        allowed,
        "clone",
        "-q",
        "--recurse-submodules",
        "-b",
        branch,
        &url,
        to,
    ];
    git(yard.dir.path(), &clone);
    let workspace = yard.workspace(branch);
    assert_eq!(files(&workspace), files(&fresh), "{branch}");
    assert_eq!(git(&workspace, &["status", "--porcelain", "--ignored"]), "");
    let submodules = git(&workspace, &["submodule", "status", "--recursive"]);
    let is_even = |line: &str| line.starts_with(' ');
    // The output is trimmed at its begin.
    assert!(
        format!(" {submodules}")
            .lines()
            .all(|line| line.is_empty() || is_even(line)),
        "{submodules}"
    );
    std::fs::remove_dir_all(fresh).unwrap();
}

fn warned(events: &[Event], code: &str) -> String {
    let warned = events
        .iter()
        .filter(|event| event.kind == "warning" && event.data["code"] == code);
    warned
        .map(|event| event.data["message"].to_string())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_branches_at_once_have_the_files_of_submodules_and_of_those_in_them() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(options).await;
        let (inner, lib) = (Beside::new(&yard, "inner"), Beside::new(&yard, "lib"));
        add(&lib.work, "../inner.git", "deep/inner");
        let commit = lib.record();
        add(&work(&yard), "../lib.git", "vendor/lib");
        target(
            &yard,
            "cat vendor/lib/file vendor/lib/deep/inner/file; echo; git status --porcelain; git -C vendor/lib rev-parse HEAD",
        );
        push(&yard, "submodules");
        let branches: Vec<_> = (0..5).map(|n| format!("b{n}")).collect();
        for branch in &branches {
            yard.origin.write("name.txt", branch);
            yard.origin.commit(branch);
            yard.origin.push(branch);
        }
        let runs = branches.iter().map(|branch| yard.make(branch, &["t"]));
        for (events, branch) in join_all(runs).await.iter().zip(&branches) {
            assert_eq!(text_of(events), format!("libinner\n{commit}\n"), "{branch}");
            assert_eq!(warnings_of(events), [""; 0], "{branch}");
            assert_as_cloned(&yard, branch);
            let pins = yard
                .get_json(&format!("/api/repos/demo/branches/{branch}"))
                .await;
            assert_eq!((&pins["pins"], &pins["dirty"]), (&json!([]), &json!(false)));
        }
        // One store for each, cloned once.
        let stores = std::fs::read_dir(yard.store().join("modules")).unwrap();
        assert_eq!(stores.count(), 2);
        drop(inner);
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_follows_has_the_submodules_of_each_commit_alone() {
    let mut yard = Yard::new().await;
    let (lib, other) = (Beside::new(&yard, "lib"), Beside::new(&yard, "other"));
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "touch lib/made.o other/made.o 2> /dev/null; true");
    push(&yard, "one");
    let follow = async || {
        let events = yard.make("main", &["t"]).await;
        assert_eq!(warnings_of(&events), [""; 0], "{events:#?}");
        // A build's output is in nobody's way, and what is declared as such is nobody's work.
        for made in ["lib/made.o", "other/made.o"] {
            let _ = std::fs::remove_file(yard.workspace("main").join(made));
        }
        assert_as_cloned(&yard, "main");
    };
    follow().await;
    let newer = lib.commit("newer");
    record(&yard, "lib", &newer);
    add(&work(&yard), "../other.git", "other");
    push(&yard, "another commit, and one more");
    follow().await;
    yard.origin.git(&["rm", "-q", "-f", "lib"]);
    yard.origin.write("lib/file", "tracked\n");
    yard.origin.git(&["mv", "other", "moved"]);
    push(&yard, "a directory in the place of one, and one elsewhere");
    follow().await;
    yard.origin.git(&["rm", "-q", "-r", "-f", "lib", "moved"]);
    // Where it was, another one.
    let forget = || std::fs::remove_dir_all(work(&yard).join(".git/modules/lib")).unwrap();
    forget();
    add(&work(&yard), "../other.git", "lib");
    push(&yard, "one in the place of a directory");
    follow().await;
    yard.origin.git(&["rm", "-q", "-f", "lib"]);
    forget();
    add(&work(&yard), "../lib.git", "lib");
    push(&yard, "the same path from elsewhere");
    follow().await;
    yard.origin.git(&["rm", "-q", "-f", "lib"]);
    add(&work(&yard), "../other.git", "deep/in/other");
    push(&yard, "one in directories that have nothing else");
    follow().await;
    yard.origin.git(&["rm", "-q", "-f", "deep/in/other"]);
    push(&yard, "none");
    follow().await;
    drop((lib, other));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_built_in_a_submodule_stays_where_it_moves() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    std::fs::write(lib.work.join(".gitignore"), "*.o\n").unwrap();
    lib.commit("one");
    add(&work(&yard), "../lib.git", "lib");
    target(
        &yard,
        "test -e lib/made.o && echo there || touch lib/made.o",
    );
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    let made = yard.workspace("main").join("lib/made.o");
    let inode = made.metadata().unwrap().ino();
    // A person looks, and git writes its index anew.
    git(&yard.workspace("main"), &["status"]);
    record(&yard, "lib", &lib.commit("two"));
    push(&yard, "two");
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "there\n");
    assert_eq!(made.metadata().unwrap().ino(), inode);
    let file = yard.workspace("main").join("lib/file");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "two");
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert_eq!(described["pins"], json!([]));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submodule_that_somebody_works_in_is_left_alone_and_saved_before_a_reset() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    let mine = yard.workspace("main").join("lib/file");
    std::fs::write(&mine, "mine").unwrap();
    record(&yard, "lib", &lib.commit("newer"));
    let newer = push(&yard, "two");
    let events = yard.make("main", &["t"]).await;
    assert_eq!(text_of(&events), "mine");
    assert!(warned(&events, "left_alone").contains("has changes to tracked files"));
    // At exactly that commit it cannot be.
    let run = yard
        .run(
            "make",
            "main",
            json!({"args": ["t"], "sync": "commit", "commit": newer}),
        )
        .await;
    assert_eq!(run.last().unwrap().data["code"], "workspace_has_work");
    let reset = json!({"args": ["t"], "sync": "reset"});
    let events = yard.run("make", "main", reset).await;
    assert_eq!(text_of(&events), "newer");
    assert_eq!(warnings_of(&events), ["salvaged"]);
    assert_as_cloned(&yard, "main");
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({})).await;
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(
        git(mine.parent().unwrap(), &["status", "--porcelain"]),
        "M file"
    );
    // Without the work it follows.
    git(mine.parent().unwrap(), &["checkout", "-q", "file"]);
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "newer");
    assert_as_cloned(&yard, "main");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pristine_build_has_nothing_untracked_in_submodules_and_that_is_saved() {
    let mut yard = Yard::new().await;
    let _lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "ls lib");
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    let notes = yard.workspace("main").join("lib/notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    let clean = json!({"args": ["t"], "clean": true});
    let events = yard.run("make", "main", clean).await;
    assert_eq!(text_of(&events), "file\n");
    assert_eq!(warnings_of(&events), ["salvaged"]);
    assert_as_cloned(&yard, "main");
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({})).await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "mine");
    yard.stop().await;
}

/// What a build left in a directory is in nobody's way when that becomes a submodule, and what somebody wrote stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_submodule_is_filled_around_what_is_not_tracked() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    yard.origin.write("lib/tracked", "tracked");
    target(&yard, "touch lib/made.o; ls lib");
    push(&yard, "a directory");
    yard.make("main", &["t"]).await;
    let place = yard.workspace("main").join("lib");
    std::fs::write(place.join("notes.txt"), "mine").unwrap();
    yard.origin.git(&["rm", "-q", "-r", "lib"]);
    add(&work(&yard), "../lib.git", "lib");
    push(&yard, "a submodule");
    let events = yard.make("main", &["t"]).await;
    assert_eq!(
        text_of(&events),
        "file
made.o
notes.txt
",
        "{events:#?}"
    );
    assert_eq!(warnings_of(&events), [""; 0]);
    assert_eq!(
        git(&place, &["status", "--porcelain"]),
        "?? made.o\n?? notes.txt"
    );
    // Where it is in the way, nothing is written over it.
    std::fs::write(lib.work.join("notes.txt"), "theirs").unwrap();
    record(&yard, "lib", &lib.commit("newer"));
    push(&yard, "a file of the same name");
    let events = yard.make("main", &["t"]).await;
    assert!(!warned(&events, "left_alone").is_empty(), "{events:#?}");
    assert_eq!(std::fs::read(place.join("notes.txt")).unwrap(), b"mine");
    yard.stop().await;
}

/// A commit in a submodule outlives the directory that it was made in.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_in_a_submodule_that_was_deleted_comes_back() {
    let mut yard = Yard::new().await;
    let _lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    let lib = yard.workspace("main").join("lib");
    commit_in(&lib, "mine");
    std::fs::remove_dir_all(&lib).unwrap();
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert!(
        described["pins"]
            .to_string()
            .contains("the submodule lib: another commit")
    );
    for ask in ["reset", "removal"] {
        if ask == "reset" {
            let reset = json!({"args": ["t"], "sync": "reset"});
            assert_eq!(text_of(&yard.run("make", "main", reset).await), "lib");
        } else {
            yard.delete("/api/repos/demo/branches/main?force=true")
                .await;
        }
        let salvage = yard.salvages("main").await.remove(0);
        yard.restore(&salvage, json!({})).await;
        assert_eq!(git(&lib, &["log", "-1", "--format=%s"]), "mine", "{ask}");
        assert_eq!(git(&lib, &["status", "--porcelain"]), "", "{ask}");
    }
    yard.stop().await;
}

/// What a branch must not name stays empty, a run says why, and the operator may want none of it, or all.
#[tokio::test(flavor = "multi_thread")]
async fn a_submodule_that_may_not_be_filled_is_told() {
    for (rule, code, words) in [
        ("auto", "submodules_empty", "could lead out"),
        ("off", "", ""),
        ("require", "submodule_refused", "could lead out"),
    ] {
        let mut yard = Yard::with(Options {
            repo: format!("submodules = \"{rule}\""),
            ..Options::default()
        })
        .await;
        let lib = Beside::new(&yard, "lib");
        let commit = git(&lib.work, &["rev-parse", "HEAD"]);
        let module = "[submodule \"../x\"]\n\tpath = lib\n\turl = ../lib.git\n";
        yard.origin.write(".gitmodules", module);
        yard.origin.git(&["add", ".gitmodules"]);
        record(&yard, "lib", &commit);
        target(&yard, "ls -A lib");
        push(&yard, "one");
        for _ in 0..2 {
            let events = yard.make("main", &["t"]).await;
            let last = events.last().unwrap();
            if rule == "require" {
                assert_eq!(last.data["code"], code);
                assert!(last.data["detail"].to_string().contains(words), "{last:?}");
                continue;
            }
            assert_eq!(text_of(&events), "", "{rule}");
            assert!(warned(&events, code).contains(words), "{rule}: {events:#?}");
            assert_eq!(
                warnings_of(&events).len(),
                usize::from(rule == "auto"),
                "{rule}"
            );
        }
        yard.stop().await;
    }
}

/// A build that puts something else in the place of a submodule, or of the way to it, has nothing written through it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_or_run_through_what_a_build_left() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "vendor/lib");
    target(&yard, "true");
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    let (outside, canary) = (
        yard.dir.path().join("outside"),
        yard.dir.path().join("canary"),
    );
    std::fs::create_dir_all(outside.join("lib")).unwrap();
    let vendor = yard.workspace("main").join("vendor");
    let link = std::fs::read(vendor.join("lib/.git")).unwrap();
    std::fs::rename(&vendor, yard.dir.path().join("was")).unwrap();
    std::fs::write(outside.join("lib/.git"), link).unwrap();
    symlink(&outside, &vendor).unwrap();
    record(&yard, "vendor/lib", &lib.commit("newer"));
    push(&yard, "two");
    yard.make("main", &["t"]).await;
    let reset = json!({"args": ["t"], "sync": "reset"});
    yard.run("make", "main", reset.clone()).await;
    let left: Vec<_> = files(&outside).into_keys().collect();
    assert_eq!(left, ["lib"]);
    assert_as_cloned(&yard, "main");
    // A repository with a program in its configuration, where the link was.
    let place = vendor.join("lib");
    std::fs::remove_file(place.join(".git")).unwrap();
    git(&place, &["init", "-q"]);
    let run = format!("touch {}", canary.display());
    git(&place, &["config", "core.fsmonitor", &run]);
    git(&place, &["config", "core.sshCommand", &run]);
    yard.get_json("/api/repos/demo/branches/main").await;
    yard.verb("main", "status", json!({})).await;
    record(&yard, "vendor/lib", &lib.commit("newest"));
    push(&yard, "three");
    let events = yard.make("main", &["t"]).await;
    assert!(!warned(&events, "left_alone").is_empty(), "{events:#?}");
    yard.run("make", "main", reset).await;
    assert_as_cloned(&yard, "main");
    assert!(!canary.exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_a_submodule_is_filled_or_moved_costs_nothing() {
    for point in ["submodule-begun", "submodule-moved"] {
        let mut yard = Yard::asleep(Options::default());
        let lib = Beside::new(&yard, "lib");
        add(&work(&yard), "../lib.git", "lib");
        target(&yard, "cat lib/file");
        push(&yard, "one");
        for content in ["lib", "newer"] {
            let mut daemon = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
            let run = yard.request(
                reqwest::Method::POST,
                "/stream/repos/demo/branches/main/make",
            );
            let _ = run.json(&json!({"args": ["t"]})).send().await;
            assert!(!daemon.ended().await.success(), "{point} was passed");
            let mut daemon = yard.start_binary(&[]).await;
            let events = yard.make("main", &["t"]).await;
            assert_eq!(text_of(&events), content, "{point}: {events:#?}");
            assert_as_cloned(&yard, "main");
            let described = yard.get_json("/api/repos/demo/branches/main").await;
            assert_eq!(described["pins"], json!([]), "{point}");
            daemon.stop().await;
            record(&yard, "lib", &lib.commit("newer"));
            push(&yard, "two");
        }
    }
}

/// What a person fetched, looked at and left again is on the remote, and keeps nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_remote_has_is_nobodys_work() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    yard.make("main", &["t"]).await;
    lib.commit("newer");
    git(&lib.work, &["tag", "-a", "-m", "a tag", "v1"]);
    git(&lib.work, &["push", "-q", "origin", "v1"]);
    let here = yard.workspace("main").join("lib");
    let recorded = git(&here, &["rev-parse", "HEAD"]);
    git(&here, &["fetch", "-q", "--tags"]);
    git(&here, &["switch", "-q", "main"]);
    git(&here, &["checkout", "-q", "--detach", &recorded]);
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert_eq!(described["pins"], json!([]));
    record(&yard, "lib", &lib.commit("newest"));
    push(&yard, "two");
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "newest");
    yard.stop().await;
}

/// Links are relative, as git's own are.
#[tokio::test(flavor = "multi_thread")]
async fn a_yard_that_was_moved_has_its_submodules() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    std::fs::write(lib.work.join("other"), "other").unwrap();
    lib.commit("one");
    add(&work(&yard), "../lib.git", "vendor/lib");
    push(&yard, "one");
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    yard.stop().await;
    let elsewhere = yard.dir.path().join("deep/elsewhere");
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    std::fs::rename(&yard.workspaces, &elsewhere).unwrap();
    let there = elsewhere.join("demo/main/vendor/lib");
    assert_eq!(git(&there, &["status", "--porcelain"]), "");
    assert_eq!(git(&there, &["log", "-1", "--format=%s"]), "a change");
    std::fs::rename(&elsewhere, &yard.workspaces).unwrap();
}

/// A branch that is new here has what another built, and submodules of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_warm_start_goes_on_with_submodules() {
    let mut yard = Yard::with(Options {
        repo: "warm = \"nearest\"".to_owned(),
        ..Options::default()
    })
    .await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(
        &yard,
        "test -e ignored/out || echo built; mkdir -p ignored; touch ignored/out; cat lib/file",
    );
    push(&yard, "one");
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "built\nlib");
    let newer = lib.commit("newer");
    record(&yard, "lib", &newer);
    yard.origin.push("topic");
    let events = yard.make("topic", &["t"]).await;
    assert_eq!(text_of(&events), "newer");
    assert!(events.iter().any(|event| event.data["warm"].is_object()));
    std::fs::remove_file(yard.workspace("topic").join("ignored/out")).unwrap();
    std::fs::remove_dir(yard.workspace("topic").join("ignored")).unwrap();
    assert_as_cloned(&yard, "topic");
    yard.stop().await;
}

/// An earlier version wrote less into a workspace's own configuration. That is nobody's doing.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_of_an_earlier_version_is_filled_without_a_word() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let admin = yard.store().join("worktrees/main");
    let configuration = std::fs::read_to_string(admin.join("config.worktree")).unwrap();
    let (before, _) = configuration.split_once("[submodule]").unwrap();
    std::fs::write(admin.join("config.worktree"), before).unwrap();
    let _lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    let events = yard.make("main", &["t"]).await;
    assert_eq!(
        (text_of(&events).as_str(), warnings_of(&events).len()),
        ("lib", 0)
    );
    assert_as_cloned(&yard, "main");
    yard.stop().await;
}
