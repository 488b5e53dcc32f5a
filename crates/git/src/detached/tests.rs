//! A detached worktree against a fresh checkout by git, after all that a build may have done to it.

mod hostile;
mod pair;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::{DetachedWorktree, Known, UntrackedFiles};
use crate::contents::tests::trees::{Item, tree};
use hostile::deed;
use pair::Pair;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn one() -> Item {
    Item::directory([
        (".gitignore", Item::file("target\n")),
        ("a", Item::file("a\n")),
        (
            "dir",
            Item::directory([
                ("b", Item::file("b\n")),
                ("c", Item::program("#!/bin/sh\n")),
                ("deep", Item::directory([("d", Item::file("d\n"))])),
            ]),
        ),
        ("dir.c", Item::file("int a;\n")),
        ("gone", Item::directory([("e", Item::file("e\n"))])),
        ("link", Item::link("a")),
        ("sub", Item::Submodule),
        ("turns", Item::file("into a directory\n")),
    ])
}

fn other() -> Item {
    Item::directory([
        (".gitignore", Item::file("target\n")),
        ("a", Item::file("A\n")),
        (
            "dir",
            Item::directory([
                ("b", Item::program("b\n")),
                ("c", Item::link("b")),
                ("deep", Item::file("not any more\n")),
            ]),
        ),
        ("dir.c", Item::file("int a;\n")),
        ("link", Item::file("a")),
        ("new", Item::file("new\n")),
        ("turns", Item::directory([("f", Item::file("f\n"))])),
    ])
}

#[tokio::test]
async fn moves_between_commits_leave_what_a_fresh_checkout_has() {
    let pair = Pair::new();
    let (one, other) = (pair.commit(&one()), pair.commit(&other()));
    for commit in [&one, &one, &other, &one] {
        pair.switch(commit, UntrackedFiles::Discard).await;
        pair.assert_exact(commit).await;
        pair.assert_clean().await;
    }
    let head = fs::read_to_string(pair.ours.admin().join("HEAD")).unwrap();
    assert_eq!(head, format!("{one}\n"));
}

#[tokio::test]
async fn files_that_stay_the_same_are_not_written_again() {
    let pair = Pair::new();
    let (one, other) = (pair.commit(&one()), pair.commit(&other()));
    pair.switch(&one, UntrackedFiles::Discard).await;
    let inode = |name| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(pair.files().join(name)).unwrap().ino()
    };
    let (same, changed) = (inode("dir.c"), inode("a"));
    pair.switch(&other, UntrackedFiles::Discard).await;
    assert_eq!(inode("dir.c"), same);
    assert_ne!(inode("a"), changed);
}

#[tokio::test]
async fn what_a_build_left_goes_and_output_is_kept_where_that_is_wanted() {
    let pair = Pair::new();
    let (one, other) = (pair.commit(&one()), pair.commit(&other()));
    pair.switch(&one, UntrackedFiles::Discard).await;
    let at = |name: &str| pair.files().join(name);
    let leave = || {
        fs::create_dir_all(at("target/debug")).unwrap();
        fs::write(at("target/debug/program"), "x").unwrap();
        fs::write(at("dir/output.o"), "x").unwrap();
        fs::write(at("dir/.gitattributes"), "* text eol=crlf\n").unwrap();
    };
    leave();
    pair.switch(&one, UntrackedFiles::Discard).await;
    pair.assert_exact(&one).await;
    leave();
    fs::write(at("gone/output"), "x").unwrap();
    fs::write(at("a"), "dirty").unwrap();
    pair.switch(&other, UntrackedFiles::Keep).await;
    for kept in ["target/debug/program", "dir/output.o", "gone/output"] {
        assert!(at(kept).exists(), "{kept}");
    }
    for gone in ["dir/.gitattributes", "gone/e", "sub"] {
        assert!(!at(gone).exists(), "{gone}");
    }
    assert_eq!(fs::read(at("a")).unwrap(), b"A\n");
    assert_eq!(pair.status(&["-uno"]).await, "");
    pair.switch(&other, UntrackedFiles::Discard).await;
    pair.assert_exact(&other).await;
}

