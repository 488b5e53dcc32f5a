//! What we write is held against what git writes: for trees of every kind, and for those that are git's to refuse.

mod beside;
mod trees;

use std::fs;

use git2::{ObjectType, Oid};
use proptest::prelude::*;

use super::{Filled, LeftToGit, write_files};
use crate::{Error, Worktree, contents};
use beside::{Beside, nameless};
use trees::{Item, tree};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_tree_becomes_the_files_and_the_index_that_git_makes_of_it(root in tree()) {
        // For both, and unlike anybody's.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
        runtime().block_on(async {
            let beside = Beside::new();
            let commit = beside.commit(root.write(&beside.repo));
            let ours = beside.filled(&commit, "ours").await;
            let theirs = beside.filled_by_git(&commit, "theirs").await;
            beside.assert_equal(&ours, &theirs).await;
            if root.is_settled() {
                beside.assert_same_view(&ours, &theirs).await;
            }
        });
    }
}

#[tokio::test]
async fn plain_files_need_no_git_and_leave_a_settled_index() {
    let beside = Beside::new();
    let root = Item::directory([
        (
            ".gitattributes",
            Item::file("* text=auto eol=lf\n*.c diff=c\n"),
        ),
        (
            "a",
            Item::directory([("b", Item::directory([("c.c", Item::file("int c;\n"))]))]),
        ),
        ("a.c", Item::file("int a;\r\n")),
        ("link", Item::link("a/b")),
        ("run", Item::program("#!/bin/sh\n")),
        ("sub", Item::Submodule),
    ]);
    let commit = beside.commit(root.write(&beside.repo));
    for threads in [1, 4] {
        let worktree = beside.registered(&commit, &format!("with-{threads}")).await;
        let filled = write_files(&worktree, threads).unwrap();
        assert_eq!(filled, Filled::Whole);
        let index = worktree.admin().join("index");
        let written = fs::metadata(index).unwrap().modified().unwrap();
        let files = beside::listing(worktree.path());
        assert_eq!(files.len(), 8);
        assert!(files.values().all(|file| file.modified < written));
        beside::assert_true_index(&worktree, false);
    }
}

#[tokio::test]
async fn git_completes_what_it_converts() {
    let beside = Beside::new();
    let root = Item::directory([
        (".gitattributes", Item::file("*.bat text eol=crlf\n")),
        ("a.bat", Item::file("one\ntwo\n")),
        ("a.sh", Item::file("one\ntwo\n")),
    ]);
    let commit = beside.commit(root.write(&beside.repo));
    let worktree = beside.registered(&commit, "in-part").await;
    assert_eq!(write_files(&worktree, 2).unwrap(), Filled::InPart);
    assert!(!worktree.path().join("a.bat").exists());
    let whole = beside.filled(&commit, "whole").await;
    let content = |name| fs::read_to_string(whole.path().join(name)).unwrap();
    assert_eq!(content("a.bat"), "one\r\ntwo\r\n");
    assert_eq!(content("a.sh"), "one\ntwo\n");
}

