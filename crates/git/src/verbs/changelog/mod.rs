//! `changelog`: commits between two places, sorted for release notes.

mod convention;
mod gather;
mod tags;
mod version;

use std::cmp::Reverse;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::log::{self, Ends};
use super::verb::{Effect, Render, VerbEntry};
use super::{Verbosity, revision};
use crate::{Error, Repository, head};
use tags::{Tag, Tags};
use version::Version;

pub use gather::{Author, Breaking, Change, ChangelogScope, Group};
pub use version::Bump;

pub const VERB: VerbEntry = VerbEntry {
    name: "changelog",
    title: "Material for release notes",
    description: "Sorts commits since the last tag, or between two revisions, by conventional type and scope, with breaking changes, authors, pull request numbers and a suggested next version.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// What was there before: a tag, branch or commit. The last tag before `to`, if left out.
    pub from: Option<String>,
    /// Up to which tag, branch or commit; the branch's own commit where not given.
    pub to: Option<String>,
    /// How much of each commit is told.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Changelog {
    /// None where all of history is meant.
    pub from: Option<End>,
    pub to: End,
    /// How many commits are told of; merges are not.
    pub commits: usize,
    /// How many merges were left out.
    pub merges: usize,
    /// What breaks, whatever its type; also told in its group.
    pub breaking: Vec<Breaking>,
    /// How many of them there are.
    pub breaking_total: usize,
    /// Commits that follow the convention `type(scope): description`, by type and scope.
    pub groups: Vec<Group>,
    /// Commits that do not.
    pub other: Group,
    /// Who made them, those with most commits first.
    pub authors: Vec<Author>,
    /// How many they are.
    pub authors_total: usize,
    /// What the next version is to be, where the last one is known.
    pub next_version: Option<NextVersion>,
    /// Something is missing: there was too much history, or the lists are cut. The counts that stand
    /// beside lists are those of what was found.
    pub truncated: bool,
}

/// One end of the range.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct End {
    pub name: String,
    pub id: String,
}

/// A suggestion by the rules of semantic versioning.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NextVersion {
    /// The tag of the last one.
    pub last: String,
    pub bump: Bump,
    pub suggested: String,
}

pub fn changelog(repo: &Repository, request: &Request) -> Result<Changelog, Error> {
    let (to_name, to) = match &request.to {
        Some(named) => (named.as_str(), revision::commit(repo, "to", named)?.id()),
        None => ("HEAD", head(repo)?.commit.git2()),
    };
    let tags = Tags::read(repo)?;
    let from = match &request.from {
        Some(named) => Some(Tag {
            name: named.clone(),
            commit: revision::commit(repo, "from", named)?.id(),
        }),
        // Notes of a release that was tagged are about what came after the tag before it.
        None => {
            let is_named = request.to.is_some();
            tags.last(repo, to, |tag| !is_named || tag.commit != to)?
        }
    };
    let ends = Ends {
        shown: vec![to],
        hidden: from.iter().map(|tag| tag.commit).collect(),
        is_symmetric: false,
    };
    let (ids, gave_up) = log::ids(repo, &ends, Budget::of_a_look())?;
    let mut gathered = gather::gather(repo, &ids, request.verbosity)?;
    let had_part_in = |author: &Author| Reverse(author.commits + author.co_authored);
    gathered.authors.sort_by_key(had_part_in);
    Ok(Changelog {
        next_version: next_version(repo, &tags, from.as_ref(), to, gathered.bump)?,
        from: from.map(|tag| End {
            id: tag.commit.to_string(),
            name: tag.name,
        }),
        to: End {
            name: to_name.to_owned(),
            id: to.to_string(),
        },
        commits: gathered.commits,
        merges: gathered.merges,
        breaking_total: gathered.breaking.len(),
        breaking: gathered.breaking,
        groups: gathered.groups,
        other: gathered.other,
        authors_total: gathered.authors.len(),
        authors: gathered.authors,
        truncated: gave_up.is_some(),
    })
}

/// Counted from the tag that was named, if it is a version, else from the last one before.
fn next_version(
    repo: &Repository,
    tags: &Tags,
    from: Option<&Tag>,
    to: Oid,
    bump: Option<Bump>,
) -> Result<Option<NextVersion>, Error> {
    let Some(bump) = bump else {
        return Ok(None);
    };
    let read = |tag: &Tag| tag.name.parse::<Version>().ok();
    let last = match from.filter(|tag| read(tag).is_some()) {
        Some(tag) => Some(tag.clone()),
        None => tags.last(repo, to, |tag| tag.commit != to && read(tag).is_some())?,
    };
    let version = last.as_ref().and_then(read);
    Ok(last.zip(version).map(|(tag, version)| NextVersion {
        last: tag.name,
        bump,
        suggested: version.next(bump).to_string(),
    }))
}

impl Render for Changelog {
    fn text(&self) -> String {
        let from = self.from.as_ref().map_or("the beginning", |end| &end.name);
        let mut text = format!(
            "{} commits from {from} to {} by {} authors",
            self.commits, self.to.name, self.authors_total
        );
        if let Some(next) = &self.next_version {
            text.push_str(&format!("; {} after {}", next.suggested, next.last));
        }
        text.push('\n');
        for breaking in &self.breaking {
            text.push_str(&format!("BREAKING: {}\n", breaking.description));
        }
        let groups = self.groups.iter().chain([&self.other]);
        text.extend(groups.filter(|group| group.count > 0).map(Group::paragraph));
        if self.truncated {
            text.push_str("(cut; give `from` and `to` nearer to each other for the rest)\n");
        }
        text
    }
}