#[tokio::test]
async fn attributes_convert_and_another_commit_converts_otherwise() {
    let pair = Pair::new();
    let with = |attributes: &str| {
        Item::directory([
            (".gitattributes", Item::file(attributes)),
            ("a.bat", Item::file("one\ntwo\n")),
            ("b.bat", Item::file("one\ntwo\n")),
        ])
    };
    let one = pair.commit(&with("*.bat text eol=crlf\n"));
    let other = pair.commit(&with("a.bat text eol=crlf\n"));
    for (commit, b) in [
        (&one, "one\r\ntwo\r\n"),
        (&other, "one\ntwo\n"),
        (&one, "one\r\ntwo\r\n"),
    ] {
        pair.switch(commit, UntrackedFiles::Discard).await;
        pair.assert_exact(commit).await;
        let content = fs::read_to_string(pair.files().join("b.bat")).unwrap();
        assert_eq!(content, b);
    }
}

#[tokio::test]
async fn a_tree_that_is_empty_or_unusual_is_left_to_git() {
    let pair = Pair::new();
    let (one, empty) = (pair.commit(&one()), pair.commit(&Item::directory([])));
    let unusual = pair.commit(&Item::directory([("git~x", Item::file("x"))]));
    for commit in [&one, &empty, &one, &unusual, &unusual, &one] {
        pair.switch(commit, UntrackedFiles::Keep).await;
        pair.assert_exact(commit).await;
    }
}

#[tokio::test]
async fn nothing_in_the_registration_outlives_a_switch() {
    let pair = Pair::new();
    let commit = pair.commit(&one());
    pair.switch(&commit, UntrackedFiles::Discard).await;
    let admin = pair.ours.admin();
    for dir in [
        "hooks",
        "info",
        "modules/sub",
        "rebase-merge",
        "refs/bisect",
    ] {
        fs::create_dir_all(admin.join(dir)).unwrap();
    }
    fs::write(admin.join("info/sparse-checkout"), "/a\n").unwrap();
    fs::write(admin.join("info/attributes"), "* text eol=crlf\n").unwrap();
    fs::write(admin.join("refs/bisect/bad"), "x").unwrap();
    fs::write(admin.join("config"), "[core]\n\thooksPath = hooks\n").unwrap();
    fs::write(admin.join("config.worktree"), "[core]\n\tfsmonitor = x\n").unwrap();
    fs::write(admin.join("index.lock"), "").unwrap();
    fs::write(admin.join("gitdir"), "/elsewhere/.git\n").unwrap();
    let pipe = |name: &str| {
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, admin.join(name), mode).unwrap();
    };
    pipe("HEAD.branchyard");
    pipe("index.branchyard");
    fs::remove_file(admin.join("commondir")).unwrap();
    pipe("commondir");
    pair.switch(&commit, UntrackedFiles::Discard).await;
    pair.assert_exact(&commit).await;
    let mut names: Vec<_> = fs::read_dir(admin)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "HEAD",
        "branchyard-scratch.json",
        "commondir",
        "config.worktree",
        "gitdir",
        "index",
        "refs",
    ];
    assert_eq!(names, expected);
    assert_eq!(fs::read_dir(admin.join("refs")).unwrap().count(), 0);
}

/// Has the index say that it vouches for all files, whatever they are.
async fn overlook_all(pair: &Pair) {
    let names = ["a", "dir/b", "dir/c", "dir.c"];
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let mut args = vec!["update-index", flag];
        args.extend(names);
        pair.say(&args).await;
    }
}

#[tokio::test]
async fn an_index_that_is_not_ours_vouches_for_nothing() {
    let pair = Pair::new();
    let commit = pair.commit(&one());
    pair.switch(&commit, UntrackedFiles::Discard).await;
    overlook_all(&pair).await;
    fs::write(pair.files().join("a"), "evil\n").unwrap();
    fs::write(pair.files().join("target"), "ignored").unwrap();
    assert_eq!(pair.status(&[]).await, "");
    assert!(!pair.ours.is_whole());
    // As the caller would not do it: it makes such a one anew.
    pair.switch(&commit, UntrackedFiles::Keep).await;
    pair.assert_exact(&commit).await;
}

