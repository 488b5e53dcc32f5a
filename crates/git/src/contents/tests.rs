//! What we write is held against what git writes: for trees of every kind, and for those that are git's to refuse.

pub(crate) mod beside;
pub(crate) mod trees;

use std::fs;

use git2::{ObjectType, Oid};
use proptest::prelude::*;

use super::Moved;
use crate::checkout::write_files;
use crate::verbs::delta::{ChangeKind, Side};
use crate::{Error, IndexFile, Worktree, contents};
use beside::{Beside, nameless};
use branchyard_model::CommitId;
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
            let theirs = beside.filled_by_git(&commit, "theirs").await.unwrap();
            beside.assert_equal(&ours, &theirs).await;
            if root.is_settled() {
                beside.assert_same_view(&ours, &theirs).await;
            }
        });
    }
}

#[tokio::test]
async fn files_of_every_kind_leave_an_index_that_is_true() {
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
    let worktree = beside.registered(&commit, "feature").await;
    assert!(write_files(&worktree).unwrap(), "something was left to git");
    assert_eq!(beside::listing(worktree.path()).len(), 8);
    beside::assert_true_index(&worktree, false);
    let index = IndexFile::read(&worktree.admin().join("index")).unwrap();
    let index = index.unwrap();
    let is_racy = |entry| index.is_racy(&index.stat(entry));
    assert!(!index.entries().iter().any(is_racy), "git reads them again");
}

