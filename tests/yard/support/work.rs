//! Every kind of work that a user could miss.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, getxattr, mknodat, setxattr};

use super::beside::{Beside, add, work};
use super::{Yard, git, try_git};

/// An upstream with what the kinds of work need: each branch of `branches` at its own commit, `other`
/// ahead of all, and `clash`, which changes the same line.
pub fn upstream(yard: &Yard, branches: &[String]) {
    Beside::new(yard, "inner");
    let lib = Beside::new(yard, "lib");
    add(&lib.work, "../inner.git", "inner");
    lib.record();
    yard.origin.at("main");
    add(&work(yard), "../lib.git", "lib");
    yard.origin.commit("a submodule");
    yard.origin.push("main");
    yard.origin.git(&["branch", "-f", "main", "HEAD"]);
    yard.origin.branch("clash");
    yard.origin.branch("base");
    for branch in branches {
        yard.origin.push(branch);
    }
    yard.origin.write("other.txt", "other\n");
    yard.origin.commit("other");
    yard.origin.push("other");
}

/// A git commit as the branch's own, in its workspace.
pub fn commit_in(workspace: &Path, message: &str) {
    git(workspace, &["commit", "-q", "--allow-empty", "-m", message]);
}

/// Everything that a user could miss: how it is made, and the words that the refusal says it with.
pub type Work = (&'static str, fn(&Yard, &Path, &str), &'static str);