#[tokio::test]
async fn what_is_half_made_is_not_whole() {
    let pair = Pair::new();
    assert!(!pair.ours.is_there());
    pair.ours.make_anew(pair.git.trash()).unwrap();
    assert!(pair.ours.is_there() && !pair.ours.is_whole());
    let commit = pair.commit(&one());
    pair.switch(&commit, UntrackedFiles::Discard).await;
    assert!(pair.ours.is_whole());
    assert_eq!(pair.ours.used(), Some(7));
    Known::forget(pair.ours.admin()).unwrap();
    fs::create_dir_all(pair.ours.admin().join("discarded/0")).unwrap();
    fs::remove_file(pair.files().join("a")).unwrap();
    assert!(!pair.ours.is_whole());
    pair.switch(&commit, UntrackedFiles::Discard).await;
    pair.assert_exact(&commit).await;
    pair.ours.discard(pair.git.trash()).unwrap();
    assert!(!pair.ours.is_there());
}

#[test]
fn directories_that_are_closed_to_everybody_go() {
    be_nobody_special();
    runtime().block_on(async {
        let pair = Pair::new();
        let (one, other) = (pair.commit(&one()), pair.commit(&other()));
        pair.switch(&one, UntrackedFiles::Discard).await;
        let close = |name: &str| {
            let closed = fs::Permissions::from_mode(0o000);
            fs::set_permissions(pair.files().join(name), closed).unwrap();
        };
        fs::create_dir_all(pair.files().join("target/cache")).unwrap();
        fs::write(pair.files().join("target/cache/x"), "x").unwrap();
        for name in ["target/cache", "target", "dir/deep", "dir", "a", "sub"] {
            close(name);
        }
        pair.switch(&other, UntrackedFiles::Discard).await;
        pair.assert_exact(&other).await;
    });
}

/// As for any user but root, whom no permission keeps out.
fn be_nobody_special() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).unwrap();
}

#[tokio::test]
async fn a_root_that_is_no_directory_is_not_whole_and_no_link_is_followed() {
    let pair = Pair::new();
    let commit = pair.commit(&one());
    pair.switch(&commit, UntrackedFiles::Discard).await;
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "x").unwrap();
    symlink(elsewhere.path(), pair.files().join("out")).unwrap();
    fs::remove_dir_all(pair.files().join("dir")).unwrap();
    symlink(elsewhere.path(), pair.files().join("dir")).unwrap();
    pair.switch(&commit, UntrackedFiles::Discard).await;
    pair.assert_exact(&commit).await;
    fs::remove_dir_all(pair.files()).unwrap();
    symlink(elsewhere.path(), pair.files()).unwrap();
    assert!(!pair.ours.is_whole());
    pair.ours.make_anew(pair.git.trash()).unwrap();
    pair.switch(&commit, UntrackedFiles::Discard).await;
    pair.assert_exact(&commit).await;
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn numbers_and_directories_are_told_by_each_other() {
    assert_eq!(DetachedWorktree::number_of("@scratch-12"), Some(12));
    for dir in [
        "@scratch-",
        "@scratch-01",
        "@scratch--1",
        "scratch-1",
        "@scratch-1x",
        "@scratch-+1",
    ] {
        assert_eq!(DetachedWorktree::number_of(dir), None, "{dir}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_switch_leaves_what_a_fresh_checkout_has(
        steps in prop::collection::vec((tree(), prop::collection::vec(deed(), 0..8)), 2..5),
        keeps in any::<bool>(),
    ) {
        runtime().block_on(async {
            let pair = Pair::new();
            for (root, deeds) in steps {
                let commit = pair.commit(&root);
                if keeps {
                    pair.switch(&commit, UntrackedFiles::Keep).await;
                    pair.assert_tracked(&commit).await;
                }
                pair.switch(&commit, UntrackedFiles::Discard).await;
                pair.assert_exact(&commit).await;
                if root.is_settled() {
                    pair.assert_clean().await;
                }
                for deed in &deeds {
                    deed.commit_in(pair.files());
                }
            }
        });
    }
}

/// What is about a tree of many files: how long it takes beside git.
#[tokio::test]
#[ignore = "takes a minute; prints how long moves take"]
async fn how_long_moves_take() {
    let pair = Pair::new();
    pair.measure(20_000).await;
}
