//! `diff`: what differs between files, index and revisions.

use std::path::PathBuf;

use git2::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::integration::base_of;
use super::patch::{Detail, Files, Place, Sides, WantedFiles};
use super::suspects::Against;
use super::verb::{Effect, Render, VerbEntry};
use super::{Verbosity, revision};
use crate::{Error, Repository, SubmoduleState, head};
use branchyard_model::{ErrorKind, Problem};

/// As many as git shows where nobody says.
pub const CONTEXT: u32 = 3;
/// The side of a comparison that is the files of the workspace.
pub const FILES: &str = "files";
const MOST_CONTEXT: u32 = 100_000;
pub const LIMIT: usize = 1_000;
const MOST_FILES: usize = 10_000;

pub const VERB: VerbEntry = VerbEntry {
    name: "diff",
    title: "Show differences",
    description: "Shows what differs between files and index (the default), what is staged, or what differs from, or between, revisions; with merge_base, what a branch did since it parted from another.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The older side: a branch, tag or commit id, `HEAD~2`, `origin/main`. The index where it is left
    /// out, or HEAD with `staged` or `to`.
    pub from: Option<String>,
    /// The newer side; the files of the workspace where it is left out, or the index with `staged`.
    pub to: Option<String>,
    /// Compare with the index: what the next commit would contain.
    pub staged: bool,
    /// From the commit where `from` parted from the other side: without what `from` got meanwhile.
    pub merge_base: bool,
    /// Only these files and directories.
    pub paths: Vec<String>,
    /// Count the lines of each file, without patches.
    pub stat: bool,
    /// Only which files differ.
    pub name_only: bool,
    /// Lines around each change.
    #[schemars(range(max = 100_000))]
    pub context: u32,
    /// Show untracked files, too, as if they were added.
    pub include_untracked: bool,
    /// Show the patches of lock files of package managers, too.
    pub lock_files: bool,
    /// To go on: an answer's `next.skip`.
    pub skip: usize,
    /// The same of hunks.
    pub skip_hunks: usize,
    /// How many files at most.
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: usize,
    /// How much is told: `minimal` has no patches, `full` adds modes and blob ids.
    pub verbosity: Verbosity,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            staged: false,
            merge_base: false,
            paths: Vec::new(),
            stat: false,
            name_only: false,
            context: CONTEXT,
            include_untracked: false,
            lock_files: false,
            skip: 0,
            skip_hunks: 0,
            limit: LIMIT,
            verbosity: Verbosity::default(),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// What is compared: `index` or the id of a commit or tree.
    pub old: String,
    /// What it is compared with: `files`, `index` or an id.
    pub new: String,
    #[serde(flatten)]
    pub files: Files,
    /// With files: submodules that are not as recorded, in themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleState>,
}

impl Request {
    /// Refuses what makes no sense, before anything is looked at.
    pub fn check(&self) -> Result<(), Problem> {
        let refused = |field, detail| Err(Problem::unprocessable(field, detail));
        if self.staged && self.to.is_some() {
            return refused(
                "to",
                "`staged` compares with the index, and `to` with a revision",
            );
        }
        if self.merge_base && self.from.is_none() {
            return refused("from", "`merge_base` needs a revision to part from");
        }
        if self.include_untracked && (self.staged || self.to.is_some()) {
            return refused(
                "include_untracked",
                "there are untracked files among the files of the workspace only, and they are not compared here",
            );
        }
        check_bounds(self.context, self.limit)
    }

    fn wanted(&self) -> WantedFiles {
        WantedFiles {
            detail: if self.name_only {
                Detail::Names
            } else if self.stat || self.verbosity == Verbosity::Minimal {
                Detail::Counts
            } else {
                Detail::Patches
            },
            context: self.context,
            lock_files: self.lock_files,
            untracked: self.include_untracked,
            sides: self.verbosity == Verbosity::Full,
            from: Place {
                skip: self.skip,
                skip_hunks: self.skip_hunks,
            },
            limit: self.limit,
        }
    }
}

/// Refuses numbers that no answer could honour.
pub fn check_bounds(context: u32, limit: usize) -> Result<(), Problem> {
    if context > MOST_CONTEXT {
        let detail = format!("at most {MOST_CONTEXT} lines can be shown around a change");
        return Err(Problem::unprocessable("context", detail));
    }
    if limit == 0 || limit > MOST_FILES {
        let detail = format!("between 1 and {MOST_FILES} can be asked for");
        return Err(Problem::unprocessable("limit", detail));
    }
    Ok(())
}

