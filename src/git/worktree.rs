//! One workspace's worktree: made, filled, moved, taken away. The caller holds the repo's registry
//! lock for `add` and `forget`, and the workspace's floor for whatever moves files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::store::quoted;
use super::{Error, Git, Store};
use crate::model::{BranchName, CommitId};

/// The mark of a worktree whose files are not whole yet; after a crash it says whose that is.
const PREPARING: &str = "preparing";

#[derive(Debug, Clone)]
pub struct Worktree {
    path: PathBuf,
    admin: PathBuf,
    branch: BranchName,
}

/// Whether files could be moved.
#[derive(Debug)]
pub enum Moved {
    /// With what git said on its way, if anything.
    Yes { complaint: Option<String> },
    /// Git refused: something stands in the way of the new tree.
    InTheWay(String),
}

impl Worktree {
    /// The worktree of `branch` at `path`, registered in `store` under the directory's own name.
    pub fn new(store: &Store, path: PathBuf, branch: BranchName) -> Self {
        let admin = store.path().join("worktrees").join(branch.dir().as_str());
        Self {
            path,
            admin,
            branch,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn admin(&self) -> &Path {
        &self.admin
    }

    pub fn open(&self) -> Result<Repository, Error> {
        Ok(Repository::open(&self.path)?)
    }

    /// Registered and whole.
    pub fn is_ready(&self) -> bool {
        self.path.join(".git").is_file()
            && self.admin.join("HEAD").is_file()
            && !self.is_preparing()
    }

    /// Registered, but its files were never completed.
    pub fn is_preparing(&self) -> bool {
        fs::read_to_string(self.admin.join("locked")).is_ok_and(|reason| reason.trim() == PREPARING)
    }

    /// Registers the worktree, without files yet. The branch is created at `start` unless it exists.
    pub async fn add(
        &self,
        git: &Git,
        store: &Store,
        start: &CommitId,
        exists: bool,
    ) -> Result<(), Error> {
        let add = git.at(store.path()).args([
            "worktree",
            "add",
            "--quiet",
            "--no-checkout",
            "--lock",
            "--reason",
            PREPARING,
        ]);
        let add = if exists {
            add.arg("--end-of-options")
                .arg(&self.path)
                .arg(self.branch.as_str())
        } else {
            // Git refuses to be told about tracking where it makes no branch.
            add.args(["--no-track", "-b", self.branch.as_str()])
                .arg("--end-of-options")
                .arg(&self.path)
                .arg(start.as_str())
        };
        add.output().await?;
        let upstream = self.admin.join("config.worktree");
        write_whole(&upstream, &self.configuration()).map_err(Error::io("set the upstream"))
    }

    /// The upstream, in the worktree's own configuration: `git pull`, `push` and `@{u}` work without
    /// a lock on the shared file. There is nothing else in it.
    fn configuration(&self) -> String {
        format!(
            "[branch {}]\n\tremote = origin\n\tmerge = {}\n",
            quoted(self.branch.as_str()),
            quoted(&self.branch.local_ref())
        )
    }

    /// Puts back what decides which repository git takes this directory for and how it treats it:
    /// the configuration, and the way from here to the store. Whoever controls one of these has git
    /// start programs. Returns the names of what had to be put back.
    pub fn guard(&self) -> io::Result<Vec<&'static str>> {
        let admin = self.admin.canonicalize()?;
        let link = format!("gitdir: {}\n", admin.display());
        let mut restored = Vec::new();
        for (name, path, expected) in [
            (".git", self.path.join(".git"), link),
            ("commondir", admin.join("commondir"), "../..\n".to_owned()),
            (
                "config.worktree",
                admin.join("config.worktree"),
                self.configuration(),
            ),
        ] {
            if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file())
                || fs::read(&path)? != expected.as_bytes()
            {
                write_whole(&path, &expected)?;
                restored.push(name);
            }
        }
        Ok(restored)
    }

    /// Writes all files of HEAD into a worktree that is being prepared, and marks it whole.
    pub async fn fill(&self, git: &Git) -> Result<(), Error> {
        git.at(&self.path)
            .args([
                "-c",
                &format!("checkout.workers={}", git.settings().checkout_workers),
            ])
            .args(["reset", "--quiet", "--hard", "--no-recurse-submodules"])
            .output()
            .await?;
        fs::remove_file(self.admin.join("locked")).map_err(Error::io("mark the workspace as whole"))
    }

    /// Moves branch and files to `commit`. Untracked and ignored files stay; if one is in the way,
    /// nothing moves.
    pub async fn move_to(&self, git: &Git, commit: &CommitId) -> Result<Moved, Error> {
        let moved = git
            .at(&self.path)
            .args([
                "-c",
                &format!("checkout.workers={}", git.settings().checkout_workers),
            ])
            .args([
                "checkout",
                "--quiet",
                "--no-track",
                "--no-overwrite-ignore",
                "--no-recurse-submodules",
            ])
            .args(["-B", self.branch.as_str(), commit.as_str(), "--"])
            .output_and_words()
            .await;
        match moved {
            Ok((_, words)) => Ok(Moved::Yes {
                complaint: Some(words).filter(|words| !words.is_empty()),
            }),
            Err(Error::Refused {
                code: Some(1),
                stderr,
                ..
            }) => Ok(Moved::InTheWay(stderr)),
            Err(error) => Err(error),
        }
    }

    /// Puts the registration of a directory that is gone out of the way, without losing what it knew: an
    /// index, a rebase under way, commits of a detached HEAD. Returns whether there was one.
    pub fn set_aside(&self, store: &Repository) -> Result<bool, Error> {
        if !self.admin.exists() {
            return Ok(false);
        }
        let name = format!("{}-{}", self.branch.dir(), uuid::Uuid::now_v7());
        if let Some(head) = detached_head(&self.admin) {
            store.reference(
                &format!("refs/branchyard/set-aside/{name}"),
                head,
                true,
                "branchyard",
            )?;
        }
        let aside = store.path().join("set-aside");
        fs::create_dir_all(&aside)
            .and_then(|()| fs::rename(&self.admin, aside.join(name)))
            .map_err(Error::io("set a worktree's registration aside"))?;
        Ok(true)
    }

    /// Removes a registration by name, never by `prune`, which also takes half-made and momentarily
    /// absent worktrees of others.
    pub fn forget(&self) -> Result<(), Error> {
        match fs::remove_dir_all(&self.admin) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("forget the worktree")(error))
            }
            _ => Ok(()),
        }
    }
}

/// Writes by rename, so that a reader sees all of it or nothing, and a link is replaced, not followed.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("branchyard");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(&fresh, text)?;
    fs::rename(&fresh, path)
}

fn detached_head(admin: &Path) -> Option<Oid> {
    Oid::from_str(fs::read_to_string(admin.join("HEAD")).ok()?.trim()).ok()
}
