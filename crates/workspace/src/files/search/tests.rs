use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};

use super::*;
use crate::GrepRequest;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn grep(&self, request: GrepRequest) -> Matches {
        self.grep_while(request, || false)
    }

    fn grep_while(&self, request: GrepRequest, is_over: impl Fn() -> bool) -> Matches {
        let root = FileRoot::at(self.0.path(), self.0.path()).unwrap();
        let grep = request.check().unwrap();
        grep.search(&root, &is_over).unwrap()
    }

    fn paths(&self, request: GrepRequest) -> Vec<String> {
        let found = self.grep(request);
        found.matches.into_iter().map(|found| found.path).collect()
    }
}

fn looking_for(pattern: &str) -> GrepRequest {
    GrepRequest {
        pattern: pattern.to_owned(),
        ..GrepRequest::default()
    }
}

fn beneath(path: &str) -> GrepRequest {
    GrepRequest {
        path: path.to_owned(),
        ..looking_for("x")
    }
}

#[test]
fn the_trees_own_gitignore_decides_and_nothing_above_it() {
    let tree = Tree::new(&[
        (".gitignore", "target/\n*.log\n/only-here\n"),
        (".git/config", "x"),
        ("sub/.git", "x"),
        (".hidden/a", "x"),
        ("a.log", "x"),
        ("only-here", "x"),
        ("sub/.gitignore", "!keep.log\nown\n"),
        ("sub/keep.log", "x"),
        ("sub/only-here", "x"),
        ("sub/own/a", "x"),
        ("sub/other.log", "x"),
        ("target/a", "x"),
        ("target/b.log", "x"),
    ]);
    let found = tree.paths(looking_for("^x"));
    assert_eq!(found, [".hidden/a", "sub/keep.log", "sub/only-here"]);
    // What is named is searched though its directory is ignored.
    assert_eq!(tree.paths(beneath("target")), ["target/a"]);
    assert_eq!(
        tree.paths(beneath("sub")),
        ["sub/keep.log", "sub/only-here"]
    );
    assert_eq!(tree.paths(beneath("target/b.log")), ["target/b.log"]);
}

#[test]
fn globs_are_meant_for_names_or_for_paths() {
    let tree = Tree::new(&[
        ("a.c", "x"),
        ("b/a.c", "x"),
        ("b/a.h", "x"),
        ("b/c/a.c", "x"),
    ]);
    let with = |glob: &str| {
        tree.paths(GrepRequest {
            glob: Some(glob.to_owned()),
            ..looking_for("x")
        })
    };
    assert_eq!(with("*.c"), ["a.c", "b/a.c", "b/c/a.c"]);
    assert_eq!(with("*.{c,h}").len(), 4);
    assert_eq!(with("b/*.c"), ["b/a.c"]);
    assert_eq!(with("/b/**"), ["b/a.c", "b/a.h", "b/c/a.c"]);
}

#[test]
fn a_search_that_was_cut_goes_on_where_it_stopped() {
    let tree = Tree::new(&[
        ("a/b", "x\nx\n"),
        ("a.txt", "x\nno\nx\n"),
        ("a%:\n", "x\n"),
        ("a/c/d", "x\n"),
        ("empty", ""),
        ("z", "x\n"),
    ]);
    let lines = |found: &Matches| -> Vec<_> {
        let matches = found.matches.iter();
        matches
            .map(|found| (found.path.clone(), found.line))
            .collect()
    };
    let whole = tree.grep(looking_for("x"));
    assert!(!whole.truncated && whole.next.is_none());
    for limit in 1..8 {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let found = tree.grep(GrepRequest {
                limit: Some(limit),
                cursor,
                ..looking_for("x")
            });
            assert!(found.matches.len() <= limit);
            all.extend(lines(&found));
            assert_eq!(found.truncated, found.next.is_some());
            cursor = found.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(all, lines(&whole), "by {limit}");
    }
}

#[test]
fn a_search_without_time_says_how_far_it_came() {
    let tree = Tree::new(&[("a", "x\n"), ("b", "x\n"), ("c/d", "x\n")]);
    let nothing = tree.grep_while(looking_for("x"), || true);
    assert!(nothing.truncated && nothing.matches.is_empty());
    let looks = std::cell::Cell::new(0);
    let some = tree.grep_while(looking_for("x"), || looks.replace(looks.get() + 1) == 1);
    assert!(some.truncated);
    assert_eq!(some.matches.len(), 1);
    let rest = tree.grep(GrepRequest {
        cursor: some.next,
        ..looking_for("x")
    });
    assert_eq!((rest.matches.len(), rest.truncated), (2, false));
    // Within a large file, too.
    tree.write("a", &"no\n".repeat(100_000));
    let looks = std::cell::Cell::new(0);
    let some = tree.grep_while(looking_for("x"), || looks.replace(looks.get() + 1) == 2);
    assert!(some.truncated && some.next.unwrap().ends_with(":a"));
}

