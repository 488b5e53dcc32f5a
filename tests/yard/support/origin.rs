//! An upstream repository that tests push to.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A bare repository and a clone of it to commit from.
#[derive(Debug)]
pub struct Origin {
    pub bare: PathBuf,
    work: PathBuf,
}

impl Origin {
    /// An upstream with one commit on `main`: a Makefile with a few targets.
    pub fn new(dir: &Path) -> Self {
        let (bare, work) = (dir.join("origin.git"), dir.join("origin-work"));
        std::fs::create_dir_all(&work).unwrap();
        git(
            dir,
            &[
                "init",
                "-q",
                "--bare",
                "--initial-branch=main",
                bare.to_str().unwrap(),
            ],
        );
        // Else every push leaves a process behind that looks whether there is anything to tidy up.
        git(&bare, &["config", "receive.autogc", "false"]);
        git(&work, &["init", "-q", "--initial-branch=main", "."]);
        git(&work, &["config", "maintenance.auto", "false"]);
        git(&work, &["remote", "add", "origin", bare.to_str().unwrap()]);
        let origin = Self { bare, work };
        origin.write("Makefile", MAKEFILE);
        origin.write("name.txt", "main\n");
        origin.write(".gitignore", "ignored/\n*.o\n");
        origin.commit("first");
        origin.push("main");
        origin
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.work.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Commits everything in the work tree; the new commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Pushes HEAD to `branch`, whatever was there.
    pub fn push(&self, branch: &str) {
        self.git(&[
            "push",
            "-q",
            "-f",
            "origin",
            &format!("HEAD:refs/heads/{branch}"),
        ]);
    }

    /// Commits a workflow file, and pushes it to `main`; the commit's id.
    pub fn workflow(&self, name: &str, text: &str) -> String {
        self.write(&format!(".branchyard/workflows/{name}"), text);
        let commit = self.commit(name);
        self.push("main");
        commit
    }

    pub fn delete(&self, branch: &str) {
        self.git(&[
            "push",
            "-q",
            "origin",
            "--delete",
            &format!("refs/heads/{branch}"),
        ]);
    }

    /// A branch of its own content: `name.txt` holds its name. The commit's id.
    pub fn branch(&self, name: &str) -> String {
        self.git(&["checkout", "-q", "--detach", "main"]);
        self.write("name.txt", format!("{name}\n"));
        let commit = self.commit(name);
        self.push(name);
        commit
    }

    /// Gives it so many more branches (`heads-0000` and so on) and tags (`tags-0000`), all at the newest commit.
    pub fn add_refs(&self, branches: usize, tags: usize) {
        let commit = self.head();
        let refs = [("heads", branches), ("tags", tags)].map(|(kind, count)| {
            let refs = (0..count).map(|nth| format!("{commit} refs/{kind}/{kind}-{nth:04}\n"));
            refs.collect::<String>()
        });
        let text = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{}",
            refs.concat()
        );
        std::fs::write(self.bare.join("packed-refs"), text).unwrap();
    }

    /// Goes back to the commit that `rev` names, to commit from there.
    pub fn at(&self, rev: &str) {
        self.git(&["checkout", "-q", "--detach", rev]);
    }

    pub fn url(&self) -> String {
        self.bare.to_str().unwrap().to_owned()
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.work, args)
    }
}

/// Runs git for a test; its output, trimmed.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn try_git(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        // Root commits to repositories that a test gave to another user.
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_AUTHOR_NAME", "Test")
        .env("GIT_AUTHOR_EMAIL", "test@localhost")
        .env("GIT_COMMITTER_NAME", "Test")
        .env("GIT_COMMITTER_EMAIL", "test@localhost")
        .output()
        .unwrap()
}

/// As [`git`], by somebody, at some time.
pub fn git_as(dir: &Path, name: &str, mail: &str, date: &str, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", name), ("GIT_COMMITTER_NAME", name)])
        .envs([("GIT_AUTHOR_EMAIL", mail), ("GIT_COMMITTER_EMAIL", mail)])
        .envs([("GIT_AUTHOR_DATE", date), ("GIT_COMMITTER_DATE", date)])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {words}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const MAKEFILE: &str = "\
.PHONY: all who fail exact slow background build
all: who
who:
\t@cat name.txt
fail:
\t@echo going wrong >&2; exit 3
exact:
\t@cat output.bin
build:
\t@mkdir -p out ignored && date +%N > out/result && date +%N > ignored/result && touch main.o
gate:
\t@echo waiting; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done; echo passed
background:
\t@sleep 1000 & sleep 1000 & (setsid sleep 1000 >/dev/null 2>&1 &) ; echo started; sleep 1000
";
