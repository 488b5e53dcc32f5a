//! The contents of LFS files: fetched into a store once, for all that need them, and uploaded with what is pushed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RepoError;
use super::named_urls::NamedUrls;
use branchyard_config::RepoUrl;
use branchyard_git::Git;
use branchyard_git::lfs::{self, LfsObjects, LfsPointer, LfsServer};
use branchyard_model::{CommitId, ErrorKind, Problem};

/// What has the contents of a store's LFS files.
#[derive(Debug)]
pub struct LfsRemote {
    url: RepoUrl,
    git: Git,
    store: PathBuf,
    staging: PathBuf,
    urls: Arc<NamedUrls>,
    /// One process at a time fetches; who waits for it finds what it fetched.
    network: tokio::sync::Mutex<()>,
}

impl LfsRemote {
    /// For a store whose remote is at `url`, and may be asked by `git`. In `staging`, on the same file system, files are made.
    pub(super) fn new(
        (url, git): (&RepoUrl, Git),
        (store, staging): (PathBuf, PathBuf),
        urls: Arc<NamedUrls>,
    ) -> Arc<Self> {
        Arc::new(Self {
            url: url.clone(),
            git,
            store,
            staging,
            urls,
            network: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn objects(&self) -> LfsObjects {
        LfsObjects::of(&self.store)
    }

    /// Where contents are written first, and what knows where goes what is replaced.
    pub(crate) fn writing(&self) -> (&Path, &Git) {
        (&self.staging, &self.git)
    }

    /// Why it is not asked for anything, if so.
    pub(crate) fn why_not(&self) -> Option<&'static str> {
        if !self.git.settings().lfs {
            return Some("git-lfs is not installed where the daemon runs");
        }
        // Git-lfs goes wherever the server says that a content is.
        let is_bounded = self.git.must_be_public();
        is_bounded.then_some(
            "a caller registered this repository, and an LFS server could send the daemon to any address: \
             the operator can put the repository into the configuration",
        )
    }

    /// Has the store have these contents, as far as the remote has those of these commits. The first says who is asked. The
    /// caller has guarded the store.
    pub(crate) async fn bring(
        &self,
        commits: &[CommitId],
        wanted: &[LfsPointer],
    ) -> Result<(), RepoError> {
        if self.lacks(wanted).next().is_none() {
            return Ok(());
        }
        let _network = self.network.lock().await;
        if self.lacks(wanted).next().is_none() {
            return Ok(());
        }
        let (git, server) = match commits.first() {
            Some(commit) => self.server(commit).await?,
            None => self.own_server(),
        };
        tracing::info!(store = %self.store.display(), ?commits, "fetching LFS files");
        Ok(lfs::fetch_lfs(&git, &self.store, commits, &server).await?)
    }

    /// Those of `wanted` that the store does not have.
    pub(crate) fn lacks<'a>(
        &self,
        wanted: &'a [LfsPointer],
    ) -> impl Iterator<Item = &'a LfsPointer> {
        let objects = self.objects();
        wanted.iter().filter(move |wanted| !objects.has(wanted))
    }

    /// Uploads what these commits and tags have and the remote has not, before they are pushed. The caller has guarded the
    /// store.
    pub(crate) async fn upload(&self, tips: &[String]) -> Result<(), RepoError> {
        // What is not here cannot be uploaded.
        if !self.git.settings().lfs || tips.is_empty() || self.objects().is_empty() {
            return Ok(());
        }
        if let Some(why) = self.why_not() {
            return match lfs::lfs_to_send(&self.git, &self.store, tips).await? {
                true => Err(refused(format!("LFS files cannot be uploaded: {why}")).into()),
                false => Ok(()),
            };
        }
        let commit = tips.iter().find_map(|tip| CommitId::parse(tip).ok());
        let (git, server) = match commit {
            Some(commit) => self.server(&commit).await?,
            None => self.own_server(),
        };
        Ok(lfs::push_lfs(&git, &self.store, tips, &server).await?)
    }

    fn own_server(&self) -> (Git, LfsServer) {
        (self.git.clone(), LfsServer::of_remote(self.url.as_str()))
    }

    /// The server that is named by `commit`, or that of the remote itself, and what asks it.
    async fn server(&self, commit: &CommitId) -> Result<(Git, LfsServer), RepoError> {
        let declared = lfs::declared_lfs_url(&self.git, &self.store, commit).await?;
        let Some(declared) = declared else {
            return Ok(self.own_server());
        };
        let not_used = |why: &str| {
            refused(format!(
                "the LFS server that .lfsconfig of {commit} names is not used: {why}"
            ))
        };
        let url = self.urls.allowed(&declared);
        let url = url.map_err(|why| not_used(&why))?;
        let git = self.urls.git_for(&url);
        match git.must_be_public() {
            true => Err(not_used("its host is not the repository's").into()),
            false => Ok((git, LfsServer::named(url.as_str()))),
        }
    }
}

fn refused(detail: String) -> Problem {
    Problem::new(ErrorKind::Conflict, "lfs_refused", detail)
}
