//! What a build may do to the files of its worktree.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// Where links lead. No process can write there, in case a defect follows one.
const OUTSIDE: &str = "/proc/self";

#[derive(Debug, Clone)]
pub(super) enum Deed {
    Write(usize),
    /// Another content of the same length, and the times of before.
    Forge(usize),
    Delete(usize),
    MakeDirectory(usize),
    Link(usize),
    HardLink(usize),
    Pipe(usize),
    Close(usize),
    Repository(usize),
    Attributes(usize),
    Swap(usize, usize),
}

pub(super) fn deed() -> impl Strategy<Value = Deed> {
    let at = 0..20_usize;
    prop_oneof![
        at.clone().prop_map(Deed::Write),
        at.clone().prop_map(Deed::Forge),
        at.clone().prop_map(Deed::Delete),
        at.clone().prop_map(Deed::MakeDirectory),
        at.clone().prop_map(Deed::Link),
        at.clone().prop_map(Deed::HardLink),
        at.clone().prop_map(Deed::Pipe),
        at.clone().prop_map(Deed::Close),
        at.clone().prop_map(Deed::Repository),
        at.clone().prop_map(Deed::Attributes),
        (at.clone(), at).prop_map(|(one, other)| Deed::Swap(one, other)),
    ]
}

impl Deed {
    /// What does not work is left.
    pub(super) fn commit_in(&self, root: &Path) {
        let mut all = Vec::new();
        list(root, &mut all);
        let nth = |n: usize| all.get(n % all.len().max(1)).cloned();
        let free = |n: usize| {
            let above = nth(n).filter(|path| path.is_dir() && !path.is_symlink());
            above
                .unwrap_or_else(|| root.to_owned())
                .join(format!("extra-{n}"))
        };
        let at = |n: usize| nth(n).unwrap_or_else(|| free(n));
        let clear = |path: &Path| {
            let _ = fs::remove_dir_all(path);
            let _ = fs::remove_file(path);
        };
        match self {
            Self::Write(n) => write(if n % 2 == 0 { free(*n) } else { at(*n) }, "written"),
            Self::Forge(n) => forge(&at(*n)),
            Self::Delete(n) => clear(&at(*n)),
            Self::MakeDirectory(n) => {
                clear(&at(*n));
                let _ = fs::create_dir_all(at(*n).join("inner/most"));
                let _ = fs::write(at(*n).join("inner/file"), "x");
            }
            Self::Link(n) => {
                clear(&at(*n));
                let _ = symlink(OUTSIDE, at(*n));
            }
            Self::HardLink(n) => drop(fs::hard_link(at(*n), free(*n))),
            Self::Pipe(n) => {
                let path = if n % 2 == 0 { free(*n) } else { at(*n) };
                if !path.is_dir() {
                    clear(&path);
                }
                let mode = rustix::fs::Mode::RWXU;
                let _ = rustix::fs::mkfifoat(rustix::fs::CWD, path, mode);
            }
            Self::Close(n) => {
                let path = at(*n);
                if !path.is_symlink() {
                    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o100));
                }
            }
            Self::Repository(n) => {
                let git = free(*n).with_file_name(".git");
                if !git.exists() {
                    let _ = fs::create_dir_all(git.join("objects"));
                    let _ = fs::create_dir_all(git.join("refs"));
                    let _ = fs::write(git.join("HEAD"), "ref: refs/heads/main\n");
                    let _ = fs::write(git.join("config"), "[core]\n\tfsmonitor = touch /tmp/x\n");
                }
            }
            Self::Attributes(n) => {
                write(
                    free(*n).with_file_name(".gitattributes"),
                    "* text eol=crlf\n",
                );
            }
            Self::Swap(one, other) => {
                let aside = root.join("aside");
                let _ = fs::rename(at(*one), &aside);
                let _ = fs::rename(at(*other), at(*one));
                let _ = fs::rename(&aside, at(*other));
            }
        }
    }
}

/// Does not wait for a reader of a FIFO, and follows no link: the deeds stay beneath their root.
fn write(path: PathBuf, content: &str) {
    if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        let _ = fs::remove_file(&path);
    }
    let _ = fs::write(path, content);
}

fn forge(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return;
    };
    if !meta.is_file() {
        return;
    }
    let content: Vec<u8> = fs::read(path)
        .unwrap()
        .iter()
        .map(|byte| byte ^ 1)
        .collect();
    fs::write(path, content).unwrap();
    let times = FileTimes::new().set_modified(meta.modified().unwrap());
    let file = File::options().append(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

/// All beneath, but for what is git's own at the root.
fn list(dir: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        all.push(path.clone());
        if path.is_dir() && !path.is_symlink() {
            list(&path, all);
        }
    }
}
