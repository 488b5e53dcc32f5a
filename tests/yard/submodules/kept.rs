//! What somebody has in a submodule, or where one belongs, stays or is saved, whatever becomes of that.

use std::path::PathBuf;

use serde_json::json;

use super::{assert_as_cloned, push, target, warned};
use crate::support::beside::{Beside, add, record, work};
use crate::support::work::{commit_in, write};
use crate::support::{Event, Options, Yard, git, text_of, warnings_of};

/// A yard whose branch `main` has the submodule `lib`, which its builds print the file of.
async fn yard(prepare: impl FnOnce(&Yard, &Beside)) -> (Yard, Beside, PathBuf) {
    let yard = Yard::with(Options::default()).await;
    let lib = Beside::new(&yard, "lib");
    prepare(&yard, &lib);
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "lib");
    let place = yard.workspace("main").join("lib");
    (yard, lib, place)
}

async fn follow(yard: &Yard, commit: &str) -> Vec<Event> {
    record(yard, "lib", commit);
    push(yard, "another commit of the submodule");
    yard.make("main", &["t"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_where_an_inner_one_was_or_comes_stays() {
    let prepare = |yard: &Yard, lib: &Beside| {
        Beside::new(yard, "inner");
        add(&lib.work, "../inner.git", "inner");
        std::fs::create_dir(lib.work.join("vendor")).unwrap();
        std::fs::write(lib.work.join("vendor/tracked"), "tracked").unwrap();
        lib.record();
    };
    let (mut yard, lib, place) = yard(prepare).await;
    write(&place, "inner/notes.txt", "mine");
    write(&place, "vendor/notes.txt", "mine");
    git(&lib.work, &["rm", "-q", "-r", "-f", "inner", "vendor"]);
    add(&lib.work, "../inner.git", "vendor");
    let events = follow(&yard, &lib.commit("newer")).await;
    assert!(
        warned(&events, "left_alone").contains("lib/inner"),
        "{events:#?}"
    );
    for kept in ["inner/notes.txt", "inner/file", "vendor/notes.txt"] {
        assert!(place.join(kept).exists(), "{kept}");
    }
    assert!(!place.join("vendor/tracked").exists());
    assert_eq!(std::fs::read(place.join("vendor/file")).unwrap(), b"inner");
    assert_eq!(text_of(&events), "newer");
    // Without them all is as it should be.
    std::fs::remove_file(place.join("inner/notes.txt")).unwrap();
    std::fs::remove_file(place.join("vendor/notes.txt")).unwrap();
    let events = yard.make("main", &["t"]).await;
    assert_eq!(warnings_of(&events), [""; 0], "{events:#?}");
    assert_as_cloned(&yard, "main");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_tracked_stays_where_only_git_could_move_the_rest() {
    // An index that tells of more than files, content that git alone writes, and rules of one's own.
    for odd in ["flags", "attributes", "rules"] {
        let (mut yard, lib, place) = yard(|_, _| {}).await;
        write(&place, "notes.txt", "mine");
        match odd {
            "flags" => drop(git(&place, &["update-index", "--assume-unchanged", "file"])),
            "attributes" => {
                std::fs::write(lib.work.join(".gitattributes"), "\u{feff}* text\n").unwrap();
            }
            _ => {
                write(&place, "new/.gitignore", "mine\n");
                write(&lib.work, "new/x", "x");
            }
        }
        let events = follow(&yard, &lib.commit("newer")).await;
        assert!(
            !warned(&events, "left_alone").is_empty(),
            "{odd}: {events:#?}"
        );
        assert_eq!(
            std::fs::read(place.join("notes.txt")).unwrap(),
            b"mine",
            "{odd}"
        );
        assert_eq!(place.join("new/.gitignore").exists(), odd == "rules");
        // A reset saves it, and goes on.
        let reset = json!({"args": ["t"], "sync": "reset"});
        let events = yard.run("make", "main", reset).await;
        assert_eq!(text_of(&events), "newer", "{odd}: {events:#?}");
        let salvage = yard.salvages("main").await.remove(0);
        yard.restore(&salvage, json!({"force": true})).await;
        assert_eq!(
            std::fs::read(place.join("notes.txt")).unwrap(),
            b"mine",
            "{odd}"
        );
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_a_commit_is_exactly_that_in_submodules() {
    let (mut yard, lib, place) = yard(|_, _| {}).await;
    write(&place, "notes.txt", "mine");
    std::fs::write(lib.work.join("notes.txt"), "theirs").unwrap();
    record(&yard, "lib", &lib.commit("newer"));
    let newer = push(&yard, "a file of the same name");
    let exactly = json!({"args": ["t"], "sync": "commit", "commit": newer});
    let events = yard.run("make", "main", exactly.clone()).await;
    let end = &events.last().unwrap().data;
    assert_eq!(end["code"], "workspace_has_work", "{end}");
    assert!(end["detail"].to_string().contains("lib/notes.txt"), "{end}");
    let reset = json!({"args": ["t"], "sync": "reset"});
    let events = yard.run("make", "main", reset).await;
    assert_eq!(warnings_of(&events), ["salvaged"]);
    assert_as_cloned(&yard, "main");
    let events = yard.run("make", "main", exactly).await;
    assert_eq!(text_of(&events), "newer");
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({"force": true})).await;
    assert_eq!(std::fs::read(place.join("notes.txt")).unwrap(), b"mine");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_emptied_is_filled_again_and_one_that_was_deleted_is_not() {
    let (mut yard, _lib, place) = yard(|_, _| {}).await;
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::create_dir(&place).unwrap();
    let events = yard.make("main", &["t"]).await;
    assert_eq!(
        (text_of(&events).as_str(), warnings_of(&events).len()),
        ("lib", 0)
    );
    assert_as_cloned(&yard, "main");
    git(
        &yard.workspace("main"),
        &["submodule", "deinit", "-q", "-f", "--all"],
    );
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "lib");
    std::fs::remove_dir_all(&place).unwrap();
    let events = yard.make("main", &["t"]).await;
    assert_eq!(events.last().unwrap().data["state"], "failed");
    assert!(!place.exists());
    let reset = json!({"args": ["t"], "sync": "reset"});
    assert_eq!(
        text_of(&yard.run("make", "main", reset.clone()).await),
        "lib"
    );
    // The store of all of them is lost.
    std::fs::remove_dir_all(yard.store().join("modules")).unwrap();
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "lib");
    // Something else is in its place.
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::write(&place, "mine").unwrap();
    assert_eq!(text_of(&yard.run("make", "main", reset).await), "lib");
    assert_as_cloned(&yard, "main");
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({"force": true})).await;
    assert_eq!(std::fs::read(&place).unwrap(), b"mine");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_made_and_recorded_here_is_built() {
    let (mut yard, lib, place) = yard(|_, _| {}).await;
    std::fs::write(place.join("file"), "mine").unwrap();
    git(&place, &["commit", "-q", "-am", "mine"]);
    git(
        &yard.workspace("main"),
        &["commit", "-q", "-am", "record it"],
    );
    let events = yard.make("main", &["t"]).await;
    assert_eq!(text_of(&events), "mine", "{events:#?}");
    let removed = yard
        .delete("/api/repos/demo/branches/main?force=true")
        .await;
    assert!(removed.status().is_success());
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({})).await;
    assert_eq!(git(&place, &["log", "-1", "--format=%s"]), "mine");
    assert_eq!(std::fs::read(place.join("file")).unwrap(), b"mine");
    drop(lib);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_do_what_a_sync_would() {
    let (mut yard, lib, place) = yard(|_, _| {}).await;
    let workspace = yard.workspace("main");
    record(&yard, "lib", &lib.commit("newer"));
    push(&yard, "two");
    git(&workspace, &["pull", "-q", "--ff-only"]);
    let allowed = "protocol.file.allow=always";
    git(&workspace, &["-c", allowed, "submodule", "update", "-q"]);
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert_eq!(described["pins"], json!([]));
    let events = yard.make("main", &["t"]).await;
    assert_eq!(
        (text_of(&events).as_str(), warnings_of(&events).len()),
        ("newer", 0)
    );
    assert_eq!(
        text_of(&follow(&yard, &lib.commit("newest")).await),
        "newest"
    );
    // What is committed in a worktree of the submodule is seen.
    let elsewhere = yard.dir.path().join("elsewhere");
    git(
        &place,
        &[
            "worktree",
            "add",
            "-q",
            "--detach",
            elsewhere.to_str().unwrap(),
        ],
    );
    commit_in(&elsewhere, "mine");
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert!(
        described["pins"].to_string().contains("the submodule lib"),
        "{described}"
    );
    yard.stop().await;
}