#[test]
fn a_search_comes_to_its_end_however_little_time_it_has_at_once() {
    let tree = Tree::new(&[
        ("a/not-meant", "x\n"),
        ("b/not-meant", "x\n"),
        ("c/binary.c", "x\0\n"),
        ("d/binary.c", "x\0\n"),
        ("e/last.c", "x\n"),
    ]);
    let mut cursor = None;
    let mut found = Vec::new();
    for _ in 0..10 {
        // Time for one directory, the file in it, and what comes next.
        let looks = std::cell::Cell::new(0);
        let some = tree.grep_while(
            GrepRequest {
                glob: Some("*.c".to_owned()),
                cursor: cursor.take(),
                ..looking_for("x")
            },
            || looks.replace(looks.get() + 1) >= 3,
        );
        found.extend(some.matches.into_iter().map(|found| found.path));
        cursor = some.next;
        if !some.truncated {
            break;
        }
        assert!(cursor.is_some(), "it says where to go on");
    }
    assert_eq!((found, cursor), (vec!["e/last.c".to_owned()], None));
}

#[test]
fn a_search_can_stop_among_ignored_files() {
    let tree = Tree::new(&[(".gitignore", "*.o\n")]);
    for n in 0..20 {
        tree.write(&format!("{n}.o"), "x\n");
    }
    let looks = std::cell::Cell::new(0);
    let found = tree.grep_while(looking_for("x"), || {
        looks.set(looks.get() + 1);
        false
    });
    assert!(found.matches.is_empty() && looks.get() >= 20, "{looks:?}");
}

#[test]
fn what_was_made_to_do_harm_costs_itself_alone() {
    let tree = Tree::new(&[
        ("a", "x\n"),
        ("pipes/b", "x\n"),
        ("links/c", "x\n"),
        ("big/d", "x\n"),
    ]);
    let root = tree.0.path();
    let fifo = |path: &str| {
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join(path), Mode::from(0o600)).unwrap();
    };
    fifo("pipe");
    fifo("pipes/.gitignore");
    symlink("/dev/zero", root.join("links/.gitignore")).unwrap();
    symlink("/etc", root.join("links/etc")).unwrap();
    symlink("a", root.join("links/file")).unwrap();
    symlink(".", root.join("links/loop")).unwrap();
    for path in ["huge", "big/.gitignore"] {
        let file = fs::File::create(root.join(path)).unwrap();
        file.set_len(2 << 30).unwrap();
    }
    tree.write("binary", "x\0");
    let found = tree.grep(looking_for("x|root:"));
    let paths: Vec<_> = found.matches.iter().map(|found| &*found.path).collect();
    assert_eq!(paths, ["a", "big/d", "links/c", "pipes/b"]);
    assert!(found.skipped >= 3, "{found:?}");
}

#[test]
fn a_tree_deeper_than_any_path_is_searched_as_far_as_paths_go() {
    let tree = Tree::new(&[("a", "x\n")]);
    let name = "d".repeat(200);
    let mut dir = rustix::fs::open(tree.0.path(), OFlags::PATH, Mode::empty()).unwrap();
    for _ in 0..40 {
        rustix::fs::mkdirat(&dir, &*name, Mode::from(0o700)).unwrap();
        dir = rustix::fs::openat(&dir, &*name, OFlags::PATH, Mode::empty()).unwrap();
    }
    let found = tree.grep(looking_for("x"));
    assert_eq!((found.matches.len(), found.skipped), (1, 1));
}

#[test]
fn a_request_that_makes_no_sense_is_named() {
    let limit = |limit| GrepRequest {
        limit: Some(limit),
        ..looking_for("x")
    };
    let glob = |glob: &str| GrepRequest {
        glob: Some(glob.to_owned()),
        ..looking_for("x")
    };
    for (request, field) in [
        (looking_for(""), "pattern"),
        (looking_for("("), "pattern"),
        (looking_for("(a{100}){100}{100}"), "pattern"),
        (limit(0), "limit"),
        (limit(1_001), "limit"),
        (
            GrepRequest {
                context: 11,
                ..looking_for("x")
            },
            "context",
        ),
        (glob("a["), "glob"),
        (glob(&"{a,".repeat(200)), "glob"),
        (
            GrepRequest {
                cursor: Some("x".into()),
                ..looking_for("x")
            },
            "cursor",
        ),
    ] {
        let problem = request.clone().check().unwrap_err();
        assert_eq!(problem.field.as_deref(), Some(field), "{request:?}");
    }
}
