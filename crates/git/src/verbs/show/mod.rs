//! `show`: one object of the repository, or a file as it was.

mod entries;
mod file;
mod text;

use std::path::Path;

use git2::{Commit, Object, ObjectType, Tag};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diff::{CONTEXT, LIMIT, check_bounds};
use super::patch::{Detail, Files, Place, Sides, WantedFiles};
use super::person::{Person, text};
use super::verb::{Effect, VerbEntry};
use super::{Verbosity, revision};
use crate::{Error, Repository};
use branchyard_model::{ErrorKind, Problem};

pub use entries::{Entries, Entry, EntryKind};
pub use file::FileAt;

pub const VERB: VerbEntry = VerbEntry {
    name: "show",
    title: "Show a commit, tag, directory or file",
    description: "Shows a commit with what it changed, an annotated tag, or, with path, a file or directory as it was in any revision.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A branch, tag, commit or other object: a name, an id, `HEAD~2`, `origin/main`.
    pub revision: String,
    /// A file or directory as it is in that revision.
    pub path: Option<String>,
    /// Show what a commit changed, as patches.
    pub patch: bool,
    /// Count what a commit changed, file by file.
    pub stat: bool,
    /// Lines around each change.
    #[schemars(range(max = 100_000))]
    pub context: u32,
    /// Show the patches of lock files of package managers, too.
    pub lock_files: bool,
    /// To go on: an answer's `next`.
    pub skip: usize,
    /// The same of hunks.
    pub skip_hunks: usize,
    /// How many files of a commit, entries of a directory or lines of a file at most.
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: usize,
    /// How much is told: `minimal` has neither patches nor the message's body, `full` adds modes, ids and
    /// sizes.
    pub verbosity: Verbosity,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            revision: "HEAD".to_owned(),
            path: None,
            patch: true,
            stat: true,
            context: CONTEXT,
            lock_files: false,
            skip: 0,
            skip_hunks: 0,
            limit: LIMIT,
            verbosity: Verbosity::default(),
        }
    }
}

/// One object; of the parts that describe it, those are there that it has.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    pub object: Kind,
    pub id: String,
    /// The tag, where it was named by one that has a message. What it leads to is shown, too.
    pub tag: Option<TagDetails>,
    pub details: Option<CommitDetails>,
    pub directory: Option<Entries>,
    pub file: Option<FileAt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Commit,
    Tag,
    Directory,
    File,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TagDetails {
    pub name: String,
    pub tagger: Option<Person>,
    pub message: String,
    /// The id of what it stands for.
    pub target: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CommitDetails {
    pub subject: String,
    /// The rest of the message; not with `minimal`.
    pub body: Option<String>,
    pub author: Person,
    /// Not with `minimal`.
    pub committer: Option<Person>,
    pub parents: Vec<String>,
    /// What it changed; in a merge, against its first parent.
    #[serde(flatten)]
    pub changed: Option<Files>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_bounds(self.context, self.limit)
    }

    fn wanted(&self) -> WantedFiles {
        WantedFiles {
            detail: match self.patch && self.verbosity > Verbosity::Minimal {
                true => Detail::Patches,
                false => Detail::Counts,
            },
            context: self.context,
            lock_files: self.lock_files,
            untracked: false,
            sides: self.verbosity == Verbosity::Full,
            from: Place {
                skip: self.skip,
                skip_hunks: self.skip_hunks,
            },
            limit: self.limit,
        }
    }
}

/// Shows what was asked for; `path` is the caller's, checked.
pub fn show(repo: &Repository, path: Option<&Path>, request: &Request) -> Result<Shown, Error> {
    let named = revision::object(repo, "revision", &request.revision)?;
    match path {
        None => Shown::of(repo, &named, None, request),
        Some(path) => {
            let tree = revision::tree(repo, "revision", &request.revision)?;
            let (object, mode) = at_path(repo, &tree, path, &request.revision)?;
            Shown::of(repo, &object, Some((path, mode)), request)
        }
    }
}

impl Shown {
    fn of(
        repo: &Repository,
        object: &Object<'_>,
        at: Option<(&Path, i32)>,
        request: &Request,
    ) -> Result<Self, Error> {
        let mut shown = Self {
            object: Kind::File,
            id: object.id().to_string(),
            tag: None,
            details: None,
            directory: None,
            file: None,
        };
        if let Some(commit) = object.as_commit() {
            shown.object = Kind::Commit;
            shown.details = Some(CommitDetails::of(repo, commit, request)?);
        } else if let Some(tree) = object.as_tree() {
            shown.object = Kind::Directory;
            shown.directory = Some(Entries::of(repo, tree, request)?);
        } else if let Some(blob) = object.as_blob() {
            shown.file = Some(FileAt::of(blob, at, request));
        } else if let Some(tag) = object.as_tag() {
            shown = Self::of(repo, &tag.target()?, None, request)?;
            shown.tag = Some(TagDetails::of(tag));
            (shown.object, shown.id) = (Kind::Tag, tag.id().to_string());
        }
        Ok(shown)
    }
}

impl TagDetails {
    fn of(tag: &Tag<'_>) -> Self {
        Self {
            name: text(tag.name_bytes()),
            tagger: tag.tagger().map(|tagger| Person::of(&tagger)),
            message: text(tag.message_bytes().unwrap_or_default()),
            target: tag.target_id().to_string(),
        }
    }
}

impl CommitDetails {
    fn of(repo: &Repository, commit: &Commit<'_>, request: &Request) -> Result<Self, Error> {
        let tells_more = request.verbosity > Verbosity::Minimal;
        let mut changed = None;
        if request.patch || request.stat {
            let parent = match commit.parent_count() {
                0 => None,
                _ => Some(commit.parent(0)?.tree()?),
            };
            let sides = Sides::Trees(parent, commit.tree()?);
            changed = Some(Files::between(repo, &sides, &[], &request.wanted())?);
        }
        let message = text(commit.message_bytes());
        let (subject, body) = split_message(&message);
        Ok(Self {
            subject,
            body: tells_more.then_some(body),
            author: Person::of(&commit.author()),
            committer: tells_more.then(|| Person::of(&commit.committer())),
            parents: commit.parent_ids().map(|id| id.to_string()).collect(),
            changed,
        })
    }
}

/// Git's way to part a message: the subject is its first paragraph, in one line.
fn split_message(message: &str) -> (String, String) {
    let message = message.trim_start_matches('\n');
    let (subject, body) = message.split_once("\n\n").unwrap_or((message, ""));
    let subject: Vec<_> = subject.lines().map(str::trim).collect();
    let body = body.trim_start_matches('\n').trim_end();
    (subject.join(" ").trim().to_owned(), body.to_owned())
}

fn at_path<'repo>(
    repo: &'repo Repository,
    tree: &git2::Tree<'repo>,
    path: &Path,
    revision: &str,
) -> Result<(Object<'repo>, i32), Error> {
    if path == Path::new(".") {
        return Ok((tree.as_object().clone(), i32::from(git2::FileMode::Tree)));
    }
    let named = path.display();
    let not_there = || {
        let detail = format!("there is no {named} in {}", revision.escape_debug());
        Problem::new(ErrorKind::NotFound, "file_not_found", detail)
            .field("path")
            .help("show the directory above it, or the revision before")
    };
    let entry = tree.get_path(path).map_err(|_| not_there())?;
    if entry.kind() == Some(ObjectType::Commit) {
        let detail = format!("{named} is a submodule, at its commit {}", entry.id());
        return Err(Problem::unprocessable("path", detail).into());
    }
    Ok((entry.to_object(repo.git2())?, entry.filemode()))
}