pub const WORK: &[Work] = &[
    (
        "a tracked edit",
        |_, w, _| write(w, "name.txt", "mine\n"),
        "tracked files",
    ),
    (
        "a deleted file",
        |_, w, _| std::fs::remove_file(w.join("name.txt")).unwrap(),
        "tracked files",
    ),
    (
        "staged only",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["add", "name.txt"]);
            write(w, "name.txt", "work\n");
        },
        "tracked files",
    ),
    (
        "a new file, staged and gone",
        |_, w, _| {
            write(w, "new.txt", "mine\n");
            git(w, &["add", "new.txt"]);
            std::fs::remove_file(w.join("new.txt")).unwrap();
        },
        "tracked files",
    ),
    (
        "an untracked file",
        |_, w, _| write(w, "notes.txt", "mine\n"),
        "notes.txt",
    ),
    (
        "an untracked file in a directory",
        |_, w, _| write(w, "notes/deep/x", "mine\n"),
        "notes",
    ),
    (
        "an ignored file",
        |_, w, _| write(w, "ignored/settings", "mine\n"),
        "ignored",
    ),
    (
        "an unpushed commit",
        |_, w, _| commit_in(w, "mine"),
        "1 commit",
    ),
    (
        "a detached commit",
        |_, w, _| {
            git(w, &["checkout", "-q", "--detach"]);
            commit_in(w, "mine");
        },
        "commit",
    ),
    (
        "a commit left behind on the branch",
        |_, w, branch| {
            commit_in(w, "mine");
            git(
                w,
                &[
                    "checkout",
                    "-q",
                    "-b",
                    &format!("{branch}-elsewhere"),
                    "HEAD~1",
                ],
            );
        },
        "commit",
    ),
    (
        "a stash",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["stash", "-q"]);
        },
        "stash",
    ),
    (
        "a named stash",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["stash", "push", "-q", "-m", "for later"]);
        },
        "stash",
    ),
    (
        "a merge under way",
        |_, w, _| {
            git(
                w,
                &["merge", "-q", "--no-ff", "--no-commit", "origin/other"],
            );
        },
        "merge",
    ),
    (
        "an overlooked edit",
        |_, w, _| {
            git(w, &["update-index", "--assume-unchanged", "name.txt"]);
            write(w, "name.txt", "mine\n");
        },
        "tracked files",
    ),
    (
        "an edit outside the sparse checkout",
        |_, w, _| {
            git(w, &["update-index", "--skip-worktree", "name.txt"]);
            write(w, "name.txt", "mine\n");
        },
        "tracked files",
    ),
    (
        "a nested repository",
        |_, w, _| {
            git(w, &["init", "-q", "nested"]);
            commit_in(&w.join("nested"), "mine");
        },
        "nested",
    ),
    (
        "a submodule's own repository",
        |yard, w, branch| {
            add_submodule(yard, w, branch);
        },
        "submodules",
    ),
    (
        "an edit in a submodule",
        |yard, w, branch| {
            add_submodule(yard, w, branch);
            write(w, "sub/name.txt", "mine\n");
        },
        // Whether files in it are edited takes its own configuration to tell, which the daemon does not follow.
        "repositories of their own",
    ),
    (
        "an edit in a filled submodule",
        |_, w, _| write(w, "lib/file", "mine\n"),
        "the submodule lib: changes to tracked files",
    ),
    (
        "an edit in a submodule of a submodule",
        |_, w, _| write(w, "lib/inner/file", "mine\n"),
        "the submodule lib/inner: changes to tracked files",
    ),
    (
        "what is only staged in a submodule",
        |_, w, _| {
            write(w, "lib/file", "mine\n");
            git(&w.join("lib"), &["add", "file"]);
            write(w, "lib/file", "lib");
        },
        "the submodule lib: changes to tracked files",
    ),
    (
        "an untracked file in a submodule",
        |_, w, _| write(w, "lib/notes/mine.txt", "mine\n"),
        "lib/notes",
    ),
    (
        "a detached commit in a submodule",
        |_, w, _| commit_in(&w.join("lib"), "mine"),
        "the submodule lib: another commit",
    ),
    (
        "a commit that was left in a submodule",
        |_, w, _| and_back(w, |lib| commit_in(lib, "mine")),
        "the submodule lib: commits",
    ),
    (
        "a branch in a submodule",
        |_, w, _| {
            and_back(w, |lib| {
                git(lib, &["switch", "-q", "-c", "mine"]);
                commit_in(lib, "mine");
            });
        },
        "the submodule lib: commits",
    ),
    (
        "a stash in a submodule",
        |_, w, _| {
            write(w, "lib/file", "mine\n");
            git(&w.join("lib"), &["stash", "-q"]);
        },
        "the submodule lib: commits",
    ),
    (
        "a merge under way in a submodule of a submodule",
        |_, w, _| {
            let inner = w.join("lib/inner");
            git(&inner, &["switch", "-q", "-c", "mine"]);
            commit_in(&inner, "mine");
            git(&inner, &["checkout", "-q", "--detach", "HEAD~1"]);
            git(&inner, &["merge", "-q", "--no-ff", "--no-commit", "mine"]);
        },
        "the submodule lib/inner",
    ),
    (
        "a name that is not text",
        |_, w, _| {
            let name = std::ffi::OsStr::from_bytes(b"precious\xff");
            std::fs::write(w.join(name), "mine\n").unwrap();
        },
        "precious",
    ),
    (
        "a nested repository among ignored files",
        |_, w, _| {
            std::fs::create_dir_all(w.join("ignored")).unwrap();
            git(w, &["init", "-q", "ignored/nested"]);
            commit_in(&w.join("ignored/nested"), "mine");
        },
        "ignored",
    ),
    (
        "a file hidden by info/exclude",
        |yard, w, _| {
            let exclude = yard.store().join("info/exclude");
            std::fs::create_dir_all(exclude.parent().unwrap()).unwrap();
            std::fs::write(exclude, "hidden.txt\n").unwrap();
            write(w, "hidden.txt", "mine\n");
        },
        "hidden.txt",
    ),
    (
        "an ignored .env that only its owner may read",
        |_, w, _| {
            write(w, "ignored/.env", "SECRET=1\n");
            let path = w.join("ignored/.env");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        },
        "ignored",
    ),
    (
        "a merge with conflicts",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["commit", "-q", "-am", "mine"]);
            let merge = ["merge", "-q", "origin/clash"];
            assert!(!try_git(w, &merge).status.success(), "it conflicts");
        },
        "merge",
    ),
    (
        "a rebase with conflicts",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["commit", "-q", "-am", "mine"]);
            commit_in(w, "another");
            let rebase = ["rebase", "-q", "origin/clash"];
            assert!(!try_git(w, &rebase).status.success(), "it conflicts");
            write(w, "name.txt", "half resolved\n");
        },
        "rebase",
    ),
    (
        "a cherry-pick with conflicts",
        |_, w, _| {
            write(w, "name.txt", "mine\n");
            git(w, &["commit", "-q", "-am", "mine"]);
            let pick = ["cherry-pick", "origin/clash"];
            assert!(!try_git(w, &pick).status.success(), "it conflicts");
        },
        "cherry-pick",
    ),
    (
        "line endings that git would change",
        |_, w, _| {
            write(w, ".gitattributes", "*.txt text eol=lf\n");
            write(w, "name.txt", "one\r\ntwo\nthree\r\n");
            write(w, "new.txt", "one\r\ntwo\n");
            git(w, &["add", "."]);
        },
        "tracked files",
    ),
    (
        "an executable, a link and a directory in place of a file",
        |_, w, _| {
            let makefile = w.join("Makefile");
            std::fs::set_permissions(makefile, std::fs::Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::symlink("/nowhere", w.join("dangling")).unwrap();
            std::fs::remove_file(w.join("name.txt")).unwrap();
            write(w, "name.txt/inside", "mine\n");
        },
        "tracked files",
    ),
    (
        "names that git gives a meaning to, or that are not text",
        |_, w, _| {
            let dir = w.join(std::ffi::OsStr::from_bytes(b"d\xff\xfe"));
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join(std::ffi::OsStr::from_bytes(b"f\xff")), "mine").unwrap();
            write(w, "git~1", "mine\n");
            write(w, "a\nb\\c \"d\"", "mine\n");
            std::fs::create_dir_all(w.join("empty/inner")).unwrap();
        },
        "git~1",
    ),
    (
        "what git does not keep of files",
        |_, w, _| {
            write(w, "closed/notes.txt", "mine\n");
            std::fs::create_dir_all(w.join("closed/empty")).unwrap();
            let mode = Mode::from_raw_mode(0o620);
            mknodat(CWD, w.join("closed/pipe"), FileType::Fifo, mode, 0).unwrap();
            for (path, value) in [("closed/notes.txt", "file"), ("closed/empty", "directory")] {
                let path = w.join(path);
                match setxattr(&path, "user.mine", value.as_bytes(), XattrFlags::empty()) {
                    Err(rustix::io::Errno::OPNOTSUPP) => {
                        println!("skipped: no extended attributes");
                    }
                    set => set.unwrap(),
                }
            }
            for (path, mode) in [("closed/empty", 0o711), ("closed", 0o700)] {
                std::fs::set_permissions(w.join(path), PermissionsExt::from_mode(mode)).unwrap();
            }
        },
        "closed",
    ),
    (
        "intent to add",
        |_, w, _| {
            write(w, "new.txt", "mine\n");
            git(w, &["add", "-N", "new.txt"]);
        },
        "tracked files",
    ),
    (
        "a branch without a commit",
        |_, w, branch| {
            git(
                w,
                &["switch", "-q", "--orphan", &format!("{branch}-orphan")],
            );
            write(w, "new.txt", "mine\n");
            git(w, &["add", "new.txt"]);
        },
        "without a commit",
    ),
    (
        "a bisect under way",
        |_, w, _| {
            git(w, &["bisect", "start", "-q"]);
            git(w, &["bisect", "bad"]);
        },
        "bisect",
    ),
];

