//! The plain tools, with settings of nobody's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::measure::timed;
use crate::support::git;

/// A command that knows neither this user's git settings nor that it was started below `make bench`:
/// make would say so in its output.
pub fn command(dir: &Path, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null());
    command
}

/// Runs it to its end; what it prints goes nowhere.
pub fn quiet(dir: &Path, program: &str, args: &[&str]) {
    let mut command = command(dir, program, args);
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{program} {args:?}: {status}");
}

/// How long git takes for this.
pub fn git_in(dir: &Path, args: &[&str]) -> f64 {
    timed(|| quiet(dir, "git", args))
}

/// Every file here is there, and the same, and the reverse.
pub fn same_files(one: &Path, other: &Path) {
    let paths = [one, other].map(|path| path.to_str().unwrap());
    let options = ["-r", "-q", "--no-dereference", "-x", ".git"];
    quiet(Path::new("/"), "diff", &[&options[..], &paths].concat());
}

/// What somebody has who works without the yard: a bare clone, and worktrees beside it.
pub struct ByHand {
    dir: PathBuf,
    pub clone: PathBuf,
}

impl ByHand {
    pub fn new(dir: &Path, url: &str) -> Self {
        let clone = dir.join("by-hand.git");
        let place = clone.to_str().unwrap();
        // As the yard's, it has other branches only once they are fetched.
        let main = ["--single-branch", "--branch", "main"];
        let args = [&["clone", "-q", "--bare"], &main[..], &[url, place]].concat();
        git(dir, &args);
        let dir = dir.join("by-hand");
        std::fs::create_dir(&dir).unwrap();
        // As the yard does it: else what earlier rounds deleted would slow these down, and flatter the yard.
        branchyard_runtime::disk::spread(&dir);
        Self { dir, clone }
    }

    pub fn path(&self, branch: &str) -> PathBuf {
        self.dir.join(branch)
    }

    /// Has the branch from the remote, as a branch of its own; how long that took.
    pub fn fetch(&self, branch: &str) -> f64 {
        let name = format!("refs/heads/{branch}:refs/heads/{branch}");
        git_in(&self.clone, &["fetch", "-q", "origin", &name])
    }

    /// `git worktree add`; how long it took.
    pub fn add(&self, branch: &str) -> f64 {
        let path = self.path(branch);
        let add = ["worktree", "add", "-q", path.to_str().unwrap(), branch];
        git_in(&self.clone, &add)
    }

    /// The same of `main` with as many workers as there are cores, in a directory of its own beside the branch.
    pub fn add_in_parallel(&self, branch: &str) -> f64 {
        let path = self.path(&format!("{branch}-parallel"));
        let path = path.to_str().unwrap();
        let workers = ["-c", "checkout.workers=0"];
        let add = ["worktree", "add", "-q", "--detach", path, "main"];
        git_in(&self.clone, &[&workers[..], &add].concat())
    }

    pub fn remove(&self, branch: &str) {
        let path = self.path(branch);
        git(
            &self.clone,
            &["worktree", "remove", "--force", path.to_str().unwrap()],
        );
    }
}
