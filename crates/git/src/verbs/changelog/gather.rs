//! Commits into groups.

use std::collections::{BTreeMap, HashMap};

use git2::{Commit, Oid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convention::{Conventional, Footers, conventional, footers, pull_requests};
use super::version::Bump;
use crate::verbs::Verbosity;
use crate::verbs::person::{Person, text};
use crate::{Error, Repository};

/// The order in which readers look for types; others come after, by name.
const FIRST: [&str; 11] = [
    "feat", "fix", "perf", "revert", "refactor", "docs", "style", "test", "build", "ci", "chore",
];

/// Commits of one type.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The word before the colon, in lower case; `other` of those without.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many there are.
    pub count: usize,
    /// Those without a scope first.
    pub scopes: Vec<ChangelogScope>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangelogScope {
    pub scope: Option<String>,
    /// How many there are.
    pub count: usize,
    /// The youngest first.
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub id: String,
    /// The subject, without type and scope.
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pull_requests: Vec<u64>,
    pub breaking: bool,
    /// Not with `minimal`.
    pub author: Option<String>,
    /// With `full`.
    pub date: Option<String>,
    /// The rest of the message; with `full`.
    pub body: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Breaking {
    pub id: String,
    pub scope: Option<String>,
    pub description: String,
    /// What the message says about it.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// How many commits are theirs.
    pub commits: usize,
    /// How many more they had a part in, by `Co-authored-by`.
    pub co_authored: usize,
}

impl Group {
    pub(super) fn paragraph(&self) -> String {
        let mut text = format!("{} ({}):\n", self.kind, self.count);
        for scope in &self.scopes {
            let name = scope.scope.as_ref().map(|name| format!("{name}: "));
            let name = name.unwrap_or_default();
            for change in &scope.changes {
                text.push_str(&format!("- {name}{}\n", change.description));
            }
            let left_out = scope.count - scope.changes.len();
            if left_out > 0 {
                text.push_str(&format!("- … and {left_out} more\n"));
            }
        }
        text
    }
}

#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub commits: usize,
    pub merges: usize,
    pub breaking: Vec<Breaking>,
    pub groups: Vec<Group>,
    pub other: Group,
    pub authors: Vec<Author>,
    /// None where nothing was changed.
    pub bump: Option<Bump>,
}

/// By scope; none sorts first.
type Scopes = BTreeMap<Option<String>, Vec<Change>>;

pub(super) fn gather(
    repo: &Repository,
    ids: &[Oid],
    verbosity: Verbosity,
) -> Result<Gathered, Error> {
    let full = verbosity == Verbosity::Full;
    let mut gathered = Gathered::default();
    let mut kinds: BTreeMap<(usize, String), Scopes> = BTreeMap::new();
    let mut other = Scopes::new();
    let mut authors = Authors::default();
    for id in ids {
        let commit = repo.git2().find_commit(*id)?;
        if commit.parent_count() > 1 {
            gathered.merges += 1;
            continue;
        }
        gathered.commits += 1;
        let subject = text(commit.summary_bytes().unwrap_or_default());
        let body = text(commit.body_bytes().unwrap_or_default());
        let said = footers(&body);
        authors.count(&commit, &said);
        let header = conventional(&subject);
        let is_breaking =
            !said.breaking.is_empty() || header.as_ref().is_some_and(|header| header.is_breaking);
        let author = Person::of(&commit.author());
        let description = header
            .as_ref()
            .map_or(&subject, |header| &header.description);
        let change = Change {
            id: commit.id().to_string(),
            description: description.clone(),
            pull_requests: pull_requests(&subject),
            breaking: is_breaking,
            author: (verbosity > Verbosity::Minimal).then_some(author.name),
            date: full.then_some(author.date),
            body: full.then_some(body),
        };
        if is_breaking {
            gathered.breaking.push(Breaking {
                id: change.id.clone(),
                scope: header.as_ref().and_then(|header| header.scope.clone()),
                description: change.description.clone(),
                notes: said.breaking,
            });
        }
        gathered.bump = gathered.bump.max(Some(match &header {
            _ if is_breaking => Bump::Major,
            Some(header) if header.kind == "feat" => Bump::Minor,
            _ => Bump::Patch,
        }));
        match header {
            Some(Conventional { kind, scope, .. }) => {
                let place = FIRST.iter().position(|first| *first == kind);
                let place = place.unwrap_or(FIRST.len());
                let scopes = kinds.entry((place, kind)).or_default();
                scopes.entry(scope).or_default().push(change);
            }
            None => other.entry(None).or_default().push(change),
        }
    }
    let kinds = kinds.into_iter();
    let groups = kinds.map(|((_, kind), scopes)| group(kind, scopes));
    gathered.groups = groups.collect();
    gathered.other = group("other".to_owned(), other);
    gathered.authors = authors.all;
    Ok(gathered)
}

fn group(kind: String, scopes: Scopes) -> Group {
    let scopes: Vec<ChangelogScope> = scopes
        .into_iter()
        .map(|(scope, changes)| ChangelogScope {
            scope,
            count: changes.len(),
            changes,
        })
        .collect();
    Group {
        kind,
        count: scopes.iter().map(|scope| scope.count).sum(),
        scopes,
    }
}

/// People by their addresses, whose case does not matter.
#[derive(Default)]
struct Authors {
    all: Vec<Author>,
    places: HashMap<String, usize>,
}

impl Authors {
    fn count(&mut self, commit: &Commit<'_>, footers: &Footers) {
        let own = Person::of(&commit.author());
        self.of(&own.name, &own.email).commits += 1;
        let mut told = vec![own.email.to_lowercase()];
        for (name, email) in &footers.co_authors {
            // One who is named twice had one part in it.
            if !told.contains(&email.to_lowercase()) {
                told.push(email.to_lowercase());
                self.of(name, email).co_authored += 1;
            }
        }
    }

    fn of(&mut self, name: &str, email: &str) -> &mut Author {
        let place = *self
            .places
            .entry(email.to_lowercase())
            .or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Author {
                name: name.to_owned(),
                email: email.to_owned(),
                commits: 0,
                co_authored: 0,
            });
        }
        &mut self.all[place]
    }
}
