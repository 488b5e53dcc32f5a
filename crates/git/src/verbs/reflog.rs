//! `reflog`: where a branch has been. What a rebase, a reset or an amend left behind is found by it.

use git2::{Oid, Reference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::person::{Person, text};
use super::room::keep_fitting;
use super::verb::{Effect, Render, VerbEntry};
use crate::{Error, Repository, read_ref};
use branchyard_model::{BranchName, ErrorKind, Problem};

const MOST_DEFAULT: usize = 20;
const MOST: usize = 1000;
/// Of a branch's name and what may come before it; a longer one no file can be named after.
const LONGEST: usize = 255;

pub const VERB: VerbEntry = VerbEntry {
    name: "reflog",
    title: "Where a branch has been",
    description: "Lists where the branch, HEAD or another branch has pointed to, the latest first. Finds commits that a reset, rebase or amend left behind.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Whose log: a branch such as `main` or `origin/main`, or `HEAD` of this workspace. The branch itself
    /// where not given.
    #[serde(rename = "ref")]
    pub of: Option<String>,
    /// How many entries at most, 20 where not given.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(rename = "limit", alias = "count")]
    pub count: Option<usize>,
    /// To go on: an answer's `next`.
    pub skip: usize,
    /// How much of each entry is told.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reflog {
    /// The full name of the ref.
    #[serde(rename = "ref")]
    pub of: String,
    /// The latest first.
    pub entries: Vec<Entry>,
    /// How many there are in all.
    pub total: usize,
    /// How many entries were passed over before the first of these.
    pub skip: usize,
    /// There are more: what `skip` is to be to go on.
    pub next: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// How to name the commit: `main@{3}`.
    pub selector: String,
    /// The commit that the ref went to.
    pub id: String,
    /// The one that it was at; none where it was made, and not with `minimal`.
    pub old_id: Option<String>,
    /// What was done, as in `commit: a subject`.
    pub message: String,
    /// Not with `minimal`.
    pub who: Option<Person>,
}

pub fn reflog(repo: &Repository, own: &BranchName, request: &Request) -> Result<Reflog, Error> {
    let count = request.count.unwrap_or(MOST_DEFAULT);
    if !(1..=MOST).contains(&count) {
        let detail = format!("{count} is not from 1 to {MOST}");
        return Err(Problem::unprocessable("limit", detail)
            .help("go on with `skip`")
            .into());
    }
    let of = name(repo, own, request.of.as_deref())?;
    let mut told = Reflog {
        entries: Vec::new(),
        total: 0,
        skip: request.skip,
        next: None,
        of,
    };
    // libgit2 writes an empty log where it finds none, and a log without a ref is taken for a lost ref.
    if !repo.git2().reference_has_log(&told.of)? {
        return Ok(told);
    }
    let log = repo.git2().reflog(&told.of)?;
    told.total = log.len();
    let short = short(&told.of);
    let more = request.verbosity > Verbosity::Minimal;
    let id = |id: Oid| Some(id.to_string()).filter(|_| !id.is_zero());
    for (n, entry) in log.iter().enumerate().skip(request.skip).take(count) {
        told.entries.push(Entry {
            selector: format!("{short}@{{{n}}}"),
            id: entry.id_new().to_string(),
            old_id: id(entry.id_old()).filter(|_| more),
            message: text(entry.message_bytes().unwrap_or_default()),
            who: more.then(|| Person::of(&entry.committer())),
        });
    }
    let end = request.skip.saturating_add(told.entries.len());
    told.next = (end < told.total).then_some(end);
    Ok(told)
}

fn short(full: &str) -> &str {
    ["refs/heads/", "refs/remotes/"]
        .iter()
        .find_map(|prefix| full.strip_prefix(prefix))
        .unwrap_or(full)
}

/// The full name of the ref that is meant. Other refs than branches are not for callers.
fn name(repo: &Repository, own: &BranchName, given: Option<&str>) -> Result<String, Error> {
    let Some(given) = given else {
        return Ok(own.local_ref());
    };
    if given == "HEAD" {
        return Ok(given.to_owned());
    }
    let names = match short(given) == given {
        true => vec![
            format!("refs/heads/{given}"),
            format!("refs/remotes/{given}"),
            format!("refs/remotes/origin/{given}"),
        ],
        false => vec![given.to_owned()],
    };
    let is_name = names.iter().all(|name| Reference::is_valid_name(name));
    if given.starts_with('-') || given.len() > LONGEST || !is_name {
        let detail = format!("{} is not the name of a branch", given.escape_debug());
        return Err(Problem::bad("ref", detail)
            .help("give `HEAD`, or a branch such as main or origin/main")
            .into());
    }
    for name in names {
        if read_ref(repo, &name)?.is_some() {
            return Ok(name);
        }
    }
    let detail = format!("there is no branch {} here", given.escape_debug());
    Err(
        Problem::new(ErrorKind::NotFound, "revision_not_found", detail)
            .field("ref")
            .help("give `HEAD`, or a branch such as main or origin/main")
            .into(),
    )
}

impl Render for Reflog {
    fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let (id, selector) = (entry.id.get(..8).unwrap_or(&entry.id), &entry.selector);
            text.push_str(&format!("{id} {selector}: {}\n", entry.message));
        }
        if self.entries.is_empty() {
            text.push_str(&format!("nothing is noted of {}\n", self.of));
        }
        if let Some(next) = self.next {
            text.push_str(&format!("({} in all; more with skip {next})\n", self.total));
        }
        text
    }

    fn page(&mut self, room: usize) -> bool {
        if keep_fitting(&mut self.entries, room) > 0 {
            self.next = Some(self.skip + self.entries.len());
        }
        true
    }
}