#[tokio::test]
async fn attributes_convert_what_is_written() {
    let beside = Beside::new();
    let root = Item::directory([
        (".gitattributes", Item::file("*.bat text eol=crlf\n")),
        ("a.bat", Item::file("one\ntwo\n")),
        ("a.sh", Item::file("one\ntwo\n")),
    ]);
    let commit = beside.commit(root.write(&beside.repo));
    let worktree = beside.registered(&commit, "in-part").await;
    assert!(!write_files(&worktree).unwrap());
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
async fn what_is_unusual_is_refused_or_written_as_git_does_it() {
    let beside = Beside::new();
    let blob = beside.repo.git2().blob(b"x").unwrap();
    let full = beside.raw_tree(&[("100644", b"x", blob)]);
    let empty = beside.raw_tree(&[]);
    let long = [b'n'; 300];
    let deep = beside.raw_tree(&[("40000", b"b", full)]);
    let bomb = beside.repo.git2().blob(&b"* ident\n".repeat(2000)).unwrap();
    let quoted = beside.repo.git2().blob(b"\"a\"eol=crlf\n").unwrap();
    let blank = beside.repo.git2().blob(b"\x0c# eol=crlf\n").unwrap();
    let lines = beside.repo.git2().blob(b"1\n2\n").unwrap();
    let cases: [&[(&str, &[u8], Oid)]; 22] = [
        &[("100644", b"a", blob), ("100644", b".git", blob)],
        &[("100644", b"a", blob), ("40000", b".GIT", full)],
        &[("100644", b"a", blob), ("40000", b"git~1", full)],
        &[("100644", b"a", blob), ("40000", b"..", full)],
        &[("100644", b"a", blob), ("100644", b"a/b", blob)],
        &[("100644", b"a", blob), ("100644", b"a\\b", blob)],
        &[("120000", b".gitmodules", blob)],
        &[("100644", &long, blob)],
        &[("120000", b"gi7e~100", blob)],
        &[("160000", b"sub", Oid::ZERO_SHA1)],
        &[("100644", b".gitattributes", bomb), ("100644", b"a", lines)],
        &[
            ("100644", b".gitattributes", quoted),
            ("100644", b"a", lines),
        ],
        &[
            ("100644", b"\x0c#", lines),
            ("100644", b".gitattributes", blank),
        ],
        &[("100644", b"b", blob), ("100644", b"a", blob)],
        &[("100644", b"a", blob), ("100644", b"a", blob)],
        // A link, and a directory of the same name to write through it.
        &[("120000", b"a", blob), ("40000", b"a", full)],
        &[("120000", b"a", blob), ("40000", b"a", deep)],
        &[("40000", b"a", full), ("40000", b"a", deep)],
        &[("100664", b"a", blob)],
        &[("100600", b"a", blob)],
        &[("100644", b"a", blob), ("40000", b"b", empty)],
        &[],
    ];
    for (number, entries) in cases.iter().enumerate() {
        let commit = beside.commit(beside.raw_tree(entries));
        let ours = beside.registered(&commit, &format!("ours-{number}")).await;
        if write_files(&ours).is_err() {
            assert!(beside::listing(ours.path()).is_empty(), "{entries:?}");
            assert!(!ours.admin().join("index").exists());
        }
        let filled = contents::fill(&ours, &beside.git).await;
        let theirs = beside
            .filled_by_git(&commit, &format!("theirs-{number}"))
            .await;
        assert_eq!(filled.is_ok(), theirs.is_ok(), "{entries:?}: {filled:?}");
        assert_eq!(ours.is_preparing(), filled.is_err());
        assert_eq!(ours.altered(), Vec::<&str>::new(), "{entries:?}");
        if let Ok(theirs) = theirs {
            beside.assert_equal(&ours, &theirs).await;
        }
    }
}

#[tokio::test]
async fn what_is_there_already_stays() {
    let beside = Beside::new();
    let root = Item::directory([("a", Item::file("a")), ("b", Item::file("b"))]);
    let commit = beside.commit(root.write(&beside.repo));
    let occupied = beside.registered(&commit, "occupied").await;
    for name in ["a", "mine"] {
        fs::write(occupied.path().join(name), "mine").unwrap();
    }
    contents::fill(&occupied, &beside.git).await.unwrap();
    let content = |name| fs::read_to_string(occupied.path().join(name)).unwrap();
    assert_eq!(["a", "b", "mine"].map(content), ["mine", "b", "mine"]);
}

#[tokio::test]
async fn settings_of_the_store_count() {
    let beside = Beside::new();
    let commit = beside.commit(Item::directory([("a", Item::file("a\n"))]).write(&beside.repo));
    let config = beside.repo.path().join("config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}[core]\n\tautocrlf = true\n")).unwrap();
    let ours = beside.filled(&commit, "ours").await;
    let theirs = beside.filled_by_git(&commit, "theirs").await.unwrap();
    beside.assert_equal(&ours, &theirs).await;
    assert_eq!(fs::read(ours.path().join("a")).unwrap(), b"a\r\n");
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

#[tokio::test]
async fn a_mode_that_git_never_writes_is_taken_as_git_takes_it() {
    let beside = Beside::new();
    let blob = beside.repo.git2().blob(b"x").unwrap();
    let plain = beside.commit(beside.raw_tree(&[("100644", b"a", blob)]));
    let odd = beside.raw_tree(&[
        ("100644", b"a", blob),
        ("100600", b"b", blob),
        ("100700", b"c", blob),
        ("120001", b"d", blob),
    ]);
    let odd = beside.commit(odd);
    let worktree = beside.filled(&plain, "moved").await;
    let seen = contents::tips(&worktree).unwrap();
    let moved = contents::move_to(&worktree, &beside.git, &odd, seen).await;
    assert!(matches!(moved, Ok(Moved::Done(None))), "{moved:?}");
    let theirs = beside.filled_by_git(&odd, "theirs").await.unwrap();
    beside.assert_equal(&worktree, &theirs).await;

    let tree = |commit: &CommitId| beside.repo.tree_of(Oid::from_str(commit.as_str()).unwrap());
    let (old, new) = (tree(&plain).unwrap(), tree(&odd).unwrap());
    let diff = beside.repo.diff_trees(Some(&old), Some(&new)).unwrap();
    let modes = [0o100_644, 0o100_755, 0o120_000];
    assert_eq!(diff.deltas().len(), modes.len());
    for (delta, mode) in diff.deltas().zip(modes) {
        assert_eq!(ChangeKind::of(&delta), Some(ChangeKind::Added));
        let side = Side::of(&delta.new_file());
        assert_eq!(side, Some(Side::new(mode, Some(blob))));
    }
    let same = beside.raw_tree(&[("100600", b"a", blob)]);
    let same = beside.repo.git2().find_tree(same).unwrap();
    let diff = beside.repo.diff_trees(Some(&old), Some(&same)).unwrap();
    assert_eq!(
        diff.get_delta(0).map(|delta| ChangeKind::of(&delta)),
        Some(None)
    );
}

#[tokio::test]
async fn few_trees_of_many_long_paths_are_not_taken_into_memory() {
    let beside = Beside::new();
    let blob = beside.repo.git2().blob(b"x").unwrap();
    let (one, other) = ([b'a'; 250], [b'b'; 250]);
    let mut tree = beside.raw_tree(&[("100644", &one, blob), ("100644", &other, blob)]);
    // Twice as many paths with each: 32,768 of 3,764 bytes, 123 MB.
    for _ in 1..15 {
        tree = beside.raw_tree(&[("40000", &one, tree), ("40000", &other, tree)]);
    }
    let worktree = beside.registered(&beside.commit(tree), "bomb").await;
    let left = write_files(&worktree).unwrap_err();
    assert!(left.to_string().contains("leave files to git"), "{left}");
    assert!(beside::listing(worktree.path()).is_empty());
}