/// Has the submodule at another commit than the one that is recorded, and then at that again.
fn and_back(workspace: &Path, does: impl Fn(&Path)) {
    let lib = workspace.join("lib");
    let recorded = git(&lib, &["rev-parse", "HEAD"]);
    does(&lib);
    git(&lib, &["checkout", "-q", "--detach", &recorded]);
}

/// Adds a submodule, commits and pushes it: all of the branch is on the remote.
fn add_submodule(yard: &Yard, workspace: &Path, branch: &str) {
    let allow = "protocol.file.allow=always";
    git(
        workspace,
        &[
            "-c",
            allow,
            "submodule",
            "add",
            "-q",
            &yard.origin.url(),
            "sub",
        ],
    );
    git(workspace, &["commit", "-q", "-m", "submodule"]);
    git(workspace, &["push", "-q", "origin", branch]);
}

pub fn write(workspace: &Path, file: &str, content: &str) {
    let path = workspace.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Everything of a workspace that could be lost: files with their modes, index, refs, stashes, and an
/// operation under way.
pub fn snapshot(yard: &Yard, branch: &str) -> Vec<String> {
    let workspace = yard.workspace(branch);
    let mut seen = Vec::new();
    files(&workspace, Path::new(""), &mut seen);
    seen.sort();
    let show =
        |args: &[&str]| String::from_utf8_lossy(&try_git(&workspace, args).stdout).into_owned();
    seen.push(show(&["ls-files", "--stage", "-v"]));
    seen.push(show(&["status", "--porcelain=v2", "--ignored", "--branch"]));
    seen.push(show(&["rev-parse", &format!("refs/heads/{branch}")]));
    seen.push(show(&["rev-parse", "--symbolic-full-name", "HEAD"]));
    seen.push(show(&["stash", "list"]));
    for submodule in ["lib", "lib/inner"].map(|path| workspace.join(path)) {
        if !submodule.join(".git").exists() {
            continue;
        }
        for args in [
            &["rev-parse", "HEAD"][..],
            &["for-each-ref"],
            &["stash", "list"],
            &["ls-files", "--stage", "-v"],
            &["status", "--porcelain=v2", "--ignored"],
            &["reflog"],
        ] {
            let shown = try_git(&submodule, args).stdout;
            seen.push(String::from_utf8_lossy(&shown).into_owned());
        }
    }
    let dir = workspace.file_name().unwrap();
    let admin = yard.store().join("worktrees").join(dir);
    for name in [
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "BISECT_LOG",
        "rebase-merge",
    ] {
        if admin.join(name).exists() {
            files(&admin, Path::new(name), &mut seen);
        }
    }
    seen
}

fn files(root: &Path, path: &Path, seen: &mut Vec<String>) {
    let full = root.join(path);
    let meta = std::fs::symlink_metadata(&full).unwrap();
    let name = path.as_os_str().as_bytes().escape_ascii().to_string();
    if path != Path::new("") && !meta.is_symlink() {
        let mut value = [0; 100];
        if let Ok(len) = getxattr(&full, "user.mine", &mut value[..]) {
            seen.push(format!("{name} has {}", value[..len].escape_ascii()));
        }
    }
    if meta.file_type().is_fifo() {
        return seen.push(format!("{name} {:o}", meta.mode()));
    }
    if meta.is_dir() {
        if path != Path::new("") {
            seen.push(format!("{name}/ {:o}", meta.mode()));
        }
        let mut entries: Vec<_> = std::fs::read_dir(&full)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        entries.sort();
        if entries.is_empty() {
            seen.push(format!("{name}/ is empty"));
        }
        for entry in entries {
            files(root, &path.join(entry), seen);
        }
        return;
    }
    let content = match meta.is_symlink() {
        true => std::fs::read_link(&full)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes(),
        false => std::fs::read(&full).unwrap(),
    };
    seen.push(format!(
        "{name} {:o} {}",
        meta.mode(),
        content.escape_ascii()
    ));
}