/// Two sides, found by what the caller called them.
#[derive(Debug)]
pub struct Comparison<'repo> {
    old: String,
    new: String,
    sides: Sides<'repo>,
}

impl<'repo> Comparison<'repo> {
    pub fn resolve(repo: &'repo Repository, request: &Request) -> Result<Self, Error> {
        let older = match (&request.from, request.staged || request.to.is_some()) {
            (Some(from), _) => Some(older(repo, from, request)?),
            (None, true) => Some(named_tree(repo, "from", "HEAD")?),
            (None, false) => None,
        };
        let newer = request.to.as_ref();
        let newer = newer.map(|to| named_tree(repo, "to", to)).transpose()?;
        let name_of = |side: &Option<(String, Tree<'_>)>, otherwise: &str| {
            let named = side.as_ref().map(|(id, _)| id.clone());
            named.unwrap_or_else(|| otherwise.to_owned())
        };
        Ok(Self {
            old: name_of(&older, "index"),
            new: match request.staged {
                true => "index".to_owned(),
                false => name_of(&newer, FILES),
            },
            sides: match (older, newer) {
                (Some((_, older)), Some((_, newer))) => Sides::Trees(Some(older), newer),
                (Some((_, older)), None) if request.staged => Sides::TreeToIndex(older),
                (Some((_, older)), None) => Sides::TreeToFiles(older),
                (None, _) => Sides::IndexToFiles,
            },
        })
    }

    /// What git can be asked to compare, to know which files to look at.
    pub fn against(&self) -> Option<Against> {
        match &self.sides {
            Sides::IndexToFiles => Some(Against::Index),
            Sides::TreeToFiles(tree) => Some(Against::Tree {
                tree: tree.id(),
                staged: false,
            }),
            Sides::TreeToIndex(tree) => Some(Against::Tree {
                tree: tree.id(),
                staged: true,
            }),
            Sides::Trees(..) => None,
        }
    }

    /// What differs at `paths`, which are checked; at none of them where `None`.
    pub fn differences(
        self,
        repo: &Repository,
        paths: Option<&[PathBuf]>,
        request: &Request,
    ) -> Result<Differences, Error> {
        let wanted = request.wanted();
        Ok(Differences {
            old: self.old,
            new: self.new,
            files: match paths {
                Some(paths) => Files::between(repo, &self.sides, paths, &wanted)?,
                None => Files::none(&wanted),
            },
            submodules: Vec::new(),
        })
    }
}

fn older<'repo>(
    repo: &'repo Repository,
    from: &str,
    request: &Request,
) -> Result<(String, Tree<'repo>), Error> {
    if !request.merge_base {
        return named_tree(repo, "from", from);
    }
    let one = revision::commit(repo, "from", from)?.id();
    let other = match &request.to {
        Some(to) => revision::commit(repo, "to", to)?.id(),
        None => head(repo)?.commit.git2(),
    };
    let base = base_of(repo, one, other)?.ok_or_else(|| {
        let detail = "the two have no commit in common";
        Problem::new(ErrorKind::Unprocessable, "no_merge_base", detail)
            .field("merge_base")
            .help("compare the two themselves, with `merge_base: false`")
    })?;
    Ok((base.to_string(), repo.tree_of(base)?))
}

/// The tree of a revision, and the id of the commit that it is the tree of, where it is one's.
fn named_tree<'repo>(
    repo: &'repo Repository,
    field: &str,
    named: &str,
) -> Result<(String, Tree<'repo>), Error> {
    let tree = revision::tree(repo, field, named)?;
    let commit = revision::object(repo, field, named)?.peel_to_commit();
    let id = commit.map_or_else(|_| tree.id(), |commit| commit.id());
    Ok((id.to_string(), tree))
}

impl Render for Differences {
    fn text(&self) -> String {
        let mut text = format!("{} to {}: {}", self.old, self.new, self.files.text());
        for submodule in &self.submodules {
            text += &format!("\nsubmodule {submodule}");
        }
        text
    }

    fn page(&mut self, room: usize) -> bool {
        self.files.cut(room);
        true
    }
}
