//! `actions/cache` and its halves: restored when the step is reached, saved when the job has succeeded.

use std::sync::Arc;

use crate::action::{ActionDone, PendingCache, With, is_set};
use branchyard_artifacts::{CacheRequest, CacheScope, CacheStore, JobDirs, Saved, TrustClass};
use branchyard_model::{Problem, RepoName, Warning};
use jiff::Timestamp;

/// The caches that a job may read and write.
#[derive(Debug, Clone)]
pub(crate) struct CacheJob {
    pub(crate) store: Arc<CacheStore>,
    pub(crate) repo: RepoName,
    pub(crate) dirs: JobDirs,
    /// Its own scope first, then those that it may read besides.
    pub(crate) scopes: Vec<CacheScope>,
}

/// The caches of a branch: its own, and those of protected branches. A protected branch reads none that others made.
pub(crate) fn scopes(branch: &str, is_protected: bool, protected: &[String]) -> Vec<CacheScope> {
    let trust = match is_protected {
        true => TrustClass::Protected,
        false => TrustClass::Open,
    };
    let own = CacheScope {
        name: branch.to_owned(),
        trust,
    };
    let others = protected.iter().filter(|other| *other != branch);
    let others = others.map(|other| CacheScope {
        name: other.clone(),
        trust: TrustClass::Protected,
    });
    std::iter::once(own).chain(others).collect()
}

fn lines(with: &With, name: &str) -> Vec<String> {
    let text = with.get(name).map(String::as_str).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

impl CacheJob {
    /// Restores what the step names; with `saves`, it is saved later if it was not there. Blocks.
    pub(crate) fn restore(&self, with: &With, saves: bool) -> Result<ActionDone, Problem> {
        let pending = self.pending(with);
        let request = self.request(&pending);
        let restored = self
            .store
            .restore(&request, &self.scopes, &lines(with, "restore-keys"))
            .map_err(Problem::from)?;
        let mut done = ActionDone::default();
        let hit = restored.as_ref().map(|restored| restored.exact);
        let mut output = |name: &str, value: String| {
            done.outputs.insert(name.to_owned(), value);
        };
        output(
            "cache-hit",
            hit.map_or(String::new(), |hit| hit.to_string()),
        );
        output("cache-primary-key", pending.key.clone());
        if let Some(restored) = restored {
            output("cache-matched-key", restored.key);
            done.restored = Some(restored.digest);
        } else if is_set(with, "fail-on-cache-miss")? {
            let detail = format!("no cache has the key {:?}", pending.key);
            return Err(Problem::unprocessable("key", detail));
        }
        done.pending = (saves && hit != Some(true)).then_some(pending);
        Ok(done)
    }

    /// Saves a cache, unless there is one by this key. Blocks.
    pub(crate) fn save(&self, pending: &PendingCache) -> Result<Vec<Warning>, Problem> {
        let Some(own) = self.scopes.first() else {
            return Ok(Vec::new());
        };
        let saved = self
            .store
            .save(&self.request(pending), own, Timestamp::now());
        match saved.map_err(Problem::from)? {
            Saved::Kept { warnings, .. } | Saved::Nothing { warnings } => Ok(warnings),
            Saved::Exists => Ok(Vec::new()),
        }
    }

    pub(crate) fn pending(&self, with: &With) -> PendingCache {
        PendingCache {
            key: with.get("key").cloned().unwrap_or_default(),
            paths: lines(with, "path"),
        }
    }

    fn request<'a>(&'a self, pending: &'a PendingCache) -> CacheRequest<'a> {
        CacheRequest {
            repo: &self.repo,
            key: &pending.key,
            paths: &pending.paths,
            dirs: &self.dirs,
        }
    }
}
