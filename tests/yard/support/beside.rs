//! Repositories beside the origin, which it has as submodules.

use std::path::{Path, PathBuf};

use super::{Yard, git};

/// A repository beside the origin.
pub struct Beside {
    pub work: PathBuf,
}

impl Beside {
    /// One with a file `file`, at its first commit.
    pub fn new(yard: &Yard, name: &str) -> Self {
        let bare = yard.dir.path().join(format!("{name}.git"));
        let work = yard.dir.path().join(format!("{name}-work"));
        let made = bare.to_str().unwrap();
        git(
            yard.dir.path(),
            &["init", "-q", "--bare", "--initial-branch=main", made],
        );
        git(
            yard.dir.path(),
            &["clone", "-q", made, work.to_str().unwrap()],
        );
        let beside = Self { work };
        beside.commit(name);
        beside
    }

    /// Has its file say this, and pushes that; the commit.
    pub fn commit(&self, content: &str) -> String {
        std::fs::write(self.work.join("file"), content).unwrap();
        self.record()
    }

    pub fn record(&self) -> String {
        git(&self.work, &["add", "-A"]);
        git(
            &self.work,
            &["commit", "-q", "--allow-empty", "-m", "a change"],
        );
        git(&self.work, &["push", "-q", "origin", "HEAD:main"]);
        git(&self.work, &["rev-parse", "HEAD"])
    }
}

/// Adds a submodule by the relative URL to the work tree of a repository, as people do.
pub fn add(work: &Path, url: &str, path: &str) {
    let allowed = "protocol.file.allow=always";
    git(work, &["-c", allowed, "submodule", "add", "-q", url, path]);
}

/// Records another commit of a submodule.
pub fn record(yard: &Yard, path: &str, commit: &str) {
    let inner = work(yard).join(path);
    if inner.join(".git").exists() {
        git(&inner, &["fetch", "-q", "origin", commit]);
        git(&inner, &["checkout", "-q", commit]);
    }
    std::fs::create_dir_all(&inner).unwrap();
    let entry = format!("160000,{commit},{path}");
    let add = ["update-index", "--add", "--cacheinfo", &entry];
    yard.origin.git(&add);
    yard.origin
        .git(&["commit", "-q", "-m", "another commit of a submodule"]);
}

pub fn work(yard: &Yard) -> PathBuf {
    yard.dir.path().join("origin-work")
}