#[tokio::test]
async fn a_worktree_of_a_new_branch_is_registered_as_git_does_it() {
    let beside = Beside::new();
    let commit = beside.commit(Item::directory([("a", Item::file("a"))]).write(&beside.repo));
    let ours = beside.registered(&commit, "feature/ours").await;
    let theirs = beside.registered_by_git(&commit, "feature/their").await;
    let (written, expected) = (
        beside::listing(ours.admin()),
        beside::listing(theirs.admin()),
    );
    assert_eq!(
        written.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (path, expected) in &expected {
        let written = &written[path];
        assert_eq!(written.mode, expected.mode, "{path}");
        // It gets its content from us in any case.
        if path != "config.worktree" {
            let written = nameless(&written.content, &ours);
            assert_eq!(written, nameless(&expected.content, &theirs), "{path}");
        }
    }
    let logs = beside.repo.path().join("logs/refs/heads");
    let log = |worktree: &Worktree| {
        let log = fs::read(logs.join(worktree.branch().as_str())).unwrap();
        nameless(&log, worktree)
    };
    assert_eq!(log(&ours), log(&theirs));
    assert!(ours.is_preparing());
    assert_eq!(ours.altered(), Vec::<&str>::new());
}

/// Trees as somebody with bad intentions would write them: by hand.
#[tokio::test]
async fn what_is_unusual_is_left_to_git_before_anything_is_written() {
    let beside = Beside::new();
    let blob = beside.repo.git2().blob(b"x").unwrap();
    let full = beside.raw_tree(&[("100644", b"x", blob)]);
    let empty = beside.raw_tree(&[]);
    let long = [b'n'; 300];
    let cases: [&[(&str, &[u8], Oid)]; 14] = [
        &[("100644", b"a", blob), ("100644", b".git", blob)],
        &[("100644", b"a", blob), ("40000", b".GIT", full)],
        &[("100644", b"a", blob), ("40000", b"git~1", full)],
        &[("100644", b"a", blob), ("40000", b"..", full)],
        &[("100644", b"a", blob), ("100644", b"a/b", blob)],
        &[("100644", b"a", blob), ("100644", b"a\\b", blob)],
        &[("120000", b".gitmodules", blob)],
        &[("100644", &long, blob)],
        &[("100644", b"b", blob), ("100644", b"a", blob)],
        &[("100644", b"a", blob), ("100644", b"a", blob)],
        // A link, and a directory of the same name to write through it.
        &[("120000", b"a", blob), ("40000", b"a", full)],
        &[("100664", b"a", blob)],
        &[("100644", b"a", blob), ("40000", b"b", empty)],
        &[],
    ];
    for (number, entries) in cases.iter().enumerate() {
        let commit = beside.commit(beside.raw_tree(entries));
        let worktree = beside.registered(&commit, &format!("case-{number}")).await;
        let left = write_files(&worktree, 2).expect_err(&format!("{entries:?}"));
        assert!(!matches!(left, LeftToGit::Io(_)), "{left}");
        assert!(beside::listing(worktree.path()).is_empty(), "{entries:?}");
        assert!(!worktree.admin().join("index").exists());
    }
}

#[tokio::test]
async fn a_setting_or_a_file_that_is_not_ours_leaves_it_all_to_git() {
    let beside = Beside::new();
    let commit = beside.commit(Item::directory([("a", Item::file("a"))]).write(&beside.repo));
    let occupied = beside.registered(&commit, "occupied").await;
    fs::write(occupied.path().join("mine"), "mine").unwrap();
    let left = write_files(&occupied, 1).unwrap_err();
    assert_eq!(left.to_string(), "the directory is not empty");

    let config = beside.repo.path().join("config");
    let before = fs::read_to_string(&config).unwrap();
    for setting in [
        "[core]\n\tautocrlf = true\n",
        "[filter \"x\"]\n\tsmudge = cat\n",
    ] {
        fs::write(&config, format!("{before}{setting}")).unwrap();
        let branch = format!("set-{}", setting.len());
        let worktree = beside.registered(&commit, &branch).await;
        let left = write_files(&worktree, 1).unwrap_err();
        assert!(left.to_string().ends_with("is set"), "{left}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_told_by_git() {
    let beside = Beside::new();
    let there = beside.repo.git2().blob(b"x").unwrap();
    let missing = Oid::hash_object(ObjectType::Blob, b"missing").unwrap();
    let tree = beside.raw_tree(&[("100644", b"a", there), ("100644", b"b", missing)]);
    let commit = beside.commit(tree);
    let worktree = beside.registered(&commit, "missing").await;
    let told = contents::fill(&worktree, &beside.git).await.unwrap_err();
    assert!(matches!(told, Error::Refused { .. }), "{told}");
    assert!(told.to_string().contains(&missing.to_string()), "{told}");
    assert!(worktree.is_preparing());
}
