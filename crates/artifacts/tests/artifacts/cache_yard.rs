//! A store of caches, and the directories of two jobs.

use std::fs;
use std::path::{Path, PathBuf};

use branchyard_artifacts::{
    ArtifactError, CacheLimits, CacheRequest, CacheScope, CacheStore, JobDir, JobDirs, Restored,
    Saved, TrustClass,
};
use branchyard_model::RepoName;
use branchyard_runtime::background::Loops;
use branchyard_runtime::disk::Trash;
use jiff::Timestamp;
use tempfile::TempDir;

pub(crate) struct CacheYard {
    dir: TempDir,
    pub(crate) store: CacheStore,
}

pub(crate) fn open(state: &Path, limits: CacheLimits) -> CacheStore {
    let trash = Trash::open(state.join("trash"), &Loops::default()).unwrap();
    CacheStore::open(state, limits, trash).unwrap()
}

fn scope(name: &str) -> CacheScope {
    CacheScope {
        name: name.to_owned(),
        trust: match name {
            "main" => TrustClass::Protected,
            _ => TrustClass::Open,
        },
    }
}

impl CacheYard {
    pub(crate) fn new() -> Self {
        Self::with(CacheLimits::default())
    }

    pub(crate) fn with(limits: CacheLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["state", "job", "home", "later", "later/job", "later/home"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let store = open(&dir.path().join("state"), limits);
        Self { dir, store }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// The directories of one job, which are beneath `at`.
    fn dirs(&self, at: &str) -> JobDirs {
        let dir = |seen: &str, real: &str| JobDir {
            seen: seen.into(),
            real: self.path(at).join(real),
        };
        JobDirs {
            root: dir("/yard/app", "job"),
            home: Some(dir("/home/job", "home")),
            mounts: Vec::new(),
        }
    }

    pub(crate) fn save_at(
        &self,
        of: &str,
        key: &str,
        paths: &[&str],
        now: Timestamp,
    ) -> Result<Saved, ArtifactError> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let (repo, dirs) = (RepoName::parse("app").unwrap(), self.dirs(""));
        let request = CacheRequest {
            repo: &repo,
            key,
            paths: &paths,
            dirs: &dirs,
        };
        self.store.save(&request, &scope(of), now)
    }

    pub(crate) fn save(&self, of: &str, key: &str, paths: &[&str]) -> Saved {
        self.save_at(of, key, paths, Timestamp::now()).unwrap()
    }

    /// Into the directories of a later job.
    pub(crate) fn try_restore(
        &self,
        scopes: &[&str],
        keys: &[&str],
        paths: &[&str],
    ) -> Result<Option<Restored>, ArtifactError> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let (repo, dirs) = (RepoName::parse("app").unwrap(), self.dirs("later"));
        let request = CacheRequest {
            repo: &repo,
            key: keys[0],
            paths: &paths,
            dirs: &dirs,
        };
        let scopes: Vec<_> = scopes.iter().map(|name| scope(name)).collect();
        let restore_keys: Vec<_> = keys[1..].iter().map(|key| (*key).to_owned()).collect();
        self.store.restore(&request, &scopes, &restore_keys)
    }

    pub(crate) fn restore(
        &self,
        scopes: &[&str],
        keys: &[&str],
        paths: &[&str],
    ) -> Option<Restored> {
        self.try_restore(scopes, keys, paths).unwrap()
    }
}
