//! The store: one bare repository per repo, from which all its workspaces are made.
//!
//! Its configuration is ours alone and always the same for a URL, so it is written as a whole and
//! compared as a whole: a build that plants a setting, a hook or an attribute finds it gone before
//! the next git command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fixed_file::{is_exactly, write_whole};
use super::plain_file::read_plain;
use super::remote::{listed, parse_default, transfer};
use super::worktree::clear_special;
use super::{Error, Git};
use crate::Repository;
use branchyard_model::{ErrorKind, Problem, RepoName};

const INFO_FILE: &str = "branchyard.json";
const INFO_VERSION: u32 = 1;
const MAX_INFO: u64 = 1 << 20;
/// Git-lfs would write it into the configuration where it is missing.
pub(super) const LFS_VERSION: &str = "[lfs]\n\trepositoryformatversion = 0\n";
/// What nothing of ours writes into a store. Git would take objects of other stores, and grafts, for its own.
const PLANTED: [&str; 6] = [
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "hooks",
    "commondir",
];

#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    url: String,
}

/// What a store on disk says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoreInfo {
    pub version: u32,
    pub repo: RepoName,
    pub url: String,
    /// The branch that the remote's HEAD named when it was last asked.
    pub default_branch: Option<String>,
}

/// Opens the store at `path`.
pub fn open_store(path: &Path) -> Result<Repository, Error> {
    refuse_link(path)?;
    Ok(Repository::open_bare(path)?)
}

/// What a link in the place of a store leads to may have another yard's workspaces beside it, which libgit2 would take for
/// those of this one.
pub(super) fn refuse_link(store: &Path) -> Result<(), Error> {
    if !store.is_symlink() {
        return Ok(());
    }
    let detail = format!("{} is a link, and no store of this yard", store.display());
    Err(Problem::new(ErrorKind::Conflict, "store_replaced", detail)
        .field("repo")
        .help("put the directory itself back, or mount it there")
        .into())
}

