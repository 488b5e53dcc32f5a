//! Every kind of conflict: told for what it is, put back byte for byte, resolved to either side.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::{Work, fork, snapshot, told, write};
use crate::support::{Yard, git, try_git};

struct Kind {
    name: &'static str,
    base: Work,
    ours: Work,
    theirs: Work,
    told: &'static [(&'static str, &'static str, &'static str)],
}

const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\n";

fn remove(at: &Path, path: &str) {
    std::fs::remove_file(at.join(path)).unwrap();
}

fn rename(at: &Path, from: &str, to: &str) {
    std::fs::rename(at.join(from), at.join(to)).unwrap();
}

fn link(at: &Path, path: &str, to: &str) {
    let path = at.join(path);
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(&path).unwrap();
    }
    symlink(to, path).unwrap();
}

fn submodule(at: &Path, path: &str, digit: &str) {
    std::fs::create_dir_all(at.join(path)).unwrap();
    let entry = format!("160000,{},{path}", digit.repeat(40));
    git(at, &["update-index", "--add", "--cacheinfo", &entry]);
}

async fn each(kinds: &[Kind]) {
    let mut yard = Yard::new().await;
    for kind in kinds {
        let name = kind.name;
        let (ours, theirs) = fork(&yard, name, kind.base, kind.ours, kind.theirs).await;
        let workspace = yard.workspace(&ours);
        let before = snapshot(&workspace);
        let tip = git(&workspace, &["rev-parse", "HEAD"]);

        let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
        assert_eq!(merged["state"], "conflicts", "{name}: {merged}");
        assert_eq!(told(&merged), kind.told, "{name}: {merged}");
        assert_eq!(merged["head_before"], tip.as_str(), "{name}");
        let aborted = yard
            .verb(&ours, "merge", json!({ "action": "abort" }))
            .await;
        assert_eq!(aborted["state"], "aborted", "{name}");
        assert_eq!(snapshot(&workspace), before, "{name}");
        assert_eq!(
            yard.salvages(&ours).await.len(),
            0,
            "{name}: nobody did anything"
        );

        for (side, of) in [
            ("ours", &tip),
            ("theirs", &git(&workspace, &["rev-parse", &theirs])),
        ] {
            yard.verb(&ours, "merge", json!({ "from": theirs })).await;
            let resolved = yard.verb(&ours, "resolve", json!({ "all": side })).await;
            assert_eq!(resolved["conflicts"], json!([]), "{name} {side}");
            let paths: Vec<_> = kind.told.iter().map(|(path, ..)| *path).collect();
            assert_eq!(resolved["resolved"], json!(paths), "{name} {side}");
            let done = yard
                .verb(&ours, "merge", json!({ "action": "continue" }))
                .await;
            assert_eq!(done["state"], "done", "{name} {side}: {done}");
            assert_eq!(done["dirty"], false, "{name} {side}");
            for path in paths {
                let at = |rev: &str| {
                    // A file that makes way for a directory stands beside it.
                    let path = path
                        .split('~')
                        .next()
                        .filter(|_| rev == *of)
                        .unwrap_or(path);
                    let entry = try_git(&workspace, &["ls-tree", rev, path]);
                    let entry = String::from_utf8(entry.stdout).unwrap();
                    let entry = entry.split('\t').next().unwrap().to_owned();
                    // Of a directory no side of the conflict is.
                    match entry.contains("tree") {
                        true => String::new(),
                        false => entry,
                    }
                };
                assert_eq!(at("HEAD"), at(of), "{name} {side}: {path}");
            }
            let parents = git(&workspace, &["rev-list", "--parents", "-1", "HEAD"]);
            assert_eq!(parents.split(' ').count(), 3, "{name} {side}");
            git(&workspace, &["reset", "-q", "--hard", &tip]);
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn changes_additions_and_deletions() {
    each(&[
        Kind {
            name: "content",
            base: |at| write(at, "f", "1\n2\n3\n"),
            ours: |at| write(at, "f", "1\nours\n3\n"),
            theirs: |at| write(at, "f", "1\ntheirs\n3\n"),
            told: &[("f", "both_modified", "text")],
        },
        Kind {
            name: "added",
            base: |_| {},
            ours: |at| write(at, "new/f", "ours\n"),
            theirs: |at| write(at, "new/f", "theirs\n"),
            told: &[("new/f", "both_added", "text")],
        },
        Kind {
            name: "deleted-by-them",
            base: |at| write(at, "d/f", TEXT),
            ours: |at| write(at, "d/f", "ours\n"),
            theirs: |at| remove(at, "d/f"),
            told: &[("d/f", "deleted_by_them", "text")],
        },
        Kind {
            name: "deleted-by-us",
            base: |at| write(at, "d/f", TEXT),
            ours: |at| remove(at, "d/f"),
            theirs: |at| write(at, "d/f", "theirs\n"),
            told: &[("d/f", "deleted_by_us", "text")],
        },
    ])
    .await;
}

#[tokio::test]
async fn renames_and_directories() {
    each(&[
        Kind {
            name: "renamed",
            base: |at| write(at, "f", TEXT),
            ours: |at| rename(at, "f", "a"),
            theirs: |at| rename(at, "f", "b"),
            told: &[
                ("a", "added_by_us", "text"),
                ("b", "added_by_them", "text"),
                ("f", "both_deleted", "text"),
            ],
        },
        Kind {
            name: "renamed-deleted",
            base: |at| write(at, "f", TEXT),
            ours: |at| rename(at, "f", "a"),
            theirs: |at| remove(at, "f"),
            told: &[("a", "deleted_by_them", "text")],
        },
        Kind {
            name: "directory",
            base: |_| {},
            ours: |at| write(at, "d", "a file\n"),
            theirs: |at| write(at, "d/f", "in a directory\n"),
            told: &[("d~HEAD", "added_by_us", "text")],
        },
    ])
    .await;
}

#[tokio::test]
async fn what_is_no_text() {
    each(&[
        Kind {
            name: "binary",
            base: |at| write(at, "f", "\0base"),
            ours: |at| write(at, "f", "\0ours"),
            theirs: |at| write(at, "f", "\0theirs"),
            told: &[("f", "both_modified", "binary")],
        },
        Kind {
            name: "link",
            base: |at| link(at, "l", "base"),
            ours: |at| link(at, "l", "ours"),
            theirs: |at| link(at, "l", "/etc/passwd"),
            told: &[("l", "both_modified", "symlink")],
        },
        Kind {
            name: "mode",
            base: |_| {},
            ours: |at| write(at, "f", "same\n"),
            theirs: |at| {
                write(at, "f", "same\n");
                let executable = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(at.join("f"), executable).unwrap();
            },
            told: &[("f", "both_added", "text")],
        },
        Kind {
            name: "submodule",
            base: |at| submodule(at, "sub", "1"),
            ours: |at| submodule(at, "sub", "2"),
            theirs: |at| submodule(at, "sub", "3"),
            told: &[("sub", "both_modified", "submodule")],
        },
    ])
    .await;
}

#[tokio::test]
async fn a_file_that_both_renamed_is_told_with_its_old_name() {
    let mut yard = Yard::new().await;
    let (ours, theirs) = fork(
        &yard,
        "both",
        |at| write(at, "f", TEXT),
        |at| {
            rename(at, "f", "a");
            write(at, "unrelated", "x\n");
        },
        |at| {
            rename(at, "f", "b");
            write(at, "b", &format!("{TEXT}h\n"));
        },
    )
    .await;
    let merged = yard.verb(&ours, "merge", json!({ "from": theirs })).await;
    let conflicts = merged["conflicts"].as_array().unwrap();
    let named: Vec<_> = conflicts
        .iter()
        .map(|conflict| (&conflict["path"], &conflict["renamed_from"]))
        .collect();
    let (a, b, f, none) = (json!("a"), json!("b"), json!("f"), json!(null));
    assert_eq!(named, [(&a, &f), (&b, &f), (&f, &none)]);
    yard.stop().await;
}
