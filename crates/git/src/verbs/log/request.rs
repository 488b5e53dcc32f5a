//! What `log` takes, checked before anything is looked at.

use git2::{Commit, Oid};
use jiff::Timestamp;
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::Ends;
use crate::verbs::moment::{Edge, moment};
use crate::verbs::{Verbosity, revision};
use crate::{Error, Repository, head};
use branchyard_model::{Problem, regex};

/// More than this nobody reads at once.
const MOST: usize = 1000;
const MOST_DEFAULT: usize = 20;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Where to begin: a branch, tag, commit id, or `HEAD~2`. The branch's own commit where not given.
    pub revision: Option<String>,
    /// `a..b`: what b has and a has not; `a...b`: what only one of the two has. In place of `revision`.
    pub range: Option<String>,
    /// All branches, local and of the remote, in place of `revision` and `range`.
    pub all: bool,
    /// How many commits at most, 20 where not given.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(rename = "limit", alias = "count")]
    pub count: Option<usize>,
    /// To go on: an answer's `next`.
    pub skip: usize,
    /// Committed at or after: an RFC 3339 time, a date (UTC), or how long ago, such as `2d`.
    pub since: Option<String>,
    /// Committed at or before: as `since`; a date includes its day.
    pub until: Option<String>,
    /// Regular expression on the author's `Name <email>`.
    pub author: Option<String>,
    /// The same of the committer's.
    pub committer: Option<String>,
    /// Regular expression on the message; `^` and `$` are ends of its lines.
    pub grep: Option<String>,
    /// Only commits that changed this file or directory.
    pub path: Option<String>,
    /// Follow the file at `path` to the names that it had before.
    pub follow: bool,
    /// What to do about merges.
    pub merges: Merges,
    /// Follow the first parent of each merge alone.
    pub first_parent: bool,
    /// Count the changed files and lines of each commit; of merges with `first_parent` alone.
    pub stat: bool,
    /// Show each commit's patch, within limits; of merges with `first_parent` alone.
    pub patch: bool,
    /// How much of each commit is told.
    pub verbosity: Verbosity,
}

/// What is done about merges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merges {
    #[default]
    Include,
    Exclude,
    Only,
}

/// A request that makes sense.
#[derive(Debug, Clone)]
pub struct Query {
    request: Request,
    /// Seconds since 1970, both inclusive.
    since: Option<i64>,
    until: Option<i64>,
    count: usize,
    author: Option<Regex>,
    committer: Option<Regex>,
    grep: Option<Regex>,
}

impl Request {
    pub fn check(self) -> Result<Query, Problem> {
        let places = [self.revision.is_some(), self.range.is_some(), self.all];
        if places.into_iter().filter(|given| *given).count() > 1 {
            let field = if self.all { "all" } else { "range" };
            return Err(Problem::unprocessable(
                field,
                "`revision`, `range` and `all` exclude each other",
            )
            .help("give one of them"));
        }
        if self.follow && self.path.is_none() {
            return Err(
                Problem::unprocessable("follow", "there is no file to follow")
                    .help("name it in `path`"),
            );
        }
        let count = self.count.unwrap_or(MOST_DEFAULT);
        if !(1..=MOST).contains(&count) {
            let detail = format!("{count} is not from 1 to {MOST}");
            return Err(Problem::unprocessable("limit", detail).help("go on with `skip`"));
        }
        let now = Timestamp::now();
        let at = |field, written: &Option<String>, edge| match written {
            Some(written) => moment(field, written, edge, now).map(Some),
            None => Ok(None),
        };
        Ok(Query {
            since: at("since", &self.since, Edge::First)?,
            until: at("until", &self.until, Edge::Last)?,
            count,
            author: pattern("author", self.author.as_deref())?,
            committer: pattern("committer", self.committer.as_deref())?,
            grep: pattern("grep", self.grep.as_deref())?,
            request: self,
        })
    }
}