impl Store {
    /// The store at `path`, which exists.
    pub fn at(path: PathBuf, url: String) -> Self {
        Self { path, url }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Clones into `staging` and renames to `path` when all is there; nothing half-made is ever
    /// seen at `path`.
    pub async fn create(
        git: &Git,
        repo: &RepoName,
        url: &str,
        staging: &Path,
        path: &Path,
        on_percent: impl FnMut(u8) + Send,
    ) -> Result<Self, Error> {
        let store = Self::fetch_anew(git, url, staging, on_percent).await?;
        store.learn_default_branch(git, repo).await?;
        fs::rename(staging, path).map_err(Error::io("move the store into place"))?;
        Ok(Self::at(path.to_owned(), url.to_owned()))
    }

    /// A store at `staging` with everything that the remote has, which does not say whose it is yet.
    pub async fn fetch_anew(
        git: &Git,
        url: &str,
        staging: &Path,
        on_percent: impl FnMut(u8) + Send,
    ) -> Result<Self, Error> {
        let store = Self::at(staging.to_owned(), url.to_owned());
        git.at(staging.parent().unwrap_or(staging))
            .args([
                "init",
                "--quiet",
                "--bare",
                "--template=",
                "--initial-branch=main",
            ])
            .arg("--end-of-options")
            .arg(staging)
            .output()
            .await?;
        store
            .write_configuration()
            .map_err(Error::io("configure the store"))?;
        transfer(git, staging, &[], &[], on_percent).await?;
        Ok(store)
    }

    /// Says whose store it is, which also says that it is whole, and which branch is the remote's default: it may have got
    /// its first one since it was asked last, or another. Written by rename.
    pub async fn learn_default_branch(&self, git: &Git, repo: &RepoName) -> Result<(), Error> {
        let info = StoreInfo {
            version: INFO_VERSION,
            repo: repo.clone(),
            url: self.url.clone(),
            default_branch: self.ask_default_branch(git).await?,
        };
        let json = serde_json::to_string_pretty(&info)
            .map_err(|error| Error::io("describe the store")(io::Error::other(error)))?;
        write_whole(&self.path.join(INFO_FILE), &json).map_err(Error::io("describe the store"))
    }

    /// Takes what is left of a store for one again: it may hold what nobody else has. What is missing in
    /// it is for the caller to find out.
    pub async fn readopt(git: &Git, repo: &RepoName, url: &str, path: &Path) -> Result<(), Error> {
        let store = Self::at(path.to_owned(), url.to_owned());
        store.guard().map_err(Error::io("configure the store"))?;
        store.learn_default_branch(git, repo).await
    }

    /// What the store at `path` says about itself; `None` if it is not one of ours, or not whole.
    pub fn info(path: &Path) -> Option<StoreInfo> {
        let json = read_plain(&path.join(INFO_FILE), MAX_INFO).ok()??;
        serde_json::from_slice(&json)
            .ok()
            .filter(|info: &StoreInfo| info.version == INFO_VERSION)
    }

    async fn ask_default_branch(&self, git: &Git) -> Result<Option<String>, Error> {
        let listing = listed(git, &self.path, &["--symref", "origin", "HEAD"]).await?;
        Ok(parse_default(&listing))
    }

    /// Puts the store's configuration, attributes and hooks back as we wrote them. Called before
    /// git commands; costs a few file reads when nothing changed.
    ///
    /// Returns the names of what had to be put back.
    pub fn guard(&self) -> io::Result<Vec<&'static str>> {
        let (mut restored, mut is_old) = (Vec::new(), false);
        // Without them git does not take this for a repository.
        for needed in ["objects", "refs"] {
            let path = self.path.join(needed);
            if !path.is_dir() {
                fs::create_dir_all(&path)?;
                restored.push(needed);
            }
        }
        if clear_special(&self.path)? {
            restored.push("special files");
        }
        for (name, expected) in self.configuration() {
            let path = self.path.join(name);
            if is_exactly(&path, &expected) {
                continue;
            }
            // An earlier version of the daemon wrote exactly that: no build has tampered with it.
            match is_exactly(&path, &expected.replacen(LFS_VERSION, "", 1)) {
                true => is_old = true,
                false => restored.push(name),
            }
        }
        // With a `commondir` of its own the store would take all of this from elsewhere.
        for planted in PLANTED {
            let path = self.path.join(planted);
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path)?,
                Ok(_) => fs::remove_file(&path)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            restored.push(planted);
        }
        // The operator may exclude files here, but git would wait for a FIFO.
        let exclude = self.path.join("info/exclude");
        if fs::symlink_metadata(&exclude).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            fs::remove_file(&exclude)?;
            restored.push("info/exclude");
        }
        if is_old || !restored.is_empty() {
            self.write_configuration()?;
        }
        Ok(restored)
    }

    fn write_configuration(&self) -> io::Result<()> {
        for (name, text) in self.configuration() {
            let fresh = self.path.join(format!("{name}.branchyard"));
            fs::write(&fresh, text)?;
            fs::rename(&fresh, self.path.join(name))?;
        }
        Ok(())
    }

    /// The files that decide how git treats this store, by name and exact content.
    fn configuration(&self) -> [(&'static str, String); 3] {
        let url = quoted(&self.url);
        let shared = format!(
            "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tlogAllRefUpdates = always\n\
             [extensions]\n\tworktreeConfig = true\n\
             {LFS_VERSION}\
             [gc]\n\tauto = 0\n\tworktreePruneExpire = never\n\
             [maintenance]\n\tauto = false\n\
             [push]\n\tdefault = current\n\
             [branch]\n\tautoSetupMerge = false\n\
             [remote]\n\tpushDefault = origin\n\
             [remote \"origin\"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        );
        [
            ("config", shared),
            // Seen from a workspace the store looks like a worktree too; on a branch, it would keep
            // that branch from being checked out anywhere else. No branch can have this name.
            ("HEAD", "ref: refs/heads/BRANCHYARD_HEAD\n".to_owned()),
            // Only the store itself is bare; each workspace has a file of its own like this one.
            ("config.worktree", "[core]\n\tbare = true\n".to_owned()),
        ]
    }
}

/// A value in git's configuration syntax, also the name of a subsection.
pub(super) fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
