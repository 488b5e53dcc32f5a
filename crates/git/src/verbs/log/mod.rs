//! `log`: commits, the youngest first, in git's own order and by git's own rules.

mod entry;
mod listed;
mod request;
mod walk;

use std::path::Path;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::room::keep_fitting;
use super::verb::{Effect, Render, VerbEntry};
use crate::{Error, Repository};
use entry::Teller;

pub use entry::{FileStat, LogEntry, PatchText, Stat};
pub use listed::{Listed, list};
pub use request::{Merges, Query, Request};
pub use walk::{Ends, LogStep, Walk};

pub const VERB: VerbEntry = VerbEntry {
    name: "log",
    title: "History",
    description: "Lists commits, the youngest first: of the branch, of a range such as `main..HEAD`, or of all branches, filtered by time, author, message or path. `stat` and `patch` show what each changed.",
    effect: Effect::READS,
};

/// Patches beyond this are for the next answer.
const MOST_PATCHES: usize = 1024 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    pub commits: Vec<LogEntry>,
    /// How many commits were passed over before the first of these.
    pub skip: usize,
    /// There are more: what `skip` is to be to go on.
    pub next: Option<usize>,
    /// There are fewer commits here than were asked for, and there may be more: go on with `next`. With `stopped_at`
    /// there was too much history to look through: give a narrower `range`, or a `since`.
    pub truncated: bool,
    /// The commit at which looking stopped.
    pub stopped_at: Option<String>,
}

/// The commits that were asked for, where no list of git's is needed.
pub fn log(repo: &Repository, query: &Query) -> Result<Log, Error> {
    let (ends, budget) = (query.ends(repo)?, Budget::of_a_look());
    let mut walk = Walk::new(repo, &ends, query.request().first_parent, budget)?;
    pick(repo, query, || Ok((walk.step()?, None)), None)
}

/// The same of commits that git listed; `path` is the caller's, checked.
pub fn log_of(
    repo: &Repository,
    query: &Query,
    listed: Vec<Listed>,
    path: Option<&Path>,
) -> Result<Log, Error> {
    // A file that is followed has other names elsewhere.
    let path = path.filter(|_| !query.request().follow);
    let mut listed = listed.into_iter();
    let step = || match listed.next() {
        Some(listed) => Ok((LogStep::Commit(listed.id), Some(listed))),
        None => Ok((LogStep::End, None)),
    };
    pick(repo, query, step, path)
}

fn pick(
    repo: &Repository,
    query: &Query,
    mut step: impl FnMut() -> Result<(LogStep, Option<Listed>), Error>,
    path: Option<&Path>,
) -> Result<Log, Error> {
    let teller = Teller::new(repo, query.request())?;
    let path = path.map(Path::to_string_lossy);
    // The whole tree needs no filter.
    let path = path.as_deref().filter(|path| *path != ".");
    let mut log = Log {
        commits: Vec::new(),
        skip: query.request().skip,
        next: None,
        truncated: false,
        stopped_at: None,
    };
    let (mut passed, mut patches) = (0, 0);
    loop {
        let (next, listed) = step()?;
        let id = match next {
            LogStep::Commit(id) => id,
            LogStep::End => return Ok(log),
            LogStep::GaveUp(at) => {
                log.truncated = true;
                log.stopped_at = Some(at.to_string());
                return Ok(log);
            }
        };
        let commit = repo.git2().find_commit(id)?;
        if !query.wants(&commit) {
            continue;
        }
        if passed < log.skip {
            passed += 1;
            continue;
        }
        if log.commits.len() == query.count() || patches > MOST_PATCHES {
            log.truncated = log.commits.len() < query.count();
            log.next = Some(log.skip + log.commits.len());
            return Ok(log);
        }
        let (name, from) = listed.map_or((None, None), |listed| (listed.path, listed.from));
        let at = path.into_iter().chain(name.as_deref());
        let at: Vec<&str> = at.chain(from.as_deref()).collect();
        let entry = teller.tell(&commit, &at, name.clone())?;
        patches += entry.patch.as_ref().map_or(0, |patch| patch.text.len());
        log.commits.push(entry);
    }
}

/// The ids alone, for whoever tells something else about them; where the walk gave up, if it did.
pub(super) fn ids(
    repo: &Repository,
    ends: &Ends,
    budget: Budget,
) -> Result<(Vec<Oid>, Option<Oid>), Error> {
    let mut walk = Walk::new(repo, ends, false, budget)?;
    let mut ids = Vec::new();
    loop {
        match walk.step()? {
            LogStep::Commit(id) => ids.push(id),
            LogStep::End => return Ok((ids, None)),
            LogStep::GaveUp(at) => return Ok((ids, Some(at))),
        }
    }
}

impl Render for Log {
    fn text(&self) -> String {
        let mut text: String = self.commits.iter().map(LogEntry::text).collect();
        if self.commits.is_empty() {
            text.push_str("no commits\n");
        }
        if let Some(next) = self.next {
            text.push_str(&format!("(more with skip {next})\n"));
        }
        if let Some(at) = &self.stopped_at {
            text.push_str(&format!(
                "(stopped looking at {at}; ask for less history)\n"
            ));
        }
        text
    }

    fn page(&mut self, room: usize) -> bool {
        if keep_fitting(&mut self.commits, room) > 0 {
            self.next = Some(self.skip + self.commits.len());
            self.truncated = true;
        }
        true
    }
}