fn pattern(field: &str, written: Option<&str>) -> Result<Option<Regex>, Problem> {
    let compiled = written.map(|written| {
        regex(written, |builder| {
            builder.multi_line(true);
        })
    });
    compiled.transpose().map_err(|error| {
        let detail = format!("this is no regular expression: {error}");
        Problem::unprocessable(field, detail)
            .help("put a `\\` before signs that stand for themselves")
    })
}

impl Query {
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    pub(super) fn since(&self) -> Option<i64> {
        self.since
    }

    pub(super) fn until(&self) -> Option<i64> {
        self.until
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The path as the caller gave it.
    pub fn path(&self) -> Option<&str> {
        self.request.path.as_deref()
    }

    /// Whether libgit2 cannot tell the commits, and git has to list them.
    pub fn needs_list(&self) -> bool {
        let range = self.request.range.as_deref();
        let is_symmetric = range.is_some_and(|range| range.contains("..."));
        is_symmetric || self.request.path.is_some() || self.since.is_some()
    }

    /// How many commits of a list may be looked at: those that are passed over, those that are told, and one that
    /// says that there are more. A pattern may choose among all.
    pub(super) fn most(&self) -> usize {
        let patterns = [&self.author, &self.committer, &self.grep];
        match patterns.into_iter().all(Option::is_none) {
            true => self.request.skip.saturating_add(self.count + 1),
            false => usize::MAX,
        }
    }

    /// The commits that the caller named.
    pub fn ends(&self, repo: &Repository) -> Result<Ends, Error> {
        let Request {
            revision, range, ..
        } = &self.request;
        if let Some(range) = range {
            return ends_of_range(repo, range);
        }
        let mut shown = vec![match revision {
            Some(named) => revision::commit(repo, "revision", named)?.id(),
            None => head(repo)?.commit.git2(),
        }];
        if self.request.all {
            shown.extend(tips(repo)?);
        }
        Ok(Ends {
            shown,
            ..Ends::default()
        })
    }

    pub(super) fn wants(&self, commit: &Commit<'_>) -> bool {
        let is_merge = commit.parent_count() > 1;
        let kind = match self.request.merges {
            Merges::Include => true,
            Merges::Exclude => !is_merge,
            Merges::Only => is_merge,
        };
        let is_from = |pattern: &Option<Regex>, who: &git2::Signature<'_>| {
            pattern.as_ref().is_none_or(|pattern| {
                let who = [who.name_bytes(), b" <", who.email_bytes(), b">"].concat();
                pattern.is_match(&who)
            })
        };
        let is_late = self
            .until
            .is_some_and(|until| commit.time().seconds() > until);
        !is_late
            && kind
            && is_from(&self.author, &commit.author())
            && is_from(&self.committer, &commit.committer())
            && self
                .grep
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(commit.message_bytes()))
    }
}

fn ends_of_range(repo: &Repository, range: &str) -> Result<Ends, Error> {
    let named = |revision: &str| match revision {
        "" => Ok(head(repo)?.commit.git2()),
        _ => Ok::<_, Error>(revision::commit(repo, "range", revision)?.id()),
    };
    if let Some((one, other)) = range.split_once("...") {
        let (one, other) = (named(one)?, named(other)?);
        return Ok(Ends {
            shown: vec![one, other],
            hidden: Vec::new(),
            is_symmetric: true,
        });
    }
    let Some((without, with)) = range.split_once("..") else {
        let detail = format!("{} is no range", range.escape_debug());
        return Err(Problem::bad("range", detail)
            .help("write `a..b` or `a...b`; one commit alone goes into `revision`")
            .into());
    };
    Ok(Ends {
        hidden: vec![named(without)?],
        shown: vec![named(with)?],
        is_symmetric: false,
    })
}

/// The commits of all branches, local ones first.
fn tips(repo: &Repository) -> Result<Vec<Oid>, Error> {
    let mut tips = Vec::new();
    for glob in ["refs/heads/*", "refs/remotes/*"] {
        for reference in repo.git2().references_glob(glob)? {
            // A ref that leads to nothing is for others to mend.
            if let Ok(commit) = reference?.peel_to_commit() {
                tips.push(commit.id());
            }
        }
    }
    Ok(tips)
}
